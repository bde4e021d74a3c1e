"""Slow, obvious twins of the linear parts, written with whole matrices, for the tests to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Phi = Callable[[Any, int], np.ndarray]


class SlowLinUCB:
    """theta'phi + beta sqrt(phi'V^-1 phi), everything solved anew at each call. `groups`: whose V an action has."""

    def __init__(self, groups: list[int], length: int, phi: Phi, beta: float = 1.0, ridge: float = 1.0) -> None:
        self.n_actions, self.groups, self.phi, self.beta = len(groups), groups, phi, beta
        self.v = [ridge * np.eye(length) for _ in range(max(groups) + 1)]
        self.b = [np.zeros(length) for _ in range(max(groups) + 1)]

    def bound(self, context: Any, action: int) -> float:
        v, b, phi = self.v[self.groups[action]], self.b[self.groups[action]], self.phi(context, action)
        return float(phi @ np.linalg.solve(v, b) + self.beta * np.sqrt(phi @ np.linalg.solve(v, phi)))

    def play(self, context: Any, available: Any = None) -> int:
        actions = range(self.n_actions) if available is None else available
        return max(actions, key=lambda a: (self.bound(context, a), -a))

    def update(self, context: Any, action: int, outcome: float) -> None:
        phi, group = self.phi(context, action), self.groups[action]
        self.v[group] += np.outer(phi, phi)
        self.b[group] += outcome * phi


class SlowLR:
    """The paper's LR with notes.md's stop rule, all matrices inverted anew at each call."""

    def __init__(self, log: Any, groups: list[int], length: int, phi: Phi) -> None:
        self.n_actions, self.groups, self.phi = len(groups), groups, phi
        self.contexts = log.contexts
        self.logged = [np.eye(length) for _ in range(max(groups) + 1)]
        self.v = [np.eye(length) for _ in range(max(groups) + 1)]
        b = [np.zeros(length) for _ in range(max(groups) + 1)]
        for x, a, y in zip(log.contexts, log.actions, log.outcomes, strict=True):
            self.logged[groups[a]] += np.outer(phi(x, a), phi(x, a))
            b[groups[a]] += y * phi(x, a)
        self.theta = [np.linalg.solve(v, moment) for v, moment in zip(self.logged, b, strict=True)]

    def get_outcome(self, context: Any, action: int) -> float | None:
        phi, group = self.phi(context, action), self.groups[action]
        after = self.v[group] + np.outer(phi, phi)
        if phi @ np.linalg.solve(after, phi) > phi @ np.linalg.solve(self.logged[group], phi):
            self.v[group] = after
            return float(phi @ self.theta[group])
        return None
