"""Parts as a user would write them: plain Python, without kernels, for the tests of the plain loop."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np


class Plain:
    """The same part with its kernels hidden, so that every loop around it is the plain one."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        if name == "kernel_state" or name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._part, name)


class SlowUCB:
    """mean + beta sqrt(2 ln n / n_a), an action never played first, ties to the lowest."""

    def __init__(self, n_actions: int, beta: float = 1.0) -> None:
        self.n_actions, self.beta = n_actions, beta
        self.outcomes: list[list[float]] = [[] for _ in range(n_actions)]

    def play(self, context: Any = None, available: Any = None) -> int:
        n = sum(len(seen) for seen in self.outcomes)
        indices = [
            math.inf if not seen else sum(seen) / len(seen) + self.beta * math.sqrt(2 * math.log(n) / len(seen))
            for seen in self.outcomes
        ]
        return indices.index(max(indices))

    def update(self, context: Any, action: int, outcome: float) -> None:
        self.outcomes[action].append(outcome)


class SlowIPSW:
    """OfflineEvaluator 3, row by row."""

    def __init__(self, log: Any) -> None:
        self.n_actions = log.n_actions
        self.means, self.sizes = [], []
        for a in range(log.n_actions):
            weights = [1 / p for i, p in zip(log.actions, log.propensities, strict=True) if i == a]
            outcomes = [y for i, y in zip(log.actions, log.outcomes, strict=True) if i == a]
            total, weighted = math.fsum(weights), math.fsum(w * y for w, y in zip(weights, outcomes, strict=True))
            self.means.append(weighted / total if total else 0.0)
            self.sizes.append(total**2 / math.fsum(w * w for w in weights) if total else 0.0)

    def get_outcome(self, context: Any, action: int) -> float | None:
        if self.sizes[action] >= 1:
            self.sizes[action] -= 1
            return self.means[action]
        return None


class SlowExactMatching:
    """OfflineEvaluator 1 with a dictionary of lists; the rows are shuffled as the real one shuffles them."""

    def __init__(self, log: Any, rng: int) -> None:
        self.n_actions, self.contexts = log.n_actions, log.contexts
        self.rows: dict[Any, list[float]] = defaultdict(list)
        for i in np.random.default_rng(rng).permutation(len(log)):
            self.rows[tuple(log.contexts[i].tolist()), int(log.actions[i])].append(float(log.outcomes[i]))
        self.is_stopped = [False] * log.n_actions

    def get_outcome(self, context: Any, action: int) -> float | None:
        matched = self.rows[tuple(np.asarray(context).tolist()), action]
        if self.is_stopped[action] or not matched:
            self.is_stopped[action] = True
            return None
        return matched.pop()
