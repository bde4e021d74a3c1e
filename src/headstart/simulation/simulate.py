"""simulate: many runs of many policies in a world, compiled where they have kernels, and parallel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np

from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.checks import check_whole, every
from headstart.displayed import Display, Displayed
from headstart.errors import OptionError, OutcomeError
from headstart.kernels import draw_outcome, draw_user, expected_outcomes, play, update
from headstart.kernels.arrays import largest
from headstart.logs.log import Log
from headstart.numerals import number
from headstart.parts import Oracle, OracleAbilities, State, is_oracle
from headstart.simulation.spreading import check_jobs, spread_blocks
from headstart.simulation.streams import Stream, streams_of
from headstart.simulation.waiting import Waiting

T = TypeVar("T")

_MOST_CHECKPOINTS = 200
_TOGETHER, _ROWS_TOGETHER = 8, 10_000  # runs that are set up together, and rows of their logs


class Drawn(Protocol):
    """One run's world: a log of its past, a stream of its users, and the truth that regret is measured against."""

    @property
    def log(self) -> Log:
        """Its past."""

    @property
    def n_actions(self) -> int:
        """Actions are 0 .. n_actions - 1."""

    @property
    def n_features(self) -> int:
        """The length of the context that can be seen of a user."""

    @property
    def kernel_state(self) -> State:
        """A state with the verbs `draw_user`, `draw_outcome` and `expected_outcomes`."""

    def again(self) -> Drawn:
        """The same world from the same first user on."""

    def draw_user(self) -> Floats:
        """The next user's context."""

    def draw_outcome(self, action: int) -> float:
        """What the present user does when shown `action`."""

    def expected_outcomes(self) -> Floats:
        """The mean outcome of each action for the present user, (K,)."""


class World(Protocol):
    """Settings from which one run's world is drawn."""

    def draw(self, rng: np.random.Generator) -> Drawn:
        """A world, all its unknowns drawn."""


MakePolicy = Callable[[Any, Log, np.random.Generator], Oracle]
"""(drawn world, its log, a generator) -> a policy: an oracle, a WarmStart, anything that plays and updates."""


@dataclass(frozen=True, repr=False)
class Curve(Displayed):
    """The cumulative regret of one policy over many runs.

    Examples
    --------
    >>> import headstart as hs
    >>> world = hs.worlds.Synthetic(n_actions=2, n_log=50)
    >>> curve = hs.simulate(world, {"cold": hs.UCB(2)}, rounds=100, runs=5, seed=1)["cold"]
    >>> curve.runs, curve.means.size
    (5, 100)
    """

    rounds: Integers  # (c,) the rounds after which regret was read
    regrets: Floats  # (runs, c)
    seconds: float  # spent on this policy, all workers together

    @property
    def runs(self) -> int:
        return self.regrets.shape[0]

    @property
    def mean(self) -> float:
        """The mean regret at the end."""
        return float(self.regrets[:, -1].mean())

    @property
    def se(self) -> float:
        """The standard error of that mean; NaN for a single run."""
        if self.runs == 1:
            return float("nan")
        return float(self.regrets[:, -1].std(ddof=1) / np.sqrt(self.runs))

    @property
    def p20(self) -> float:
        return float(np.percentile(self.regrets[:, -1], 20))

    @property
    def p80(self) -> float:
        return float(np.percentile(self.regrets[:, -1], 80))

    @property
    def means(self) -> Floats:
        """The mean regret at each of `rounds`, (c,)."""
        return self.regrets.mean(axis=0)

    def percentiles(self, q: float) -> Floats:
        """The q-th percentile of regret at each of `rounds`, (c,)."""
        return np.percentile(self.regrets, q, axis=0)

    def _tell(self) -> Display:
        low, high = self.percentiles(20), self.percentiles(80)
        lost = f"{number(self.mean)} ± {number(self.se)} ({self.runs:,} runs)"
        columns = {"users": self.rounds, "mean regret": self.means, "20th percentile": low, "80th percentile": high}
        headline = f"Regret over {self.rounds[-1]:,} users: {lost}"
        return Display(headline, columns={name: values.tolist() for name, values in columns.items()})

    def __repr__(self) -> str:
        return self._tell().headline

    def _draw(self, axes: Any) -> None:
        (line,) = axes.plot(self.rounds, self.means, label="mean regret")
        band = {"color": line.get_color(), "alpha": 0.15, "lw": 0, "label": "20th to 80th percentile of runs"}
        axes.fill_between(self.rounds, self.percentiles(20), self.percentiles(80), **band)
        axes.set_xlabel("users")
        axes.set_ylabel("lost so far against the best action (regret)")
        axes.legend(frameon=False)


