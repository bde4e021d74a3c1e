"""Policy: what whatever decides can do with files and tables."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from headstart.parts.contracts import Oracle

if TYPE_CHECKING:  # these rooms speak of policies: they are imported when they are used
    from headstart.logs.any_log import AnyLog
    from headstart.parts.explanation import Explanation
    from headstart.parts.tables.decisions import DecisionTable
    from headstart.parts.tables.learning import LearntTable
    from headstart.parts.tables.rule import Unseen


class Policy:
    """A policy is a file, and decides for a table of users."""

    def save(self, path: str | os.PathLike[str], *, log: AnyLog | None = None, parts: Iterable[type] = ()) -> None:
        """Write the policy to one file, from which `headstart.load` makes it again, without the log.

        Parameters
        ----------
        path
            The file. It is there as a whole, or as it was before.
        log
            The log whose columns and labels it speaks, for an oracle that was made without one.
        parts
            Classes of your own that it is made of.
        """
        from headstart.parts.files.policy_file import save

        save(cast(Oracle, self), path, log=log, parts=parts)

    def decide(
        self,
        users: object,
        *,
        id: str | None = None,
        available: str | None = None,
        keep: Sequence[str] | None = None,
        vector: bool = False,
        floor: float = 0.0,
        salt: str | int | None = None,
        unseen: Unseen = "warn",
        n_threads: int | None = None,
    ) -> DecisionTable:
        """An action for each user of a table, all decided before any outcome comes. Nothing is learnt.

        Parameters
        ----------
        users
            A path (Parquet, CSV, JSON lines), a pandas, polars or Spark frame, an Arrow or Ibis table, a list of
            mappings, a Log or a matrix.
        id
            The column that names a user: the same id gets the same action, in whatever order, portion or engine.
            None: the first of id, user_id, customer_id, event_id and uid that is there.
        available
            The column of the actions that a user may get: a list of labels, or text with | between them.
        keep
            Columns that are handed on. None: those that are decided on, so that the decisions with their outcomes
            are a log.
        vector
            Whether the chance of every action is told, in `probabilities`, not only that of the one drawn.
        floor
            The share of users who get any available action, each with the same chance: (1 - floor) P + floor / K. It
            is what makes the decisions a log of every action for every kind of user.
        salt
            What draws depend on besides the id. None: the policy's digest, so that one that has learnt draws anew.
        unseen
            Of a category that the log never showed: "warn" counts it, "error" refuses the table.
        n_threads
            Decisions do not depend on it.
        """
        from headstart.parts.tables.decisions import decide

        return decide(
            cast(Oracle, self),
            users,
            id=id,
            available=available,
            keep=keep,
            vector=vector,
            floor=floor,
            salt=salt,
            unseen=unseen,
            n_threads=n_threads,
        )

    def explain(self, user: object = None, *, available: object = None, action: Hashable = None) -> Explanation:
        """Why this user gets this action: what the log says, what users said since, what is still worth finding out.

        Nothing is drawn and nothing is learnt: the policy stays as it is.

        Parameters
        ----------
        user
            By names (a mapping, a data frame's row) or by numbers; None for a policy that looks at nobody.
        available
            The actions that this user may get, by label, or as a mask or indices. None: all.
        action
            The action to be explained, by its label: the one that was drawn. None: the likeliest.
        """
        from headstart.parts.explaining import explain_user

        return explain_user(cast(Oracle, self), user, available, action)

    def expect_outcomes(self, decisions: object, *, id: str | None = None) -> int:
        """Tell the policy that decisions which `decide` made are in flight; how many they are.

        A table that is decided after them, before their outcomes have come, is then explored only as far as they
        leave anything to learn. `learn` takes those out of flight again whose outcome came, or the default.

        Parameters
        ----------
        decisions
            A table, as `decide` gives and writes it.
        id
            The column of ids.
        """
        from headstart.parts.tables.made import expect_table

        return expect_table(cast(Oracle, self), decisions, id)

    def learn(
        self,
        outcomes: object,
        decisions: object,
        *,
        id: str | None = None,
        outcome: str = "outcome",
        default: float | None = None,
        time: str | None = None,
        until: str | float | None = None,
        log: str | os.PathLike[str] | None = None,
    ) -> LearntTable:
        """Learn what came of decisions that `decide` made, joined by id; says what became of each.

        Parameters
        ----------
        outcomes, decisions
            Tables, as `decide` takes and writes them.
        id, outcome
            The column of ids in both tables, and that of the outcome.
        default
            The outcome of a user of whom none came. None: he is not learnt from.
        time, until
            The column of an outcome's time, and the end of the window: what came later is late, and not learnt.
        log
            Where to write the decisions with their outcomes: a log, for the next audit or start.
        """
        from headstart.parts.tables.learning import learn_table

        return learn_table(
            cast(Oracle, self),
            outcomes,
            decisions,
            id=id,
            outcome=outcome,
            default=default,
            time=time,
            until=until,
            log=log,
        )
