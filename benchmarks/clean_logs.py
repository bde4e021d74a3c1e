"""Clean logs of many kinds: whatever the audit says against one of them is a false alarm.

Every kind is a function of a random generator and a `Family`. The numbers of the audit were chosen on `CHOOSING`, the
rates that METHODS.md reports are those of `REPORTED`: other seeds, other policies, other columns, other outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.logs.log import Log


@dataclass(frozen=True)
class Family:
    """What the logs of one family share, so that no number fits one kind of log only."""

    name: str
    stream: int  # of its seeds
    strength: float  # of the contexts in the logging policy
    n_columns: int
    skew: float  # the second column is log-normal with this spread of its logarithm
    effect: float  # between neighbouring actions
    stages: int  # after which a learning policy learns again; 1: its policy is fixed


CHOOSING = Family("choosing", 1, strength=1.0, n_columns=4, skew=1.0, effect=0.3, stages=1)
REPORTED = Family("reported", 3, strength=1.3, n_columns=7, skew=1.2, effect=0.25, stages=6)

Rng = np.random.Generator
Kind = Callable[[Rng, Family], Log]


def draw_users(rng: Rng, n: int, family: Family) -> Floats:
    """Columns of numbers, (n, d)."""
    x = rng.standard_normal((n, family.n_columns))
    x[:, 1] = np.exp(family.skew * x[:, 1])
    return x


def draw_actions(rng: Rng, chances: Floats) -> Integers:
    """One action per row by its chances, (n, K)."""
    passed = rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)
    return np.minimum(passed.sum(axis=1), chances.shape[1] - 1)


def taken(chances: Floats, actions: Integers) -> Floats:
    """The chance of the action taken."""
    return chances[np.arange(actions.size), actions]


def draw_outcomes(rng: Rng, x: Floats, actions: Integers, family: Family) -> Floats:
    """effect a + 0.5 x0 - 0.3 z1 + noise, z1 the second column without its skew."""
    second = np.log(np.maximum(x[:, 1], 1e-9))
    return family.effect * actions + 0.5 * x[:, 0] - 0.3 * second + rng.standard_normal(actions.size)


def soft_chances(rng: Rng, x: Floats, k: int, family: Family, floor: float = 0.1) -> Floats:
    """A softmax of lines in the contexts, mixed with an even chance."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    scores = np.exp(z @ (rng.standard_normal((x.shape[1], k)) * family.strength / np.sqrt(x.shape[1])))
    mixed: Floats = (1.0 - floor) * scores / scores.sum(axis=1, keepdims=True) + floor / k
    return mixed


