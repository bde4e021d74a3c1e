"""Writes a store to keep: `python -m tests.serve.stores.write_store 0.1.0-schema2`, in this folder.

The store, and what it must fold to, are read by test_stores.py with every later version. It was run once by each
version that is named here, at its commit; a store is never written again by a later one.

    0.1.0-schema2   by headstart 0.1.0 (schema version 2, snapshots of format 2), before each experiment had a log
                    of its own
    0.1.0-schema3   by headstart 0.1.0 (schema version 3), before there were units
    0.1.0-schema4   by headstart 0.1.0 (schema version 4): a shop with units, a declared value, a guardrail that
                    tripped and was resumed, an action that was retired and a person who was erased

To keep a store of a new version: copy the TOML and the CSV under the new name, run this, and add a line above.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from headstart.serve import Engine, ServiceConfig, load_config
from headstart.serve.engine.opening import open_store
from headstart.serve.units import Unit
from tests.serve.experiments import Clock

FOLDER = Path(__file__).parent
N_PROBES = 6


def main() -> None:
    """Write the store of this name beside its TOML and CSV. The present folder must be theirs: paths are kept."""
    name = sys.argv[1]
    config = replace(read_config(name), anchor=None)  # it would be left in this folder
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "live.sqlite")
        clock = Clock()
        live(place, config, clock)
        # Copied while it runs: the last commits are in the write-ahead log, which is folded in by the next opening.
        with Engine.open(config, store=open_store(place), clock=clock) as engine:
            after_snapshot(engine, clock)
            for end in ("", "-wal"):
                shutil.copy(place + end, f"{FOLDER / name}.sqlite{end}")
    fold_in(FOLDER / f"{name}.sqlite")
    told = tell(FOLDER / f"{name}.sqlite", config, clock)
    (FOLDER / f"{name}.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_config(name: str) -> ServiceConfig:
    """The configuration, with paths as they stand in it: events hold them, and no machine's may be in a store."""
    return load_config(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))


