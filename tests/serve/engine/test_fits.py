"""A policy starts from the same bits in every process, whatever processor it runs on."""

from __future__ import annotations

import csv
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.serve import Engine, ServiceConfig, load_config
from headstart.serve.engine.fits import record_fit, take_up_fit
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.packing import pack
from headstart.serve.engine.served_policy import ServedPolicy
from headstart.serve.engine.verification import verify_store
from headstart.serve.errors import StoreCorrupt
from tests import catalogue
from tests.serve.postgres_server import PostgresServer
from tests.serve.store.test_store import run_sql

CONTEXTS = {"size": "number", "age": "number", "likes": ["videos", "images"]}
ACTIONS = ["video", "image", "text"]
N_ROWS = 12_000  # BLAS splits sums among threads from 10,000 on; here it has one, on the other processor two


def write_log(path: Path, n: int = N_ROWS) -> None:
    """A confounded log: who is shown what depends on age."""
    rng = np.random.default_rng(5)
    ages, sizes, likes = rng.normal(size=n), rng.normal(size=n), rng.choice(["videos", "images"], n)
    scores = np.exp(0.7 * np.column_stack([ages, -ages, sizes]))
    chances = scores / scores.sum(axis=1, keepdims=True)
    actions = (rng.random(n)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1).clip(0, 2)
    outcomes = 0.3 * ages * (actions == 0) + 0.2 * (likes == "images") * (actions == 1) + rng.normal(size=n)
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["ad", "gain", "chance", *CONTEXTS])
        for i in range(n):
            row = (outcomes[i], chances[i, actions[i]], sizes[i], ages[i])
            rows.writerow([ACTIONS[actions[i]], *map(float, row), likes[i]])


def make_tables(folder: Path) -> dict[str, Any]:
    """Policies whose start takes regressions, weights, estimated propensities and matching."""
    columns = {"path": str(folder / "log.csv"), "action": "ad", "outcome": "gain"}
    known = {**columns, "propensity": "chance"}
    estimated = {**columns, "contexts": list(CONTEXTS), "estimate_propensities": True}
    by_context = {"actions": ACTIONS, "contexts": CONTEXTS}
    return {
        "store": str(folder / "events.sqlite"),
        "experiments": {
            "started": {**by_context, "log": known},
            "for-all": {"actions": ACTIONS, "log": known},
            "linear": {**by_context, "log": known, "oracle": "LinUCB", "evaluator": "LinearModel"},
            "estimated": {
                "actions": ACTIONS,
                "log": estimated,
                "oracle": "ThompsonNormal",
                "evaluator": "IPSWeighting",
            },
            "matched": {**by_context, "log": estimated, "oracle": "UCB", "evaluator": "PropensityMatching"},
        },
    }


def live(engine: Engine, name: str, n: int) -> None:
    """Some users of an experiment."""
    rng = np.random.default_rng(8)
    has_context = name in ("started", "linear", "matched")
    for i in range(n):
        user = {"age": rng.normal(), "size": rng.normal(), "likes": str(rng.choice(["videos", "images"]))}
        decision = engine.decide(name, user if has_context else {}, event_id=f"u{i}")
        engine.outcome(name, decision.event_id, float(rng.normal()))


_READ_AGAIN = """
import json, sys
from tests.serve.engine.test_fits import read_again
for line in sys.stdin:
    print(json.dumps(read_again(json.loads(line))), flush=True)
"""