def softmax(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """A policy that follows the contexts."""
    x = draw_users(rng, n, family)
    chances = soft_chances(rng, x, k, family)
    actions = draw_actions(rng, chances)
    return Log(actions, draw_outcomes(rng, x, actions, family), x, taken(chances, actions), n_actions=k)


def even(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """Every action with the same chance."""
    x, actions = draw_users(rng, n, family), rng.integers(k, size=n)
    return Log(actions, draw_outcomes(rng, x, actions, family), x, np.full(n, 1.0 / k), n_actions=k)


def zipf_column(rng: Rng, n: int, levels: int, power: float = 1.0) -> list[str]:
    """A category of which the m-th is 1/m as common as the first, or a power of that."""
    shares = np.arange(1, levels + 1) ** -power
    return [f"c{c:02d}" for c in rng.choice(levels, n, p=shares / shares.sum())]


def pilot(rng: Rng, family: Family, *, n: int, share: float) -> Log:
    """Four common actions and one of a small share, beside a country of 60 values."""
    chances = np.array([*[(1.0 - share) / 4.0] * 4, share])
    actions = rng.choice(5, n, p=chances)
    x = draw_users(rng, n, family)
    contexts = {"age": x[:, 0], "spend": x[:, 1], "country": zipf_column(rng, n, 60)}
    return Log(actions, draw_outcomes(rng, x, actions, family), contexts, chances[actions], n_actions=5)


def many_categories(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """The random policy of a page of k items, with a country of 60 values and hashed columns, clicks of 0.5 %."""
    actions = rng.integers(k, size=n)
    contexts = {
        "country": zipf_column(rng, n, 60, 1.5),
        "hash": zipf_column(rng, n, 25),
        "age": zipf_column(rng, n, 4),
    }
    return Log(actions, (rng.random(n) < 0.005).astype(float), contexts, np.full(n, 1.0 / k), n_actions=k)


def rare_category(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """A category that some ten rows have, beside a policy that follows the numbers."""
    x = draw_users(rng, n, family)
    chances = soft_chances(rng, x, k, family)
    actions = draw_actions(rng, chances)
    rare = np.where(rng.random(n) < 10.0 / n, "rare", np.where(rng.random(n) < 0.3, "some", "most"))
    contexts = {"x0": x[:, 0], "x1": x[:, 1], "x2": x[:, 2], "x3": x[:, 3], "tier": rare.tolist()}
    if family.n_columns > 4:
        contexts |= {f"x{j}": x[:, j] for j in range(4, family.n_columns)}
    return Log(actions, draw_outcomes(rng, x, actions, family), contexts, taken(chances, actions), n_actions=k)


def thirty_columns(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """20 numbers, some with heavy tails, and 10 categories."""
    x = rng.standard_normal((n, 20))
    x[:, 15:] = rng.standard_t(3.0, (n, 5))
    chances = soft_chances(rng, x[:, :10], k, family)
    actions = draw_actions(rng, chances)
    contexts: dict[str, object] = {f"x{j}": x[:, j] for j in range(20)}
    contexts |= {f"g{j}": zipf_column(rng, n, 3 + j) for j in range(10)}
    outcomes = family.effect * actions + x[:, 0] * 0.5 + rng.standard_normal(n)
    return Log(actions, outcomes, contexts, taken(chances, actions), n_actions=k)


def rare_success(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """Binary outcomes of about 1 %."""
    x = draw_users(rng, n, family)
    chances = soft_chances(rng, x, k, family)
    actions = draw_actions(rng, chances)
    outcomes = (rng.random(n) < 0.01 * np.exp(0.4 * x[:, 0]) * (1.0 + 0.2 * actions)).astype(float)
    return Log(actions, outcomes, x, taken(chances, actions), n_actions=k)


def revenue(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """Nine users in ten buy nothing, the others for a log-normal sum."""
    x = draw_users(rng, n, family)
    chances = soft_chances(rng, x, k, family)
    actions = draw_actions(rng, chances)
    buys = rng.random(n) < 0.1 * np.exp(0.3 * x[:, 0] - 0.05)
    sums = np.where(buys, np.exp(3.0 + 1.5 * rng.standard_normal(n) + 0.1 * actions), 0.0)
    return Log(actions, sums, x, taken(chances, actions), n_actions=k)


def coin_per_user(rng: Rng, family: Family, *, users: int, visits: int) -> Log:
    """A coin per user, kept for all visits; users differ, the actions do not."""
    unit = np.repeat(np.arange(users), visits)
    x = draw_users(rng, users, family)[unit]
    actions = rng.integers(2, size=users)[unit]
    level = 0.5 * x[:, 0] + 0.7 * rng.standard_normal(users)[unit]
    outcomes = level + rng.standard_normal(unit.size)
    return Log(actions, outcomes, x, np.full(unit.size, 0.5), n_actions=2, units=unit.tolist())


def epsilon_greedy(rng: Rng, family: Family, *, epsilon: float, k: int, n: int, has_vectors: bool) -> Log:
    """The best action of a linear model with 1 - epsilon, else any; a learning one learns between its stages."""
    x = draw_users(rng, n, family)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    slopes = rng.standard_normal((family.n_columns, k)) * 0.5
    truth = z @ slopes
    parts, known = np.array_split(np.arange(n), family.stages), rng.standard_normal(slopes.shape)
    chances, actions, outcomes = np.empty((n, k)), np.empty(n, dtype=np.int64), np.empty(n)
    for part in parts:
        greedy = (z[part] @ known).argmax(axis=1)
        chances[part] = epsilon / k
        chances[part, greedy] += 1.0 - epsilon
        actions[part] = draw_actions(rng, chances[part])
        outcomes[part] = truth[part, actions[part]] + rng.standard_normal(part.size)
        known = _learn(z[: part[-1] + 1], actions[: part[-1] + 1], outcomes[: part[-1] + 1], k)
    return Log(actions, outcomes, x, chances if has_vectors else taken(chances, actions), n_actions=k)


def _learn(z: Floats, actions: Integers, outcomes: Floats, k: int) -> Floats:
    """Ridge slopes per action, (d, K)."""
    d = z.shape[1]
    found = np.zeros((d, k))
    for a in range(k):
        rows = z[actions == a]
        found[:, a] = np.linalg.solve(rows.T @ rows + np.eye(d), rows.T @ outcomes[actions == a])
    return found


def linear_thompson(rng: Rng, family: Family, *, n: int, k: int, has_vectors: bool) -> Log:
    """Draws of linear models that learn ten times, each action with a chance of at least 0.05."""
    x = draw_users(rng, n, family)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    truth = z @ (rng.standard_normal((family.n_columns, k)) * 0.3 * family.strength)
    chances, actions, outcomes = np.empty((n, k)), np.empty(n, dtype=np.int64), np.empty(n)
    for part in np.array_split(np.arange(n), 10):
        seen = part[0]
        draws = np.empty((50, part.size, k))
        for a in range(k):
            rows = z[:seen][actions[:seen] == a]
            gram = rows.T @ rows + np.eye(z.shape[1])
            mean = np.linalg.solve(gram, rows.T @ outcomes[:seen][actions[:seen] == a])
            slopes = rng.multivariate_normal(mean, np.linalg.inv(gram), size=50)
            draws[:, :, a] = slopes @ z[part].T
        shares = (draws.argmax(axis=2)[:, :, None] == np.arange(k)).mean(axis=0)
        chances[part] = 0.05 + (1.0 - 0.05 * k) * shares
        actions[part] = draw_actions(rng, chances[part])
        outcomes[part] = truth[part, actions[part]] + rng.standard_normal(part.size)
    return Log(actions, outcomes, x, chances if has_vectors else taken(chances, actions), n_actions=k)


def settled(rng: Rng, family: Family, *, n: int, k: int) -> Log:
    """A policy that had given up an action for two users in three, and says so in whole vectors with zeros."""
    x = draw_users(rng, n, family)
    chances = soft_chances(rng, x, k, family)
    gone = (rng.random((n, 1)) < 0.67) & (np.arange(k) == rng.integers(k, size=(n, 1)))
    chances = np.where(gone, 0.0, chances)
    chances /= chances.sum(axis=1, keepdims=True)
    actions = draw_actions(rng, chances)
    return Log(actions, draw_outcomes(rng, x, actions, family), x, chances, n_actions=k)


def _epsilon_kinds() -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for has_vectors in (False, True):
        for epsilon in (0.1, 0.05):
            for k in (3, 10):
                for n in (100, 300, 500, 2_000, 5_000):
                    name = f"epsilon-greedy {epsilon} K={k} N={n}" + (" vectors" if has_vectors else "")
                    kinds[name] = partial(epsilon_greedy, epsilon=epsilon, k=k, n=n, has_vectors=has_vectors)
    return kinds


KINDS: dict[str, Kind] = {
    **{f"even K={k} N={n}": partial(even, n=n, k=k) for k, n in ((2, 300), (5, 1_000), (50, 10_000))},
    **{
        f"softmax K={k} N={n}": partial(softmax, n=n, k=k)
        for k, n in (
            (2, 300),
            (3, 300),
            (3, 1_000),
            (5, 5_000),
            (10, 5_000),
            (20, 20_000),
            (50, 20_000),
            (3, 100_000),
        )
    },
    **{
        f"pilot {100 * s} % N={n}": partial(pilot, n=n, share=s) for s in (0.005, 0.01, 0.02) for n in (5_000, 20_000)
    },
    "random policy K=34 N=10000": partial(many_categories, n=10_000, k=34),
    "random policy K=5 N=2000": partial(many_categories, n=2_000, k=5),
    "rare category N=1000": partial(rare_category, n=1_000, k=3),
    "rare category N=10000": partial(rare_category, n=10_000, k=5),
    "30 columns N=1000": partial(thirty_columns, n=1_000, k=3),
    "30 columns N=5000": partial(thirty_columns, n=5_000, k=3),
    "successes of 1 % N=300": partial(rare_success, n=300, k=2),
    "successes of 1 % N=2000": partial(rare_success, n=2_000, k=3),
    "successes of 1 % N=20000": partial(rare_success, n=20_000, k=3),
    "revenue N=1000": partial(revenue, n=1_000, k=3),
    "revenue N=10000": partial(revenue, n=10_000, k=3),
    "units 300 x 40": partial(coin_per_user, users=300, visits=40),
    "units 2000 x 5": partial(coin_per_user, users=2_000, visits=5),
    **_epsilon_kinds(),
    **{
        f"LinThompson K=3 N={n}" + (" vectors" if v else ""): partial(linear_thompson, n=n, k=3, has_vectors=v)
        for v in (False, True)
        for n in (500, 2_000, 5_000)
    },
    "settled K=4 N=5000": partial(settled, n=5_000, k=4),
}
