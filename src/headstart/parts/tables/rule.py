"""The rule that decides a portion of users: chances by the queue, an action by the id. It goes to any engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers, Words
from headstart.errors import ContextError
from headstart.kernels import compiled
from headstart.kernels.siphash import Codes, draw_actions
from headstart.logs.encoding import find_surprise
from headstart.logs.tables.encoded import Surprises, encode_portion
from headstart.logs.tables.ids import hash_ids, key_of
from headstart.parts.names import Names
from headstart.parts.tables.masks import read_masks
from headstart.parts.tables.queue import Queue

if TYPE_CHECKING:
    import pyarrow as pa

ACTION, PROPENSITY, VECTOR = "action", "propensity", "probabilities"  # the columns that are added
Unseen = Literal["warn", "error"]


@dataclass(frozen=True)
class Wanted:
    """What is asked of a table: the column of ids, that of available actions, what is kept, and the salt."""

    id: str
    salt: str
    available: str | None = None
    keep: tuple[str, ...] = ()
    has_vector: bool = False
    floor: float = 0.0  # the share of users who get any available action, each with the same chance
    unseen: Unseen = "warn"
    place: str = "the users"

    @property
    def key(self) -> Words:
        """What ids are hashed with, for their draws."""
        return key_of("action", self.salt)

    def columns(self, names: Names) -> tuple[str, ...]:
        """The columns of the users' table that are read."""
        more = () if self.available is None else (self.available,)
        return tuple(dict.fromkeys([self.id, *names.asked.columns, *self.keep, *more]))


class SeenUsers(NamedTuple):
    """A portion of users as a policy sees them."""

    contexts: Floats  # (n, d)
    masks: Bools  # (m, K) the different sets of available actions
    which: Integers  # (n,) the set of each user
    surprises: Surprises


class Portion(NamedTuple):
    """A portion of users, decided."""

    rows: pa.RecordBatch
    actions: Codes  # (n,)
    chances: Floats  # (n, K), or (1, K) for all
    hashes: Words  # (n,) of the ids
    surprises: Surprises


@dataclass(frozen=True)
class DecisionRule:
    """How users of a table get their actions: the same id the same one, in whatever order, portion or engine."""

    queue: Queue
    names: Names
    asked: Wanted
    n_features: int  # of a context as the policy takes it
    n_threads: int = field(default=1, compare=False)

    def schema(self, users: pa.Schema) -> pa.Schema:
        """The columns of the decisions."""
        import pyarrow as pa

        kept = [users.field(name) for name in dict.fromkeys([self.asked.id, *self.asked.keep])]
        added = [(ACTION, pa.dictionary(pa.int32(), self.names.arrow_labels().type)), (PROPENSITY, pa.float64())]
        if self.asked.has_vector:
            added.append((VECTOR, pa.struct([(str(name), pa.float64()) for name in self.names.labels])))
        return pa.schema([*kept, *(pa.field(name, kind) for name, kind in added)])

    def see(self, rows: pa.RecordBatch, first_row: int) -> SeenUsers:
        """Users as contexts and masks; a category never seen is counted, or is an error."""
        place, names = self.asked.place, self.names
        if self.n_features:
            encoded, surprises = encode_portion(names.asked, rows, place, first_row)
            contexts = names.spread(encoded)
        else:
            contexts, surprises = np.empty((rows.num_rows, 0)), Surprises()
        if self.asked.unseen == "error":
            self._refuse_unseen(surprises, rows, first_row)
        if self.asked.available is None:
            masks = np.ones((1, len(names.labels)), dtype=np.bool_)
            return SeenUsers(contexts, masks, np.zeros(rows.num_rows, dtype=np.int64), surprises)
        masks, which = read_masks(rows.column(self.asked.available), names.labels, place, first_row)
        return SeenUsers(contexts, masks, which, surprises)

    def chances(self, seen: SeenUsers) -> Floats:
        """P(a | x) of each user, (n, K); (1, K) where it is one for all."""
        if not self.n_features:
            found = self._floored(self.queue.chances_by_mask(seen.masks), seen.masks)
            return found if len(found) == 1 else found[seen.which]
        masks = None if self.asked.available is None else seen.masks[seen.which]
        found = self.queue.chances(seen.contexts, masks)
        return self._floored(found, seen.masks if masks is None else masks)

    def _floored(self, chances: Floats, masks: Bools) -> Floats:
        """(1 - floor) P + floor / the number of available actions, as the service mixes them."""
        floor = self.asked.floor
        if floor == 0.0:
            return chances
        mixed: Floats = (1.0 - floor) * chances + floor * masks / masks.sum(axis=1, keepdims=True)
        return mixed

    def decide(self, rows: pa.RecordBatch, first_row: int = 0) -> Portion:
        """One row for each user, in their order."""
        seen = self.see(rows, first_row)
        chances = self.chances(seen)
        hashes = hash_ids(rows.column(self.asked.id), self.asked.key, self.asked.place, first_row)
        actions, taken = np.empty(rows.num_rows, dtype=np.int32), np.empty(rows.num_rows)
        compiled(draw_actions)(chances, hashes, actions, taken)
        return Portion(self._as_rows(rows, actions, taken, chances), actions, chances, hashes, seen.surprises)

    def _as_rows(self, rows: pa.RecordBatch, actions: Codes, taken: Floats, chances: Floats) -> pa.RecordBatch:
        import pyarrow as pa

        schema = self.schema(rows.schema)
        labels = self.names.arrow_labels()
        kept = [rows.column(name) for name in dict.fromkeys([self.asked.id, *self.asked.keep])]
        made = [pa.DictionaryArray.from_arrays(pa.array(actions), labels), pa.array(taken)]
        if self.asked.has_vector:
            whole = np.broadcast_to(chances, (rows.num_rows, chances.shape[1]))
            columns = [pa.array(np.ascontiguousarray(whole[:, a])) for a in range(whole.shape[1])]
            made.append(pa.StructArray.from_arrays(columns, names=[str(name) for name in self.names.labels]))
        return pa.RecordBatch.from_arrays([*kept, *made], schema=schema)

    def _refuse_unseen(self, surprises: Surprises, rows: pa.RecordBatch, first_row: int) -> None:
        columns = [column for column, what in surprises if what == "unseen"]
        if not columns:
            return
        known = self.names.asked.categories[columns[0]]
        places = {category: place for place, category in enumerate(known)}
        for row, value in enumerate(rows.column(columns[0]).to_pylist()):
            if find_surprise(places, value) == "unseen":
                raise ContextError(
                    f"{self.asked.place}, row {first_row + row + 1:,}: column {columns[0]!r} has the category "
                    f"{value!r}, which the log never showed; known: {', '.join(map(str, known[:10]))}"
                )
