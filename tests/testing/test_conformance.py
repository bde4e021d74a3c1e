"""The conformance suite passes every built-in part and catches parts that break their contract."""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import headstart as hs
from headstart import relatives
from headstart.estimates.summary import Summary
from headstart.evaluators.linear_model import linear_sums
from headstart.testing import check_evaluator, check_oracle

LOG = hs.worlds.Synthetic(n_actions=3, n_log=60).draw(np.random.default_rng(3)).log
SUMMARY = Summary(np.array([0.2, 0.5, 0.4]), np.array([0.1, 0.1, 0.2]), np.full(3, 0.25))
PARTIAL = Summary(np.array([0.2, np.nan, np.nan]), np.array([0.1, np.inf, np.inf]), np.array([0.25, np.nan, np.nan]))

ORACLES = {
    "UCB": lambda: hs.UCB(3),
    "ABTest": lambda: hs.ABTest(3, rng=1),
    "ABTest that ends": lambda: hs.ABTest(3, test_rounds=5, rng=1),
    "Greedy": lambda: hs.Greedy(3),
    "EpsilonGreedy": lambda: hs.EpsilonGreedy(3, epsilon=0.2, rng=1),
    "EpsilonGreedy decreasing": lambda: hs.EpsilonGreedy(3, decay=3.0, rng=1),
    "Exp3": lambda: hs.Exp3(3, rng=1),
    "ThompsonGaussian": lambda: hs.ThompsonGaussian(3, rng=1),
    "ThompsonBeta": lambda: hs.ThompsonBeta(3, rng=1),
    "ThompsonNormal": lambda: hs.ThompsonNormal(3, rng=1),
    "RobustThompson": lambda: hs.RobustThompson(3, SUMMARY, rng=1),
    "RobustThompson that trusts blindly": lambda: hs.RobustThompson(3, SUMMARY, trust=1.0, rng=1),
    "RobustThompson that knows one action": lambda: hs.RobustThompson(3, PARTIAL, trust=[0.9, 0.5, 0.5], rng=1),
    "KnowledgeGradient": lambda: hs.KnowledgeGradient(3, SUMMARY, rng=1),
    "KnowledgeGradient that knows one action": lambda: hs.KnowledgeGradient(3, PARTIAL, trust=0.5, rng=1),
    "LinKnowledgeGradient": lambda: hs.LinKnowledgeGradient.from_rows(
        np.column_stack([np.ones(len(LOG)), LOG.contexts[:, 1:]]), LOG.actions, LOG.outcomes, 3, rng=1
    ),
    "UCBTuned": lambda: hs.UCBTuned(3),
    "UCBNormal": lambda: hs.UCBNormal(3),
    "KLUCB": lambda: hs.KLUCB(3),
    "MinUCB": lambda: hs.MinUCB(3, SUMMARY, bias_bound=0.1, forced=1.0, half_life=100.0),
    "MinUCB of observed variances": lambda: hs.MinUCB(3, PARTIAL, follows_variance=True),
    "MinLinUCB": lambda: hs.MinLinUCB(3, 6, *linear_sums(LOG, hs.features.disjoint(3, 6)), bias_bound=0.1),
    "DiscountedUCB": lambda: hs.DiscountedUCB(3, half_life=10.0),
    "SlidingWindowUCB": lambda: hs.SlidingWindowUCB(3, window=10),
    "DiscountedThompson": lambda: hs.DiscountedThompson(3, half_life=10.0, rng=1),
    "Guarded": lambda: hs.Guarded(hs.WarmStart(hs.ThompsonGaussian(3, rng=1), hs.IPSWeighting(LOG), rng=1)),
    "Guarded that begins again": lambda: hs.Guarded(hs.WarmStart(hs.ABTest(3, rng=1), hs.IPSWeighting(LOG), rng=1)),
    "artificial replay": lambda: relatives.artificial_replay(hs.UCB(3), LOG, rng=1),
    "historical UCB": lambda: relatives.historical_ucb(LOG, rng=1),
    "estimate, then commit": lambda: relatives.EstimateThenCommit(SUMMARY),
    "ARRoWCB": lambda: relatives.ARRoWCB(LOG, rng=1),
    "StochasticDelayedBandit": lambda: hs.StochasticDelayedBandit(hs.UCB(3)),
    "StochasticDelayedBandit random": lambda: hs.StochasticDelayedBandit(
        hs.ThompsonBeta(3, rng=1), hs.ABTest(3, rng=2)
    ),
    "WarmStart": lambda: hs.WarmStart(hs.ThompsonBeta(3, rng=1), hs.NoLog(), rng=1),
    "WarmStart from a log": lambda: hs.WarmStart(hs.ThompsonGaussian(3, rng=1), hs.IPSWeighting(LOG), rng=1),
    "one action": lambda: hs.UCB(1),
}

