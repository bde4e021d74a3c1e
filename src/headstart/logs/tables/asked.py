"""What the caller says of a log's columns, and the names in common use by which the others are recognised."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from headstart.errors import LogError, OptionError

Missing: TypeAlias = Literal["fill", "drop", "error"]  # what becomes of a context that is missing

ALIASES: Mapping[str, tuple[str, ...]] = {
    "action": (
        "action", "actions", "a", "arm", "treatment", "variant", "ad", "ad_id", "item", "item_id", "article",
        "article_id", "action_id", "arm_id", "chosen_action", "logged_action",
    ),
    "outcome": (
        "outcome", "outcomes", "reward", "rewards", "y", "click", "clicked", "is_click", "is_clicked", "converted",
        "conversion", "is_converted", "response", "payoff",
    ),
    "propensity": (
        "propensity", "propensities", "propensity_score", "pscore", "p_score", "p", "prob", "probability",
        "action_prob", "action_probability", "logging_prob", "logging_probability",
    ),
    "timestamp": ("timestamp", "ts", "time", "datetime", "event_time", "logged_at", "created_at"),
    "id": (
        "id", "event_id", "eventid", "row_id", "request_id", "decision_id", "impression_id", "uuid", "guid",
    ),
    "unit": (
        "unit", "unit_id", "user_id", "userid", "user", "uid", "customer_id", "customerid", "customer", "visitor_id",
        "visitorid", "visitor", "member_id", "account_id", "person_id", "subject_id", "patient_id", "client_id",
        "player_id", "cookie_id", "session_id", "sessionid", "device_id", "household_id",
    ),
}  # fmt: skip
REQUIRED = ("action", "outcome")


@dataclass(frozen=True)
class Asked:
    """What the caller said of the columns; None leaves it to the names, False (or an empty list) means none."""

    action: str | None = None
    outcome: str | None = None
    propensity: str | Literal[False] | None = None
    timestamp: str | Literal[False] | None = None
    id: str | Literal[False] | None = None
    unit: str | Literal[False] | None = None
    contexts: tuple[str, ...] | None = None
    confounders: tuple[str, ...] = ()
    action_names: tuple[Hashable, ...] | None = None
    where: Mapping[str, object] = field(default_factory=dict)
    missing: Missing = "fill"

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise OptionError(f"missing must be 'fill', 'drop' or 'error', got {self.missing!r}")
        if self.action_names is not None and len(set(self.action_names)) != len(self.action_names):
            raise LogError(f"action_names must differ, got {self.action_names!r}")
        for role in REQUIRED:
            if self.given(role) is False:
                raise OptionError(f"{role} must be the name of a column: a log needs one")

    def given(self, role: str) -> str | Literal[False] | None:
        """What the caller said of a role."""
        roles = {
            "action": self.action,
            "outcome": self.outcome,
            "propensity": self.propensity,
            "timestamp": self.timestamp,
            "id": self.id,
            "unit": self.unit,
        }
        return roles[role]

    def named(self) -> list[str]:
        """Every column that the caller gave a role."""
        roles = [self.given(role) for role in ALIASES]
        return [name for name in (*roles, *(self.contexts or ()), *self.confounders) if name]
