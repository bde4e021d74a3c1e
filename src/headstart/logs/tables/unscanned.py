"""A source before anybody has looked at its rows: the first sums are asked for in the pass that checks them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from headstart.arrays import Floats
from headstart.errors import HeadstartError
from headstart.logs.sums import ActionSums
from headstart.logs.tables import statistics
from headstart.logs.tables.asked import Asked
from headstart.logs.tables.connection import is_ours, log_errors
from headstart.logs.tables.faults import list_faults, unreadable
from headstart.logs.tables.glance import AskSums, Glanced, UncheckedRows
from headstart.logs.tables.labels import as_label, can_be_labels, read_actions
from headstart.logs.tables.scan import arrange, scan
from headstart.logs.tables.scanned import Scanned
from headstart.logs.tables.sources.opened import Opened
from headstart.logs.tables.units import numbers_to_judge


class Unscanned:
    """A source whose columns have roles by their names and types; of its rows is known what somebody has asked for.

    `action_sums` and `product_sums` answer None where a glance does not do: then `scan`, and sum what it leads to.
    """

    def __init__(self, opened: Opened, asked: Asked) -> None:
        self._opened, self._asked = opened, asked
        with log_errors(opened.place):
            self._arranged = arrange(opened, asked)
        self._glanced: Glanced | None = None
        self._names: tuple[Hashable, ...] | None = None
        self._can_glance: bool | None = None  # None: nobody knows yet
        self._are_contexts_whole = True  # as far as anybody knows

    @property
    def has_propensities(self) -> bool:
        return self._arranged.roles.propensity is not None

    @property
    def action_names(self) -> tuple[Hashable, ...] | None:
        """The labels, in the order of their indices, if they have been seen."""
        return self._names

    def scan(self) -> Scanned:
        """All that there is to know. What a glance can prove is not counted."""
        names = self._plain_contexts()
        if names is not None and not (self._glanced and self._glanced.means.keys() >= set(names)):
            self._glance(names, lambda rows: {})
        return scan(self._opened, self._asked, self._glanced)

    def action_sums(self, fields: Sequence[str]) -> ActionSums | None:
        """As `LogTable.action_sums`."""
        found = self._glance((), lambda rows: statistics.ask_action_sums(rows, fields))
        return None if found is None else statistics.as_action_sums(found, self._n_actions)

    def product_sums(self) -> tuple[Floats, Floats] | None:
        """As `LogTable.product_sums`."""
        names = self._plain_contexts()
        if names is None:
            return None
        found = self._glance(names, lambda rows: statistics.ask_product_sums(rows, len(names)))
        return None if found is None else statistics.as_product_sums(found, self._n_actions, len(names))

    @property
    def _n_actions(self) -> int:
        assert self._names is not None, "a glance has seen them"
        return len(self._names)

    def _plain_contexts(self) -> tuple[str, ...] | None:
        """The contexts, if all of them are numbers and none may be an identifier: their encoding is known."""
        schema, roles = self._arranged.schema, self._arranged.roles
        if not self._are_contexts_whole or numbers_to_judge(schema, roles):
            return None
        return roles.adjusted if all(schema[name].is_numeric() for name in roles.adjusted) else None

    def _glance(self, contexts: Sequence[str], ask: AskSums) -> Mapping[str, Floats] | None:
        """These sums at the indices of their actions, if all rows can be used as they are."""
        arranged, asked = self._arranged, self._asked
        schema, roles = arranged.schema, arranged.roles
        unchecked = UncheckedRows(arranged.rows, schema, roles, list_faults(schema, roles, asked))
        with log_errors(self._opened.place):
            try:
                if self._can_glance is None:
                    self._can_glance = self._is_plain() and unchecked.are_actions_few()
                found = unchecked.glance(contexts, ask) if self._can_glance else None
            except Exception as error:
                if isinstance(error, HeadstartError) or is_ours(error):
                    raise
                found = None  # the scan looks at the types of all rows, or says in words what is wrong
            if found is None:  # of contexts perhaps for a value that is missing there, which costs no row
                self._can_glance, self._are_contexts_whole = self._can_glance and bool(contexts), False
                return None
            self._glanced, sums = found
            labels = self._glanced.labels
            self._names = read_actions(arranged.rows, arranged.opened, schema, roles, asked, labels)
        index = {name: k for k, name in enumerate(self._names)}
        return statistics.in_order(np.array([index[as_label(label)] for label in labels]), sums, len(index))

    def _is_plain(self) -> bool:
        """Whether types alone say how the columns are to be read, and no row is left out for its id."""
        schema, roles = self._arranged.schema, self._arranged.roles
        return roles.id is None and can_be_labels(schema[roles.action]) and not unreadable(schema, roles)
