"""Configurations drawn from a seed: any names in any order, every oracle with every evaluator, every setting.

An experiment has several, one after the other: what a team deploys in the life of a store.
"""

from __future__ import annotations

import csv
import io
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from headstart import evaluators, oracles
from headstart.errors import HeadstartError
from headstart.logs.log import Log
from headstart.parts.catalogue import BuiltIn, find_parts
from headstart.serve.config import ExperimentConfig, read_experiment
from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.sources import read_source

_GIVEN = ("n_actions", "n_features", "log", "summary", "rng")


def _declarable(parts: dict[str, BuiltIn]) -> tuple[str, ...]:
    return tuple(name for name, part in parts.items() if not part.lacks(_GIVEN))


_ORACLES = find_parts(oracles, "play", "update", "probabilities")
_EVALUATORS = find_parts(evaluators, "get_outcome")
ORACLE_NAMES, EVALUATOR_NAMES = _declarable(dict(_ORACLES)), _declarable(dict(_EVALUATORS))

_ACTIONS = ("b", "a", "ü", "10", 7, 0, "x=1", " ", "C", "a'b", "視頻")
_COLUMNS = ("z", "x=1", "x", "älter", "a", "B", "two words", "日本", "1", 'quo"te', "time")
_CATEGORIES: tuple[tuple[Any, ...], ...] = (
    ("yes", "no"), (True, False), (3, 1, 2), ("1", 2), ("é", "", "e"), ("only",), ("1", "=1"),
)  # fmt: skip
_SETTINGS: dict[str, tuple[Any, ...]] = {  # of settings that have no default, or whose default hides something
    "half_life": (5.0, 100.0),
    "window": (3, 40),
    "beta": (0.0, 0.5, 2.0),
}
_FOREST = {"n_trees": 4}
_OWN = ("as_file", "despite_audit")  # of a table here, not of the service's
_TRIES = 200

Table = dict[str, Any]


