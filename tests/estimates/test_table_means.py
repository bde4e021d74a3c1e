"""Means of tables: lines by sums alone; where outcomes bend, the sample's regression over all rows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.robust_logs import REPORTED, draw_log

import headstart as hs
from headstart.estimates.bending import LINES
from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.table_means import robust_table_means


def draw(n: int, seed: int, *, is_bent: bool) -> hs.Log:
    """A log of two actions of means 0 and 1, chosen by the first column."""
    rng = np.random.default_rng([seed, n])
    x = rng.standard_normal((n, 3))
    chance = 0.2 + 0.6 / (1.0 + np.exp(-x[:, 0]))
    actions = (rng.random(n) < chance).astype(int)
    shape = 2.0 * (x[:, 0] ** 2 - 1.0) + 1.5 * x[:, 1] * x[:, 2] if is_bent else 2.0 * x[:, 0] + x[:, 1]
    outcomes = shape + actions + rng.standard_normal(n)
    return hs.Log(actions, outcomes, x, np.column_stack([1.0 - chance, chance]), n_actions=2)


def as_table(log: hs.Log, path: Path) -> hs.LogTable:
    columns = {"action": log.actions, "outcome": log.outcomes, "propensity": log.propensities}
    names = [f"c{j}" for j in range(log.n_features)]
    pq.write_table(pa.table({**columns, **dict(zip(names, log.contexts.T, strict=True))}), path)
    return hs.scan_log(path, action="action", outcome="outcome", contexts=names, propensity="propensity")


def test_lines_ask_for_sums_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log = draw(20_000, 1, is_bent=False)
    table = as_table(log, tmp_path / "log.parquet")
    monkeypatch.setattr(type(table), "batches", None)  # whoever asks for rows fails
    found = robust_table_means(table, table.sample(4_000, rng=0))
    assert found.how == LINES
    with pytest.raises(TypeError):
        robust_table_means(*_bent_table(tmp_path, 5_000, 2_000))


def _bent_table(folder: Path, n: int, n_sample: int, seed: int = 2) -> tuple[hs.LogTable, hs.Log]:
    table = as_table(draw(n, seed, is_bent=True), folder / "bent.parquet")
    return table, table.sample(n_sample, rng=0)


def test_bent_outcomes_are_predicted_in_every_row(tmp_path: Path):
    """Curves have a variance of 4 * 2 + 1.5^2 = 10.25 and the noise 1: who follows them knows a mean of n rows to
    sqrt((10.25 + mean of 1/p) / n), up to what 8,000 rows leave open of curves (a tenth), and lines do not. The means
    are as near to the truth as they say: of four, none is four errors off."""
    table, sample = _bent_table(tmp_path, 40_000, 8_000)
    lines, found = robust_table_means(table, sample, tries_others=False), robust_table_means(table, sample)
    assert lines.how == LINES != found.how
    least = np.sqrt((10.25 + 2.4) / 40_000)  # p goes from 0.2 to 0.8: 1/p is 2.4 in the mean
    assert (found.corrected.errors < 1.1 * least).all()
    assert (lines.corrected.errors > 1.4 * least).all()
    for each in (lines, found):
        assert (np.abs(each.summary.means - [0.0, 1.0]) < 4.0 * each.corrected.errors).all()


def test_rows_in_memory_and_in_a_table_say_the_same(tmp_path: Path):
    """And so does the doubly robust mean of all rows at once: a regression of a fifth of the rows that is off by less
    than the noise moves the mean by less than sqrt(mean of 1/p / n), and twice that is allowed."""
    log = draw(20_000, 3, is_bent=True)
    table = as_table(log, tmp_path / "log.parquet")
    sample = table.sample(4_000, rng=0)
    found, same = robust_table_means(table, sample), robust_table_means(log, sample)
    np.testing.assert_allclose(found.summary.means, same.summary.means, rtol=1e-9, atol=1e-12)
    whole = hs.DoublyRobust(log)
    assert (np.abs(found.summary.means - whole.means) < 2.0 * np.sqrt(2.4 / 20_000)).all()
    np.testing.assert_allclose(found.corrected.errors, whole.standard_errors, rtol=0.12)


def test_an_action_that_the_regression_never_saw_has_a_mean_and_no_error(tmp_path: Path):
    """Its rows are corrected as all others; what they scatter by, no row of the sample tells."""
    log = draw(6_000, 4, is_bent=True)
    actions, chances = log.actions.copy(), np.column_stack([log.propensity_matrix * 0.999, np.full(6_000, 0.001)])
    actions[:6] = 2
    rare = hs.Log(actions, log.outcomes, log.contexts, chances, n_actions=3)
    sample = rare.take(np.arange(6, 3_000))
    found = robust_table_means(as_table(rare, tmp_path / "log.parquet"), sample)
    assert found.how != LINES
    assert np.isfinite(found.summary.means).all()
    assert np.isinf(found.summary.standard_errors[2])
    assert np.isfinite(found.summary.standard_errors[:2]).all()


def test_what_a_sample_missed_is_not_made_less_by_more_rows():
    """Estimated propensities and the regression are the sample's, however many rows the table has: 16 times the rows
    would leave a quarter of the error of chance, and leave half of this one or more."""
    drawn = draw_log(np.random.default_rng(5), "bent", REPORTED, 3, 1_500)
    sample = fill_missing(drawn.without_propensities(), tries_others=False).log

    def repeat(times: int) -> hs.Log:
        rows = np.tile(np.arange(len(sample)), times)
        whole = hs.Log(sample.actions[rows], sample.outcomes[rows], sample.contexts[rows], n_actions=3)
        return whole.with_estimated_propensities(sample.propensity_matrix[rows])

    few, many = robust_table_means(repeat(1), sample), robust_table_means(repeat(16), sample)
    assert few.how != LINES
    assert (many.corrected.errors > 0.5 * few.corrected.errors).all()
    np.testing.assert_allclose(many.summary.means, few.summary.means)
