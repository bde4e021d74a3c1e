"""Refutations: two questions about the best two actions that have one right answer on any log whose propensities are
true.

A column of noise that is added, or outcomes that are dealt out at random, can upset no log: they are not asked. Each
of the two below fails on one honest log in a thousand or fewer (METHODS.md has the rates that were measured). One
that fails does not say what is wrong, only that the difference is not to be taken at its word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.ridge import predict_for, standardise
from headstart.estimates.weighted import root_sum_square, sum_units
from headstart.judgement.audit.checks.effects import Effect, robust_effect, weighted_effect
from headstart.logs.log import Log

CHANCE = 1e-3  # of a false alarm, of each, over all pairs of actions: the best two are chosen by the same rows
_MATERIAL = 0.25  # of the lead: what is left of bias and smaller matters little
_FEWEST_ROWS = 20  # of each of the two actions in the sample
_FEWEST_WORTH = 50.0  # units of equal influence, below which a standard error says too little


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
    refutations: tuple[Refutation, ...]

    @property
    def failed(self) -> tuple[Refutation, ...]:
        return tuple(refutation for refutation in self.refutations if not refutation.is_passed)


def refute(log: Log, best: int | None, second: int | None) -> RefutationFinding:
    """Try to upset the lead of `best` over `second` on these rows; by units, where the log has them."""
    nothing = float("nan")
    if best is None or second is None or min((log.actions == a).sum() for a in (best, second)) < _FEWEST_ROWS:
        return RefutationFinding(nothing, nothing, nothing, nothing, ())
    weighted, robust = weighted_effect(log, best, second), robust_effect(log, best, second)
    material = _MATERIAL * abs(weighted.difference)
    apart = Effect(weighted.difference - robust.difference, weighted.influence - robust.influence, log.units)
    shown = int((np.bincount(log.actions, minlength=log.n_actions) > 0).sum())
    limits = material, CHANCE / (shown * (shown - 1) / 2.0)
    settled = _placebo(log, best, second)
    found = (
        _judge("placebo outcome", "no difference in what the contexts predict", settled, *limits),
        _judge("weighting against doubly robust", "the same difference", apart, *limits),
    )
    return RefutationFinding(
        weighted.difference, weighted.standard_error, robust.difference, robust.standard_error, found
    )


def _judge(name: str, expects: str, effect: Effect, material: float, chance: float) -> Refutation:
    """Fails if it is large enough to matter, and further from 0 than Student's quantile for the worth of its rows."""
    from headstart.special import stdtrit

    value, error = effect.difference, effect.standard_error
    worth = _worth(effect)
    quantile = float(stdtrit(max(worth - 1.0, 1.0), 1.0 - chance / 2.0))
    is_far = worth >= _FEWEST_WORTH and abs(value) > quantile * error + 1e-9 * abs(value) + 1e-12
    return Refutation(name, expects, float(value), float(error), not (is_far and abs(value) > material))


def _worth(effect: Effect) -> float:
    """Units of equal influence that would be as noisy: (sum of squares)^2 / sum of fourth powers."""
    influence = effect.influence if effect.units is None else sum_units(effect.influence, effect.units)
    squares: Floats = np.square(influence / max(root_sum_square(influence), 1e-300))
    fourth = float(squares @ squares)
    return 1.0 / fourth if np.isfinite(fourth) and fourth > 0.0 else 0.0


def _placebo(log: Log, best: int, second: int) -> Effect:
    """What the contexts alone predict was settled before the action: weighting must leave no difference in it."""
    counts = np.bincount(log.actions, minlength=log.n_actions)
    means = np.bincount(log.actions, log.outcomes, log.n_actions) / np.maximum(counts, 1)
    everybody = np.zeros(len(log), dtype=np.int64)  # one regression, whatever the action
    settled, _ = predict_for(everybody, log.outcomes - means[log.actions], 1, *standardise(log.contexts))
    return weighted_effect(log, best, second, settled[:, 0])
