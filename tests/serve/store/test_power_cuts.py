"""The power goes between any two operations of the disk: what was acknowledged is there."""

import random

from headstart.errors import HeadstartError
from tests.serve.failing_disk import Operation
from tests.serve.power_cuts import check_cut, leave_disk, record_traffic, run_power_cuts


def test_power_cuts_lose_nothing_that_was_acknowledged(tmp_path, disk):
    assert run_power_cuts(tmp_path, disk, n_cuts=12, n_users=30, seed=5) > 100


def test_a_drive_that_lies_about_fsync_is_found_out(tmp_path, disk):
    """The teeth of the test above: without the fsyncs the same cuts lose what was acknowledged."""
    operations, told = record_traffic(tmp_path, disk, 20)
    lying = [each for each in operations if each.kind != "sync"]
    assert any(_is_lossy(leave_disk(lying, random.Random(seed), _new(tmp_path, seed)), told) for seed in range(5))


def _new(folder, seed):
    left = folder / f"lying-{seed}"
    left.mkdir()
    return left


def _is_lossy(store, told):
    try:
        check_cut(store, told[-1].n_operations, told)
    except (HeadstartError, LookupError, AssertionError):  # damaged, or rows are missing
        return True
    return False


def test_what_was_written_before_an_fsync_is_there_by_hand(tmp_path):
    operations = [Operation("write", "recorded.sqlite", 0, b"ab"), Operation("sync", "recorded.sqlite")]
    assert leave_disk(operations, random.Random(1), tmp_path).read_bytes() == b"ab"
