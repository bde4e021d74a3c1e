"""Rows that stand in the log twice."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.copies import find_copies
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making


def with_copies(log, n_copies):
    return log.take(np.concatenate([np.arange(len(log)), np.arange(n_copies)]))


def test_copies_are_found_and_counted():
    """1,000 rows and 300 of them once more: 300 of 1,300."""
    found = audit(with_copies(Making(n=1000).draw(0)[0], 300))
    assert found.copies.n_copies == 300
    assert found.copies.share == pytest.approx(300 / 1300)
    reason = next(reason for reason in found.verdict.reasons if reason.rule == "copied rows")
    assert (reason.severity, reason.text[:4]) == ("cap", "23 %")


def test_copies_make_nothing_surer():
    """Every row twice: errors and virtual plays are those of the rows once, to the factor n / (n - 1) of units."""
    log, _ = Making(n=1000).draw(1)
    once, twice = audit(log).actions, audit(with_copies(log, 1000)).actions
    for one, two in zip(once.actions, twice.actions, strict=True):
        assert two.standard_error == pytest.approx(one.standard_error, rel=0.02)
        assert two.effective_size == pytest.approx(one.effective_size, rel=0.02)


def test_few_categories_repeat_by_chance():
    rng = np.random.default_rng(0)
    contexts = {"city": rng.choice(["a", "b", "c"], 2000).tolist(), "tier": rng.choice(["x", "y"], 2000).tolist()}
    log = Log(rng.integers(2, size=2000), rng.integers(2, size=2000) * 1.0, contexts, [0.5] * 2000)
    assert not find_copies(log, 2000)[0].is_material


def test_rows_of_known_units_are_no_copies():
    log = with_copies(Making(n=1000).draw(0)[0], 300)
    assert not find_copies(log.with_units(list(range(1300))), 1300)[0].is_material


def test_a_sample_tells_the_share_of_all():
    """Half of 8,000 rows that are 4,000 twice: a copy's original is in the sample one time in two."""
    log = with_copies(Making(n=4000).draw(0)[0], 4000)
    found, _ = find_copies(log.sample(4000, 0), 8000)
    assert found.share == pytest.approx(0.5, abs=0.05)
