"""Virtual plays carry the log's variance: an average answered n times does not make an action look noiseless."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.evaluators import BalancedWeighting, DoublyRobust, IPSWeighting
from tests.plain import Plain

LOG = hs.worlds.Synthetic(n_actions=2, n_log=301).draw(np.random.default_rng(6)).log


def _shown(evaluator: type) -> np.ndarray:
    """The weighted variance of each action's outcomes, row by row."""
    if evaluator is BalancedWeighting:
        return np.array([_variance(a, BalancedWeighting(LOG)._rows[2]) for a in range(2)])
    if evaluator is DoublyRobust:
        return DoublyRobust(LOG)._estimate.corrected.scatters
    return np.array([_variance(a, 1.0 / LOG.propensities) for a in range(2)])


def _variance(action: int, weights: np.ndarray) -> float:
    rows = LOG.actions == action
    mean = np.average(LOG.outcomes[rows], weights=weights[rows])
    return float(np.average((LOG.outcomes[rows] - mean) ** 2, weights=weights[rows]))


@pytest.mark.parametrize("schedule", ["batch", "each-round"])
@pytest.mark.parametrize("evaluator", [IPSWeighting, BalancedWeighting, DoublyRobust])
@pytest.mark.parametrize("oracle", [hs.UCBNormal, hs.UCBTuned, hs.ThompsonNormal])
def test_after_virtual_plays_the_oracle_has_the_log_s_mean_and_variance(oracle: type, evaluator: type, schedule: str):
    """However many plays the oracle asked for, odd or even: mean and variance are the evaluator's, to rounding."""
    policy = hs.WarmStart(oracle(2), evaluator(LOG), schedule=schedule, rng=1)
    policy.play(LOG.contexts[0])
    state = policy.oracle.get_state()
    asked = policy.virtual_plays > 0
    assert asked.any()
    np.testing.assert_allclose(state["tally.means"][asked], policy.evaluator.means[asked], rtol=1e-12)
    variances = (state["tally.squares"] / np.maximum(state["tally.counts"], 1))[asked]
    np.testing.assert_allclose(variances, _shown(evaluator)[asked], rtol=1e-9)


def test_the_plain_loop_carries_it_too():
    compiled = hs.WarmStart(hs.UCBNormal(2), IPSWeighting(LOG), rng=1)
    plain = hs.WarmStart(Plain(hs.UCBNormal(2)), Plain(IPSWeighting(LOG)), rng=1)
    for policy in (compiled, plain):
        policy.play(LOG.contexts[0])
    for name, values in compiled.oracle.get_state().items():
        np.testing.assert_array_equal(plain.oracle.get_state()[name], values)


def test_an_evaluator_that_answers_with_rows_has_nothing_to_add():
    """Rows bring their own variance."""
    policy = hs.WarmStart(hs.UCBNormal(2), hs.HistoricalAverage(LOG, rng=1), schedule="batch", rng=1)
    policy.play(LOG.contexts[0])
    state = policy.oracle.get_state()
    expected = [LOG.outcomes[LOG.actions == a].var() for a in range(2)]
    np.testing.assert_allclose(state["tally.squares"] / state["tally.counts"], expected, rtol=1e-9)


def test_oracles_of_means_alone_are_told_what_they_always_were():
    """UCB after a warm start is UCB that was updated with the means."""
    policy = hs.WarmStart(hs.UCB(2), IPSWeighting(LOG), schedule="batch", rng=1)
    policy.play(LOG.contexts[0])
    bare, evaluator = hs.UCB(2), IPSWeighting(LOG)
    for action in range(2):
        while (outcome := evaluator.get_outcome(None, action)) is not None:
            bare.update(None, action, outcome)
    for name, values in bare.get_state().items():
        np.testing.assert_array_equal(policy.oracle.get_state()[name], values)


def test_a_variance_must_not_be_negative():
    with pytest.raises(hs.errors.OptionError, match="variance must be"):
        hs.UCBNormal(2).absorb(None, 0, 1.0, -1.0)
