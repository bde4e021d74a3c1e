"""The rule of gaps: what it calls isolated, what it leaves alone, and the range that remains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.outliers import FEWEST, clip_log, count_isolated, find_range, find_ranges, most_isolated

Draw = Callable[[np.random.Generator, int], np.ndarray]
SOUND: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "one in a hundred": lambda rng, n: (rng.random(n) < 0.01).astype(float),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "pareto 2.5": lambda rng, n: 1.0 + rng.pareto(2.5, n),
}


def test_by_hand():
    """0 to 9: the span is 9, so the next value must be 900 away; 950 is 941 away, 909 only 900."""
    rest = [float(i % 10) for i in range(FEWEST)]
    assert find_range(np.array([*rest, 950.0])) == (-9.0, 18.0, 1)
    assert find_range(np.array([*rest, 909.0])) == (-909.0, 1818.0, 0)
    assert find_range(np.array([*rest, 950.0, -1e200])) == (-9.0, 18.0, 2)


def test_both_ends_and_several_scales_are_found():
    assert count_isolated([-1e200, 0.0], [1e200, 1.0]) == (1, 1)
    assert count_isolated([0.0, 0.0, 0.0], [1e200, 1e100, 1.0]) == (0, 2)
    assert count_isolated([0.0], [1e200]) == (0, 0)


def test_where_all_others_are_equal_nothing_can_be_said():
    assert find_range(np.zeros(100)) is None
    assert find_range(np.array([0.0] * 99 + [1.0])) == (-1.0, 2.0, 0)
    assert find_range(np.array([-1e308, 1e308])) is None


def test_few_values_are_never_isolated_and_at_most_a_hundredth_is():
    assert find_range(np.array([0.0, 1.0, 1e6])) == (-1e6, 2e6, 0)
    assert [most_isolated(n) for n in (29, 30, 199, 200, 5000)] == [0, 1, 1, 2, 50]


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("n", [30, 500, 5000])
def test_no_sound_value_is_called_isolated(name: str, n: int):
    """200 logs each. Of Pareto's 2.5 the rule errs once in 100,000 (GAP^-2.5), of the others never."""
    rng = np.random.default_rng(n)
    found = [find_range(SOUND[name](rng, n)) for _ in range(200)]
    assert sum(each.n_outside for each in found if each is not None) == 0


@pytest.mark.parametrize("name", SOUND)
def test_one_wild_value_does_not_widen_the_range(name: str):
    rng = np.random.default_rng(0)
    values = SOUND[name](rng, 2000)
    sound = find_range(values)
    for wild in (1e6, -1e200, 1e300):
        assert sound is not None
        assert find_range(np.append(values, wild)) == sound._replace(n_outside=1)


def test_a_log_has_ranges_of_its_numbers_and_is_clipped_into_them():
    n = 40
    contexts = {"age": np.arange(n, dtype=float), "likes": np.array(["cats", "dogs"])[np.arange(n) % 2]}
    contexts["age"][7] = 1e200
    log = hs.Log([0, 1] * (n // 2), np.arange(n) % 2, contexts)
    outcome, columns = find_ranges(log)
    assert outcome == (-1.0, 2.0, 0)
    assert columns == {"age": (-39.0, 78.0, 1)}
    clipped = clip_log(log, (0.0, 0.5), {"age": (0.0, 20.0), "likes": (0.0, 0.0)})
    assert (clipped.contexts[7, 0], clipped.contexts[:, 1:].sum(), clipped.outcomes.max()) == (20.0, n, 0.5)
    assert log.contexts[7, 0] == 1e200
    assert clip_log(log, None, {}) is log
