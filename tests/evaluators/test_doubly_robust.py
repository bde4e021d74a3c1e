"""DoublyRobust: the means by hand and against slow twins, and errors that cover."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import headstart as hs
from headstart.errors import OptionError
from headstart.estimates.shares import calibrate, cut, move_beyond_chance


def drain(evaluator, context, action) -> list[float]:
    answers = []
    while (outcome := evaluator.get_outcome(context, action)) is not None:
        answers.append(outcome)
    return answers


# --- the mean and its error


def test_without_contexts_by_hand():
    """Four rows of one action, p = 1: the mean is 2.5. Leaving itself out, a row is predicted by the mean of the
    others, so the residuals are 4/3 (y - 2.5) = (-2, -2/3, 2/3, 2), with shares 1/4. Pulls: residual / 4 / (1 - 1/4)
    = r / 3, squares together (4 + 4/9 + 4/9 + 4) / 9 = 80/81. The pooled variance of the residuals is 80/9/3 =
    80/27, of which sum of shares^2 = 1/4: 20/27. As 2 rows more: noise = (4 * 80/81 + 2 * 20/27) / 6 = (320 + 120) /
    486 = 220/243. The predictions vary too, against their rows: (m - 2.5) / 4 = -r / 16, so squares 80/9/256 = 5/144
    and twice the product with the pulls 2 * (-80/9 / 48) = -10/27; their sum is negative, and taken for 0.
    """
    evaluator = hs.DoublyRobust(hs.Log([0] * 4, [1.0, 2.0, 3.0, 4.0], propensities=[1.0] * 4))
    np.testing.assert_allclose(evaluator.means, [2.5])
    np.testing.assert_allclose(evaluator.standard_errors, [np.sqrt(220 / 243)])
    # The variance as observed is 5/4: worth 1.25 / (220/243) = 1.38 plays, one answer.
    np.testing.assert_allclose(evaluator.effective_sizes, [1.25 * 243 / 220])
    assert drain(evaluator, None, 0) == [2.5]


def test_it_is_the_regression_plus_weighted_residuals():
    """Against loops: the other folds' least squares, averaged, plus the weighted residuals of the action's rows."""
    drawn = hs.worlds.Synthetic(n_actions=2, n_log=60).draw(np.random.default_rng(3)).log
    noise = np.random.default_rng(4).standard_normal(60)  # without it every fold's model is the truth
    log = hs.Log(drawn.actions, drawn.outcomes + noise, drawn.contexts, drawn.propensities, n_actions=2)
    evaluator = hs.DoublyRobust(log, LinearRegression(), n_folds=3, rng=8)
    folds = np.random.default_rng(8).permutation(np.arange(60) % 3)
    standard = (log.contexts - log.contexts.mean(axis=0)) / log.contexts.std(axis=0)
    for a in range(2):
        predicted, weighted, total = [], [], 0.0
        share = np.array([1 / log.propensities[i] if log.actions[i] == a else 0.0 for i in range(60)])
        mine = log.actions == a
        share[mine] = cut(share[mine] / share.sum(), 1 / np.sqrt(mine.sum()))
        share[mine] = calibrate(share[mine], standard[mine], np.zeros(4))
        for i in range(60):
            train = [j for j in range(60) if folds[j] != folds[i] and log.actions[j] == a]
            m = LinearRegression().fit(log.contexts[train], log.outcomes[train]).predict(log.contexts[[i]])[0]
            predicted.append(m)
            weighted.append(share[i] * (log.outcomes[i] - m))
            total += share[i]
        assert total == pytest.approx(1.0)
        assert evaluator.means[a] == pytest.approx(np.mean(predicted) + np.sum(weighted), rel=1e-9)


def test_the_error_says_that_weights_were_cut():
    log = hs.Log([0] * 16, np.r_[100.0, np.zeros(15)], propensities=np.r_[1e-4, np.ones(15)])
    summary = hs.DoublyRobust(log).summary()
    assert 20 < summary.means[0] < 35
    assert summary.means[0] + 1.96 * summary.standard_errors[0] > 100


def test_what_calibration_moved_by_chance_is_no_error():
    """Contexts that have nothing to do with outcomes: calibration moves the means by chance alone, which 400 logs
    would see as errors that are too wide. Two right answers differ by sums of squares s, so what is left of the
    square is 0 in the mean but for what is cut off below: E max(z^2 - 1, 0) = 0.48 of s."""
    rng, left, chance = np.random.default_rng(1), 0.0, 0.0
    for _ in range(400):
        terms = rng.standard_normal(200)
        left += float(move_beyond_chance(np.zeros(200, dtype=np.int64), terms, 1, None)[0]) ** 2
        chance += float(terms @ terms)
    assert left / chance == pytest.approx(0.48, abs=4 * 1.3 / np.sqrt(400))
    np.testing.assert_allclose(
        move_beyond_chance(np.array([0, 1, 1]), np.array([3.0, 0.0, -2.0]), 3, None), [3, 2, 0]
    )


def test_three_equal_outcomes_do_not_make_an_action_noiseless():
    rng = np.random.default_rng(0)
    actions = np.r_[np.zeros(3, int), np.ones(60, int)]
    outcomes = np.r_[np.zeros(3), rng.integers(0, 2, 60)]
    summary = hs.DoublyRobust(hs.Log(actions, outcomes, propensities=np.full(63, 0.5))).summary()
    assert summary.standard_errors[0] > 0.2
    assert summary.variances[0] > 0.05
    assert summary.effective_sizes[0] < 3


def test_equal_outcomes_are_worth_their_rows():
    evaluator = hs.DoublyRobust(hs.Log([0, 0, 1], [1.0, 1.0, 0.0], propensities=[0.5, 0.25, 0.5]))
    np.testing.assert_array_equal(evaluator.effective_sizes, [2.0, 1.0])


def test_one_row_and_an_action_never_shown():
    evaluator = hs.DoublyRobust(hs.Log([1], [3.0], [[1.0]], propensities=[0.5], n_actions=2))
    np.testing.assert_array_equal(evaluator.means, [np.nan, 3.0])
    assert drain(evaluator, None, 0) == []
    assert drain(evaluator, None, 1) == [3.0]
    assert np.isinf(evaluator.summary().standard_errors[0])
    assert evaluator.summary().effective_sizes[0] == 0.0


def test_more_columns_than_rows():
    rng = np.random.default_rng(2)
    log = hs.Log(np.arange(20) % 2, rng.standard_normal(20), rng.standard_normal((20, 50)), np.full(20, 0.5))
    summary = hs.DoublyRobust(log).summary()
    assert np.isfinite(summary.means).all()
    assert (summary.standard_errors > 0).all()


def test_one_fold_is_rejected():
    with pytest.raises(OptionError, match="n_folds must be at least 2, got 1"):
        hs.DoublyRobust(hs.Log([0], [1.0], propensities=[1.0]), n_folds=1)


# --- coverage


def draw_log(rng: np.random.Generator, kind: str, n: int = 300, k: int = 5, d: int = 10) -> tuple[hs.Log, np.ndarray]:
    """A log confounded by what moves the outcome: the largest of its weights is around 60. And the true means."""
    fixed = np.random.default_rng(0)
    slopes = fixed.standard_normal((k, d))
    slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
    pull = 1.7 / np.sqrt(d) * fixed.standard_normal((k, d)) + slopes
    contexts = rng.uniform(-1, 1, (n, d))
    scores = contexts @ pull.T
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    actions = (rng.random((n, 1)) >= np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    signal = 1.7 * (contexts @ slopes.T)[np.arange(n), actions]
    if kind == "binary":
        outcomes = (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(float)
        truth = np.full(k, 0.5)  # by symmetry
    else:
        noise = rng.standard_normal(n) if kind == "normal" else rng.exponential(1, n) - 1
        outcomes, truth = signal + 0.2 * actions + noise, 0.2 * np.arange(k)
    return hs.Log(actions, outcomes, contexts, chances, n_actions=k), truth


def coverage(kind: str, n_logs: int, *, is_estimated: bool = False) -> float:
    rng, held = np.random.default_rng(7), 0
    for _ in range(n_logs):
        log, truth = draw_log(rng, kind)
        if is_estimated:
            bare = hs.Log(log.actions, log.outcomes, log.contexts, n_actions=log.n_actions)
            log = hs.estimate_propensities(bare, warn_share=1.0)
        summary = hs.DoublyRobust(log).summary()
        held += (np.abs(summary.means - truth) < 1.959964 * summary.standard_errors).sum()
    return held / (5 * n_logs)


@pytest.mark.parametrize("kind", ["normal", "skewed", "binary"])
def test_intervals_cover(kind: str):
    """95 % intervals hold 93 to 97 % of the time at N = 300, K = 5 (`python -m benchmarks.coverage`: 2,000 logs);
    here 200.

    The five means of a log are not independent; if they were one, 200 trials of 0.95 have a standard error of 0.0154
    and 4.4 of them are 0.068 (one false alarm in 100,000).
    """
    assert 0.93 - 0.068 < coverage(kind, 200) <= 1.0


def test_intervals_by_hand():
    """Four rows of one action, p = 1, 0/1 outcomes: mean 1/2. Wilson's interval of the size that the mean is worth,
    at most four: centre 1/2. An action never shown could be anything."""
    evaluator = hs.DoublyRobust(hs.Log([0] * 4, [0.0, 1.0, 0.0, 1.0], propensities=[1.0] * 4, n_actions=2))
    low, high = evaluator.intervals()
    n = 0.25 / max(evaluator.standard_errors[0] ** 2, 0.25 / 4.0)
    q = 1.959964**2 / n
    half = np.sqrt(q / 4.0 + q * q / 4.0) / (1.0 + q)
    np.testing.assert_allclose([low[0], high[0]], [0.5 - half, 0.5 + half], rtol=1e-6)
    assert (low[1], high[1]) == (-np.inf, np.inf)
    narrow = evaluator.intervals(0.5)
    assert low[0] < narrow[0][0] < narrow[1][0] < high[0]
    with pytest.raises(OptionError, match="level"):
        evaluator.intervals(1.5)


@pytest.mark.parametrize("kind", ["1 % success", "revenue"])
def test_intervals_cover_where_the_standard_error_does_not(kind: str):
    """K = 5, N = 1,000 (`python -m benchmarks.coverage --robust`: 0.95 to 0.98); 80 logs. Were a log's five actions
    one, 80 trials of 0.95 have a standard error of 0.024, and 4 of them are 0.1."""
    from benchmarks.robust_logs import CHOOSING, draw_log, true_means

    truth, held = true_means(kind, CHOOSING, 5), []
    for i in range(80):
        low, high = hs.DoublyRobust(draw_log(np.random.default_rng([8, i]), kind, CHOOSING, 5, 1000)).intervals()
        held.append((low <= truth) & (truth <= high))
    assert np.mean(held) > 0.95 - 0.1


# --- tables


class Table:
    """A log behind the door of a table: sums and samples, no rows."""

    def __init__(self, log: hs.Log) -> None:
        self._log = log
        self.n_actions, self.n_features, self.encoding = log.n_actions, log.n_features, log.encoding
        self.action_names = log.action_names
        self.has_propensities = True
        self.outcome_range = float(log.outcomes.min()), float(log.outcomes.max())

    def __len__(self) -> int:
        return len(self._log)

    def __getattr__(self, name: str):
        if name in ("action_sums", "context_sums", "sample"):
            return getattr(self._log, name)
        raise AttributeError(name)


def test_a_table_s_means_are_those_of_all_its_rows(monkeypatch: pytest.MonkeyPatch):
    """The sample gives lines and errors; the means are corrected by all rows. 20,000 rows, 4,000 of them looked at,
    with propensities from 0.2 to 0.8: errors are known to 1 / sqrt(2 x 2,000) = 1.6 %, 5 of that; and with lines of
    noise sqrt(4 / 4,000) of the outcome's the two means differ by a small part of the error of 20,000 rows.
    """
    rng = np.random.default_rng(3)
    contexts = rng.standard_normal((20_000, 3))
    chances = 0.2 + 0.6 / (1 + np.exp(-contexts[:, 0]))
    actions = (rng.random(20_000) < chances).astype(int)
    outcomes = contexts @ [1.0, 0.5, 0.0] + actions + rng.standard_normal(20_000)
    log = hs.Log(actions, outcomes, contexts, np.where(actions == 1, chances, 1 - chances), n_actions=3)
    whole = hs.DoublyRobust(log)
    np.testing.assert_array_equal(hs.DoublyRobust(Table(log)).means, whole.means)  # few enough to look at all
    monkeypatch.setattr("headstart.evaluators.doubly_robust.SAMPLE_ROWS", 4000)
    table = hs.DoublyRobust(Table(log))
    np.testing.assert_allclose(table.standard_errors[:2], whole.standard_errors[:2], rtol=0.08)
    assert (np.abs(table.means - whole.means)[:2] < 0.2 * whole.standard_errors[:2]).all()
    assert np.isnan(table.means[2])
    with pytest.raises(OptionError, match="take rows first"):
        hs.DoublyRobust(Table(log), population=log)
