"""Decisions for a table of users: made in portions when somebody reads them, always the same ones."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_number
from headstart.errors import ActionError, ContextError, OptionError
from headstart.logs.encoding import Encoding
from headstart.logs.tables.encoded import Surprises
from headstart.logs.tables.users import ROW, UserTable, open_users
from headstart.parts.abilities import OracleAbilities, missing_method
from headstart.parts.contracts import Oracle
from headstart.parts.files.policy_file import digest_of
from headstart.parts.identity import Identity, identity_of
from headstart.parts.names import Names
from headstart.parts.tables.account import DecisionAccount, DecisionTally
from headstart.parts.tables.chances import can_share
from headstart.parts.tables.flight import weighs_flight
from headstart.parts.tables.on_spark import decide_on_spark, is_spark, open_spark_users, survey_spark
from headstart.parts.tables.queue import line_up
from headstart.parts.tables.rule import ACTION, PROPENSITY, VECTOR, DecisionRule, Portion, SeenUsers, Unseen, Wanted
from headstart.parts.tables.survey import UserSurvey, refuse_repeated, survey, watch_ids
from headstart.parts.tables.writing import open_target
from headstart.threads import one_native_thread

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_IDS = ("id", "user_id", "customer_id", "event_id", "uid")


class DecisionTable:
    """One row for each user, in their order: the id, the columns that were decided on, the action, its propensity.

    Nothing is decided before somebody reads: `batches`, `to_arrow`, `to_pandas` or `write`. Reading again decides the
    same again. Of users on Spark they are `frame`, and made on the executors. `account` says who gets what, how many
    are tried on and why, once all have been read.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> policy = hs.start(log, rng=1)
    >>> decisions = policy.decide([{"id": "c1"}, {"id": "c2"}], id="id")
    >>> decisions.to_arrow().column_names
    ['id', 'action', 'propensity']
    """

    def __init__(
        self,
        rule: DecisionRule,
        users: UserTable,
        n_users: int,
        sample: SeenUsers | None,
        frame: DataFrame | None = None,
    ) -> None:
        self.rule, self._users, self.n_users, self.frame, self._sample = rule, users, n_users, frame, sample
        self.account: DecisionAccount | None = None

    @property
    def salt(self) -> str:
        """What the draws depend on besides the ids; recorded, so that a decision can be made again."""
        return self.rule.asked.salt

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.rule.schema(self._users.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The decisions as Arrow record batches; memory does not grow with their number."""
        asked, n_decided = self.rule.asked, 0
        tally, ids = DecisionTally(self.rule.names.labels), watch_ids(self._users, asked.id, asked.key)
        try:
            for portion in self._portions():
                n_decided += portion.actions.size
                tally.add(portion)
                if not self._is_surveyed:
                    ids.add(portion.rows.column(asked.id), portion.hashes)
                yield portion.rows
            refuse_repeated(self._users, asked.id, asked.key, ids)
        finally:
            ids.close()
        if n_decided != self.n_users:
            raise ContextError(
                f"{self._users.place}: {n_decided:,} users where {self.n_users:,} were counted: the table changed"
            )
        self.account = tally.account(self.rule)

    def _portions(self) -> Iterator[Portion]:
        """Portions in their order, a few decided at once: they are the threads, and matrix products have one each."""
        waiting: deque[Future[Portion]] = deque()
        first_row = 0
        with one_native_thread("blas"), ThreadPoolExecutor(self.rule.n_threads) as pool:
            for rows in self._users.read(self.rule.asked.columns(self.rule.names)):
                waiting.append(pool.submit(self.rule.decide, rows, first_row))
                first_row += rows.num_rows
                if len(waiting) > self.rule.n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    @property
    def _is_surveyed(self) -> bool:
        """Whether a first look has been at every id."""
        return self._sample is not None

    def sampled(self) -> tuple[Floats, Floats] | None:
        """Contexts, (m, d), and chances, (m, K), of a sample that no order moves; None: there is none."""
        if self._sample is None:
            return None if self.rule.n_features else (np.empty((1, 0)), self.rule.chances(_anybody(self.rule)))
        chances = self.rule.chances(self._sample)
        return self._sample.contexts, np.broadcast_to(chances, (len(self._sample.which), chances.shape[1]))

    def to_arrow(self) -> pa.Table:
        """All decisions in memory."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches()), schema=self.schema)

    def to_pandas(self) -> object:
        """All decisions as a pandas frame."""
        return self.to_arrow().to_pandas()

    def write(self, path: str | os.PathLike[str], progress: Callable[[int], object] | None = None) -> DecisionAccount:
        """Write Parquet, CSV or JSON lines, by the path's suffix. Whoever is killed in the middle leaves no file."""
        target = Path(path)
        about: dict[str, object] = {"salt": self.salt, "users": self.n_users, "id": self.rule.asked.id}
        with open_target(target, self.schema, about) as put:
            for rows in self.batches():
                put(rows)
                if progress is not None:
                    progress(rows.num_rows)
        assert self.account is not None
        return self.account

    def __repr__(self) -> str:
        return f"DecisionTable({self.n_users:,} users of {self._users.place}, salt {self.salt})"


