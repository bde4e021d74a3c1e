"""Guardrails as they are declared: what is read, what is refused by name, what an older store never sees."""

import pytest

from headstart.errors import OptionError
from headstart.serve.config import read_experiment
from headstart.serve.guardrails import Guardrail

SHOP = {
    "actions": ["mail", "nothing"],
    "holdout": 0.1,
    "outcome_window": 60,
    "outcomes": {"refund": {"default": 0, "range": [0, 1]}, "revenue": {"sum": True}},
    "value": "revenue - 5 * refund",
    "safe_action": "nothing",
}
REFUNDS = {"outcome": "refund", "worse": "higher", "than": "holdout", "margin": 0.01, "then": "fall back"}


def read(**changes):
    return read_experiment("shop", {**SHOP, **changes})


def test_a_guardrail_is_read_and_written_as_it_was_declared():
    shop = read(guardrails={"refunds": REFUNDS, "value": {"worse": "lower", "than": 2, "level": 0.01}})
    assert shop.guardrails == {
        "refunds": Guardrail("refunds", "refund", True, None, 0.01, 0.05, True, (0.0, 1.0)),
        "value": Guardrail("value", None, False, 2.0, 0.0, 0.01, False),
    }
    assert read_experiment("shop", shop.as_dict()) == shop


def test_a_configuration_without_guardrails_is_written_as_before_there_were_any():
    assert "guardrails" not in read().as_dict()


BAD = {
    "worse": ({"worse": "bad"}, "guardrails.refunds.worse must be 'higher' or 'lower', got 'bad'"),
    "than": ({"than": "yesterday"}, "guardrails.refunds.than must be 'holdout' or a number"),
    "then": ({"then": "stop"}, "guardrails.refunds.then must be 'alarm' or 'fall back'"),
    "outcome": ({"outcome": "click"}, "guardrails.refunds.outcome must be one .* known: refund, revenue"),
    "level": ({"level": 0.9}, "guardrails.refunds.level must be a finite number in"),
    "margin": ({"margin": -1}, "guardrails.refunds.margin"),
    "margin of a bound": ({"than": 0.02}, "guardrails.refunds.margin is for"),
    "unknown": ({"levle": 0.1}, "guardrails.refunds has no setting 'levle'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_guardrail_is_refused_by_name(name):
    changed, message = BAD[name]
    with pytest.raises(OptionError, match=message):
        read(guardrails={"refunds": {**REFUNDS, **changed}})


def test_what_it_needs_beside_it_is_asked_for():
    with pytest.raises(OptionError, match=r"guardrails.refunds.then needs experiments.shop.safe_action"):
        read(guardrails={"refunds": REFUNDS}, safe_action=None)
    with pytest.raises(
        OptionError, match=r"guardrails.refunds.than is the hold-out, and experiments.shop.holdout is 0"
    ):
        read(guardrails={"refunds": REFUNDS}, holdout=0)
    with pytest.raises(OptionError, match="a name is 1 to 64"):
        read(guardrails={"re funds": REFUNDS})
    with pytest.raises(OptionError, match="without names there is one, and it is left out"):
        read_experiment(
            "ads", {"actions": ["a", "b"], "guardrails": {"r": {"worse": "higher", "than": 1, "outcome": "y"}}}
        )
