"""What a verdict rests on: the one sentence that no log can prove, said with every verdict that lets it be used.

Rows that were kept by their outcome, and a confounder that was not written down, leave no trace in a log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headstart.estimates.periods import PERIOD

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit

_MOST_NAMES = 4


def name_basis(audit: Audit) -> str:
    """'If ...': what must be true for the verdict to hold, though no check can see it."""
    if audit.facts.basis == "logged":
        return (
            "This rests on two things that no log can show: that actions were drawn with the logged chances and no "
            "row was left out for its outcome, and that the users to come are like these."
        )
    if audit.facts.basis == "nothing":
        return (
            "This rests on something that no log can show: that actions were drawn by lot, and no row was left out "
            "for its outcome."
        )
    return (
        f"This rests on something that no log can show: that nothing besides {_name_columns(audit)} decided who saw "
        "what and bears on the outcome, and no row was left out for its outcome."
    )


def _name_columns(audit: Audit) -> str:
    columns = list(dict.fromkeys(audit.facts.columns))
    if audit.drift is not None and audit.drift.is_adjusted:
        columns.append(f"the {PERIOD}")
    if len(columns) > _MOST_NAMES:
        return f"{', '.join(columns[: _MOST_NAMES - 1])} and {len(columns) - _MOST_NAMES + 1} more columns"
    return " and ".join([", ".join(columns[:-1]), columns[-1]] if len(columns) > 1 else columns)
