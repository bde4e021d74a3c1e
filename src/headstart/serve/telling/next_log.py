"""What this service's own log is worth to the next start, and what to choose if it should be worth more.

An action that was drawn with chance p is worth about p users of an even trial per user: the rarest one sets how well
a next policy can know what it might be missing. The floor `epsilon` gives every action a chance of at least
epsilon / K, and costs what the policy gains over an even draw, for the share of users that it takes.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from headstart.serve.config import ExperimentConfig
from headstart.serve.telling.report import Report

_FLOORS = (0.1, 0.2, 0.4)
_ENOUGH = 0.2  # of an even trial's worth for the rarest action: then nothing is advised


class FloorChoice(TypedDict):
    """A floor that one may set."""

    epsilon: float
    rarest: int  # users that the rarest action would be worth after as many users again
    cost: float | None  # in outcome per user, against the present floor
    text: str


class NextLog(TypedDict):
    """The worth of the log so far, in users of an even trial."""

    outcomes: int
    worth: dict[str, int]  # per action
    rarest: str | None
    choices: list[FloorChoice]
    text: str


def judge_next_log(report: Report, names: list[str], config: ExperimentConfig) -> NextLog:
    """From sums as they are."""
    weighed, n = report.weighed(), report.n_outcomes
    worth = np.floor(weighed.sizes)
    if not n:
        text = "Nothing yet: no outcome has come."
        return {"outcomes": 0, "worth": dict.fromkeys(names, 0), "rarest": None, "choices": [], "text": text}
    rarest, k = int(worth.argmin()), len(names)
    text = (
        f"{n:,} outcomes are worth {worth.sum():,.0f} users of an even trial to the next start, but "
        f"{names[rarest]} only {worth[rarest]:,.0f}: what is rarely shown is hardly known."
    )
    if worth[rarest] >= _ENOUGH * n / k:
        text = f"{n:,} outcomes are worth at least {worth[rarest]:,.0f} users of an even trial for every action."
        choices: list[FloorChoice] = []
    else:
        choices = [_choose(report, n, k, epsilon, config) for epsilon in _FLOORS if epsilon > config.epsilon]
        text += " To have more, raise the floor (epsilon); a hold-out compares with chance, and adds little here."
    told = {name: int(size) for name, size in zip(names, worth, strict=True)}
    return {"outcomes": n, "worth": told, "rarest": names[rarest], "choices": choices, "text": text}


def _choose(report: Report, n: int, k: int, epsilon: float, config: ExperimentConfig) -> FloorChoice:
    means = report.weighed().means
    gained = float(report.chances() @ means - means.mean())  # of the policy over an even draw
    cost = (epsilon - config.epsilon) * gained / (1.0 - config.epsilon) if np.isfinite(gained) else None
    rarest = int(n * epsilon / k)
    text = f"epsilon = {epsilon:g}: at least {rarest:,} users for each action after {n:,} more"
    if cost is not None:
        text += f", for about {report.words.tell_change(-max(cost, 0.0)).lstrip('+-')} a user less"
    return {"epsilon": epsilon, "rarest": rarest, "cost": cost, "text": text + "."}
