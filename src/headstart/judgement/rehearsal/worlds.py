"""Worlds that could have made the log, and worlds that it is wrong about: what a rehearsal is played in.

Evidence is what the log says of each action: its mean, standard error and variance (the audit's summary), and how the
outcomes scatter. A scenario draws true means around it. Outcomes that are 0 or 1 have rates from the Beta
distribution of that mean and standard error, and are moved in log-odds; other means are normal, and are moved as they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.ridge import fit, moving_columns, predict_actions, standardise, sum_rows
from headstart.estimates.summary import Summary
from headstart.logs.log import Log
from headstart.worlds.drawn import DrawnWorld
from headstart.worlds.resampled import Resampled

_FEWEST_ROWS = 30  # of an action; with fewer, all rows tell how its outcomes scatter
_MOST_USERS = 5000  # rows of the log that stand for users, if they differ
_LEAST_RATE = 1e-6
_SURELY = 2.0  # standard errors by which a log that is wrong is wrong at least
_SHIFT = 0.5  # standard deviations of an outcome, or of log-odds by ln 2, that a level is shifted by


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the log says, and what its outcomes look like."""

    log: Log
    means: Floats  # (K,) also of actions that the log never shows: the others' average
    errors: Floats  # (K,) of the means
    variances: Floats  # (K,) of an outcome
    shares: Floats  # (K,) of users, under today's policy
    earned: float  # the mean outcome of the log: today's policy's value
    residuals: tuple[Floats, ...] | None  # per action; None: outcomes are 0 or 1
    decided: Integers | None  # the columns that decisions look at; None: users do not differ

    @property
    def is_binary(self) -> bool:
        return self.residuals is None

    @property
    def leader(self) -> int:
        """The action that the log puts first."""
        return int(np.argmax(self.means))

    def value_of_today(self, truth: Floats) -> float:
        """What today's policy earns a user where the actions' means are these: the log's mean outcome, moved by what
        each action's mean differs from the log's, as often as it is shown. How it chooses stays as it is."""
        return self.earned + float(self.shares @ (truth - self.means))


def gather_evidence(log: Log, summary: Summary, decided: Integers | None) -> Evidence:
    """The evidence of these rows with the means that the audit found."""
    known = np.isfinite(summary.means) & np.isfinite(summary.standard_errors)
    variances = np.where(known, summary.variances, np.mean(summary.variances[known]))
    means = np.where(known, summary.means, np.mean(summary.means[known]))
    # Of an action that the log never shows nothing is known but that the others differ by so much.
    unknown = np.sqrt(np.var(summary.means[known]) + np.mean(summary.standard_errors[known] ** 2))
    errors = np.where(known, summary.standard_errors, unknown)
    is_binary = bool(np.isin(log.outcomes, (0.0, 1.0)).all())
    shares = np.bincount(log.actions, minlength=log.n_actions) / len(log)
    residuals = None if is_binary else _scatter(log, variances, decided)
    return Evidence(log, means, errors, variances, shares, float(log.outcomes.mean()), residuals, decided)


def _scatter(log: Log, variances: Floats, decided: Integers | None) -> tuple[Floats, ...]:
    """What an action's outcomes differ from their mean by: with the audit's variance, or around users' own means."""
    around = np.zeros(len(log))
    if decided is not None:
        contexts = standardise(log.contexts)[0]
        fitted = fit(sum_rows(contexts, log.outcomes, log.actions, log.n_actions))
        around = predict_actions(fitted, contexts)[np.arange(len(log)), log.actions]
    parts = []
    for a in range(log.n_actions):
        rows = log.actions == a
        chosen = rows if rows.sum() >= _FEWEST_ROWS else np.ones(len(log), dtype=np.bool_)
        left = (log.outcomes - around)[chosen]
        left = left - left.mean()
        spread = float(left.std())
        parts.append(left * (np.sqrt(variances[a]) / spread) if decided is None and spread > 0.0 else left)
    return tuple(parts)


def draw_right(evidence: Evidence, rng: np.random.Generator) -> Floats:
    """True means from what the log says of them, (K,)."""
    if not evidence.is_binary:
        return rng.normal(evidence.means, evidence.errors)
    rates = np.clip(evidence.means, _LEAST_RATE, 1.0 - _LEAST_RATE)
    plays = np.maximum(rates * (1.0 - rates) / np.maximum(evidence.errors, 1e-12) ** 2 - 1.0, 1e-3)
    drawn: Floats = rng.beta(rates * plays, (1.0 - rates) * plays)
    return np.clip(drawn, _LEAST_RATE, 1.0 - _LEAST_RATE)


def draw_shifted(evidence: Evidence, rng: np.random.Generator) -> Floats:
    """Every mean higher, or every mean lower, than the log says, by as much."""
    scale = np.log(2.0) if evidence.is_binary else _SHIFT * float(np.sqrt(evidence.variances.mean()))
    sign = 1.0 if rng.random() < 0.5 else -1.0
    return _lowered(evidence, _raised(evidence, draw_right(evidence, rng)) + sign * scale)


