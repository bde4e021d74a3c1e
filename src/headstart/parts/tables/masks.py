"""Which actions a user may get, as a column says it: a list of labels, or a text of them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Bools, Integers
from headstart.errors import ActionError

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATOR = "|"


def read_masks(
    values: pa.Array, action_names: Sequence[Hashable], place: str, first_row: int
) -> tuple[Bools, Integers]:
    """The different masks, (m, K), and which of them each row has, (n,). Null: every action is available.

    A text is a JSON list if it begins with a bracket, otherwise labels with | between them: a label may have a comma.
    """
    import pyarrow as pa

    index = {name: a for a, name in enumerate(action_names)}
    by_text = {str(name): a for name, a in index.items()}
    if pa.types.is_nested(values.type):
        items = [None if each is None else tuple(map(_as_label, each)) for each in values.to_pylist()]
        distinct = {each: i for i, each in enumerate(dict.fromkeys(items))}
        inverse = np.array([distinct[each] for each in items], dtype=np.int64)
    else:
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        distinct = {each: i for i, each in enumerate([*coded.dictionary.to_pylist(), None])}
        inverse = coded.indices.fill_null(len(distinct) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    masks = np.zeros((len(distinct), len(action_names)), dtype=np.bool_)
    for each, i in distinct.items():
        if each is None:
            masks[i] = True
            continue
        labels = _labels(each)
        known = [index.get(label, by_text.get(str(label))) for label in labels]
        if None in known or not known:
            found = np.flatnonzero(inverse == i)
            if not found.size:  # of a dictionary that more rows share
                continue
            row = first_row + int(found[0]) + 1
            strange = labels[known.index(None)] if known else "none at all"
            listed = ", ".join(str(name) for name in action_names[:10])
            raise ActionError(
                f"{place}, row {row:,}: available names {strange!r}, which is no action; known: {listed}"
            )
        masks[i, known] = True  # type: ignore[index]
    return masks, inverse


def _labels(value: object) -> list[Hashable]:
    if isinstance(value, tuple):
        return list(value)
    text = str(value).strip()
    if text.startswith("["):
        try:
            return [_as_label(each) for each in json.loads(text)]
        except json.JSONDecodeError:
            pass
    return [part.strip() for part in text.split(SEPARATOR) if part.strip()]


def _as_label(value: Hashable | list[object] | dict[str, object]) -> Hashable:
    """A list or a mapping is nobody's label: as text it is not found, and is named."""
    return str(value) if isinstance(value, list | dict) else value
