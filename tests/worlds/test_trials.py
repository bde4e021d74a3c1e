"""Trials as worlds: the designs by hand, the truth of the data, and logs that are what they say they are."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from headstart.errors import LogError, MissingExtraError, OptionError
from headstart.evaluators import HistoricalAverage, IPSWeighting
from headstart.experiments.running.catalogue import get_experiment
from headstart.experiments.running.experiment import run_experiment
from headstart.oracles import UCB
from headstart.simulation.simulate import simulate
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import ACIC2016, ACTG175, LaLonde, Trial
from headstart.worlds.installed import installed_file
from tests.plain import Plain

FALSE_ALARM = 1e-6


def hand_trial(**options):
    """Two cells of three rows. Means by cell (row) and action (column): 1, 5 and 4, 2."""
    return Trial(
        actions=[0, 0, 1, 0, 1, 1],
        outcomes=[0.0, 2.0, 5.0, 4.0, 1.0, 3.0],
        contexts=np.arange(6.0).reshape(-1, 1),
        cells=[0, 0, 0, 1, 1, 1],
        **options,
    )


def check_chi_square(counts, chances):
    expected = counts.sum() * chances
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic <= chi2.isf(FALSE_ALARM, counts.size - 1)


def standard_errors(log):
    """Of the weighted means, by the delta method: sqrt(sum w^2 (y - mean)^2) / sum w."""
    weights, means = 1.0 / log.propensities, IPSWeighting(log).means
    squares = np.bincount(log.actions, (weights * (log.outcomes - means[log.actions])) ** 2)
    return np.sqrt(squares) / np.bincount(log.actions, weights)


class TestTrialByHand:
    def test_truth_is_the_cells_means_by_the_cells_shares(self):
        """(1 + 4) / 2 and (5 + 2) / 2."""
        assert hand_trial().means.tolist() == [2.5, 3.5]

    def test_with_one_cell_the_truth_is_the_arms_means(self):
        """(0 + 2 + 4) / 3 and (5 + 1 + 3) / 3."""
        trial = Trial([0, 0, 1, 0, 1, 1], [0.0, 2.0, 5.0, 4.0, 1.0, 3.0])
        assert trial.means.tolist() == [2.0, 3.0]

    def test_keep_probabilities(self):
        """Chance / share of the action in its cell: 0.5 / (2/3) and 0.5 / (1/3) are as 1 to 2."""
        assert hand_trial().keep_probabilities == pytest.approx(np.array([[0.5, 1.0], [1.0, 0.5]]))

    def test_keeping_rows_by_them_makes_the_policy_and_keeps_the_cells_shares(self):
        """Rows of a cell and action x the chance to be kept is, but for a factor, the cell's share x the policy."""
        trial = hand_trial(policy=[[0.9, 0.1], [0.3, 0.7]])
        kept = np.array([[2, 1], [1, 2]]) * trial.keep_probabilities
        assert kept / kept.sum() == pytest.approx(0.5 * trial.policy)

    def test_the_log_has_rows_of_the_trial_only(self):
        log = hand_trial(n_log=50).draw(np.random.default_rng(1)).log
        rows = log.contexts[:, 0].astype(int)
        assert set(rows) == set(range(6))
        assert log.outcomes.tolist() == np.array([0.0, 2.0, 5.0, 4.0, 1.0, 3.0])[rows].tolist()
        assert log.actions.tolist() == np.array([0, 0, 1, 0, 1, 1])[rows].tolist()

    def test_the_log_has_the_propensities_it_was_drawn_with(self):
        """Six kinds of rows with known chances; the chi-square limit is passed by chance once in 10^6."""
        policy = np.array([[0.9, 0.1], [0.3, 0.7]])
        log = hand_trial(policy=policy, n_log=20_000).draw(np.random.default_rng(2)).log
        rows = log.contexts[:, 0].astype(int)
        assert log.propensity_matrix.tolist() == policy[rows // 3].tolist()
        chances = np.array([0.45, 0.45, 0.1, 0.3, 0.35, 0.35]) / 2
        check_chi_square(np.bincount(rows, minlength=6), chances)

    def test_a_user_has_an_outcome_of_their_own_cell_and_action(self):
        world = hand_trial().draw(np.random.default_rng(3))
        allowed = {(0, 0): {0.0, 2.0}, (0, 1): {5.0}, (1, 0): {4.0}, (1, 1): {1.0, 3.0}}
        seen = {key: set() for key in allowed}
        for i in range(200):
            cell, action = int(world.draw_user()[0]) // 3, i % 2
            seen[cell, action].add(world.draw_outcome(action))
        assert seen == allowed

    def test_contextual_truth_is_the_cells(self):
        world = hand_trial(is_contextual=True).draw(np.random.default_rng(4))
        for _ in range(20):
            cell = int(world.draw_user()[0]) // 3
            assert world.expected_outcomes().tolist() == [[1.0, 5.0], [4.0, 2.0]][cell]

    def test_the_compiled_loop_and_the_plain_one_agree(self):
        policies = {
            "compiled": lambda world, log, rng: WarmStart(UCB(2), IPSWeighting(log), rng=rng),
            "plain": lambda world, log, rng: WarmStart(Plain(UCB(2)), Plain(IPSWeighting(log)), rng=rng),
        }
        curves = simulate(hand_trial(n_log=20), policies, rounds=100, runs=5, seed=5)
        assert curves["compiled"].regrets.tolist() == curves["plain"].regrets.tolist()

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"cells": [0, 0, 1, 1, 1, 1]}, "cell 0 has no row of action 1"),
            ({"cells": [0, 1]}, "cells must be one index 0, 1, ... for each of 6 rows"),
            ({"cells": [0.5] * 6}, "cells must be one index"),
            ({"policy": [[0.5, 0.5], [0.5, 0.5]]}, r"policy must be chances of shape \(1, 2\)"),
            ({"policy": [[0.5, 0.6]]}, "policy must have rows that sum to 1"),
            ({"policy": [[1.5, -0.5]]}, "policy must be chances"),
            ({"n_log": 0}, "n_log must be at least 1, got 0"),
        ],
    )
    def test_rejects(self, options, text):
        with pytest.raises(OptionError, match=text):
            Trial([0, 0, 1, 0, 1, 1], np.arange(6.0), **options)