def decide(
    policy: Oracle,
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
    """Decide for a table of users before any of their outcomes. See `Policy.decide`."""
    settle_policy(policy)
    identity = identity_of(policy)
    names = words_of(policy, identity)
    table = open_spark_users(users) if is_spark(users) else open_users(users, names.context_names)
    if table.is_encoded:
        names = names.of_encoded()
    asked = _as_asked(policy, table, names, id, available, keep, salt)
    asked = replace(
        asked, has_vector=vector, floor=check_number("floor", floor, 0.0, 1.0), unseen=_check_unseen(unseen)
    )
    _check_columns(table, asked, names, identity)
    found = _look(policy, users, table, names, asked)
    try:
        as_it_is = OracleAbilities(policy).copy()  # what it learns before the decisions are read moves none of them
        rule, sample = make_rule(as_it_is, names, asked, found, n_threads)
    except (ContextError, ActionError):
        _find_place(policy, names, asked, table)
        raise
    frame = decide_on_spark(users, rule, table) if is_spark(users) else None
    return DecisionTable(rule, table, found.n_users, sample, frame)


def make_rule(
    policy: Oracle, names: Names, asked: Wanted, found: UserSurvey, n_threads: int | None
) -> tuple[DecisionRule, SeenUsers | None]:
    """The rule for so many users such as the sample's, and the sample as the policy sees it."""
    alone = _rule_of_one(policy, names, asked)
    threads = n_threads or os.cpu_count() or 1
    alone = replace(alone, n_threads=threads if can_share(policy) else 1)
    if found.sample is None:
        return replace(alone, queue=line_up(policy, found.n_users, np.empty((1, 0)), None)), None
    (rows,) = found.sample.to_batches()
    seen = alone.see(rows, 0)
    masks = None if asked.available is None else seen.masks[seen.which]
    return replace(alone, queue=line_up(policy, found.n_users, seen.contexts, masks)), seen


def _look(policy: Oracle, users: object, table: UserTable, names: Names, asked: Wanted) -> UserSurvey:
    """A first look at the users, where it is needed: by a policy that weighs who is in flight, or to count them."""
    if is_spark(users):
        return survey_spark(users, asked.columns(names), asked.id, asked.salt)
    is_same_for_all = not names.asked.columns and asked.available is None
    if table.n_rows is None or (weighs_flight(policy) and not is_same_for_all):
        return survey(table, asked.columns(names), asked.id, asked.salt)
    if not table.n_rows:
        raise ContextError(f"{table.place}: there are columns but no users")
    return UserSurvey(table.n_rows, None)


def _anybody(rule: DecisionRule) -> SeenUsers:
    """A user of whom nothing is known."""
    everything = np.ones((1, len(rule.names.labels)), dtype=np.bool_)
    return SeenUsers(np.empty((1, 0)), everything, np.zeros(1, dtype=np.int64), Surprises())


def _find_place(policy: Oracle, names: Names, asked: Wanted, table: UserTable) -> None:
    """Say what is wrong with a user of the sample with the row that he stands in."""
    alone, first_row = _rule_of_one(policy, names, asked), 0
    for rows in table.read(asked.columns(names)):
        alone.see(rows, first_row)
        first_row += rows.num_rows


def _rule_of_one(policy: Oracle, names: Names, asked: Wanted) -> DecisionRule:
    """The rule for a user who comes alone."""
    n_features = OracleAbilities(policy).n_features or 0
    return DecisionRule(line_up(policy, 1, np.empty((0, 0)), None), names, asked, n_features)


def settle_policy(policy: Oracle) -> None:
    """Make the virtual plays that are due, for a policy that has some."""
    if missing_method(policy, "settle") is None:
        policy.settle()  # type: ignore[attr-defined]


def words_of(policy: Oracle, identity: Identity | None) -> Names:
    """The words that a policy speaks: its log's, or x0, x1, ... and 0, 1, ... if it has none."""
    d = OracleAbilities(policy).n_features or 0
    if identity is None:
        return Names(Encoding.of_numbers(f"x{j}" for j in range(d)), np.arange(d), range(policy.n_actions))
    n_columns = len(identity.encoding.names)
    looked_at = OracleAbilities(policy).looks_at
    if looked_at is None:
        looked_at = np.arange(n_columns if d else 0)
    if d not in (0, n_columns):
        raise ContextError(f"the policy looks at {d} columns, its log has {n_columns}: which they are is not known")
    return Names(identity.encoding, looked_at, identity.action_names)


def find_id(table: UserTable, id: str | None) -> str:
    """The column of ids: the one that is named, or one that is called like it."""
    chosen = id or next((name for name in (ROW, *_IDS) if name in table.columns), None)
    if chosen is None:
        raise OptionError(
            f"{table.place}: which column names a user? give id=, one of {', '.join(table.columns[:20])}"
        )
    return chosen


def _as_asked(
    policy: Oracle,
    table: UserTable,
    names: Names,
    id: str | None,
    available: str | None,
    keep: Sequence[str] | None,
    salt: str | int | None,
) -> Wanted:
    chosen = find_id(table, id)
    kept = names.asked.columns if keep is None else tuple(keep)
    told = digest_of(policy) if salt is None else str(salt)
    return Wanted(
        chosen, told, available, tuple(dict.fromkeys(name for name in kept if name != chosen)), place=table.place
    )


def _check_unseen(unseen: str) -> Unseen:
    if unseen == "warn":
        return "warn"
    if unseen == "error":
        return "error"
    raise OptionError(f"unseen must be 'warn' or 'error', got {unseen!r}")


def _check_columns(table: UserTable, asked: Wanted, names: Names, identity: Identity | None) -> None:
    table.check_columns([asked.id], "the ids of the users")
    table.check_columns(names.asked.columns, "the policy looks at it")
    table.check_columns(asked.keep, "it is to be kept")
    if asked.available is not None:
        table.check_columns([asked.available], "the actions that are available")
    outcome = None if identity is None else identity.outcome
    if outcome is not None and outcome in table.columns:
        raise ContextError(
            f"{table.place}: has the column {outcome!r}, which is the outcome of the log: these users' outcomes are "
            "known, or it is another table than you think; leave the column out"
        )
    for name in (ACTION, PROPENSITY, VECTOR):
        if name in (asked.id, *asked.keep):
            raise ContextError(f"{table.place}: the column {name!r} has the name of what is decided: rename it")
