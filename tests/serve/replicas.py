"""Several replicas on one PostgreSQL: the same ids at once, outcomes on any of them, one killed on the way."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from contextlib import ExitStack
from typing import Any

from headstart.serve import Engine, load_config
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from tests.serve.forked import forked


def make_tables(address: str) -> dict[str, Any]:
    """One experiment that learns at once."""
    return {"store": address, "experiments": {"ads": {"actions": ["a", "b", "c"], "oracle": "ThompsonBeta"}}}


def run_replicas(address: str, n_replicas: int, n_users: int) -> dict[str, Any]:
    """Every replica is asked about every user, in its own order; what they answered, and the folds at the end."""
    Engine.open(load_config(make_tables(address))).close()
    with ExitStack() as running:
        arguments = [(json.dumps(make_tables(address)), str(r), str(n_users)) for r in range(n_replicas)]
        processes = [running.enter_context(forked("tests.serve.replicas", *each)) for each in arguments]
        for process in processes:  # all are open before one of them begins
            assert process.read() == "open"
        for process in processes:
            process.tell("begin")
        told = [json.loads(process.read()) for process in processes]
        folds = []
        for process in processes:  # each has now seen that all are done
            process.tell("fold")
            folds.append(json.loads(process.read()))
    store = open_store(address)
    try:
        verdict = verify_store(store.query)
    finally:
        store.close()
    return {"told": told, "folds": folds, "verdict": verdict}


def main() -> None:
    """One replica."""
    replica, n_users = int(sys.argv[2]), int(sys.argv[3])
    told: dict[str, Any] = {"decisions": {}, "applied": []}
    with Engine.open(load_config(json.loads(sys.argv[1]))) as engine:
        print("open", flush=True)
        sys.stdin.readline()
        users = [f"u{i}" for i in range(n_users)]
        random.Random(replica).shuffle(users)

        def work(mine: list[str]) -> None:
            for user in mine:
                decision = engine.decide("ads", event_id=user)
                told["decisions"][user] = [decision.action, decision.propensity, decision.version]
                receipt = engine.outcome("ads", user, float(int(user[1:]) % 2))
                if receipt.status == "applied":
                    told["applied"].append(user)

        threads = [threading.Thread(target=work, args=(users[t::4],)) for t in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(json.dumps(told), flush=True)
        sys.stdin.readline()
        while engine.health()["lag"]:
            time.sleep(0.01)
        fold = {"fold": engine.fingerprint("ads").decode(), "is_folder": engine.health()["is_folder"]}
        print(json.dumps(fold), flush=True)
        sys.stdin.readline()
