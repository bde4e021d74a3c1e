"""How often the audit is wrong, in small: METHODS.md has the tables of `python -m benchmarks.audit_rates`."""

import pytest
from benchmarks.audit_rates import rate_fault, rate_kind
from benchmarks.clean_logs import KINDS, REPORTED
from benchmarks.faulty_logs import FAULTS

CLEAN = [
    "even K=2 N=300",
    "softmax K=3 N=300",
    "softmax K=3 N=1000",
    "pilot 0.5 % N=5000",
    "rare category N=1000",
    "30 columns N=1000",
    "successes of 1 % N=300",
    "successes of 1 % N=2000",
    "revenue N=1000",
    "units 300 x 40",
    "units 2000 x 5",
    "epsilon-greedy 0.1 K=3 N=500",
    "epsilon-greedy 0.1 K=3 N=2000",
    "epsilon-greedy 0.05 K=10 N=500",
    "epsilon-greedy 0.05 K=10 N=2000 vectors",
    "LinThompson K=3 N=2000 vectors",
]
FOUND = [
    "scaled x0.8",
    "scaled x2.0",
    "of the wrong action",
    "clipped at 0.1",
    "of the greedy action",
    "leaked, noise 0.1",
    "tells the arm, logged",
    "tells the arm, estimated",
    "tells the amount, estimated",
    "duplicated 30 %",
    "selected, logged",
    "no overlap 38 % logged",
    "population shift",
    "one month only, logged",
]


def test_clean_logs_of_many_kinds_are_rarely_blamed():
    """48 logs. At 2 % stopped, more than 4 have a chance of 0.3 %; at 5 % capped, more than 7 have one of 0.2 %."""
    rates = {kind: rate_kind(kind, REPORTED, n_logs=3, seed=1) for kind in CLEAN}
    blamed = {kind: dict(found.rules) for kind, found in rates.items() if found.rules}
    assert sum(found.stopped for found in rates.values()) <= 4, blamed
    assert sum(found.capped for found in rates.values()) <= 7, blamed


@pytest.mark.parametrize("fault", FOUND)
def test_a_fault_in_2_000_rows_is_found(fault):
    """Each was found in all of 20 logs or more; two logs here."""
    found = rate_fault(fault, 2000, REPORTED, n_logs=2, seed=1)
    assert found.stopped + found.capped == 2, dict(found.rules)


def test_the_tables_name_every_kind_of_the_issue():
    assert len(KINDS) >= 50
    assert len(FAULTS) >= 35