def draw_flattered(evidence: Evidence, rng: np.random.Generator) -> Floats:
    """The action that the log puts first is in truth below the best of the others by as much as it seemed above."""
    levels, first = _raised(evidence, draw_right(evidence, rng)), evidence.leader
    second = int(np.argmax(np.where(np.arange(levels.size) == first, -np.inf, levels)))
    levels[first] = levels[second] - _distance(evidence, levels, first, second)
    return _lowered(evidence, levels)


def draw_slandered(evidence: Evidence, rng: np.random.Generator) -> Floats:
    """One of the others, drawn by lot, is in truth above the log's first by as much as it seemed below."""
    levels, first = _raised(evidence, draw_right(evidence, rng)), evidence.leader
    slandered = int(rng.choice(np.delete(np.arange(levels.size), first)))
    levels[slandered] = levels[first] + _distance(evidence, levels, slandered, first)
    return _lowered(evidence, levels)


def _distance(evidence: Evidence, levels: Floats, a: int, b: int) -> float:
    """How far apart two actions are, at least twice the standard error of that."""
    slopes = evidence.means * (1.0 - evidence.means) if evidence.is_binary else np.ones(levels.size)
    errors = evidence.errors / np.maximum(slopes, _LEAST_RATE)
    return max(abs(float(levels[a] - levels[b])), _SURELY * float(np.hypot(errors[a], errors[b])))


def _raised(evidence: Evidence, means: Floats) -> Floats:
    """Rates as log-odds; other means as they are."""
    return np.log(means / (1.0 - means)) if evidence.is_binary else means.copy()


def _lowered(evidence: Evidence, levels: Floats) -> Floats:
    with np.errstate(over="ignore"):  # a rate that far down is 0
        return 1.0 / (1.0 + np.exp(-levels)) if evidence.is_binary else levels


@dataclass(frozen=True)
class Scenario:
    """One way in which the log may stand to the truth."""

    name: str
    words: str
    draw: Callable[[Evidence, np.random.Generator], Floats]
    is_log_right: bool  # about which action is best
    days_late: int = 0  # that outcomes come


RIGHT = "the log is right"
SCENARIOS: Sequence[Scenario] = (
    Scenario(RIGHT, "true means are the log's within its standard errors", draw_right, True),
    Scenario(
        "all levels shifted",
        "every action is better, or every one worse, than in the log, by as much: a season, a price",
        draw_shifted,
        True,
    ),
    Scenario(
        "the winner flattered",
        "the action that the log puts first is really below the next by as much as it seemed above",
        draw_flattered,
        False,
    ),
    Scenario(
        "the best slandered",
        "another action is really above the log's first by as much as it seemed below",
        draw_slandered,
        False,
    ),
    Scenario("outcomes a day late", "the log is right, and outcomes are known a day later", draw_right, True, 1),
)


@dataclass(frozen=True, eq=False)
class Truth:
    """One drawn world: what is true in it."""

    means: Floats  # (K,)
    expected: Floats  # (n, K) of users; one row if they do not differ

    @property
    def best(self) -> float:
        """What a user earns who gets the best action, each their own if users differ."""
        return float(self.expected.max(axis=1).mean())


class LogWorlds:
    """A scenario's worlds, as `simulate` asks for them: users who come next, a truth anew for each run."""

    def __init__(self, evidence: Evidence, scenario: Scenario) -> None:
        self._evidence, self._scenario = evidence, scenario
        log, decided = evidence.log, evidence.decided
        if decided is not None:
            self._rows = np.random.default_rng(0).permutation(len(log))[:_MOST_USERS]
            self._standard = standardise(log.contexts)[0]
            looked_at = np.isin(np.arange(log.n_features), decided)
            self._seen = np.where(looked_at[moving_columns(log.contexts)], self._standard[self._rows], 0.0)

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A world of this scenario."""
        truth, evidence = self.draw_truth(rng), self._evidence
        contexts = None if evidence.decided is None else evidence.log.contexts[self._rows]
        is_contextual = evidence.decided is not None
        made = Resampled(evidence.log, truth.expected, contexts, evidence.residuals, is_contextual=is_contextual)
        return made.draw(rng)

    def draw_truth(self, rng: np.random.Generator) -> Truth:
        """What is true in the world that `draw` makes of the same stream."""
        evidence = self._evidence
        means = self._scenario.draw(evidence, rng)
        if evidence.decided is None:
            return Truth(means, means[None].copy())
        expected = means + self._draw_tilts(rng)
        if evidence.is_binary:
            expected = np.clip(expected, 0.0, 1.0)
        return Truth(expected.mean(axis=0), expected)

    def _draw_tilts(self, rng: np.random.Generator) -> Floats:
        """How users differ from the mean under each action, (n, K): ridge regressions of rows drawn anew, so that
        slopes vary by their errors. Columns that are not decided on count as their average."""
        log = self._evidence.log
        again = rng.integers(len(log), size=len(log))
        fitted = fit(sum_rows(self._standard[again], log.outcomes[again], log.actions[again], log.n_actions))
        tilts = predict_actions(fitted, self._seen)
        centred: Floats = tilts - tilts.mean(axis=0)
        return centred
