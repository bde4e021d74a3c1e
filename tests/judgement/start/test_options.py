"""StartOptions: frozen, checked, and every number with its true default on the reference page."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.forest import ForestOptions
from headstart.judgement.audit.checks import balance
from headstart.judgement.audit.rules import RULES
from headstart.judgement.start.options import ForestChoiceOptions, StartOptions
from headstart.oracles import robust_thompson
from headstart.oracles.knowledge_gradient import KnowledgeGradientOptions
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradientOptions
from headstart.priors.options import (
    LevelOptions,
    LinearPriorOptions,
    LoggedPriorOptions,
    ProductOptions,
    SourceOptions,
)

PAGE = (Path(__file__).parents[3] / "docs" / "reference.md").read_text()
CLASSES = (
    StartOptions,
    LoggedPriorOptions,
    LevelOptions,
    SourceOptions,
    KnowledgeGradientOptions,
    LinearPriorOptions,
    ProductOptions,
    LinKnowledgeGradientOptions,
    ForestChoiceOptions,
)


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n", 1)[1], flags=re.M)[0]


def rows(title: str) -> dict[str, list[str]]:
    """The table's rows by their first cell."""
    lines = [line for line in section(title).splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0].strip("`"): row for row in cells}


def written(value: object) -> str:
    if isinstance(value, ForestOptions):
        return f"n_trees={value.n_trees}, min_node={value.min_node}"
    if isinstance(value, tuple):
        return ", ".join(f"{part:g}" for part in value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


@pytest.mark.parametrize("options", CLASSES)
def test_every_field_stands_on_the_page_with_its_default(options):
    table, text = rows(options.__name__), section(options.__name__)
    for field in dataclasses.fields(options):
        if type(field.default) in CLASSES:
            assert f"`{field.name}`" in text
            continue
        assert table[field.name][1] == written(field.default), field.name
        assert len(table[field.name]) == 6, field.name
        assert all(table[field.name]), field.name
    assert set(table) <= {field.name for field in dataclasses.fields(options)}


def test_the_checks_numbers_and_the_odds_stand_on_the_page():
    text = section("What a finding does to trust")
    for name in ("OFF", "SURE", "SMALL", "LARGE", "CHANCE"):
        assert f"| `{name}` | {getattr(balance, name):g} |" in text
    told = [row for row in text.splitlines() if row.startswith("|") and row.count("|") == 4][2:]
    odds = sorted((rule.name, rule.severity, f"{rule.odds:g}") for rule in RULES if rule.odds != 1.0)
    lines = [[cell.strip() for cell in row.strip("|").split("|")] for row in told]
    assert sorted((re.split(r",| \(| of 0", name)[0], severity, odds) for name, severity, odds in lines) == odds
    assert f"`ALLOWANCE` ({robust_thompson.ALLOWANCE:g})" in PAGE
    assert f"`TOP_ALLOWANCE` ({robust_thompson.TOP_ALLOWANCE:g})" in PAGE


def test_options_are_frozen_and_checked():
    with pytest.raises(dataclasses.FrozenInstanceError):
        StartOptions().most_rows = 3
    for wrong in (
        lambda: StartOptions(most_rows=0),
        lambda: LevelOptions(still=1.5),
        lambda: LevelOptions(step=1.0, reach=0.5),
        lambda: LoggedPriorOptions(trust=1.5),
        lambda: LoggedPriorOptions(pooling=10.0, most_freedom=9.0),
        lambda: ProductOptions(bound=0.0),
        lambda: LinearPriorOptions(shifted_share=0.7),
        lambda: LinearPriorOptions(explained=(0.5,)),
        lambda: LinearPriorOptions(explained=(0.0, 0.5)),
        lambda: KnowledgeGradientOptions(greedy=2.0),
        lambda: LinKnowledgeGradientOptions(reach=-0.1),
        lambda: ForestChoiceOptions(n_parts=1),
    ):
        with pytest.raises(OptionError):
            wrong()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StartOptions(most_rows=True), "most_rows must be a whole number, got True"),
        (lambda: StartOptions(prior=None), r"prior must be LoggedPriorOptions\(\.\.\.\), got None"),
        (lambda: StartOptions(prior=LinearPriorOptions()), r"prior must be LoggedPriorOptions\(\.\.\.\), got Lin"),
        (lambda: StartOptions(forest=ForestOptions()), r"forest must be ForestChoiceOptions\(\.\.\.\), got Forest"),
        (lambda: ForestChoiceOptions(trees=None), r"trees must be ForestOptions\(\.\.\.\), got None"),
        (lambda: LinearPriorOptions(products={}), r"products must be ProductOptions\(\.\.\.\), got {}"),
        (lambda: LoggedPriorOptions(trust="0.5"), "trust must be a number, got '0.5'"),
        (lambda: LoggedPriorOptions(rival_width=1e300), "rival_width must be a finite number in"),
        (lambda: hs.Trust([0.5, 0.5], ()), r"weights must be an array of a chance per action, got \[0\.5, 0\.5\]"),
        (lambda: hs.Trust(np.array([0.5, 2.0]), ()), r"trust must be in \[0, 1\]"),
    ],
)
def test_an_option_that_is_none_says_so_at_once(make, message: str):
    with pytest.raises(OptionError, match=message):
        make()


def test_full_trust_by_hand_is_not_weakened():
    log = hs.Log([0, 1] * 50, np.arange(100.0), propensities=np.full(100, 0.3))  # they do not add up
    assert hs.start(log, rng=0).trust.weights.tolist() == [0.0, 0.0]
    assert hs.start(log, trust=1.0, rng=0).trust.weights.tolist() == [1.0, 1.0]


def test_start_obeys_its_options():
    """Trust 0.5 and no adjustment but by lot: w = 0.5. Greedy 1: the best so far only. No reach: no exploring."""
    rng = np.random.default_rng(0)
    actions, x = rng.integers(0, 2, 400), rng.standard_normal((400, 2))
    log = hs.Log(actions, 0.2 * actions + 0.5 * x[:, 0] + rng.standard_normal(400), x, np.full(400, 0.5))
    doubting = hs.start(log, options=StartOptions(prior=LoggedPriorOptions(trust=0.5)), rng=0)
    np.testing.assert_allclose(doubting.trust.weights, 0.5)
    greedy = hs.start(log, options=StartOptions(exploring=KnowledgeGradientOptions(greedy=1.0)), rng=0)
    assert greedy.probabilities().max() == 1.0
    assert hs.start(log, rng=0).probabilities().max() == 0.5
    still = StartOptions(linear_exploring=LinKnowledgeGradientOptions(reach=0.0))
    policy = hs.start(log, decide_on=[0, 1], options=still, rng=0)
    assert all(policy.probabilities(row).max() == 1.0 for row in x[:50])
    few = StartOptions(forest=ForestChoiceOptions(fewest_rows=100_000))
    assert "linear" in hs.start(log, decide_on=[0, 1], options=few, rng=0).explanation
