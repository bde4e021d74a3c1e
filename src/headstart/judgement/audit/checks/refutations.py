"""Refutations: changes that must not, or must, move the difference between the best two actions.

Each has a stated test. One that fails does not say what is wrong, only that the difference is not to be taken at its
word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.ridge import predict_for, standardise
from headstart.estimates.weighted import kish_size, root_sum_square
from headstart.judgement.audit.checks.effects import robust_effect, weighted_effect
from headstart.logs.log import Log

_SURE = 3.29  # standard errors: one false alarm in a thousand
_MATERIAL = 0.25  # of the lead: what is left of bias and smaller matters little
_PERMUTATIONS = 200
_FEWEST_ROWS = 20  # of each of the two actions in the sample
_FEWEST_WORTH = 50.0  # effective size of each, below which standard errors of weighted differences are too small
_STILL = 0.5  # standard errors that a random column may move the difference by


@dataclass(frozen=True)
class Refutation:
    name: str
    expects: str  # what an honest log gives
    value: float
    error: float  # standard error of the value under that expectation
    is_passed: bool


@dataclass(frozen=True)
class RefutationFinding:
    """The difference on the sampled rows, and the attempts on it; empty when too few rows show the two actions."""

    weighted: float
    weighted_error: float
    robust: float
    robust_error: float
    chance_p_value: float  # share of permuted outcomes with as large a difference
    refutations: tuple[Refutation, ...]

    @property
    def failed(self) -> tuple[Refutation, ...]:
        return tuple(refutation for refutation in self.refutations if not refutation.is_passed)


def refute(
    log: Log, best: int | None, second: int | None, reestimate: Callable[[Floats], Log] | None, seed: int
) -> RefutationFinding:
    """Try to upset the lead of `best` over `second` on these rows.

    `reestimate` gives the log with propensities estimated from other contexts; None if its propensities are logged.
    """
    nothing = float("nan")
    if best is None or second is None or min((log.actions == a).sum() for a in (best, second)) < _FEWEST_ROWS:
        return RefutationFinding(nothing, nothing, nothing, nothing, nothing, ())
    rng = np.random.default_rng([seed, 2])
    weighted = weighted_effect(log, best, second)
    robust = robust_effect(log, best, second)
    material = _MATERIAL * abs(weighted.difference)
    assert log.propensities is not None
    if min(kish_size(1.0 / log.propensities[log.actions == a]) for a in (best, second)) < _FEWEST_WORTH:
        material = np.inf  # too little to judge by
    permuted = _permuted(log, best, second, rng)
    middle, spread = float(permuted.mean()), float(permuted.std(ddof=1))
    p_value = (1.0 + np.sum(np.abs(permuted) >= abs(weighted.difference))) / (1.0 + permuted.size)
    expected_by_chance = spread / np.sqrt(permuted.size)
    found = [
        Refutation(
            "permuted outcomes",
            "no difference on average",
            middle,
            expected_by_chance,
            bool(abs(middle) <= _SURE * expected_by_chance + 1e-12),
        ),
        _placebo(log, best, second, material),
        _random_cause(log, best, second, robust.difference, robust.standard_error, reestimate, rng),
        _halves(log, best, second, rng),
    ]
    gap = weighted.difference - robust.difference
    error = root_sum_square(weighted.influence - robust.influence)
    found.append(_difference("weighting against doubly robust", "the same difference", gap, error, material))
    return RefutationFinding(
        weighted.difference,
        weighted.standard_error,
        robust.difference,
        robust.standard_error,
        float(p_value),
        tuple(found),
    )


def _difference(name: str, expects: str, value: float, error: float, material: float = 0.0) -> Refutation:
    """Fails if more than 3.29 standard errors from 0 and large enough to matter."""
    is_far = abs(value) > _SURE * error + 1e-9 * abs(value) + 1e-12
    return Refutation(name, expects, float(value), float(error), not (is_far and abs(value) > material))


def _permuted(log: Log, best: int, second: int, rng: np.random.Generator) -> Floats:
    assert log.propensities is not None
    kept = (log.actions == best) | (log.actions == second)
    w, is_best, y = 1.0 / log.propensities[kept], log.actions[kept] == best, log.outcomes[kept]
    signed = np.where(is_best, w / w[is_best].sum(), -w / w[~is_best].sum())
    return np.array([signed @ rng.permutation(y) for _ in range(_PERMUTATIONS)])


def _placebo(log: Log, best: int, second: int, material: float) -> Refutation:
    """What the contexts alone predict was settled before the action: weighting must leave no difference in it."""
    counts = np.bincount(log.actions, minlength=log.n_actions)
    means = np.bincount(log.actions, log.outcomes, log.n_actions) / np.maximum(counts, 1)
    everybody = np.zeros(len(log), dtype=np.int64)  # one regression, whatever the action
    settled, _ = predict_for(everybody, log.outcomes - means[log.actions], 1, *standardise(log.contexts))
    effect = weighted_effect(log, best, second, settled[:, 0])
    expects = "no difference in what the contexts predict"
    return _difference("placebo outcome", expects, effect.difference, effect.standard_error, material)


def _random_cause(
    log: Log,
    best: int,
    second: int,
    before: float,
    error: float,
    reestimate: Callable[[Floats], Log] | None,
    rng: np.random.Generator,
) -> Refutation:
    more = np.column_stack([log.contexts, rng.standard_normal(len(log))])
    other = log if reestimate is None else reestimate(more)
    change = robust_effect(other, best, second, more).difference - before
    is_still = bool(abs(change) <= _STILL * error + 1e-12)
    return Refutation("random common cause", "no change by a column of noise", change, error, is_still)


def _halves(log: Log, best: int, second: int, rng: np.random.Generator) -> Refutation:
    """Two random halves, dealt so that each has its part of both actions."""
    is_first = np.zeros(len(log), np.bool_)
    for a in range(log.n_actions):
        rows = rng.permutation(np.flatnonzero(log.actions == a))
        is_first[rows[: rows.size // 2]] = True
    parts = [weighted_effect(log.take(part), best, second) for part in (is_first, ~is_first)]
    gap = parts[0].difference - parts[1].difference
    error = float(np.hypot(parts[0].standard_error, parts[1].standard_error))
    return _difference("random halves", "the same difference in both", gap, error)
