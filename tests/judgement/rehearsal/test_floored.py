"""A floor under a policy's chances, and the witness beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headstart as hs
from headstart.judgement.rehearsal.floored import Floored
from headstart.judgement.rehearsal.witness import Witness
from headstart.worlds import Linear

WORLD = Linear(levels=[0.0, 0.2, -0.1], slopes=np.zeros((3, 1)), n_log=50)


def test_a_floored_policy_keeps_its_contract_compiled_and_plain():
    hs.testing.check_policy(lambda drawn, log, rng: Floored(hs.UCB(3), 0.1, rng), WORLD)


def test_a_watched_policy_keeps_its_contract_compiled_and_plain():
    hs.testing.check_policy(lambda drawn, log, rng: Witness(hs.UCB(3), np.ones(3), 10, 0.95), WORLD)


def test_the_floor_by_hand():
    """UCB that has not played plays action 0 surely: 0.7 + 0.3 / 3 for it, 0.3 / 3 for the others; over two actions
    that are available 0.3 / 2."""
    policy = Floored(hs.Greedy(3), 0.3, rng=0)
    np.testing.assert_allclose(policy.probabilities(), [0.8, 0.1, 0.1])
    np.testing.assert_allclose(policy.probabilities(available=[0, 2]), [0.85, 0.0, 0.15])


def test_a_floor_is_a_share():
    with pytest.raises(hs.errors.OptionError, match="floor"):
        Floored(hs.Greedy(3), 1.5)


class TestWitness:
    """Two actions, days of 4 outcomes, variances of 1 by the log; 95 % on one side is 1.645 standard errors."""

    @staticmethod
    def watch(outcomes: list[tuple[int, float]]) -> Witness:
        witness = Witness(hs.Greedy(2), np.ones(2), 4, 0.95)
        for action, outcome in outcomes:
            witness.update(None, action, outcome)
        return witness

    def test_nothing_is_known_before_every_action_was_played(self):
        assert self.watch([(0, 5.0)] * 8).day == math.inf

    def test_by_hand(self):
        """2 equal outcomes of each action: the squared error of a mean is (0 + 2 x 1) / (1 + 2) / 2 = 1/3. A
        difference of 1.3 is below 1.645 sqrt(2/3) = 1.343, and one of 1.4 above."""
        assert self.watch([(0, 0.0), (1, 1.3)] * 2).day == math.inf
        found = self.watch([(0, 0.0), (1, 1.4)] * 2)
        assert (found.day, found.winner) == (1.0, 1)

    def test_the_first_day_counts_and_only_the_end_of_a_day(self):
        found = self.watch([(0, 0.0), (1, 9.0)] * 2 + [(0, 9.0)] * 8)
        assert (found.day, found.winner) == (1.0, 1)
        assert self.watch([(0, 0.0), (1, 9.0), (0, 0.0)]).day == math.inf

    def test_false_alarms_are_rare(self):
        """Two equal actions, one look after 200 outcomes: each side wrong with 5 %, 10 % in all; of 400 witnesses 40
        are expected, and more than 40 + 3.1 x 6 = 59 would be chance once in 1,000."""
        rng, wrong = np.random.default_rng(0), 0
        for _ in range(400):
            witness = Witness(hs.Greedy(2), np.ones(2), 200, 0.95)
            for i in range(200):
                witness.update(None, i % 2, rng.standard_normal())
            wrong += math.isfinite(witness.day)
        assert wrong <= 59
