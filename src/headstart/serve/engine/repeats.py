"""Repeats: a unit keeps the action of its newest draw, with the chance that it was drawn with.

It does so until its time is over (`sticky`, counted from the draw), or until the action cannot be shown to it: it is
retired, the experiment no longer has it, or it is not among those that are available to this call; or until the life
of the experiment is another (`serve/life.py`). Then the unit is
drawn for anew, and keeps that. A repeat is a decision of its own: its event id, its context, its outcome. It was not
drawn, so it says nothing about the chances, and its outcome is no more independent of the others of its draw than one
person's deeds are of each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from headstart.serve.config import Label
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.surprises import Seen
from headstart.serve.store.events import Body, DecisionBody, decision_body
from headstart.serve.store.store import Known, Trace


def is_kept(fold: Fold, draw: Known, available: list[Label] | None, now: int) -> bool:
    """Whether a unit keeps what was drawn for it."""
    action = draw.body["action"]
    is_there = action in fold.offered and (available is None or action in available)
    life, is_safe = fold.config.life, action == fold.config.safe_action
    is_young = not fold.config.is_over(draw.time, now) and (
        life is None or life.keeps(draw.time, now, is_safe=is_safe)
    )
    return is_there and is_young and _may_stay(fold, draw.body, available)


def _may_stay(fold: Fold, draw: Body, available: list[Label] | None) -> bool:
    """A guardrail ends what units keep, but for the hold-out's and the safe action; and so does its own end."""
    if "is_holdout" in draw:
        return True
    safe = fold.find_safe(available)
    return "fell_back" not in draw if safe is None else bool(draw["action"] == safe)


def find_share(fold: Fold, trace: Trace | None, now: int) -> float:
    """The share by which somebody is drawn for, who may be a unit that was drawn for before."""
    life = fold.config.life
    if life is None:
        return 1.0
    is_safe = trace is not None and trace.draw.body["action"] == fold.config.safe_action
    return life.share_for(None if trace is None else trace.draw.time, now, is_safe=is_safe)


def repeat_draw(
    trace: Trace,
    unit: str,
    seen: Seen,
    available: list[Label] | None,
    *,
    version: int,
    drawn_from: Sequence[Label],
    actions: Sequence[Label],
) -> DecisionBody:
    """The body of a decision that repeats the draw of its unit.

    The chances are those of the draw, in the order of the present actions: 0 for one that was not there, and that of
    one which is no longer there is lost.
    """
    draw = decision_body(trace.draw.body)
    chances = dict(zip(drawn_from, draw["probabilities"], strict=True))
    body: DecisionBody = {
        "context": seen.context,
        "action": draw["action"],
        "propensity": draw["propensity"],
        "probabilities": [chances.get(label, 0.0) for label in actions],
        "version": version,
    }
    if available is not None:
        body["available"] = available
    if "is_holdout" in draw:
        body["is_holdout"] = True
    if "fell_back" in draw:
        body["fell_back"] = draw["fell_back"]
    if seen.surprises:
        body["surprises"] = dict(seen.surprises)
    body["unit"], body["follows"], body["number"] = unit, trace.draw_id, trace.number + 1
    return body
