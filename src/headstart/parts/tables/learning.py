"""Learning from a table: outcomes joined to decisions by id, each learnt once, and everything else counted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.checks import check_number
from headstart.errors import ContextError, OptionError
from headstart.kernels import call
from headstart.kernels.dispatch import has_implementation
from headstart.logs.tables.outcomes import Outcomes, Window, as_deadline, read_outcomes
from headstart.logs.tables.users import UserTable, open_users
from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import Oracle
from headstart.parts.tables.decisions import settle_policy
from headstart.parts.tables.flight import release_rows, weighs_flight
from headstart.parts.tables.made import MadeDecisions
from headstart.parts.tables.survey import survey
from headstart.parts.tables.writing import Write, open_target

if TYPE_CHECKING:
    import pyarrow as pa

OUTCOME = "outcome"


@dataclass(frozen=True)
class LearntTable:
    """What became of each decision and of each outcome."""

    n_decisions: int
    n_learnt: int  # with the outcome that came
    n_default: int  # none came: learnt with the default
    n_waiting: int  # none came, and there is no default: not learnt
    n_out_of_range: int  # an outcome that the policy cannot take: not learnt
    n_late: int
    n_duplicate: int
    n_conflicting: int
    n_unknown: int  # outcomes of nobody who was decided for
    n_empty: int  # rows of outcomes without a value

    def __str__(self) -> str:
        told = [
            (self.n_default, "without an outcome learnt with the default"),
            (self.n_waiting, "without an outcome not learnt"),
            (self.n_out_of_range, "not learnt: their outcome is outside the policy's range"),
        ]
        others = [
            (self.n_late, "late"),
            (self.n_duplicate, "duplicates"),
            (self.n_conflicting, "conflicting with an earlier one"),
            (self.n_unknown, "of ids that were not decided for"),
            (self.n_empty, "without a value"),
        ]
        lines = [f"{self.n_learnt:,} of {self.n_decisions:,} decisions learnt with their outcome"]
        lines += [f"{n:,} decisions {what}" for n, what in told if n]
        lines += [f"{n:,} outcomes not learnt: {what}" for n, what in others if n]
        return "\n".join(lines)


def learn_table(
    policy: Oracle,
    outcomes: object,
    decisions: object,
    *,
    id: str | None = None,
    outcome: str = OUTCOME,
    default: float | None = None,
    time: str | None = None,
    until: str | float | None = None,
    log: str | os.PathLike[str] | None = None,
) -> LearntTable:
    """Learn the outcomes of decisions that `decide` made, by id. See `Policy.learn`."""
    settle_policy(policy)
    made, came = MadeDecisions(policy, decisions, id), open_users(outcomes)
    filler = None if default is None else check_number("default", default)
    found = read_outcomes(came, made.id, outcome, _as_window(time, until))
    survey(made.table, [made.id], made.id, "decisions")  # an id that stands twice: before anything is learnt
    teaching = _Teaching(policy, made, found, filler)
    before = OracleAbilities(policy).try_get_state()
    try:
        if log is None:
            return teaching.learn(None)
        with open_target(Path(log), _log_schema(made.table), {"decisions": made.table.place}) as put:
            return teaching.learn(put)
    except BaseException:
        if before is not None:  # what cannot be learnt as a whole is not learnt at all
            OracleAbilities(policy).set_state(before)
        raise


class _Teaching:
    """One pass over the decisions."""

    def __init__(self, policy: Oracle, made: MadeDecisions, found: Outcomes, default: float | None) -> None:
        self._policy, self._made, self._found, self._default = policy, made, found, default

    def learn(self, put: Write | None) -> LearntTable:
        """Learn decision after decision, in their order; `put` is handed those that have an outcome."""
        found, made = self._found, self._made
        columns = list(made.table.columns) if put is not None else made.columns
        used = np.zeros(found.values.size, dtype=np.bool_)
        row = learnt = defaults = waiting = outside = 0
        low, high = OracleAbilities(self._policy).outcome_range
        for rows in made.table.read(columns):
            at = found.find(rows.column(made.id), made.table.place, row)
            has = at >= 0
            used[at[has]] = True
            values = np.full(at.size, np.nan if self._default is None else self._default)
            values[has] = found.values[at[has]]
            fits = (values >= low) & (values <= high)  # false of NaN
            self._teach(rows, values, fits, row)
            if put is not None:
                put(_with_outcomes(rows, values))
            row += at.size
            learnt += int((has & fits).sum())
            defaults += int((~has & fits).sum())
            waiting += int(np.isnan(values).sum())
            outside += int((~fits & ~np.isnan(values)).sum())
        return LearntTable(
            n_decisions=row,
            n_learnt=learnt,
            n_default=defaults,
            n_waiting=waiting,
            n_out_of_range=outside,
            n_late=found.n_late,
            n_duplicate=found.n_duplicate,
            n_conflicting=found.n_conflicting,
            n_unknown=int((~used).sum()),
            n_empty=found.n_empty,
        )

    def _teach(self, rows: pa.RecordBatch, values: Floats, fits: Bools, first_row: int) -> None:
        """Decisions of which something came are in flight no more; what fits is learnt."""
        contexts, actions = self._made.contexts(rows, first_row), self._made.actions(rows, first_row)
        if weighs_flight(self._policy):
            is_over = ~np.isnan(values)
            release_rows(self._policy, np.ascontiguousarray(contexts[is_over]), actions[is_over])
        teach_rows(self._policy, np.ascontiguousarray(contexts[fits]), actions[fits], values[fits])


def _update_rows(state: kernels.State, contexts: Floats, actions: Integers, outcomes: Floats) -> None:
    for i in range(outcomes.size):
        kernels.update(state, contexts[i], actions[i], outcomes[i])


def teach_rows(policy: Oracle, contexts: Floats, actions: Integers, outcomes: Floats) -> None:
    """`policy.update` for each row; compiled where it can be."""
    able = OracleAbilities(policy)
    able.reserve(outcomes.size)
    state = able.kernel_state
    if state is not None and has_implementation(kernels.update, type(state)):
        call(_update_rows, state, contexts, actions, outcomes, allocates=True)
        return
    for i in range(outcomes.size):
        policy.update(contexts[i] if contexts.shape[1] else None, int(actions[i]), float(outcomes[i]))


def _as_window(time: str | None, until: str | float | None) -> Window | None:
    if (time is None) != (until is None):
        raise OptionError("time= and until= go together: the column of an outcome's time, and the end of the window")
    if time is None or until is None:
        return None
    return Window(time, as_deadline(str(until)))


def _log_schema(made: UserTable) -> pa.Schema:
    import pyarrow as pa

    if OUTCOME in made.columns:
        raise ContextError(f"{made.place}: the decisions have a column {OUTCOME!r} already")
    return made.schema.append(pa.field(OUTCOME, pa.float64()))


def _with_outcomes(rows: pa.RecordBatch, values: Floats) -> pa.RecordBatch:
    """The decisions that have an outcome, as rows of a log."""
    import pyarrow as pa

    whole = rows.append_column(OUTCOME, pa.array(values))
    return whole.filter(pa.array(~np.isnan(values)))
