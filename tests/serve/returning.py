"""Returning units: each is asked for at two replicas at once, after a restart and under other configurations.

`python -m tests.serve.campaign units` asks for 100,000 on each kind of store.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from headstart.serve import Decision, Engine, Unit, load_config

_ACTIONS = ("a", "b", "c")
_GROUP = 500
_PATIENCE = 120.0  # seconds: who asks here has no deadline, and the machine may be busy


class Returned(NamedTuple):
    """What n units showed."""

    n: int
    asked: int  # decisions
    draws: int
    changed: int  # units that were ever told another action or propensity
    p_value: float  # of the chi-square of the units' actions against the chances that they were drawn with
    drawing: float  # decisions a second of the first round, half of them draws
    repeating: float  # and of the last


def _open(address: str, anchor: str | None = None, **changes: Any) -> Engine:
    table = {"actions": list(_ACTIONS), "oracle": "ThompsonBeta", "seed": 5, "epsilon": 0.1, **changes}
    top = {"store": address, **({"anchor": anchor} if anchor else {})}
    config = load_config({**top, "experiments": {"shop": table}})
    return Engine.open(config, deadline=_PATIENCE)


def ask_returning(address: str, n: int) -> Returned:
    """Ask for n units four times; some outcomes are learnt all the while, by unit."""
    told: dict[str, list[Decision]] = {f"customer {i}": [] for i in range(n)}
    started = time.perf_counter()
    # An anchor is a process's: two engines of one process would write over each other's file.
    anchor = None if "://" in address else f"{address}.other.anchor"
    with _open(address) as one, _open(address, anchor) as other:
        _ask_at_once((one, other), told)
    first = time.perf_counter() - started
    changed = {"actions": ["d", *reversed(_ACTIONS)], "epsilon": 0.2}  # one more, in another order
    with _open(address, **changed) as engine:
        _ask(engine, told, np.random.default_rng(2))
    started = time.perf_counter()
    with _open(address, **changed, oracle="UCB", holdout=0.1) as engine:
        _ask(engine, told, np.random.default_rng(3))
    last = time.perf_counter() - started
    draws = [each for answers in told.values() for each in answers if each.follows is None]
    n_changed = sum(len({(each.action, each.propensity) for each in answers}) > 1 for answers in told.values())
    n_asked = sum(map(len, told.values()))
    return Returned(n, n_asked, len(draws), n_changed, _compare(draws), 2 * n / first, n / last)


def _ask_at_once(engines: tuple[Engine, Engine], told: dict[str, list[Decision]]) -> None:
    threads = [
        threading.Thread(target=_ask, args=(engine, told, np.random.default_rng(seed)))
        for seed, engine in enumerate(engines)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _ask(engine: Engine, told: dict[str, list[Decision]], rng: np.random.Generator) -> None:
    """Every unit, in an order of one's own; a tenth of them tell what came."""
    units = rng.permutation(list(told)).tolist()
    for begin in range(0, len(units), _GROUP):
        group = units[begin : begin + _GROUP]
        for unit, decision in zip(group, engine.decide_many("shop", [{"unit": unit} for unit in group]), strict=True):
            assert isinstance(decision, Decision), decision
            told[unit].append(decision)
        outcomes = (rng.random(len(group)) < 0.3).astype(float)
        engine.outcome_many("shop", [(Unit(unit), outcomes[i]) for i, unit in enumerate(group) if i % 10 == 0])


def _compare(draws: list[Decision]) -> float:
    """Draws minus chances are a martingale; its covariance is the sum of theirs, whose rows sum to 0."""
    labels = ("d", *_ACTIONS)
    chances = np.array(
        [[dict(zip(d.actions, d.probabilities, strict=True)).get(a, 0.0) for a in labels] for d in draws]
    )
    drawn = np.bincount([labels.index(str(d.action)) for d in draws], minlength=len(labels))
    difference = drawn - chances.sum(axis=0)
    covariance = np.diag(chances.sum(axis=0)) - chances.T @ chances
    statistic = float(difference @ np.linalg.pinv(covariance) @ difference)
    return float(stats.chi2.sf(statistic, np.count_nonzero(chances.sum(axis=0)) - 1))
