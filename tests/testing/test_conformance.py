"""The conformance suite passes every built-in part and catches parts that break their contract."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.testing import check_evaluator, check_oracle, check_policy, check_world
from tests import catalogue

LOG = catalogue.LOG


@pytest.mark.parametrize("kind", ["ORACLES", "EVALUATORS", "WORLDS"])
def test_every_built_in_part_has_an_example(kind: str):
    """A new part that asks for more than the usual needs an example in tests/catalogue.py."""
    missing = set(getattr(catalogue, f"BUILT_IN_{kind}")) - set(getattr(catalogue, kind))
    assert not missing, f"give an example in tests/catalogue.py of {', '.join(sorted(missing))}"


@pytest.mark.parametrize("room", ["oracles", "evaluators"])
def test_every_built_in_part_is_exported(room: str):
    found = set(getattr(catalogue, f"BUILT_IN_{room.upper()}"))
    assert found <= set(getattr(hs, room).__all__), f"headstart/{room}/__init__.py exports every part"
    assert found <= set(hs.__all__), "headstart/__init__.py exports every part"


@pytest.mark.parametrize("name", catalogue.ORACLES)
def test_built_in_oracle_conforms(name: str):
    pickle.dumps(check_oracle(lambda: catalogue.ORACLES[name](1)))


@pytest.mark.parametrize("name", catalogue.POLICIES)
def test_built_in_policy_is_an_oracle(name: str):
    pickle.dumps(check_oracle(lambda: catalogue.POLICIES[name](1)))


@pytest.mark.parametrize("name", catalogue.EVALUATORS)
def test_built_in_evaluator_conforms(name: str):
    check_evaluator(lambda: catalogue.EVALUATORS[name](1))


@pytest.mark.parametrize("name", catalogue.WORLDS)
def test_built_in_world_conforms(name: str):
    check_world(catalogue.WORLDS[name])


def test_policies_conform_in_a_world():
    world = hs.worlds.Synthetic(n_actions=2, n_log=40)
    thompson = hs.ThompsonNormal
    check_policy(lambda drawn, log, rng: hs.WarmStart(thompson(2, rng=rng), hs.IPSWeighting(log), rng=rng), world)
    check_policy(lambda drawn, log, rng: hs.start(log, decide_on=range(4), rng=rng), world)


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


class CannotBeReseeded(Coin):
    def reseed(self, rng):
        self.rgn = np.random.default_rng(rng)


class SavesNoRandomness(Coin):
    def reseed(self, rng):
        self.rng = np.random.default_rng(rng)

    def get_state(self):
        return {}

    def set_state(self, saved):
        pass


class DrawsWhenAsked(Coin):
    def probabilities(self, context=None, available=None):
        self.rng.random()
        return super().probabilities(context, available)

    def play(self, context=None, available=None):
        return int(self.rng.choice(2, p=Coin.probabilities(self, context, available)))


class LosesItselfInPickle(Coin):
    def __getstate__(self):
        return {}

    def __setstate__(self, saved):
        self.rng = np.random.default_rng(5)

    def __deepcopy__(self, memo):
        twin = type(self)()
        twin.rng.bit_generator.state = self.rng.bit_generator.state
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
        (CannotBeReseeded, "reseeded with another seed, a randomised oracle plays otherwise"),
        (SavesNoRandomness, "one restored by set_state has the same future"),
        (DrawsWhenAsked, "asking for probabilities changes no later play"),
        (LosesItselfInPickle, "a pickled one has the same future"),
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


class Nearest:
    """An evaluator of one's own: the outcome of the nearest unused row of the action. It looks at contexts."""

    def __init__(self, log):
        self._contexts, self._actions, self._outcomes = log.contexts, log.actions, log.outcomes
        self._is_used = np.zeros(len(log), dtype=bool)

    def get_outcome(self, context, action):
        rows = np.flatnonzero((self._actions == action) & ~self._is_used)
        if not rows.size:
            return None
        row = rows[((self._contexts[rows] - context) ** 2).sum(axis=1).argmin()]
        self._is_used[row] = True
        return float(self._outcomes[row])


class NearestWithItsLog(Nearest):
    def __init__(self, log):
        super().__init__(log)
        self.log = log


def test_an_evaluator_of_ones_own_that_looks_at_contexts_works():
    check_evaluator(NearestWithItsLog(LOG))
    policy = hs.WarmStart(hs.UCB(3), NearestWithItsLog(LOG), rng=0)
    policy.play(LOG.contexts[0])
    assert policy.virtual_plays.sum() > 0
    given = hs.WarmStart(hs.UCB(3), Nearest(LOG), contexts=LOG.contexts, rng=0)
    given.play(None)
    assert given.virtual_plays.sum() > 0


def test_an_evaluator_of_ones_own_is_told_what_it_lacks():
    with pytest.raises(AssertionError, match=r"asked about None, .* it raised TypeError: .* offers `contexts`"):
        check_evaluator(Nearest(LOG))
    check_evaluator(Nearest(LOG), contexts=LOG.contexts)
    with pytest.raises(OptionError, match=r"Nearest raised ValueError when asked about a context without columns"):
        hs.WarmStart(hs.UCB(3), Nearest(LOG), rng=0).play(None)


def test_the_suite_returns_what_it_was_given_untouched():
    oracle = hs.UCB(2)
    assert check_oracle(oracle) is oracle
    assert oracle.readings().counts.sum() == 0
