"""Propensities: estimated by models that never saw the row, trimmed out loud, and known for any context."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headstart as hs
from headstart.errors import ContextError, LogError, OptionError
from headstart.estimates.propensity import OverlapWarning, check_vector
from headstart.estimates.propensity.overlap import warn_of_poor_overlap


def logistic_log(n: int, slope: float, seed: int) -> tuple[hs.Log, np.ndarray]:
    """P(A = 1 | x) = 1 / (1 + exp(-slope x)), x standard normal."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    p = 1 / (1 + np.exp(-slope * x))
    actions = (rng.random(n) < p).astype(int)
    return hs.Log(actions, np.zeros(n), x.reshape(-1, 1), n_actions=2), p


def test_a_known_logistic_policy_is_recovered():
    """Maximum likelihood of (intercept, slope) has covariance I^-1 / n with I = E[p (1 - p) (1, x)(1, x)']; the
    estimated p(x) has standard error p (1 - p) sqrt((1, x) I^-1 (1, x)' / n). Each of five folds learns from 0.8 n
    rows, and its largest error over all x, in such units, squared is chi-square with 2 degrees of freedom: above
    5.68^2 with chance 1e-7, so 5e-7 in all. The ridge of scikit-learn's default shrinks the slope by 1 / (n I), a
    hundredth of a standard error; 0.1 is allowed for it.
    """
    n = 5000
    log, p = logistic_log(n, 1.0, seed=2)
    estimated = hs.estimate_propensities(log)
    x = np.column_stack([np.ones(n), log.contexts[:, 0]])
    information = (x * (p * (1 - p))[:, None]).T @ x / n
    error = p * (1 - p) * np.sqrt(np.einsum("ij,jk,ik->i", x, np.linalg.inv(information), x) / (0.8 * n))
    assert (np.abs(estimated.propensity_matrix[:, 1] - p) < (5.68 + 0.1) * error).all()
    np.testing.assert_array_equal(estimated.propensities, estimated.propensity_matrix[np.arange(n), log.actions])


class Memory(ClassifierMixin, BaseEstimator):
    """Certain of the action of every row it has seen, and of no action elsewhere: 1/2 each."""

    def fit(self, contexts, actions):
        self.classes_ = np.unique(actions)
        self.seen_ = {tuple(row): action for row, action in zip(contexts.tolist(), actions.tolist(), strict=True)}
        return self

    def predict_proba(self, contexts):
        out = np.full((len(contexts), self.classes_.size), 1 / self.classes_.size)
        for i, row in enumerate(contexts.tolist()):
            if tuple(row) in self.seen_:
                out[i] = self.classes_ == self.seen_[tuple(row)]
        return out


def test_no_row_is_predicted_by_a_model_that_saw_it():
    rng = np.random.default_rng(0)
    log = hs.Log(np.arange(40) % 2, np.zeros(40), rng.standard_normal((40, 2)), n_actions=2)
    for n_folds in (2, 5, 40):
        estimated = hs.estimate_propensities(log, Memory(), n_folds=n_folds)
        np.testing.assert_array_equal(estimated.propensity_matrix, np.full((40, 2), 0.5))


def test_trimming_raises_to_the_bound_and_says_how_often():
    """5 of 100 rows took an action estimated at 0.05: they are raised to 0.2 exactly, the rest keep 0.95."""
    log = hs.Log([0] * 95 + [1] * 5, np.zeros(100), np.random.default_rng(1).standard_normal((100, 1)), n_actions=2)
    with pytest.warns(hs.TrimmingWarning, match=r"^5 of 100 propensities were below 0\.2 and were raised to it$"):
        trimmed = hs.estimate_propensities(log, DummyClassifier(), trim=0.2)
    np.testing.assert_array_equal(trimmed.propensities[95:], 0.2)
    np.testing.assert_allclose(trimmed.propensity_matrix.sum(axis=1), 1.0, rtol=1e-12)
    assert (trimmed.propensities[:95] > 0.9).all()


