"""Numbers as people read them."""

import pytest

from headstart.numerals import number, tell_chance, tell_count, tell_number


@pytest.mark.parametrize("tell", [tell_number, number])
def test_what_rounding_left_is_zero_wherever_people_read_it(tell):
    """Before: "gain 0.068 (-7.7e-15 to 0.25)", "slope -1.66e-13"."""
    assert [tell(value) for value in (-7.7e-15, -1.66e-13, 0.0, -0.0)] == ["0", "0", "0", "0"]
    assert tell(0.068) == "0.068"
    assert tell(1e-9) == "1 billionth"  # a rate may be as small


@pytest.mark.parametrize("tell", [tell_number, number])
def test_nobody_has_to_read_an_exponent_or_count_digits(tell):
    """Before: "4.21e-07", "1,526,039,565", and "1.53e+09" of the same number."""
    told = {4.21e-7: "421 billionths", -3.5e-5: "-35 millionths", 1526039565.0: "1.53 billion", -2e6: "-2 million"}
    assert {value: tell(value) for value in told} == told
    assert tell(0.0001) == "0.0001"
    assert [tell(value, 2) for value in (250.0, 99.7, 3e-5)] == ["250", "100", "30 millionths"]


def test_one_of_something_has_no_s():
    assert [tell_count(n, "context column") for n in (0, 1, 2000)] == [
        "0 context columns",
        "1 context column",
        "2,000 context columns",
    ]


def test_a_scale_says_what_is_small():
    assert tell_number(1e-8, scale=1e5) == "0"
    assert tell_number(1e-20, scale=1e-15) == "1e-20"


def test_a_small_p_value_is_told_by_what_it_is_below():
    assert [tell_chance(p) for p in (0.04, 3e-9, 1e-30, 0.0)] == ["0.04", "below 0.0001", "below 0.0001", "0"]
    assert tell_chance(float("nan")) == "-"
    assert number(float("nan")) == "-"