def _run(
    world: kernels.State,
    policy: kernels.State,
    available: Bools,
    context: Floats,
    expected: Floats,
    checkpoints: Integers,
    seen: Floats,
    out: Floats,
) -> None:
    """One run: Algorithm 1 around whatever policy and world the arguments' types compose.

    `seen` gets the smallest and the largest outcome: kernels do not check, so their caller can.
    """
    seen[0], seen[1] = np.inf, -np.inf
    regret = 0.0
    start = 0
    for c in range(checkpoints.size):
        for _ in range(start, checkpoints[c]):
            draw_user(world, context)
            action = play(policy, context, available)
            outcome = draw_outcome(world, action)
            expected_outcomes(world, expected)
            regret += largest(expected) - expected[action]
            seen[0] = min(seen[0], outcome)
            seen[1] = max(seen[1], outcome)
            update(policy, context, action, outcome)
        start = checkpoints[c]
        out[c] = regret


def simulate(
    world: World,
    policies: Mapping[str, MakePolicy | Oracle],
    rounds: int,
    runs: int,
    seed: int,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    delay: int = 0,
    batch: int = 1,
) -> dict[str, Curve]:
    """The cumulative regret of each policy, over runs that each draw a world and its log anew.

    Parameters
    ----------
    world
        A world's settings (`worlds.Synthetic(...)`, ...).
    policies
        By name: a function (drawn world, log, rng) -> policy, called for each run, which makes a new one each
        time; or a policy, which each run copies and, if it has `reseed`, gives its own randomness.
    rounds, runs, seed
        Each run has its own streams, spawned from the seed, so the result depends neither on `n_jobs` nor
        on the other policies. All policies of a run meet the same log and the same users.
    n_jobs
        Threads; one by default. Compiled policies run in parallel, plain Python ones take turns. Within
        `with joblib.parallel_config("dask")`, or "loky" or "ray", the workers are that backend's, as many as it has
        by default: processes help plain Python policies too.
    progress
        Called with 1 after each run of each policy.
    delay
        A user's outcome is learnt when this many more users have been decided for: so many are in flight at each
        decision. Those in flight at the end are never learnt.
    batch
        Outcomes are learnt after each so many users: all of a batch are decided for before any of its outcomes is
        learnt. With a delay too, those that are due are learnt then.

    Notes
    -----
    Cost is O(runs x rounds) for each policy: some 100 ns a round compiled, some 10 microseconds plain.
    Memory is O(runs) per policy: regret is kept at 200 rounds at most. What a policy waits for it is told (`expect`).

    Returns
    -------
    dict of str to Curve
        By the policies' names.

    Raises
    ------
    OptionError
        If there is no policy, a count is not a whole number, or a policy does not fit the world.
    OutcomeError
        If the world's outcomes are outside what a policy takes.

    Examples
    --------
    >>> import headstart as hs
    >>> world = hs.worlds.Synthetic(n_actions=2, n_log=50)
    >>> curves = hs.simulate(world, {"cold": hs.UCB(2)}, rounds=100, runs=5, seed=1)
    >>> curves["cold"].runs
    5
    """
    told = simulate_asking(_ask_nothing, world, policies, rounds, runs, seed, n_jobs, progress, delay, batch)
    return {name: curve for name, (curve, _) in told.items()}


def _ask_nothing(policy: Oracle) -> None:
    pass


def simulate_asking(
    ask: Callable[[Oracle], T],
    world: World,
    policies: Mapping[str, MakePolicy | Oracle],
    rounds: int,
    runs: int,
    seed: int,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    delay: int = 0,
    batch: int = 1,
) -> dict[str, tuple[Curve, list[T]]]:
    """`simulate`, and what each run's policy answers at its end, in the order of the runs.

    Policies live where their run is computed, which may be another process: the answer is what comes back of them.
    """
    rounds, runs, n_jobs = check_whole("rounds", rounds), check_whole("runs", runs), check_jobs(n_jobs)
    delay, batch = check_whole("delay", delay, low=0), check_whole("batch", batch)
    if not policies:
        raise OptionError("policies must name at least one policy")
    checkpoints = np.unique(np.linspace(0, rounds, min(rounds, _MOST_CHECKPOINTS) + 1).astype(np.int64)[1:])
    regrets = {name: np.empty((runs, checkpoints.size)) for name in policies}
    seconds = dict.fromkeys(policies, 0.0)
    answers: dict[str, list[T]] = {name: [] for name in policies}
    lives = _Lives(ask, world, tuple(policies.values()), checkpoints, seed, delay, batch)
    for run, found in enumerate(spread_blocks(lives.run, runs, n_jobs)):
        for name, (regret, took, answer) in zip(policies, found, strict=True):
            regrets[name][run] = regret
            seconds[name] += took
            answers[name].append(answer)
            if progress is not None:
                progress(1)
    return {name: (Curve(checkpoints, regrets[name], seconds[name]), answers[name]) for name in policies}


