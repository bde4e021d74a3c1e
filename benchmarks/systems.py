"""Systems to compare: a cold Thompson of the right likelihood, `start` and its relatives from the same log."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import headstart as hs
from headstart.arrays import Floats
from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.summary import Summary
from headstart.evaluators import DoublyRobust, IPSWeighting
from headstart.experiments.relatives import AnchorTS, Commensurate, OtO
from headstart.judgement.start.for_all import choose_for_all
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.start import start
from headstart.logs.log import Log
from headstart.oracles import RobustThompson, ThompsonBeta, ThompsonGaussian, ThompsonNormal
from headstart.parts import Oracle
from headstart.priors.logged import check_trust, trust_among
from headstart.simulation.simulate import Drawn, MakePolicy

COLD = "cold Thompson"
_LOOKED_AT = 500  # users: of a continuous outcome, or one that 2 % pay, some is neither 0 nor 1


def are_binary(outcomes: ArrayLike) -> bool:
    """Whether all of them are 0 or 1."""
    return bool(np.isin(outcomes, (0.0, 1.0)).all())


def make_cold(world: Drawn, log: Log, rng: np.random.Generator) -> Oracle:
    """The bar: Thompson sampling that has no log, Beta for 0/1 outcomes and normal for others.

    The world is asked, not its log: a log that lies may have moved its zeros and ones.
    """
    twin, outcomes = world.again(), []
    for _ in range(_LOOKED_AT):
        twin.draw_user()
        outcomes.append(twin.draw_outcome(0))
    return (ThompsonBeta if are_binary(outcomes) else ThompsonNormal)(world.n_actions, rng=rng)


def with_chances(log: Log) -> Log:
    """The log, with propensities estimated where it has none."""
    return log if log.has_propensities else fill_missing(log).log


def make_weighted(world: Any, log: Log, rng: np.random.Generator) -> Oracle:
    """Thompson sampling fed by inverse propensity weighting; the scale of normal outcomes is the log's."""
    if are_binary(log.outcomes):
        oracle: Oracle = ThompsonBeta(world.n_actions, rng=rng)
    else:
        oracle = ThompsonGaussian(world.n_actions, scale=max(float(log.outcomes.std()), 1e-9), rng=rng)
    return hs.WarmStart(oracle, IPSWeighting(with_chances(log)), rng=rng)


class Told(NamedTuple):
    """What a log says of each action, and how far it is believed."""

    summary: Summary
    trust: Floats  # (K,)


class Starting:
    """Policies by `start`, and others from what it makes of the log, which is found out once for all of them.

    Without a horizon the users to come are not told. Quickly: without an audit, as if it had found nothing.
    """

    def __init__(self, horizon: int | None, *, is_quick: bool) -> None:
        self._horizon, self._is_quick = horizon, is_quick
        self._last: tuple[Log, Told] | None = None

    def by(self, options: StartOptions) -> MakePolicy:
        """start(log) with these options."""

        def make(world: Any, log: Log, rng: np.random.Generator) -> Oracle:
            if self._is_quick:
                return self._start_quickly(log, options, rng)
            started = start(log, horizon=self._horizon, options=options, rng=rng)
            if options == StartOptions():
                self._last = log, Told(started.summary, started.trust.weights)
            return started

        return make

    def _start_quickly(self, log: Log, options: StartOptions, rng: np.random.Generator) -> Oracle:
        trust = check_trust(trust_among(log.n_actions, options.prior.trust), log.n_actions)
        return choose_for_all(log, self.told(log).summary, trust, self._horizon, options, rng).oracle

    def told(self, log: Log) -> Told:
        """What `start` makes of this log."""
        if self._last is None or self._last[0] is not log:
            if self._is_quick:
                known = DoublyRobust(with_chances(log)).summary()
                self._last = log, Told(known, check_trust(None, log.n_actions))
            else:
                self.by(StartOptions())(None, log, np.random.default_rng(0))
        assert self._last is not None
        return self._last[1]

    def relatives(self) -> dict[str, MakePolicy]:
        """Others that start from the same numbers."""
        return {
            "RobustThompson, same prior": lambda world, log, rng: RobustThompson(
                log.n_actions, self.told(log).summary, trust=self.told(log).trust, rng=rng
            ),
            "Anchor-TS": lambda world, log, rng: AnchorTS(self.told(log).summary, rng=rng),
            "commensurate prior": lambda world, log, rng: Commensurate(self.told(log).summary, rng=rng),
            "OtO": lambda world, log, rng: OtO(self.told(log).summary),
        }


def make_systems(horizon: int | None, variants: Sequence[Sequence[str]], *, is_quick: bool) -> dict[str, MakePolicy]:
    """Every system by name; a variant is a list of settings such as exploring.caution=4."""
    starting = Starting(horizon, is_quick=is_quick)
    systems: dict[str, MakePolicy] = {COLD: make_cold, "start": starting.by(StartOptions())}
    systems |= {" ".join(settings): starting.by(change_options(settings)) for settings in variants}
    return systems | {"IPSW + Thompson": make_weighted} | starting.relatives()


def change_options(settings: Sequence[str]) -> StartOptions:
    """StartOptions with these numbers changed: "prior.trust=0.9"."""
    options: Any = StartOptions()
    for setting in settings:
        path, _, value = setting.partition("=")
        options = _change(options, path.split("."), ast.literal_eval(value), setting)
    return options


def _change(options: Any, path: list[str], value: object, setting: str) -> Any:
    name, rest = path[0], path[1:]
    if not is_dataclass(options) or name not in {each.name for each in fields(options)}:
        raise SystemExit(f"--set {setting}: there is no {name} in {type(options).__name__}")
    inner = getattr(options, name)
    return replace(options, **{name: _change(inner, rest, value, setting) if rest else value})  # type: ignore[type-var]
