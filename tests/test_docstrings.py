"""Every public name says what it takes, gives and refuses, and has an example that runs."""

from __future__ import annotations

import doctest
import inspect
from types import ModuleType

import pytest

import headstart as hs

# Made by a function: their fields are told, their constructor is nobody's business.
MADE = {
    "Audit", "Comparison", "ControlLine", "Curve", "DecisionTable", "Explanation", "Reading", "Readings", "Rehearsal",
    "Started",
}  # fmt: skip
CONTRACTS = {"Oracle", "Evaluator"}
WARNINGS = {"OverlapWarning", "ShortIntervalWarning", "TrimmingWarning"}
REFUSE_NOTHING = {"HistoricalAverage", "NoLog", "OutcomeModel", "Summary", "suggest_trust"}
NAMES = [name for name in hs.__all__ if not isinstance(getattr(hs, name), ModuleType)]


def lacks(name: str) -> list[str]:
    """The sections that a public name should have and has not."""
    thing = getattr(hs, name)
    text = inspect.getdoc(thing) or ""
    wanted = []
    if name not in MADE | CONTRACTS | WARNINGS:
        if inspect.signature(thing).parameters:
            wanted.append("Parameters\n")
        if name not in REFUSE_NOTHING:
            wanted.append("Raises\n")
    if inspect.isfunction(thing):
        wanted.append("Returns\n")
    if name not in WARNINGS:
        wanted.append(">>> ")
    return [section.strip() for section in wanted if section not in text]


def test_every_public_name_has_its_sections():
    assert {name: found for name in NAMES if (found := lacks(name))} == {}


def test_every_parameter_is_told():
    """Each by its name, alone or in a list (`low, high`)."""
    untold = {}
    for name in NAMES:
        if name in MADE | CONTRACTS | WARNINGS:
            continue
        text = (inspect.getdoc(getattr(hs, name)) or "").partition("Parameters\n")[2]
        heads = [line.partition(" :")[0] for line in text.split("\n") if not line.startswith(" ")]
        told = {word.strip() for head in heads for word in head.split(",")}
        missing = [each for each in inspect.signature(getattr(hs, name)).parameters if each not in told]
        if missing:
            untold[name] = missing
    assert untold == {}


def test_errors_that_are_told_exist():
    for name in NAMES:
        text = (inspect.getdoc(getattr(hs, name)) or "").partition("Raises\n")[2].partition("Examples\n")[0]
        for line in text.split("\n"):
            if line.endswith("Error"):
                assert issubclass(getattr(hs.errors, line), hs.errors.HeadstartError), (name, line)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WARNINGS])
def test_example_runs(name: str):
    thing = getattr(hs, name)
    (found,) = doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
    assert found.examples
    done = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found)
    assert done.failed == 0
