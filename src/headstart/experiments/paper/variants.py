"""The three variants that the paper compares again and again: both sources, only the stream, only the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headstart.oracles import Greedy
from headstart.simulation.simulate import MakePolicy
from headstart.warmstart.offline_only import OfflineOnly
from headstart.warmstart.warmstart import WarmStart

BOTH, ONLINE, OFFLINE = "offline+online", "only online", "only offline"


def three_variants(
    oracle: Callable[[int, Any], Any], evaluator: Callable[[Any, Any, Any], Any]
) -> Mapping[str, MakePolicy]:
    """`oracle(n_actions, rng)` with `evaluator(world, log, rng)`, without it, and the log's verdict alone."""

    def both(world: Any, log: Any, rng: Any) -> Any:
        return WarmStart(oracle(world.n_actions, rng), evaluator(world, log, rng), rng=rng)

    def online(world: Any, log: Any, rng: Any) -> Any:
        return oracle(world.n_actions, rng)

    def offline(world: Any, log: Any, rng: Any) -> Any:
        return OfflineOnly(Greedy(world.n_actions), evaluator(world, log, rng), rng=rng)

    return {BOTH: both, ONLINE: online, OFFLINE: offline}
