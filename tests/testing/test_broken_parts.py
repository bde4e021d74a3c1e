"""Small parts with one promise broken each, where only a twin, a saved state or a later call shows it."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import headstart as hs
from headstart.testing import check_evaluator, check_oracle, check_world


class Learner:
    """An oracle that keeps its promises: actions with better outcomes are likelier."""

    n_actions = 3

    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.counts, self.sums = np.ones(3), np.full(3, 0.5)

    def play(self, context=None, available=None):
        return int(self.rng.choice(3, p=self.probabilities(context, available)))

    def probabilities(self, context=None, available=None):
        chances = np.zeros(3)
        chances[slice(None) if available is None else available] = 1.0
        if not chances.any():
            raise ValueError("no action")
        chances *= np.exp(self.sums / self.counts)
        return chances / chances.sum()

    def update(self, context, action, outcome):
        if action not in range(3) or not math.isfinite(outcome):
            raise ValueError
        self.counts[action] += 1
        self.sums[action] += outcome

    def reseed(self, rng):
        self.rng = np.random.default_rng(rng)

    def get_state(self):
        return {"counts": self.counts.copy(), "sums": self.sums.copy(), "rng": self.rng.bit_generator.state}

    def set_state(self, saved):
        self.counts, self.sums = saved["counts"].copy(), saved["sums"].copy()
        self.rng.bit_generator.state = saved["rng"]

    def readings(self):
        return hs.Readings(self.counts.copy(), self.sums / self.counts, *np.full((2, 3), np.nan))


class IsItsOwnCopy(Learner):
    def copy(self):
        return self


class CopySharesArrays(Learner):
    def copy(self):
        twin = type(self)()
        twin.set_state(self.get_state())
        twin.sums = self.sums
        return twin


class GivesItsArraysAway(Learner):
    def get_state(self):
        return {**super().get_state(), "sums": self.sums}


class KeepsWhatItIsGiven(Learner):
    def set_state(self, saved):
        super().set_state(saved)
        self.sums = saved["sums"]


class ForgetsWhenReseeded(Learner):
    def reseed(self, rng):
        super().reseed(rng)
        self.counts, self.sums = np.ones(3), np.full(3, 0.5)


class HoldsALock(Learner):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def __deepcopy__(self, memo):
        twin = type(self)()
        twin.set_state(self.get_state())
        return twin


class LearnsWhenRead(Learner):
    def readings(self):
        self.sums[0] += 1.0
        return super().readings()


class DrawsWhenRead(Learner):
    def readings(self):
        self.rng.random(7)
        return super().readings()


class ReadsTooMuch(Learner):
    def readings(self):
        return hs.Readings(*np.zeros((4, 7)))


class CannotAbsorb(Learner):
    def absorb(self, context, action, outcome, variance):
        raise RuntimeError("not yet")


class RangeUpsideDown(Learner):
    outcome_range = (5.0, 2.0)


class Waits(Learner):
    """Sound: what is in flight is a little less likely, until it is no more."""

    def __init__(self):
        super().__init__()
        self.in_flight = np.zeros(3)

    def probabilities(self, context=None, available=None):
        chances = super().probabilities(context, available) / (1.0 + self.in_flight)
        return chances / chances.sum()

    def expect(self, context, action):
        self.in_flight[action] += 1.0

    def release(self, context, action):
        self.in_flight[action] -= 1.0

    def get_state(self):
        return {**super().get_state(), "in_flight": self.in_flight.copy()}

    def set_state(self, saved):
        super().set_state(saved)
        self.in_flight = saved["in_flight"].copy()


class WaitsForEver(Waits):
    def release(self, context, action):
        return


class TakesAWishForAnOutcome(Waits):
    def expect(self, context, action):
        self.sums[action] += 1.0

    def release(self, context, action):
        self.sums[action] -= 1.0


class ForgetsWhatIsInFlight(Waits):
    def get_state(self):
        return {**super().get_state(), "in_flight": np.zeros(3)}


@pytest.mark.parametrize("sound", [Learner, Waits])
def test_a_sound_oracle_conforms(sound):
    check_oracle(sound)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (IsItsOwnCopy, r"its own copy\(\) is another oracle"),
        (CopySharesArrays, "what a twin lives through changes nothing in the original"),
        (GivesItsArraysAway, "a state from get_state stays as it is"),
        (KeepsWhatItIsGiven, "a state given to set_state stays as it is"),
        (ForgetsWhenReseeded, "reseed changes no chances"),
        (HoldsALock, "a part that can be saved can be pickled, got .*lock"),
        (LearnsWhenRead, "asking for readings changes no chances"),
        (DrawsWhenRead, "asking for readings changes no later play"),
        (ReadsTooMuch, r"readings has counts of shape \(3,\), got \(7,\)"),
        (CannotAbsorb, r"absorb\(.*\) learns an average .* it raised RuntimeError: not yet"),
        (WaitsForEver, "what was expected and is released leaves the chances as they were"),
        (TakesAWishForAnOutcome, "to expect changes nothing of what it reads"),
        (ForgetsWhatIsInFlight, "a saved state keeps what is in flight"),
        (RangeUpsideDown, r"outcome_range is \(smallest, largest\), got \(5.0, 2.0\)"),
    ],
)
def test_a_broken_oracle_is_caught(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_oracle(broken)


class Nine:
    """An evaluator that keeps its promises: nine answers, 1 and 0 in turn."""

    n_actions = 2
    outcome_range = (0.0, 1.0)

    def __init__(self):
        self.left = np.array([9])

    def get_outcome(self, context, action):
        if action not in range(2):
            raise ValueError
        if self.is_exhausted():
            return None
        self.left -= 1
        return float(self.left[0] % 2)

    def is_exhausted(self):
        return bool(self.left[0] == 0)

    def get_state(self):
        return {"left": self.left.copy()}

    def set_state(self, saved):
        self.left = saved["left"].copy()


class SaysItIsExhausted(Nine):
    def get_outcome(self, context, action):
        if action not in range(2):
            raise ValueError
        self.left -= 1
        return 1.0 if self.left[0] >= 0 else None

    def is_exhausted(self):
        return True


class LearnsFromWhatItRejects(Nine):
    def get_outcome(self, context, action):
        if action not in range(2):
            self.left[0] = 0
        return super().get_outcome(context, action)


class EvaluatorGivesItsArraysAway(Nine):
    def get_state(self):
        return {"left": self.left}


class EvaluatorKeepsWhatItIsGiven(Nine):
    def set_state(self, saved):
        self.left = saved["left"]


def test_the_sound_evaluator_conforms():
    check_evaluator(Nine)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (SaysItIsExhausted, "an evaluator that is exhausted never answers again, got 1.0"),
        (LearnsFromWhatItRejects, "a rejected call changes no later answer"),
        (EvaluatorGivesItsArraysAway, "a state from get_state stays as it is"),
        (EvaluatorKeepsWhatItIsGiven, "a state given to set_state stays as it is"),
    ],
)
def test_a_broken_evaluator_is_caught(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_evaluator(broken)


class PlainWorld:
    """A world of one's own without kernels."""

    kernel_state = None

    def __init__(self, rng):
        self.n_actions, self.n_features = 2, 1
        self.rng = np.random.default_rng(rng.integers(2**32))
        self.log = hs.Log(rng.integers(0, 2, 20), rng.random(20), contexts=rng.random((20, 1)))
        self.first = self.rng.bit_generator.state

    def draw_user(self):
        return self.rng.random(1)

    def draw_outcome(self, action):
        if action not in range(2):
            raise ValueError
        return float(self.rng.random())

    def expected_outcomes(self):
        return np.full(2, 0.5)

    def again(self):
        twin = PlainWorld(np.random.default_rng(0))
        twin.log, twin.rng.bit_generator.state = self.log, self.first
        return twin


class PlainSettings:
    def draw(self, rng):
        return PlainWorld(rng)


def test_a_world_without_kernels_is_told_so():
    with pytest.raises(AssertionError, match="kernel_state is a state that implements draw_user, got NoneType"):
        check_world(PlainSettings())