def fold_in(path: Path) -> None:
    """What an unclean end left in the write-ahead log becomes part of the file."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("VACUUM")
    connection.close()


def user(rng: random.Random, experiment: str) -> dict[str, Any]:
    """Whom to decide for."""
    if experiment == "linear":
        return {"size": rng.gauss(0, 1), "x=1": rng.choice(["yes", "no"]), "age": rng.randint(-2, 2)}
    if experiment in ("started", "withdrawn"):
        return {"likes": rng.choice(["videos", "images"]), "age": rng.gauss(0, 1)}
    if experiment == "shop":
        return {"visits": rng.randint(0, 9)}
    return {}


def live(place: str, config: ServiceConfig, clock: Clock) -> None:
    """What happens before the snapshots."""
    rng = random.Random(13)
    linear = {**_table(config, "linear"), "actions": ["plus", "basic"], "epsilon": 0.2}
    fewer = replace(load_config({"experiments": {"linear": linear}}), anchor=None)
    with Engine.open(
        fewer, store=open_store(place), clock=clock
    ) as engine:  # an earlier configuration of one of them
        run(engine, "linear", range(10), rng, clock)
    with Engine.open(config, store=open_store(place), clock=clock) as engine:
        for name in config.experiments:
            run(engine, name, range(10, 30), rng, clock)
        if "shop" in config.experiments:
            steer_shop(engine)
            run(engine, "shop", range(30, 40), rng, clock)
        engine.freeze("linear", "a look")
        run(engine, "linear", range(30, 36), rng, clock)
        engine.roll_back("started", engine.state("started")["version"] - 5, "a wrong turn")
        engine.withdraw_log("withdrawn", "it was another shop's")
        clock.seconds += 61
        engine.close_windows()
        for ledger in engine._ledgers.values():
            ledger.save_snapshot(1)


def steer_shop(engine: Engine) -> None:
    """What people and a guardrail decide about the shop."""
    engine.retire("shop", "leaflet", "sold out")
    since = engine._fold("shop").guards.since["complaints"]
    engine.trip("shop", "complaints", {"since": since, "looked_at": since, "reason": "complaint is above its bound"})
    engine.resume("shop", "complaints", "the mail's text was mended")
    engine.erase("shop", Unit("customer-3"), "they asked for it")


def after_snapshot(engine: Engine, clock: Clock) -> None:
    """What happens after them, up to the unclean end."""
    rng = random.Random(14)
    engine.unfreeze("linear")
    for name in engine.config.experiments:
        run(engine, name, range(40, 52), rng, clock)
    engine.freeze("guarded", "frozen at the end")
    run(engine, "guarded", range(52, 56), rng, clock)
    engine.set_aside("linear", "linear-ü41", "a test order")


def _table(config: ServiceConfig, experiment: str) -> dict[str, object]:
    return {name: value for name, value in config.experiments[experiment].as_dict().items() if value is not None}


def run(engine: Engine, experiment: str, numbers: range, rng: random.Random, clock: Clock) -> None:
    """Users, most of them with an outcome, some with two, some late, and outcomes of nobody."""
    actions = engine.config.experiments[experiment].actions
    for i in numbers:
        clock.seconds += 1.5
        event_id = f"{experiment}-ü{i}"
        available = list(actions[:2]) if i % 5 == 4 else None
        seen = user(rng, experiment)
        unit = f"customer-{i % 8}" if experiment == "shop" else None
        decision = engine.decide(experiment, seen, available, event_id, unit)
        if experiment == "shop":
            report_sale(engine, event_id, rng, i)
            continue
        is_liked = (decision.action in ("image", "plus")) == (seen.get("size", 1.0) > 0.0)
        outcome = float(rng.random() < (0.8 if is_liked else 0.2))
        if i % 4:
            engine.outcome(experiment, event_id, outcome)
        if i % 7 == 0:
            engine.outcome(experiment, event_id, 1.0 - outcome)  # the first one, or one that contradicts it
        if i % 11 == 0:
            engine.outcome(experiment, f"nobody-{experiment}-{i}", 1.0)
        if i % 20 == 0 and engine.config.experiments[experiment].outcome_window is not None:
            clock.seconds += engine.config.experiments[experiment].outcome_window + 1
            engine.close_windows()
            engine.outcome(experiment, event_id, 0.0)


def report_sale(engine: Engine, event_id: str, rng: random.Random, i: int) -> None:
    """Revenue in one part or two, a complaint by one in five, nothing by one in four."""
    for part in range(i % 4 and 1 + i % 2):
        engine.outcome("shop", event_id, {"revenue": round(rng.lognormvariate(2.0, 0.5), 2)}, f"part-{part}")
    if i % 5 == 0:
        engine.outcome("shop", event_id, {"complaint": 1.0}, "complaint")


def tell(path: Path, config: ServiceConfig, clock: Clock) -> dict[str, Any]:
    """What an opened store says of itself, and what it would decide next: asked of a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = str(Path(folder) / "copy.sqlite")
        shutil.copy(path, copy)
        with Engine.open(config, store=open_store(copy), clock=clock) as engine:
            return {"time": clock.seconds, "experiments": {name: ask(engine, name) for name in config.experiments}}


def ask(engine: Engine, experiment: str) -> dict[str, Any]:
    """State, decisions, kinds of events, and the next decisions. Sequence numbers and the words for why a policy was
    chosen are a version's own affair."""
    state = dict(engine.state(experiment))
    state["policy"] = {name: value for name, value in state["policy"].items() if name != "reasons"}
    for name in ("version", "position", "duplicates"):  # the last is a process's own count
        del state[name]
    rows = [dict(row) for row in engine.export(experiment)]
    for row in rows:
        del row["sequence"], row["version"]
    rng = random.Random(15)
    kinds = [event.kind for event in engine.events(experiment)]
    users = [{"context": user(rng, experiment), "event_id": f"probe-{i}"} for i in range(N_PROBES)]
    probes = [
        {"action": decision.action, "probabilities": list(decision.probabilities)}
        for decision in engine.decide_many(experiment, users)
    ]
    return {"state": state, "kinds": kinds, "decisions": rows, "probes": probes}


if __name__ == "__main__":
    main()