@pytest.fixture(scope="module")
def read_elsewhere() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """`read_again` in another process, whose OpenBLAS believes in another processor and has two threads."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", _READ_AGAIN]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def read(tables: dict[str, Any]) -> dict[str, Any]:
            stdin.write(f"{json.dumps(tables)}\n")
            stdin.flush()
            told: dict[str, Any] = json.loads(stdout.readline())
            return told

        yield read
        stdin.close()


def hash_folds(engine: Engine, config: ServiceConfig) -> dict[str, str]:
    """The state of each experiment, in short."""
    return {name: blake2b(engine.fingerprint(name)).hexdigest() for name in config.experiments}


def read_again(tables: dict[str, Any]) -> dict[str, Any]:
    """What another process makes of the store."""
    store = open_store(tables["store"])
    verdict = verify_store(store.query)
    store.close()
    config = load_config(tables)
    with Engine.open(config) as engine:
        folds = hash_folds(engine, config)
    return {"faults": verdict.faults, "decided again": verdict.decided_again, "folds": folds}


def test_a_store_is_sound_and_its_folds_are_the_same_on_another_processor_with_other_threads(
    tmp_path: Path, read_elsewhere: Callable[[dict[str, Any]], dict[str, Any]]
):
    write_log(tmp_path / "log.csv")
    tables = make_tables(tmp_path)
    config = load_config(tables)
    with Engine.open(config) as engine:
        for name in config.experiments:
            live(engine, name, 40)
        folds = hash_folds(engine, config)
    told = read_elsewhere(tables)
    assert told["faults"] == []
    assert told["decided again"] == 40 * len(folds)
    assert told["folds"] == folds


def _choose(folder: Path, address: str, *names: str, n_rows: int = N_ROWS) -> dict[str, Any]:
    """Some of the experiments, in another store."""
    write_log(folder / "log.csv", n_rows)
    tables = make_tables(folder)
    return {"store": address, "experiments": {name: tables["experiments"][name] for name in names}}


def test_a_replica_on_another_processor_has_the_same_fold(
    tmp_path: Path, postgres: PostgresServer, read_elsewhere: Callable[[dict[str, Any]], dict[str, Any]]
):
    """Both are open at once, and the second sees users that the first has taught its own fit."""
    tables = _choose(tmp_path, postgres.new_store(), "started", "linear")
    config = load_config(tables)
    with Engine.open(config) as engine:
        for name in config.experiments:
            live(engine, name, 20)
        told = read_elsewhere(tables)
        assert told["faults"] == []
        assert told["folds"] == hash_folds(engine, config)


def _open_small(folder: Path, address: str) -> ServiceConfig:
    """One experiment that started from a log and has had some users."""
    config = load_config(_choose(folder, address, "for-all", n_rows=1000))
    with Engine.open(config) as engine:
        live(engine, "for-all", 5)
    return config


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("DELETE FROM fits", "is not in the store"),
        ("UPDATE fits SET body = substr(body, 5)", "was changed: its hash does not match"),
    ],
)
def test_a_fit_that_is_lost_or_changed_is_a_fault_and_a_service_goes_on(
    tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture, damage: str, fault: str
):
    config = _open_small(tmp_path, address)
    run_sql(address, damage)
    run_sql(address, "DELETE FROM snapshots")
    store = open_store(address)
    faults = verify_store(store.query).faults
    store.close()
    assert len(faults) == 1
    assert faults[0].startswith("experiment 'for-all': the fit ")
    assert fault in faults[0]
    with caplog.at_level(logging.ERROR, logger="headstart.serve"), Engine.open(config) as engine:
        assert engine.decide("for-all", {}).action in ACTIONS
    told = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert [fault in each and "is built anew" in each for each in told] == [True]


def test_every_start_from_a_log_is_recorded_once(tmp_path: Path, address: str):
    config = _open_small(tmp_path, address)
    with Engine.open(config):
        pass
    store = open_store(address)
    (row,) = store.query("SELECT body FROM events WHERE kind = 'warm_start'")
    assert store.query("SELECT hash FROM fits") == [(json.loads(row[0])["fit"],)]
    store.close()


def _serve(name: str, seed: int) -> ServedPolicy:
    return ServedPolicy(catalogue.POLICIES[name](seed), catalogue.LOG.encoding, 0)


@pytest.mark.parametrize("name", ["start", "start by context", "WarmStart", "WarmStart of matching", "Guarded"])
def test_a_recorded_fit_is_taken_up_whatever_was_built(name: str):
    policy, twin = _serve(name, 3), _serve(name, 4)
    fit, other = record_fit(policy), record_fit(twin)
    assert fit is not None
    assert fit != other
    take_up_fit(twin, *fit)
    assert record_fit(twin) == fit
    assert pack(twin.policy.get_state()) == pack(policy.policy.get_state())


def test_large_arrays_are_recorded_by_their_hash_and_have_to_come_out_the_same():
    name = "WarmStart of matching"
    policy = _serve(name, 3)
    whole, short = record_fit(policy), record_fit(policy, most_bytes=100)
    assert whole is not None
    assert short is not None
    assert len(short.body) < len(whole.body) / 2
    twin = _serve(name, 3)
    take_up_fit(twin, *short)
    assert record_fit(twin) == whole
    log = catalogue.LOG
    moved = hs.Log(log.actions, log.outcomes + 1e-15, log.contexts, log.propensities, n_actions=catalogue.K)
    matched = hs.WarmStart(hs.UCB(catalogue.K), hs.ExactMatching(moved, rng=3), rng=3)
    other = ServedPolicy(matched, log.encoding, 0)
    before = pack(other.policy.get_state())
    with pytest.raises(StoreCorrupt, match=r"evaluator/strata\.outcomes has come out differently on this machine"):
        take_up_fit(other, *short)
    assert pack(other.policy.get_state()) == before


def test_a_fit_of_another_policy_is_refused():
    fit = record_fit(_serve("start", 1))
    assert fit is not None
    with pytest.raises(StoreCorrupt, match="does not belong to the policy that is built now: state needs"):
        take_up_fit(_serve("WarmStart", 1), *fit)
