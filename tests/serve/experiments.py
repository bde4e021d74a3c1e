"""Experiments that the tests of the engine share, and a clock that goes when it is told to."""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.logs.log import Log
from headstart.serve import ServiceConfig, load_config


class Clock:
    """Seconds since 1970, by hand."""

    def __init__(self, seconds: float = 1_700_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def make_config(address: str, **settings: Any) -> ServiceConfig:
    """One experiment `ads` with two actions and no context, unless told otherwise."""
    table = {"actions": ["video", "image"], "oracle": {"name": "UCB", "beta": 0.5}, "seed": 7, **settings}
    top = {"store": address, **{key: table.pop(key) for key in ("anchor", "after_loss") if key in table}}
    return load_config({**top, "experiments": {"ads": table}})


def make_log(n: int = 200, seed: int = 3) -> Log:
    """A log with one number and one category, and uniform propensities."""
    rng = np.random.default_rng(seed)
    actions = rng.choice(["video", "image"], n)
    contexts = {"age": rng.normal(size=n), "likes": rng.choice(["videos", "images"], n)}
    clicks = (rng.random(n) < np.where(actions == "image", 0.6, 0.3)).astype(float)
    return Log(actions, clicks, contexts=contexts, propensities=np.full(n, 0.5))


CONTEXTS = {"age": "number", "likes": ["images", "videos"]}
