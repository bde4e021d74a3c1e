"""Numbers as people read them."""

import pytest

from headstart.numerals import number, tell_chance, tell_number


@pytest.mark.parametrize("tell", [tell_number, number])
def test_what_rounding_left_is_zero_wherever_people_read_it(tell):
    """Before: "gain 0.068 (-7.7e-15 to 0.25)", "slope -1.66e-13"."""
    assert [tell(value) for value in (-7.7e-15, -1.66e-13, 0.0, -0.0)] == ["0", "0", "0", "0"]
    assert tell(0.068) == "0.068"
    assert tell(1e-9) == "1e-09"  # a rate may be as small


def test_a_scale_says_what_is_small():
    assert tell_number(1e-8, scale=1e5) == "0"
    assert tell_number(1e-20, scale=1e-15) == "1e-20"


def test_a_p_value_may_be_as_small_as_it_likes():
    assert [tell_chance(p) for p in (0.04, 3e-9, 1e-30, 0.0)] == ["0.04", "3e-09", "below 1e-12", "0"]
    assert tell_chance(float("nan")) == "-"
    assert number(float("nan")) == "-"