def test_trimming_three_actions_shares_the_rest_as_before():
    """Chances (0.1, 0.6, 0.3) of a row that took action 0, raised to 0.2: the others keep 2 : 1 of 0.8."""

    class Fixed(ClassifierMixin, BaseEstimator):
        def fit(self, contexts, actions):
            self.classes_ = np.unique(actions)
            return self

        def predict_proba(self, contexts):
            return np.tile([0.1, 0.6, 0.3], (len(contexts), 1))

    log = hs.Log([0, 1, 2] * 4, np.zeros(12), np.arange(12.0).reshape(-1, 1), n_actions=3)
    with pytest.warns(hs.TrimmingWarning, match=r"4 of 12 propensities were below 0\.2"):
        trimmed = hs.estimate_propensities(log, Fixed(), trim=0.2)
    np.testing.assert_allclose(trimmed.propensity_matrix[0], [0.2, 0.8 * 2 / 3, 0.8 / 3], rtol=1e-12)
    np.testing.assert_allclose(trimmed.propensity_matrix[1], [0.1, 0.6, 0.3], rtol=1e-12)


def test_nothing_is_trimmed_by_default_and_nothing_warned_of():
    log, _ = logistic_log(200, 2.0, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimated = hs.estimate_propensities(log)
    assert estimated.propensities.min() < 0.2


def test_an_action_the_other_folds_never_show_gets_its_share_and_is_reported():
    """One row of action 1 in ten: its own fold's model has never seen it; 1/10 is what there is to say."""
    log = hs.Log([0] * 9 + [1], np.zeros(10), np.arange(10.0).reshape(-1, 1), n_actions=2)
    with pytest.warns(hs.TrimmingWarning, match="1 of 10 propensities were estimated as 0 and became"):
        estimated = hs.estimate_propensities(log, Memory(), n_folds=5, warn_share=1.0)
    np.testing.assert_allclose(estimated.propensity_matrix[9], [0.9, 0.1], rtol=1e-12)


def test_without_contexts_the_propensity_is_the_action_s_share():
    estimated = hs.estimate_propensities(hs.Log([0, 0, 0, 1], [0.0] * 4, n_actions=3), n_folds=2)
    np.testing.assert_array_equal(estimated.propensity_matrix, [[0.75, 0.25, 0.0]] * 4)


def test_the_folds_come_through_the_door():
    log, _ = logistic_log(60, 1.0, seed=4)
    one, again, other = (hs.estimate_propensities(log, rng=seed).propensities for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_the_default_is_scikit_learns_logistic_regression_fold_by_fold():
    """The reference twin: standardised columns, C = 1, fitted to 1e-12 instead of scikit-learn's 1e-4."""
    rng = np.random.default_rng(11)
    x = rng.standard_normal((300, 3)) * [1.0, 100.0, 0.01] + [5.0, 0.0, 3.0]
    scores = (x - [5.0, 0.0, 3.0]) / [1.0, 100.0, 0.01] @ rng.standard_normal((3, 3))
    log = hs.Log((scores + rng.gumbel(size=scores.shape)).argmax(axis=1), np.zeros(300), x, n_actions=3)
    twin = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-12, max_iter=10_000))
    ours, theirs = (hs.estimate_propensities(log, made, warn_share=1.0) for made in (None, twin))
    np.testing.assert_allclose(ours.propensity_matrix, theirs.propensity_matrix, atol=1e-6)


class Counting(DummyClassifier):
    """Remembers how many rows each fit was given."""

    seen: ClassVar[list[int]] = []

    def fit(self, contexts, actions):
        self.seen.append(len(contexts))
        return super().fit(contexts, actions)


def test_a_classifier_learns_from_a_stated_number_of_rows():
    log, _ = logistic_log(100, 1.0, seed=12)
    for n, expected in ((1000, [80] * 5), (30, [30] * 5)):
        Counting.seen.clear()
        hs.estimate_propensities(log, Counting(), sample_rows=n)
        assert Counting.seen == expected


def test_poor_overlap_is_warned_of_with_numbers():
    """P(A = 1 | x) = 1 / (1 + exp(-8 x)) is below 0.01 for x < -0.574, 28 % of users, and as often above 0.99."""
    log, _ = logistic_log(2000, 8.0, seed=13)
    estimated = hs.estimate_propensities(log, warn_share=1.0).propensity_matrix
    rare, low = ((estimated < limit).mean(axis=0) for limit in (0.01, 0.05))
    worst = int(rare.argmax())
    expected = (
        f"poor overlap: {rare[worst]:.1%} of 2000 users had an estimated chance below 0.01 of action {worst} "
        f"(the worst of 2 such actions), {low[worst]:.1%} one below 0.05, the smallest"
    )
    with pytest.warns(OverlapWarning) as seen:
        hs.estimate_propensities(log)
    assert str(seen[0].message).startswith(expected)
    assert seen[0].filename == __file__