_Begun = tuple[Drawn, Stream]  # a run's world, and its policies' randomness
_Lived = tuple[Floats, float, T]  # a policy's regret in a run, the seconds that it took, and its answer


@dataclass(frozen=True)
class _Lives(Generic[T]):
    """What every run has in common; it travels to whoever computes a run."""

    ask: Callable[[Oracle], T]
    world: World
    policies: tuple[MakePolicy | Oracle, ...]
    checkpoints: Integers
    seed: int
    delay: int
    batch: int

    def run(self, runs: Sequence[int]) -> list[list[_Lived[T]]]:
        """Of each run, the regret of each policy, the seconds that it took, and its answer."""
        return [lived for begun in _together(self._draw(runs)) for lived in self._run_together(begun)]

    def _draw(self, runs: Sequence[int]) -> Iterator[_Begun]:
        for run in runs:
            for_world, for_policy = streams_of(self.seed, run)
            yield self.world.draw(for_world.begin()), for_policy

    def _run_together(self, begun: list[_Begun]) -> list[list[_Lived[T]]]:
        """A policy is made for each of the worlds before it lives in any of them.

        The interpreter and the compiled loop then take turns less often, and each finds what it needs in the
        processor's caches.
        """
        lived: list[list[_Lived[T]]] = [[] for _ in begun]
        for i, made in enumerate(self.policies):
            started = time.perf_counter()
            is_last = i == len(self.policies) - 1  # nobody meets the worlds after it
            met = [drawn if is_last else drawn.again() for drawn, _ in begun]
            policies = [_make(made, drawn, stream.begin()) for drawn, (_, stream) in zip(met, begun, strict=True)]
            regrets = [np.empty(self.checkpoints.size) for _ in begun]
            for drawn, policy, regret in zip(met, policies, regrets, strict=True):
                _run_policy(drawn, _delayed(policy, self.delay, self.batch, drawn), self.checkpoints, regret)
            seconds = (time.perf_counter() - started) / len(begun)
            for found, policy, regret in zip(lived, policies, regrets, strict=True):
                found.append((regret, seconds, self.ask(policy)))
        return lived


def _together(begun: Iterator[_Begun]) -> Iterator[list[_Begun]]:
    """Several runs at a time; fewer where their logs are long."""
    group: list[_Begun] = []
    n_rows = 0
    for one in begun:
        group.append(one)
        n_rows += len(one[0].log)
        if len(group) == _TOGETHER or n_rows >= _ROWS_TOGETHER:
            yield group
            group, n_rows = [], 0
    if group:
        yield group


def _delayed(policy: Oracle, delay: int, batch: int, drawn: Drawn) -> Oracle:
    """The policy, which waits for outcomes that come late."""
    return policy if (delay, batch) == (0, 1) else Waiting(policy, delay, batch, drawn.n_features)


def _make(made: MakePolicy | Oracle, drawn: Drawn, rng: np.random.Generator) -> Oracle:
    if is_oracle(made):
        policy = deepcopy(made)
        OracleAbilities(policy).reseed(rng)
        return policy
    return cast(MakePolicy, made)(drawn, drawn.log, rng)


def _run_policy(drawn: Drawn, policy: Oracle, checkpoints: Integers, out: Floats) -> None:
    abilities = OracleAbilities(policy)
    n_actions = getattr(policy, "n_actions", drawn.n_actions)  # whatever plays and updates will do
    if n_actions != drawn.n_actions:  # kernels check no index
        raise OptionError(f"the policy has {n_actions} actions, the world {drawn.n_actions}")
    if abilities.n_features not in (None, 0, drawn.n_features):
        raise OptionError(f"the policy decides on {abilities.n_features} columns, the world shows {drawn.n_features}")
    abilities.reserve(int(checkpoints[-1]))
    state = abilities.kernel_state
    if state is None:
        _run_plain(drawn, policy, checkpoints, out)
        return
    seen = np.empty(2)
    room = np.empty(drawn.n_features), np.empty(drawn.n_actions)
    kernels.call(_run, drawn.kernel_state, state, every(drawn.n_actions), *room, checkpoints, seen, out)
    low, high = abilities.outcome_range
    if seen[0] < low or seen[1] > high:
        raise OutcomeError(
            f"outcomes must be in [{low:g}, {high:g}] for {policy!r}, the world's were in [{seen[0]:g}, {seen[1]:g}]"
        )


def _run_plain(drawn: Drawn, policy: Oracle, checkpoints: Integers, out: Floats) -> None:
    """The same run, one Python call at a time, for parts without kernels."""
    regret, start = 0.0, 0
    for c, end in enumerate(checkpoints):
        for _ in range(start, end):
            context = drawn.draw_user()
            action = policy.play(context)
            outcome = drawn.draw_outcome(action)
            expected = drawn.expected_outcomes()
            regret += expected.max() - expected[action]
            policy.update(context, action, outcome)
        start = end
        out[c] = regret
