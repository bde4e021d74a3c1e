"""Past decisions in terms of the present actions: an experiment may have gained, lost or reordered some."""

from __future__ import annotations

from headstart.serve.engine.fold import Fold
from headstart.serve.store.events import DecisionBody


def as_present(fold: Fold, body: DecisionBody) -> list[float] | None:
    """A decision's probabilities, (K,), in the order of the present actions, 0 for one that was not there.

    None if the action that was drawn is no longer there.
    """
    present, chances = fold.config.actions, body["probabilities"]
    if len(fold.declared) == 1:
        return list(chances)
    if body["action"] not in present:
        return None
    by_label = dict(zip(fold.actions_at(body["version"]), chances, strict=True))
    return [by_label.get(label, 0.0) for label in present]
