"""Rules: a small tree that copies a policy, and what its simplicity costs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import check_whole
from headstart.errors import ContextError, LogError, OptionError
from headstart.estimates.doubly_robust import robust_terms
from headstart.estimates.regression import predict_others
from headstart.estimates.summary import design_effect
from headstart.judgement.audit.intake import take_in
from headstart.judgement.audit.plain import as_plain
from headstart.judgement.ope import Estimate, doubly_robust
from headstart.judgement.rules.columns import raw_columns
from headstart.judgement.rules.reading import read_policy
from headstart.judgement.rules.sql import write_case, write_name
from headstart.judgement.rules.tree import Node, Split, decide_rows, grow_rules, leaves
from headstart.judgement.rules.words import as_nested, tell_tree
from headstart.logs.any_log import AnyLog
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log
from headstart.parts import Oracle

_MOST_ROWS = 20_000  # of the log that the tree is fitted to
_NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Cost:
    """What the policy earns a user more than its rules, on the log: doubly robust, both on the same rows."""

    value: float
    standard_error: float
    low: float  # of a 95 % interval
    high: float


@dataclass(frozen=True, eq=False)
class Rules:
    """A tree over raw columns that copies a policy's choices.

    `print(rules)` reads it; `to_sql()` ships it; `to_dict()` is JSON; `decide(user)` asks it. `value` and
    `policy_value` are what tree and policy earn a user on the log, None if the log cannot tell (`note` says why);
    `cost` is the difference. The log has taught the policy these users, so both are a little too good; their
    difference hardly is.
    """

    tree: Node
    action_names: tuple[Hashable, ...]
    encoding: Encoding
    agreement: float  # the share of the log's users who get the policy's own choice
    n_rows: int  # that the tree was fitted to
    value: Estimate | None = None
    policy_value: Estimate | None = None
    cost: Cost | None = None
    note: str = ""

    @property
    def n_leaves(self) -> int:
        """How many rules there are."""
        return sum(1 for _ in leaves(self.tree))

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that are asked for."""
        return tuple(dict.fromkeys(_asked(self.tree)))

    def actions(self, contexts: Floats) -> Integers:
        """The index of the action for every row of encoded contexts, (n,)."""
        return decide_rows(self.tree, contexts, self.encoding)

    def decide(self, user: Mapping[str, object]) -> Hashable:
        """The action's name for a user given by raw columns, of which those in `columns` must be there."""
        absent = [column for column in self.columns if column not in user]
        if absent:
            raise ContextError(f"context column {absent[0]!r} is missing: None says that its value is not known")
        whole = {column: user.get(column) for column in self.encoding.columns}
        return self.action_names[int(self.actions(self.encoding.encode(whole)[None])[0])]

    def to_sql(self, table: str | None = None, *, name: str = "action") -> str:
        """The CASE expression; with a table's name a whole query that adds it to the table's columns."""
        case = write_case(self.tree, self.action_names)
        return case if table is None else f"SELECT *, {case} AS {write_name(name)}\nFROM {write_name(table)}"

    def to_dict(self) -> dict[str, Any]:
        """The tree and what it is worth, as JSON can hold it."""
        worth = {
            "agreement": self.agreement,
            "n_rows": self.n_rows,
            "value": as_plain(self.value),
            "policy_value": as_plain(self.policy_value),
            "cost": as_plain(self.cost),
            "note": self.note,
        }
        return {"tree": as_nested(self.tree, self.action_names), "columns": list(self.columns), **worth}

    def __str__(self) -> str:
        return f"{tell_tree(self.tree, self.action_names)}\n{self._tell_worth()}"

    def _tell_worth(self) -> str:
        same = f"{self.n_leaves} rule{'s' if self.n_leaves > 1 else ''}, the policy's choice for {self.agreement:.0%}"
        if self.value is None or self.policy_value is None or self.cost is None:
            return f"{same} of the log's users. {self.note}"
        return (
            f"{same} of the log's users. They earn {self.value.value:.4g} a user ({self.value.low:.4g} to "
            f"{self.value.high:.4g}), the policy {self.policy_value.value:.4g} ({self.policy_value.low:.4g} to "
            f"{self.policy_value.high:.4g}): simplicity costs {self.cost.value:.2g} ({self.cost.low:.2g} to "
            f"{self.cost.high:.2g}) a user."
        )


def _asked(node: Node) -> list[str]:
    if not isinstance(node, Split):
        return []
    return [node.question.column, *_asked(node.yes), *_asked(node.no)]


def make_rules(
    policy: Oracle, log: AnyLog | None, max_leaves: int = 8, looked_at: Sequence[int] | Integers | None = None
) -> Rules:
    """A tree of at most `max_leaves` leaves that copies the policy's best choice for the log's users.

    Parameters
    ----------
    policy
        Any policy whose contexts are the log's encoded ones. What it expects of each action weighs its choices; one
        that does not say is weighed by regressions of the log.
    log
        Whose users are looked at, 20,000 at most, and whose rows say what both are worth.
    looked_at
        The encoded columns that the tree may ask about; all by default.
    """
    most = check_whole("max_leaves", max_leaves)
    if log is None:
        raise OptionError("rules are made on the users of a log, and this policy has left its own behind: give log=")
    rows = take_in(log, _MOST_ROWS, 0).whole
    columns = np.arange(rows.n_features) if looked_at is None else np.asarray(looked_at, dtype=np.int64)
    choices, expected = read_policy(policy, rows)
    own = expected[np.arange(len(rows)), choices]
    losses = np.maximum(own[:, None] - expected, 0.0)
    tree = grow_rules(raw_columns(rows.contexts, rows.encoding, columns), losses, most)
    copied = decide_rows(tree, rows.contexts, rows.encoding)
    agreement = float(np.mean(copied == choices))
    made = Rules(tree, tuple(rows.action_names), rows.encoding, agreement, len(rows))
    predicted = predict_others(rows).inside
    try:
        value, policy_value = (doubly_robust(rows, chosen, predicted=predicted) for chosen in (copied, choices))
    except LogError as error:
        return replace(made, note=f"What they earn cannot be told from the log: {error}.")
    return replace(made, value=value, policy_value=policy_value, cost=find_cost(rows, choices, copied, predicted))


def find_cost(log: Log, choices: Integers, copied: Integers, predicted: Floats) -> Cost:
    """What one choice of actions earns more than another, (n,) each, from what each row says of both.

    `predicted`: what `predict_others` says of the rows.
    """
    n, rows = len(log), np.arange(len(log))
    assert log.propensities is not None
    terms = robust_terms(log.actions, log.outcomes, np.minimum(1.0 / log.propensities, np.sqrt(n)), predicted)
    apart = terms[rows, choices] - terms[rows, copied]
    value = float(apart.mean())
    error = float(apart.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    if log.units is not None:
        error *= float(np.sqrt(design_effect(apart - value, log.units)))
    return Cost(value, error, value - _NORMAL * error, value + _NORMAL * error)
