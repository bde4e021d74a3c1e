"""The formula of a value: a small language and nothing else."""

import pytest

from headstart.errors import OptionError
from headstart.serve.formulas import Formula

OUTCOMES = {"click": 1.0, "revenue": 12.5, "refund": 2.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('revenue - 0.15 * shown("mail")', 12.35),
        ("revenue - 0.15 * shown('nothing')", 12.5),
        ("revenue - refund - click", 9.5),  # from the left
        ("revenue / 5 * 2", 5.0),
        ("-(revenue - refund) / (1 + 1)", -5.25),
        ("2 * -click", -2.0),
        ("1e1 + .5", 10.5),
        ("click * (revenue + refund)", 14.5),
    ],
)
def test_values_by_hand(text, value):
    assert Formula.read("value", text).value(OUTCOMES, "mail") == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a number, an outcome, shown(...) or ( is expected at character 1, got its end"),
        ("revenue +", "at character 10, got its end"),
        ("(revenue", ") is expected at character 9"),
        ("revenue click", "+, -, * or / is expected at character 9, got click"),
        ("revenue ** 2", "at character 10, got *"),
        ("revenue / click", "a number other than 0 is expected after / at character 11"),
        ("1 / (2 - 2)", "a number other than 0 is expected after / at character 5"),
        ("shown(mail)", "an action in quotes is expected at character 7, got mail"),
        ("revenue.real", "at character 8, got ."),
        ("revenue[0]", "at character 8, got ["),
        ("__import__('os')", "+, -, * or / is expected at character 11"),
        ("1e13", "a number up to 1e+12 is expected at character 1"),
        ("(" * 51 + "click" + ")" * 51, "more than 50 parentheses"),
        (7, "must be a formula of outcomes, got 7"),
    ],
)
def test_an_error_names_the_place(text, told):
    with pytest.raises(OptionError) as error:
        Formula.read("experiments.ads.value", text)
    assert str(error.value).startswith("experiments.ads.value")
    assert told in str(error.value)