class TestACTG175:
    def test_the_trial_is_the_published_one(self):
        """Hammer et al. 1996: 532, 522, 524 and 561 patients; combination with didanosine has the most CD4 cells."""
        trial = ACTG175().trial
        assert trial._state.counts.sum(axis=0).tolist() == [532, 522, 524, 561]
        assert trial.n_features == 15
        assert int(trial.means.argmax()) == 1
        assert int(trial.means.argmin()) == 0

    def test_the_truth_is_the_arms_mean_but_for_the_lots_imbalance(self):
        """Raw means of cd420 by arm: 336.139, 403.172, 372.038, 374.324 cells; s.e. of a mean about 6 cells."""
        raw = np.array([336.139098, 403.172414, 372.038168, 374.324421])
        assert 350 + 300 * ACTG175().trial.means == pytest.approx(raw, abs=6.0)

    def test_the_logs_raw_averages_rank_the_worst_therapy_first(self):
        log = ACTG175(n_log=50_000).draw(np.random.default_rng(1)).log
        averages = np.bincount(log.actions, log.outcomes) / np.bincount(log.actions)
        assert int(averages.argmax()) == 0

    def test_weighting_by_the_logs_propensities_recovers_the_truth(self):
        """Four means within 5.5 standard errors: a false alarm once in 10^7."""
        world = ACTG175(n_log=50_000)
        log = world.draw(np.random.default_rng(2)).log
        assert (np.abs(IPSWeighting(log).means - world.trial.means) < 5.5 * standard_errors(log)).all()

    def test_the_log_has_the_propensities_it_was_drawn_with(self):
        """Actions given the quarter of the first CD4 count; four chi-squares of 3 degrees of freedom."""
        log = ACTG175(n_log=20_000).draw(np.random.default_rng(3)).log
        for chances in np.unique(log.propensity_matrix, axis=0):
            rows = (log.propensity_matrix == chances).all(axis=1)
            check_chi_square(np.bincount(log.actions[rows], minlength=4), chances)


class TestLaLonde:
    def test_the_experiment_is_dehejia_and_wahbas(self):
        """185 trained and 260 not; training was worth 1,794 dollars (4,554.8 became 6,349.1)."""
        trial = LaLonde().trial
        assert trial._state.counts.tolist() == [[260, 185]]
        assert 10_000 * trial.means == pytest.approx([4554.8, 6349.1], abs=0.1)
        assert 10_000 * (trial.means[1] - trial.means[0]) == pytest.approx(1794.3, abs=0.1)

    def test_the_logs_untrained_are_another_population(self):
        """Earnings of 1974: 14,017 dollars in the survey, 2,107 among the experiment's people, s.e. 5,000 / 100."""
        world = LaLonde(n_controls=20_000).draw(np.random.default_rng(1))
        earned = world.log.context_names.index("re74")
        logged = world.log.contexts[world.log.actions == 0, earned]
        assert logged.mean() == pytest.approx(14_017, abs=5.5 * logged.std() / np.sqrt(logged.size))
        users = np.array([world.draw_user()[earned] for _ in range(2000)])
        assert users.mean() == pytest.approx(2102, abs=5.5 * users.std() / np.sqrt(users.size))

    def test_the_raw_log_says_that_training_hurts(self):
        """14,847 dollars in the survey against 6,349 after training."""
        log = LaLonde().draw(np.random.default_rng(2)).log
        averages = np.bincount(log.actions, log.outcomes) / np.bincount(log.actions)
        assert averages[0] > averages[1] + 0.5
        assert np.bincount(log.actions).tolist() == [2000, 185]
        assert not log.has_propensities

    def test_rejects(self):
        with pytest.raises(OptionError, match="n_controls must be at least 1, got 0"):
            LaLonde(n_controls=0)


