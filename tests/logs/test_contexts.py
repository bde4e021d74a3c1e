"""Contexts in memory: what is missing is filled in, and a column that names people is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import ContextError, LogError
from headstart.logs.contexts import encode_rows
from headstart.logs.encoding import Encoding

GAPPED = {
    "age": [30.0, np.nan, 50.0, np.inf],
    "kind": ["new", None, "old", ""],
    "is_member": [True, None, False, True],
    "height": [1.0, 2.0, 3.0, 6.0],
}
NAMES = (
    "age", "age is missing", "kind=new", "kind=old", "kind=missing",
    "is_member=False", "is_member=True", "is_member=missing", "height",
)  # fmt: skip
ROWS = [
    [30, 0, 1, 0, 0, 0, 1, 0, 1],
    [40, 1, 0, 0, 1, 0, 0, 1, 2],
    [50, 0, 0, 1, 0, 1, 0, 0, 3],
    [40, 1, 0, 0, 1, 0, 1, 0, 6],
]


def make_log(contexts: Any) -> hs.Log:
    return hs.Log([0, 1, 0, 1], [0.0] * 4, contexts)


@pytest.mark.parametrize("contexts", [GAPPED, pd.DataFrame(GAPPED)], ids=["mapping", "frame"])
def test_a_missing_number_is_the_mean_and_is_marked_and_a_missing_category_is_one_of_its_own(contexts: Any):
    """The ages 30 and 50 have the mean 40; an infinite one and an empty text are missing too."""
    log = make_log(contexts)
    assert log.context_names == NAMES
    np.testing.assert_array_equal(log.contexts, ROWS)
    assert log.encoding.indicated == ("age",)
    assert log.encoding.means == {"age": 40.0, "height": 3.0}


def test_one_user_with_missing_values_is_encoded_as_the_log_was():
    log = make_log(GAPPED)
    for row, expected in enumerate(ROWS):
        user = {name: column[row] for name, column in GAPPED.items()}
        np.testing.assert_array_equal(log.context(user), expected)
    np.testing.assert_array_equal(encode_rows(log.encoding, GAPPED, 4), ROWS)


def test_a_number_that_was_never_missing_in_the_log_is_its_mean():
    encoding = make_log(GAPPED).encoding
    user = {"age": 1.0, "kind": "new", "is_member": True, "height": None}
    assert encoding.encode(user)[-1] == 3.0
    assert make_log([[1.0], [2.0], [3.0], [6.0]]).context({"x0": pd.NA}).tolist() == [3.0]
    assert Encoding(("x",), {}).encode({"x": None}).tolist() == [0.0]


def test_a_category_never_seen_is_no_category_or_the_others():
    log = make_log(GAPPED)
    user = {"age": 1.0, "kind": "newer", "is_member": True, "height": 1.0}
    assert log.context(user)[2:5].tolist() == [0.0, 0.0, 0.0]
    some = Encoding(("kind",), {"kind": ("new", "old", "other")})
    assert some.encode({"kind": "newer"}).tolist() == [0.0, 0.0, 1.0]
    assert some.encode({"kind": None}).tolist() == [0.0, 0.0, 0.0]
    assert some.encode({"kind": ["a", "list"]}).tolist() == [0.0, 0.0, 1.0]


def test_what_was_missing_or_unseen_is_told():
    encoding = make_log(GAPPED).encoding
    assert encoding.surprises({"age": 1, "kind": "new", "is_member": True, "height": 1}) == {}
    strange = {"age": None, "kind": "newer", "is_member": None, "height": np.inf}
    assert encoding.surprises(strange) == {
        "age": "missing",
        "kind": "unseen",
        "is_member": "missing",
        "height": "missing",
    }


def test_a_name_that_is_misspelt_or_absent_is_no_missing_value():
    log = make_log(GAPPED)
    with pytest.raises(ContextError, match="unknown context column 'agee'"):
        log.context({"agee": 1, "kind": "new", "is_member": True, "height": 1})
    with pytest.raises(ContextError, match="context column 'age' is missing: None says that its value is not known"):
        log.context({"kind": "new", "is_member": True, "height": 1})


def test_what_says_missing_belongs_to_its_column():
    log = make_log(GAPPED)
    assert log.encoding.columns_of(["age"]).tolist() == [0, 1]
    assert log.encoding.numbers == {"age": 0, "height": 8}
    assert log.without(["age is missing"]).context_names == NAMES[2:]
    chosen = log.encoding.choose(["height", "age"])
    assert chosen.names == ("height", "age", "age is missing")
    assert chosen.encode({"height": None, "age": None}).tolist() == [3.0, 40.0, 1.0]


def test_encodings_of_one_layout_are_equal_whatever_the_means():
    assert Encoding(("x",), {}, {"x": 1.0}) == Encoding(("x",), {})
    assert Encoding(("x",), {}, {}, ("x",)) != Encoding(("x",), {})


@pytest.mark.parametrize("ids", [[f"u{i}" for i in range(300)], list(range(300))], ids=["text", "numbers"])
def test_a_column_that_names_people_is_refused_with_the_way_out(ids: list[Any]):
    """It made 18,366 columns and 7 GB in silence."""
    contexts = {"age": [1.0, 2.0] * 150, "user_id": ids}
    with pytest.raises(LogError, match=r"'user_id' .*300 .* in 300 rows.* give it as units="):
        hs.Log([0, 1] * 150, [0.0] * 300, contexts)
    hs.Log([0, 1] * 150, [0.0] * 300, {"age": contexts["age"]}, units=ids)


def test_text_of_many_values_is_refused_and_a_shop_s_number_is_not():
    words = [f"w{i}" for i in range(201)]
    with pytest.raises(LogError, match="'word' has 201 categories in 201 rows, more than 200"):
        hs.Log([0] * 201, [0.0] * 201, {"word": words})
    assert hs.Log([0] * 201, [0.0] * 201, {"shop_id": [i % 5 for i in range(201)]}).context_names == ("shop_id",)


def test_a_sample_of_a_log_with_units_takes_whole_units():
    units = np.repeat(np.arange(100), 10)
    log = hs.Log(np.zeros(1000, int), np.arange(1000.0), units=units, n_actions=1)
    sample = log.sample(205, rng=1)
    assert len(sample) == 200
    assert sample.units is not None
    assert (np.unique(sample.units, return_counts=True)[1] == 10).all()
    assert len(log.sample(3, rng=1)) == 10


def test_a_users_missing_marks_are_missing_where_they_are_no_category():
    """'', 'N/A' and the like are read as missing from a file, and so they are of a live user. Where the log has the
    category NA (a country, say), it is that."""
    encoding = hs.Log([0, 1, 0], [0.0, 1.0, 1.0], {"age": [1.0, None, 3.0], "kind": ["a", None, "b"]}).encoding
    none = encoding.encode({"age": None, "kind": None})
    for mark in ("", "N/A", " NA ", "null"):
        np.testing.assert_array_equal(encoding.encode({"age": mark, "kind": mark}), none)
        assert encoding.surprises({"age": mark, "kind": mark}) == {"age": "missing", "kind": "missing"}
    assert encoding.surprises({"age": 1.0, "kind": "c"}) == {"kind": "unseen"}
    countries = hs.Log([0, 1, 0], [0.0, 1.0, 1.0], {"country": ["NA", "DE", None]}).encoding
    assert countries.surprises({"country": "NA"}) == {}
    assert countries.encode({"country": "NA"})[countries.names.index("country=NA")] == 1.0