class Plan:
    """The configurations of one experiment, in the order in which they are deployed; the logs are shared."""

    def __init__(self, rng: random.Random, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder
        first = self._draw(rng, lambda: _draw_table(rng))
        self.variants = [self._read(first)]
        for _ in range(rng.choice([0, 0, 1, 2])):
            first = self._draw(rng, lambda before=first: _change(rng, before))
            self.variants.append(self._read(first))
        if len(self.variants) > 1 and rng.random() < 0.3:  # back to the first, on purpose
            self.variants.append(replace(self.variants[0], revision=1))

    def _draw(self, rng: random.Random, draw: Any) -> Table:
        """One that the service takes: an error that it raises on purpose means another draw."""
        for _ in range(_TRIES):
            table: Table = draw()
            try:
                config = self._read(table)
                source = read_source(config)
                low, high = build_policy(config, source and source.log).outcome_range
            except HeadstartError:
                continue
            if config.default_outcome is None or low <= config.default_outcome <= high:
                return table
        raise AssertionError("no configuration was taken")

    def _read(self, table: Table) -> ExperimentConfig:
        log, as_file = table["log"], table["as_file"]
        given = {name: value for name, value in table.items() if name not in _OWN and value is not None}
        if log is not None and as_file:
            given["log"] = {**_write_csv(self._folder, log), "action": "the action", "outcome": "y"}
            if log.has_propensities:
                given["log"]["propensity"] = "p"
        elif log is not None:
            given["log"] = {"rows": log}
        if log is not None and table["despite_audit"]:
            given["log"]["despite_audit"] = True
        return read_experiment(self.name, given)


def _draw_table(rng: random.Random) -> Table:
    contexts = {column: _draw_kind(rng) for column in rng.sample(_COLUMNS, rng.choice([0, 1, 2, 2, 3, 4]))}
    actions = rng.sample(_ACTIONS, rng.choice([2, 2, 3, 4]))
    log = _draw_log(rng, actions, contexts) if rng.random() < 0.55 else None
    window = rng.choice([None, None, 10.0, 10.0])
    return {
        "actions": actions,
        "contexts": contexts,
        "log": log,
        "as_file": rng.random() < 0.03,
        "despite_audit": rng.random() < 0.4,
        "guard": {"name": "Guarded"} if log is not None and rng.random() < 0.2 else None,
        "outcome_window": window,
        "default_outcome": rng.choice([None, 0.0, 0.5]) if window else None,
        "outcome_range": rng.choice([None, None, None, [0.0, 1.0], [-1.0, 1.5]]),
        "outside": rng.choice([None, "clip"]),
        **_draw_policy(rng, log),
        **_draw_terms(rng),
        **_draw_guardrails(rng, actions),
        **(_draw_outcomes(rng, actions, window) if rng.random() < 0.3 else {}),
        **(_draw_life(rng, actions) if rng.random() < 0.3 else {}),
    }


def _draw_life(rng: random.Random, actions: list[Any]) -> Table:
    """A start, a ramp-up or an end, some of which clocks that jump will come to."""
    moments = sorted(rng.sample([-20, -3, 1, 4, 9, 30, 50_000], 4))
    times = [datetime.fromtimestamp(1_700_000_000 + seconds, UTC).isoformat() for seconds in moments]
    life = rng.choice([
        {"start": times[1]}, {"end": times[2]}, {"start": times[0], "end": times[3]},
        {"ramp": [[times[0], 0.1], [times[1], 0.5], [times[2], 1.0]]},
        {"ramp": [[times[0], 0.25], [times[2], 0.75]], "end": times[3]},
    ])  # fmt: skip
    return {"safe_action": rng.choice(actions), "life": life}


def _draw_outcomes(rng: random.Random, actions: list[Any], window: float | None) -> Table:
    """One or two outcomes with names, and what they are worth."""
    outcomes: Table = {}
    for name in ("click", "größe")[: rng.choice([1, 2, 2])]:
        outcomes[name] = rng.choice([{}, {"default": 0.5}, {"sum": True}, {"delay": 4.0}]) if window else {}
        if rng.random() < 0.3:
            outcomes[name] = {**outcomes[name], "range": [0.0, 1.0]}
    cost = f'0.25 * shown("{rng.choice(actions)}")'
    values = ["click", f"(click + 1) / 4 - {cost}"] + ([f"click * größe - {cost}"] if len(outcomes) > 1 else [])
    value = None if len(outcomes) == 1 and rng.random() < 0.5 else rng.choice(values)
    return {"outcomes": outcomes, "value": value, "default_outcome": None}


def _draw_policy(rng: random.Random, log: Log | None) -> Table:
    if log is not None and rng.random() < 0.25:  # what `start` makes of it
        return {"oracle": None, "evaluator": None, "schedule": None}
    oracle = (
        rng.choice([None, *ORACLE_NAMES]) if log is not None else rng.choice([None, *ORACLE_NAMES, *ORACLE_NAMES])
    )
    evaluator = None if log is None or rng.random() < 0.3 else rng.choice(EVALUATOR_NAMES)
    return {
        "oracle": oracle and _with_settings(rng, _ORACLES[oracle]),
        "evaluator": evaluator and _with_settings(rng, _EVALUATORS[evaluator]),
        "schedule": rng.choice([None, None, "each-round", "batch"]) if log is not None else None,
    }


def _draw_terms(rng: random.Random) -> Table:
    return {
        "epsilon": rng.choice([0.0, 0.05, 0.05, 0.3, 1.0]),
        "holdout": rng.choice([0.0, 0.0, 0.2, 1.0]),
        "seed": rng.choice([None, None, 0, 7, 2**63 - 1]),
        "forget_after": rng.choice([None, 1, 3]),
        "sticky": rng.choice([None, "for ever", 0, 4.0, 20]),
    }


def _draw_guardrails(rng: random.Random, actions: list[Any]) -> Table:
    """A safe action, and guardrails of either kind."""
    if rng.random() < 0.4:
        return {"safe_action": rng.choice([None, *actions]), "guardrails": None}
    thens, thans = ("alarm", "fall back", "fall back"), (0.5, -1, "holdout")
    rails = {
        name: {"worse": rng.choice(["higher", "lower"]), "than": rng.choice(thans), "then": rng.choice(thens)}
        for name in ("1", "re-fund")[: rng.choice([1, 2])]
    }
    return {"safe_action": rng.choice(actions), "guardrails": rails}


def _with_settings(rng: random.Random, part: BuiltIn) -> Table:
    table: Table = {"name": part.name}
    for name, values in _SETTINGS.items():
        if name in part.parameters and (name in part.needs or rng.random() < 0.5):
            table[name] = rng.choice(values)
    if "options" in part.parameters and "Forest" in part.name:
        table["options"] = _FOREST
    return table


def _draw_kind(rng: random.Random) -> Any:
    if rng.random() < 0.4:
        return rng.choice(_CATEGORIES)
    return "number" if rng.random() < 0.8 else {"range": [-1.5, 1.5]}


def _draw_log(rng: random.Random, actions: list[Any], contexts: Table) -> Log:
    """Rows of the experiment's columns, perhaps not all, in another order, perhaps with one that is no user's."""
    n, numbers = rng.randint(12, 40), np.random.default_rng(rng.getrandbits(32))
    columns = rng.sample(list(contexts), len(contexts))
    if columns and rng.random() < 0.1:
        columns.pop()
    rows: dict[str, Any] = {}
    for column in columns:
        kind = contexts[column]
        # A column of True and False, or of 1 and 2, would be numbers: a log has categories as text.
        is_number = kind == "number" or isinstance(kind, dict)
        rows[column] = numbers.normal(size=n) if is_number else numbers.choice([str(each) for each in kind], n)
    if rng.random() < 0.3:
        rows["nobody's"] = numbers.normal(size=n)
    shown = numbers.choice([str(each) for each in actions], n)
    rates = dict(zip([str(each) for each in actions], numbers.random(len(actions)), strict=True))
    outcomes = (numbers.random(n) < [rates[each] for each in shown]).astype(float)
    propensities = np.full(n, 1.0 / len(actions)) if rng.random() < 0.8 else None
    return Log(shown, outcomes, contexts=rows or None, propensities=propensities)


def _write_csv(folder: Path, log: Log) -> Table:
    """The same rows as a file, named by what is in it."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["the action", "y", "p", *log.encoding.columns])
    for i, row in enumerate(log.contexts):
        user, chance = _decode(log, row), "" if log.propensities is None else log.propensities[i]
        shown = log.action_names[log.actions[i]]
        writer.writerow([shown, log.outcomes[i], chance, *(user[column] for column in log.encoding.columns)])
    written = text.getvalue().encode()
    path = folder / f"log-{crc32(written):08x}.csv"
    path.write_bytes(written)
    return {"path": str(path)}


def _decode(log: Log, row: Any) -> dict[str, Any]:
    user: dict[str, Any] = {}
    named = zip(log.encoding.owners, log.encoding.names, row, strict=True)
    for owner, name, value in named:
        if owner not in log.encoding.categories:
            user[owner] = value
        elif value == 1.0:
            user[owner] = name[len(owner) + 1 :]
    return user


def _change(rng: random.Random, before: Table) -> Table:
    """What a team changes between two deployments; window and default are fixed for life."""
    table = dict(before)
    what = rng.choice(["actions", "order", "contexts", "policy", "terms", "terms", "log", "guardrails"])
    if what == "actions" and before["log"] is None:
        others = [label for label in _ACTIONS if label not in before["actions"]]
        kept = rng.sample(before["actions"], rng.randint(1, len(before["actions"])))
        table["actions"] = rng.sample([*kept, *rng.sample(others, 2)], len(kept) + 2)
    elif what == "order":
        table["actions"] = rng.sample(before["actions"], len(before["actions"]))
        table["contexts"] = dict(rng.sample(list(before["contexts"].items()), len(before["contexts"])))
    elif what == "contexts" and before["log"] is None:
        new = rng.choice([column for column in _COLUMNS if column not in before["contexts"]])
        kept = rng.sample(list(before["contexts"].items()), rng.randint(0, len(before["contexts"])))
        table["contexts"] = dict([*kept, (new, _draw_kind(rng))])
    elif what == "guardrails":
        table |= _draw_guardrails(rng, before["actions"])
    elif what == "policy":
        table |= _draw_policy(rng, before["log"])
        if before["log"] is not None and rng.random() < 0.5:
            table["guard"] = None
    elif what == "log":
        table |= {"log": _draw_log(rng, before["actions"], before["contexts"]), **_draw_policy(rng, before["log"])}
    else:
        table |= _draw_terms(rng)
        table |= _draw_life(rng, before["actions"]) if before.get("life") and rng.random() < 0.5 else {}
    return table