class TestACIC2016:
    def test_the_truth_is_the_columns_means(self):
        """Instance 1: treatment is worth 2.151 on average over its 4,802 rows, in units of 10."""
        world = ACIC2016(instance=1).draw(np.random.default_rng(1))
        state = world.kernel_state
        assert state.outcomes.shape == (4802, 2)
        assert world.expected_outcomes().tolist() == state.outcomes.mean(axis=0).tolist()
        assert 10 * np.diff(world.expected_outcomes())[0] == pytest.approx(2.151, abs=5e-4)

    def test_a_logged_row_has_the_outcome_of_its_own_treatment(self):
        world = ACIC2016(instance=2, n_log=50).draw(np.random.default_rng(2))
        state = world.kernel_state
        for context, action, outcome in zip(world.log.contexts, world.log.actions, world.log.outcomes, strict=True):
            same = (state.contexts == context).all(axis=1)
            assert outcome in state.outcomes[same, action]
        assert not world.log.has_propensities

    def test_each_run_draws_an_instance(self):
        gaps = {float(np.diff(ACIC2016().draw(np.random.default_rng(i)).kernel_state.means)[0]) for i in range(40)}
        assert 2 <= len(gaps) <= 10

    @pytest.mark.parametrize("instance", [0, 11])
    def test_rejects(self, instance):
        with pytest.raises(OptionError, match=rf"instance must be in 1\.\.10, got {instance}"):
            ACIC2016(instance=instance)
        with pytest.raises(OptionError, match="n_log must be at least 1"):
            ACIC2016(n_log=0)


class TestInstalledData:
    def test_a_missing_package_says_how_to_get_it(self):
        text = r"no_such_trial is not installed: pip install 'headstart\[trials\]'"
        with pytest.raises(MissingExtraError, match=text):
            installed_file("no_such_trial", "data.csv")

    def test_a_package_without_the_file_says_so(self):
        with pytest.raises(LogError, match=r"numpy is installed but does not hold data\.csv"):
            installed_file("numpy", "data.csv")


class TestExperiment:
    def test_each_row_says_its_world_oracle_and_evaluator(self):
        cases = get_experiment("trials").cases()
        for case in cases:
            assert {"world", "oracle"} <= set(case.setting)
            has_log = "evaluator" in case.setting or case.setting["oracle"] == "start"
            assert has_log != ("only online" in case.policies)
        assert {case.setting["world"] for case in cases} == {"actg175", "lalonde", "acic2016", "digits"}
        assert len({(*case.policies, *case.setting.items()) for case in cases}) == len(cases)

    def test_the_number_of_jobs_changes_nothing(self):
        """With estimated propensities and a fitted regression, whose bits depend on the number of threads."""
        whole = get_experiment("trials")
        chosen = [
            case
            for case in whole.cases()
            if dict(case.setting) == {"world": "lalonde", "oracle": "Thompson", "evaluator": "doubly robust"}
        ]
        assert len(chosen) == 1
        experiment = replace(whole, cases=lambda: chosen)
        first, second = (
            [r.curve.regrets.tolist() for r in run_experiment(experiment, runs=4, seed=1, n_jobs=jobs)]
            for jobs in (1, 2)
        )
        assert first == second

    def test_a_confounded_log_taken_raw_hurts_and_weighted_helps(self):
        """ACTG 175, 40 runs of the same patients; the margins are 4 standard errors."""
        policies = {
            "cold": lambda world, log, rng: UCB(4),
            "weighted": lambda world, log, rng: WarmStart(UCB(4), IPSWeighting(log), rng=rng),
            "raw": lambda world, log, rng: WarmStart(UCB(4), HistoricalAverage(log, rng=rng), rng=rng),
        }
        curves = simulate(ACTG175(n_log=1000), policies, rounds=2000, runs=40, seed=1)
        assert curves["weighted"].mean + 4 * curves["weighted"].se < curves["cold"].mean
        assert curves["raw"].mean - 4 * curves["raw"].se > curves["cold"].mean