EVALUATORS = {
    "NoLog": hs.NoLog,
    "ExactMatching": lambda: hs.ExactMatching(LOG, rng=1),
    "PropensityMatching": lambda: hs.PropensityMatching(LOG, rng=1),
    "PropensityMatching by function": lambda: hs.PropensityMatching(
        LOG, propensity=lambda context: np.full(3, 1 / 3), rng=1
    ),
    "IPSWeighting": lambda: hs.IPSWeighting(LOG),
    "HistoricalAverage": lambda: hs.HistoricalAverage(LOG, rng=1),
    "OutcomeModel": lambda: hs.OutcomeModel(LOG),
    "OutcomeModel of trees": lambda: hs.OutcomeModel(LOG, DecisionTreeRegressor(random_state=0)),
    "OutcomeModel of xgboost": lambda: hs.OutcomeModel.boosted(LOG),
    "BalancedWeighting": lambda: hs.BalancedWeighting(LOG),
    "DoublyRobust": lambda: hs.DoublyRobust(LOG),
}


@pytest.mark.parametrize("name", ORACLES)
def test_built_in_oracle_conforms(name):
    check_oracle(ORACLES[name])


@pytest.mark.parametrize("name", EVALUATORS)
def test_built_in_evaluator_conforms(name):
    check_evaluator(EVALUATORS[name])


class Coin:
    """A small oracle that keeps its promises, to be broken one at a time."""

    n_actions = 2

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def play(self, context=None, available=None):
        return int(self.rng.choice(2, p=self.probabilities(context, available)))

    def update(self, context, action, outcome):
        if action not in (0, 1) or not math.isfinite(outcome):
            raise ValueError

    def probabilities(self, context=None, available=None):
        chances = np.zeros(2)
        chances[slice(None) if available is None else available] = 1.0
        return chances / self._check(chances.sum())

    def _check(self, total):
        if total == 0:
            raise ValueError("no action")
        return total


class SumsToTwo(Coin):
    def probabilities(self, context=None, available=None):
        return 2 * super().probabilities(context, available)

    def play(self, context=None, available=None):
        return 0


class LyingCoin(Coin):
    def play(self, context=None, available=None):
        chances = Coin.probabilities(self, context, available)
        return int(np.argmax(chances)) if self.rng.random() < 0.8 else int(self.rng.choice(2, p=chances))


class IgnoresAvailable(Coin):
    def play(self, context=None, available=None):
        return super().play(context)


class SwallowsNaN(Coin):
    def update(self, context, action, outcome):
        if action not in (0, 1):
            raise ValueError


class ForgetsHowToCopy(Coin):
    def __deepcopy__(self, memo):
        twin = type(self)()
        twin.rng = np.random.default_rng()
        return twin


def test_a_users_plain_oracle_conforms():
    check_oracle(Coin())


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (SumsToTwo, "probabilities sum to 1"),
        (LyingCoin, "play follows probabilities"),
        (IgnoresAvailable, "the only available action is played"),
        (SwallowsNaN, "an outcome of NaN is rejected"),
        (ForgetsHowToCopy, "a copy has the same future"),
    ],
)
def test_a_broken_oracle_is_caught(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_oracle(broken())


class Endless:
    def get_outcome(self, context, action):
        return 1.0


class AnswersNaN:
    def get_outcome(self, context, action):
        return math.nan


def test_an_evaluator_that_never_ends_is_caught():
    with pytest.raises(AssertionError, match="answers come to an end"):
        check_evaluator(Endless(), max_calls=100)


def test_an_evaluator_that_answers_nan_is_caught():
    with pytest.raises(AssertionError, match="finite float or None, got nan"):
        check_evaluator(AnswersNaN())


def test_the_suite_returns_what_it_was_given_untouched():
    oracle = hs.UCB(2)
    assert check_oracle(oracle) is oracle
    assert oracle.readings().counts.sum() == 0
