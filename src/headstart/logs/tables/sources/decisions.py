"""Decisions from text whose features come up line by line: written down as Parquet, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from headstart.errors import LogError
from headstart.logs.tables.connection import as_view, scratch_folder

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from ibis.backends.duckdb import Backend
    from pyarrow.parquet import ParquetWriter

FIXED = {
    "line": "int64",
    "action": "int64",
    "cost": "float64",
    "reward": "float64",
    "propensity": "float64",
    "time": "string",
    "id": "string",
    "tag": "string",
}
ABSENT = "absent"  # the category of a text feature that a line does not have
_BATCH = 16_384
_MOST_FEATURES = 1_000


class Fixed(TypedDict, total=False):
    """What a decision has whatever its features: the columns of FIXED."""

    line: int
    action: int
    cost: float
    reward: float
    propensity: float | None
    time: object  # text, as it is written
    id: object
    tag: object


class Decisions:
    """Collects rows and writes them in batches; a new file begins when a batch shows a new feature."""

    def __init__(self, backend: Backend, place: str) -> None:
        self._backend, self._place = backend, place
        self._folder = scratch_folder(backend)
        self._names: dict[str, str] = {}  # feature -> column of the table
        self._kinds: dict[str, str] = {}  # feature -> "float64" or "string"
        self._filled: set[str] = set()  # fixed columns of which some row has a value
        self._most_chances = 0
        self._rows: list[tuple[Fixed, Mapping[str, float | str], Mapping[int, float]]] = []
        self._paths: list[Path] = []
        self._writer: ParquetWriter | None = None
        self.n_rows = 0

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of the features, in the order in which they came up."""
        return tuple(self._names.values())

    @property
    def roles(self) -> dict[str, str]:
        """Role -> fixed column, for those that are filled."""
        columns = {"propensity": "propensity", "timestamp": "time", "id": "id"}
        known = {role: column for role, column in columns.items() if column in self._filled}
        return {"action": "action", "outcome": "reward", **known}

    @property
    def n_chances(self) -> int:
        """How many actions have probabilities: the columns `chance 0`, `chance 1`, ..."""
        return self._most_chances

    def add(self, fixed: Fixed, features: Mapping[str, float | str], chances: Mapping[int, float]) -> None:
        """One decision: its label, the features of the user, and the probability of each action if known."""
        for name, value in features.items():
            kind = "string" if isinstance(value, str) else "float64"
            known = self._kinds.get(name)
            if known is None:
                self._admit(name, kind, fixed["line"])
            elif known != kind:
                raise LogError(
                    f"{self._place}, line {fixed['line']}: feature {name!r} is {value!r} here and "
                    f"{'text' if known == 'string' else 'a number'} before"
                )
        self._most_chances = max(self._most_chances, 1 + max(chances, default=-1))
        self._filled.update(name for name, value in fixed.items() if value is not None)
        self._rows.append((fixed, features, chances))
        self.n_rows += 1
        if len(self._rows) >= _BATCH:
            self._flush()

    def as_table(self) -> ir.Table:
        """The rows as a lazy table; a feature that a line does not have is 0, as in Vowpal Wabbit."""
        self._flush()
        if self._writer is not None:
            self._writer.close()
        if not self._paths:
            raise LogError(f"{self._place}: no line has the cost of an action")
        listed = ", ".join(f"'{path}'" for path in self._paths)
        stored = as_view(self._backend, f"SELECT * FROM read_parquet([{listed}], union_by_name=true)")
        columns = {name: stored[name] for name in FIXED if name in self._filled}
        for place, (feature, name) in enumerate(self._names.items()):
            filler = ABSENT if self._kinds[feature] == "string" else 0.0
            columns[name] = stored[f"f{place}"].fill_null(filler)
        columns |= {f"chance {k}": stored[f"c{k}"] for k in range(self._most_chances)}
        return stored.select(**columns)

    def _admit(self, name: str, kind: str, line: int) -> None:
        if len(self._kinds) >= _MOST_FEATURES:
            raise LogError(
                f"{self._place}, line {line}: more than {_MOST_FEATURES} different features; headstart's contexts "
                "are dense columns, so choose or hash them first"
            )
        self._kinds[name] = kind
        taken = {known.casefold() for known in (*FIXED, *self._names.values())}
        column, n = name.replace("chance ", "chance."), 1  # see n_chances
        while column.casefold() in taken:
            n += 1
            column = f"{name}#{n}"
        self._names[name] = column

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa
        import pyarrow.parquet as parquet

        arrays = {
            name: pa.array([fixed.get(name) for fixed, _, _ in self._rows], type=_arrow(kind))
            for name, kind in FIXED.items()
        }
        for place, (name, kind) in enumerate(self._kinds.items()):
            arrays[f"f{place}"] = pa.array([features.get(name) for _, features, _ in self._rows], type=_arrow(kind))
        for k in range(self._most_chances):
            arrays[f"c{k}"] = pa.array([chances.get(k) for _, _, chances in self._rows], type=pa.float64())
        table = pa.table(arrays)
        if self._writer is None or self._writer.schema != table.schema:
            if self._writer is not None:
                self._writer.close()
            self._paths.append(self._folder / f"decisions-{len(self._paths):05}.parquet")
            self._writer = parquet.ParquetWriter(self._paths[-1], table.schema)
        self._writer.write_table(table)
        self._rows.clear()


def _arrow(kind: str) -> pa.DataType:
    import pyarrow as pa

    return pa.type_for_alias(kind)
