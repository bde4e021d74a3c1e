"""The program that chooses the numbers of `start`: its arithmetic by hand."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import choose, families
from benchmarks.choose import Standing, draw_candidates, frontier, stand
from benchmarks.ratios import compare_regrets
from benchmarks.systems import COLD, change_options

from headstart.judgement.start.options import StartOptions


def test_a_ratio_its_error_and_its_tail_by_hand():
    """Cold 2 and 6, system 1 and 5: ratio 6 / 8; x - 0.75 c is -0.5 and 0.5, whose s.e. 0.5 over the mean 4 is 0.125.
    95 % points between two values: 1 + 0.95 x 4 over 2 + 0.95 x 4. Runs drawn again are the first twice (1/2), the
    second twice (5/6) or both, with chances 1/4, 1/4 and 1/2: a deviation of 0.1427, which 1,000 draws know to
    0.0026; 4 of these are allowed."""
    ratio = compare_regrets(np.array([1.0, 5.0]), np.array([2.0, 6.0]))
    assert ratio[:3] == pytest.approx((0.75, 0.125, 4.8 / 5.8))
    assert ratio.tail_se == pytest.approx(0.1427, abs=4 * 0.0026)


def test_settings_change_options_by_their_paths():
    options = change_options(["exploring.caution=4", "prior.trust=0.9", "most_rows=200"])
    assert (options.exploring.caution, options.prior.trust, options.most_rows) == (4, 0.9, 200)
    assert change_options([]) == StartOptions()
    with pytest.raises(SystemExit, match="there is no daring"):
        change_options(["exploring.daring=1"])


def test_the_present_numbers_are_the_first_candidate_and_all_can_be_made():
    candidates = draw_candidates(20, choose.RANGES, (), seed=1)
    assert candidates[0] == ()
    assert len(set(candidates)) == 20
    for each in candidates:
        change_options(each)


def test_a_standing_compares_with_the_same_runs_of_the_cold_one():
    """It was left behind after two of four runs: good 3 / 6 of them, lying 4 / 2; the mean log of 1/2 and 2 is 0."""
    regrets = {
        ("good", (COLD,)): np.array([2.0, 4.0, 100.0, 100.0]),
        ("good", ("a=1",)): np.array([1.0, 2.0]),
        ("deflated", (COLD,)): np.array([1.0, 1.0, 50.0, 50.0]),
        ("deflated", ("a=1",)): np.array([2.0, 2.0]),
    }
    found = stand(regrets, ("a=1",))
    assert (found.ratios["good"], found.ratios["lying"]) == (0.5, 2.0)
    assert found.loss == pytest.approx(0.0)


def test_the_frontier_leaves_out_who_is_beaten_on_both():
    told = [
        Standing((name,), {"good": good, "moved": 1.0, "lying": lying}, 0.0)
        for name, good, lying in (("a", 0.3, 1.5), ("b", 0.4, 1.0), ("c", 0.5, 1.2), ("d", 0.6, 0.9))
    ]
    assert [each.settings[0] for each in frontier(told)] == ["a", "b", "d"]


def test_families_of_the_report_have_no_part_in_the_choice():
    assert not set(choose.TRAINING) & set(choose.HELD_OUT)
    assert {*choose.TRAINING, *choose.HELD_OUT} <= set(families.FAMILIES)
    for names in (choose.TRAINING, choose.HELD_OUT):
        assert {families.FAMILIES[name].log for name in names} == set(choose.KINDS)
