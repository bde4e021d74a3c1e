"""Completeness: rows left out, contexts filled in and columns not taken are said in the verdict, whoever read it."""

import numpy as np
import pandas as pd
import pytest

from headstart.judgement.audit.audit import audit
from headstart.logs.tables import read_log, scan_log


def frame(n=1000, lacking=0.0, filled=0.0):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"action": rng.integers(0, 2, n), "reward": rng.random(n), "p": 0.5})
    rows["age"] = rng.normal(40.0, 10.0, n)
    rows.loc[: int(lacking * n) - 1, "reward"] = np.nan
    rows.loc[n - int(filled * n) :, "age"] = np.nan
    return rows


def severities(found, rule):
    return [reason.severity for reason in found.verdict.reasons if reason.rule == rule]


@pytest.mark.parametrize("read", [read_log, scan_log])
@pytest.mark.parametrize(("lacking", "severity"), [(0.0, []), (0.1, ["note"]), (0.3, ["cap"])])
def test_rows_left_out_are_a_reason_by_their_share(read, lacking, severity):
    found = audit(read(frame(lacking=lacking)))
    assert severities(found, "rows left out") == severity
    assert found.completeness.dropped_share == pytest.approx(lacking)


@pytest.mark.parametrize("read", [read_log, scan_log])
def test_contexts_that_were_filled_in_and_columns_not_taken_are_notes(read):
    rows = frame(filled=0.4)
    rows["comment"] = [f"said {i % 700}" for i in range(len(rows))]
    found = audit(read(rows))
    assert severities(found, "filled in") == ["note"]
    assert severities(found, "not adjusted for") == ["note"]
    assert found.completeness.filled == (("age", pytest.approx(0.4)),)
    assert found.completeness.unread == ("comment",)
