"""Decisions that were made, read again: whose they are, for whom, and which action each got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.errors import ContextError
from headstart.logs.tables.encoded import encode_portion
from headstart.logs.tables.users import UserTable, open_users
from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import Oracle
from headstart.parts.identity import identity_of
from headstart.parts.tables.decisions import DecisionTable, find_id, settle_policy, words_of
from headstart.parts.tables.flight import expect_rows, weighs_flight
from headstart.parts.tables.rule import ACTION

if TYPE_CHECKING:
    import pyarrow as pa


class MadeDecisions:
    """The decisions of a policy, from a file or a table."""

    def __init__(self, policy: Oracle, decisions: object, id: str | None = None) -> None:
        self._names = words_of(policy, identity_of(policy))
        self._n_features = OracleAbilities(policy).n_features or 0
        self._index = {str(name): a for a, name in enumerate(self._names.labels)}
        self.table = _open(decisions)
        self.id = find_id(self.table, id)
        self.table.check_columns([self.id, ACTION], "of the decisions")
        self.table.check_columns(self._names.asked.columns, "the policy looks at it")

    @property
    def columns(self) -> list[str]:
        """Those that a decision is learnt by."""
        return list(dict.fromkeys([self.id, ACTION, *self._names.asked.columns]))

    def contexts(self, rows: pa.RecordBatch, first_row: int) -> Floats:
        """The users of these rows as the policy takes them, (n, d)."""
        if not self._n_features:
            return np.empty((rows.num_rows, 0))
        encoded, _ = encode_portion(self._names.asked, rows, self.table.place, first_row)
        return self._names.spread(encoded)

    def actions(self, rows: pa.RecordBatch, first_row: int) -> Integers:
        """What they got, (n,); an error with the place for an action that is none of the policy's."""
        import pyarrow as pa

        column = rows.column(ACTION)
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        places = [self._index.get(str(label), -1) for label in coded.dictionary.to_pylist()]
        indices = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        actions: Integers = np.array([*places, -1], dtype=np.int64)[indices]
        if (actions < 0).any():
            row = int(np.flatnonzero(actions < 0)[0])
            raise ContextError(
                f"{self.table.place}, row {first_row + row + 1:,}: the action {column[row].as_py()!r} is none of the "
                f"policy's: {', '.join(list(self._index)[:10])}"
            )
        return actions


def _open(decisions: object) -> UserTable:
    if not isinstance(decisions, DecisionTable):
        return open_users(decisions)

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return (rows.select(list(names)) for rows in decisions.batches())

    return UserTable("the decisions", decisions.schema, decisions.n_users, read)


def expect_table(policy: Oracle, decisions: object, id: str | None = None) -> int:
    """Tell the policy that these decisions are in flight; how many they are. See `Policy.expect_outcomes`."""
    settle_policy(policy)
    made = MadeDecisions(policy, decisions, id)
    before, n = OracleAbilities(policy).try_get_state(), 0
    try:
        for rows in made.table.read(made.columns):
            actions = made.actions(rows, n)
            if weighs_flight(policy):
                expect_rows(policy, made.contexts(rows, n), actions)
            n += actions.size
    except BaseException:
        if before is not None:
            OracleAbilities(policy).set_state(before)
        raise
    return n