def test_good_overlap_and_many_even_actions_are_not_warned_of():
    """50 actions by lot have a chance of 0.02 each, 300 one of 0.0033: that is what even shares are."""
    warn_of_poor_overlap(np.full((10, 300), 1 / 300), range(300), 0.05)
    warn_of_poor_overlap(np.array([[0.995, 0.005]] + [[0.5, 0.5]] * 99), "ab", 0.05)
    with pytest.warns(OverlapWarning, match=r"6\.0% of 100 users .* below 0\.01 of action 'b', 6\.0% one"):
        warn_of_poor_overlap(np.array([[0.995, 0.005]] * 6 + [[0.5, 0.5]] * 94), "ab", 0.05)


def test_an_action_the_log_never_shows_is_no_poor_overlap():
    warn_of_poor_overlap(np.array([[0.5, 0.5, 0.0]] * 10), "abc", 0.05)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_folds": 1}, r"n_folds must be in 2\.\.20 \(the rows of the log\), got 1"),
        ({"n_folds": 21}, r"n_folds must be in 2\.\.20 \(the rows of the log\), got 21"),
        ({"trim": -0.1}, r"trim must be a finite number in \[0, 1\], got -0\.1"),
        ({"trim": 1.5}, r"trim must be a finite number in \[0, 1\], got 1\.5"),
        ({"warn_share": 2}, r"warn_share must be a finite number in \[0, 1\], got 2"),
        ({"sample_rows": 0}, r"sample_rows must be at least 1, got 0"),
    ],
)
def test_rejects_settings_outside_their_range(settings: dict, text: str):
    log, _ = logistic_log(20, 1.0, seed=5)
    with pytest.raises(OptionError, match=text):
        hs.estimate_propensities(log, **settings)


# --- LogisticPropensity


def test_whole_vectors_of_a_logistic_policy_are_recovered():
    """Soft labels carry no noise: the curve is found, but for the ridge of C = 1000 (relative 1e-3)."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((300, 2))
    scores = np.column_stack([np.zeros(300), x @ [1.0, -0.5], x @ [-0.3, 0.8] + 0.5])
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    actions = np.array([rng.choice(3, p=row) for row in p])
    model = hs.LogisticPropensity(hs.Log(actions, np.zeros(300), x, p, n_actions=3))
    for i in range(0, 300, 17):
        np.testing.assert_allclose(model(x[i]), p[i], atol=1e-3)


def test_two_actions_and_actions_taken_alone():
    """n = 4000: the standard error of p at x = 0 is 1/4 * sqrt(1 / (n E[p (1 - p)])) = 0.009; 5.33 of them, 1e-7."""
    log, p = logistic_log(4000, 1.0, seed=7)
    model = hs.LogisticPropensity(log)
    error = 0.25 / np.sqrt(4000 * np.mean(p * (1 - p)))
    chances = model([0.0])
    assert abs(chances[1] - 0.5) < 5.33 * error
    assert chances.sum() == pytest.approx(1.0, abs=1e-15)
    assert model([3.0])[1] > 0.9 > 0.1 > model([-3.0])[1]


def test_an_action_the_log_never_shows_has_no_chance():
    log, _ = logistic_log(50, 1.0, seed=8)
    wider = hs.Log(log.actions, log.outcomes, log.contexts, n_actions=4)
    chances = hs.LogisticPropensity(wider)([0.3])
    assert chances[2:].tolist() == [0.0, 0.0]
    assert chances.sum() == pytest.approx(1.0, abs=1e-15)


def test_one_action_and_no_contexts():
    np.testing.assert_array_equal(hs.LogisticPropensity(hs.Log([0, 0], [0.0] * 2, [[1.0], [2.0]]))([5.0]), [1.0])
    np.testing.assert_allclose(hs.LogisticPropensity(hs.Log([0, 1, 1, 1], [0.0] * 4))([]), [0.25, 0.75])


def test_a_model_rejects_a_context_of_the_wrong_length_and_can_be_copied():
    log, _ = logistic_log(50, 1.0, seed=9)
    model = hs.LogisticPropensity(log)
    before = model([0.2])
    with pytest.raises(ContextError, match=r"context must be 1 numbers, got shape \(2,\)"):
        model([0.0, 1.0])
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin([0.2]), before)


def test_check_vector():
    np.testing.assert_array_equal(check_vector([0.5, 0.5], 2), [0.5, 0.5])
    for wrong in ([0.5], [0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(LogError, match="a propensity function must return 2 chances that sum to 1, got"):
            check_vector(wrong, 2)
