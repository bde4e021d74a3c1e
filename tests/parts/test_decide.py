"""A table in, a table out: the same id the same action, true propensities, and clear words where a table is wrong."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import headstart as hs
from headstart.errors import ActionError, ContextError, HeadstartError, OptionError
from headstart.logs.encoding import Encoding
from headstart.logs.tables.encoded import encode_portion
from headstart.logs.tables.ids import key_of
from tests.siphash import siphash

NAMES = ["none", "mail", "call, later"]


def make_log(n=600):
    rng = np.random.default_rng(0)
    age, city = rng.normal(40, 9, n), rng.choice(["north", "south"], n)
    actions = rng.integers(3, size=n)
    outcomes = rng.random(n) + 0.02 * (actions == 1) * (age - 40) + 0.1 * (actions == 2)
    return hs.Log(np.array(NAMES)[actions], outcomes, {"age": age, "city": city}, np.full(n, 1 / 3))


LOG = make_log()


def make_users(n, seed=1):
    rng = np.random.default_rng(seed)
    cities = rng.choice(["north", "south", "west"], n)
    return pa.table({"id": np.arange(n), "age": rng.normal(40, 9, n), "city": cities})


@pytest.fixture(scope="module", params=["for all", "by context"])
def policy(request):
    return hs.start(LOG, decide_on=None if request.param == "for all" else ["age", "city"], rng=0)


def decided(decisions):
    return {str(row["id"]): (row["action"], row["propensity"]) for row in decisions.to_arrow().to_pylist()}


def test_one_row_for_each_user_in_their_order(policy):
    users = make_users(500)
    table = policy.decide(users, vector=True).to_arrow()
    assert table.column("id").to_pylist() == users.column("id").to_pylist()
    for row in table.to_pylist():
        assert row["propensity"] == row["probabilities"][row["action"]]
        assert sum(row["probabilities"].values()) == pytest.approx(1.0, abs=1e-12)


def test_an_action_can_be_drawn_again_from_what_is_told(policy):
    """The first 53 bits of SipHash-2-4 of the id, by the salt's key, on the cumulative chances."""
    key = key_of("action", "spring").astype("<u8").tobytes()
    for row in policy.decide(make_users(200), vector=True, salt="spring").to_arrow().to_pylist():
        drawn = (siphash(str(row["id"]).encode(), key) >> 11) / 2**53
        reached = np.cumsum([row["probabilities"][name] for name in policy.audit.facts.action_names])
        assert policy.audit.facts.action_names[int(np.searchsorted(reached, drawn, side="right"))] == row["action"]


def test_neither_order_nor_portion_nor_kind_of_table_nor_threads_move_a_decision(policy, tmp_path, monkeypatch):
    import polars

    users = make_users(3_000)
    kept = decided(policy.decide(users))
    shuffled = users.take(pa.array(np.random.default_rng(5).permutation(3_000)))
    parquet.write_table(shuffled, tmp_path / "users.parquet", row_group_size=700)
    csv.write_csv(users, tmp_path / "users.csv")
    (tmp_path / "users.jsonl").write_text(polars.from_arrow(users).write_ndjson())
    as_text = users.set_column(0, "id", users.column("id").cast(pa.string()))
    tables = [shuffled, as_text, users.to_pandas(), polars.from_arrow(users), users.to_pydict(), users.to_pylist()]
    tables += [tmp_path / name for name in ("users.parquet", "users.csv", "users.jsonl")]
    for table in tables:
        assert decided(policy.decide(table, n_threads=3)) == kept
    monkeypatch.setattr("headstart.logs.tables.users.PORTION", 17)
    assert decided(policy.decide(users, n_threads=1)) == kept


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis asks DuckDB by an old name
def test_rows_duckdb_and_spark_give_the_same_actions(policy, tmp_path, spark_session):
    import ibis

    parquet.write_table(make_users(2_000), tmp_path / "users.parquet")
    kept = decided(policy.decide(tmp_path / "users.parquet"))
    assert decided(policy.decide(ibis.duckdb.connect().read_parquet(tmp_path / "users.parquet"))) == kept
    frame = spark_session.read.parquet(str(tmp_path / "users.parquet")).repartition(3)
    rows = policy.decide(frame, id="id").frame.collect()
    assert {str(row["id"]): (row["action"], row["propensity"]) for row in rows} == kept


def test_a_matrix_and_a_log_are_users_too():
    policy = hs.start(LOG, decide_on=["age", "city"], rng=0)
    by_log, by_matrix = policy.decide(LOG, salt=1).to_arrow(), policy.decide(LOG.contexts, salt=1).to_arrow()
    assert by_log.column("action").to_pylist() == by_matrix.column("action").to_pylist()
    assert by_log.num_rows == len(LOG)
    bare = hs.UCB(2).decide(np.empty((5, 0)))
    assert bare.to_arrow().column("action").to_pylist() == [0] * 5


def test_a_million_draws_agree_with_their_propensities():
    """Sum over a of (O - E)^2 / E with the same chances for all: chi-square of 2; one false alarm in 10^4."""
    policy = hs.ThompsonGaussian(3, rng=0)
    for action, outcome in [(0, 0.2), (1, 0.9), (2, 0.5), (1, 0.4)]:
        policy.update(None, action, outcome)
    decisions = policy.decide({"id": np.arange(1_000_000)}, vector=True)
    table = decisions.to_arrow()
    counts, expected = decisions.account.counts, decisions.account.expected
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-4, 2)
    weights = 1.0 / table.column("propensity").to_numpy()
    # IPS of the constant 5: each action's weights are worth n, up to sqrt(n (1/p - 1)) five times over.
    least = table.column("propensity").to_numpy().min()
    assert abs((5.0 * weights).mean() / 3 - 5.0) < 5 * 5.0 * np.sqrt((1 / least - 1) / weights.size)


def test_ips_of_a_constant_is_that_constant_by_context():
    """Sum of p_i(a) / p_i(A_i) 1{A_i = a} over users is n for each action; its error is that of n draws."""
    policy = hs.start(LOG, decide_on=["age", "city"], rng=0)
    table = policy.decide(make_users(100_000), floor=0.2).to_arrow()
    actions, chances = np.array(table.column("action").to_pylist()), table.column("propensity").to_numpy()
    assert chances.min() >= 0.2 / 3 - 1e-12
    for name in NAMES:
        terms = np.where(actions == name, 7.0 / chances, 0.0)
        assert abs(terms.mean() - 7.0) < 4 * terms.std() / np.sqrt(terms.size)


def test_a_policy_that_has_learnt_draws_anew():
    policy = hs.ABTest(2, rng=0)
    users = {"id": np.arange(2_000)}
    first = decided(policy.decide(users))
    assert decided(policy.decide(users)) == first
    policy.update(None, 0, 1.0)
    both = decided(policy.decide(users))
    same = np.mean([both[id][0] == first[id][0] for id in first])
    assert abs(same - 0.5) < 4 * np.sqrt(0.25 / 2_000)


@pytest.mark.parametrize("make", [lambda: hs.start(LOG, rng=0), lambda: hs.EpsilonGreedy(2, 0.1, rng=0)])
def test_what_a_policy_learns_before_its_decisions_are_read_moves_none_of_them(make):
    policy, users = make(), {"id": np.arange(2_000)}
    before = decided(policy.decide(users))
    decisions = policy.decide(users)
    for _ in range(30):
        policy.update(None, 0, -5.0)
    assert decided(decisions) == before


def test_only_available_actions_are_given(policy):
    users = make_users(4)
    allowed = [["mail"], ["call, later", "none"], None, ["none"]]
    for column in (pa.array(allowed), pa.array(["mail", "call, later|none", None, '["none"]'])):
        table = policy.decide(users.append_column("may", column), available="may", vector=True, floor=0.1).to_arrow()
        for row, may in zip(table.to_pylist(), allowed, strict=True):
            assert row["action"] in (may or NAMES)
            assert all(chance == 0.0 for name, chance in row["probabilities"].items() if name not in (may or NAMES))
    wrong = users.append_column("may", pa.array([["mail"], ["fax"], None, None]))
    with pytest.raises(ActionError, match="row 2: available names 'fax', which is no action; known: call, later"):
        policy.decide(wrong, available="may").to_arrow()


def test_what_the_log_never_showed_is_counted_or_refused():
    policy = hs.start(LOG, decide_on=["age", "city"], rng=0)
    users = make_users(300)
    decisions = policy.decide(users)
    decisions.to_arrow()
    n = sum(city == "west" for city in users.column("city").to_pylist())
    assert decisions.account.warnings == (
        f"column 'city': {n} of 300 values are of a category that the log never showed",
    )
    with pytest.raises(ContextError, match=r"row \d+: column 'city' has the category 'west', which the log never"):
        policy.decide(users, unseen="error").to_arrow()


def test_the_account_says_who_gets_what_and_why(policy):
    decisions = policy.decide(make_users(1_000))
    table = decisions.to_arrow()
    account = decisions.account
    actions = table.column("action").to_pylist()
    assert account.counts.tolist() == [actions.count(name) for name in account.action_names]
    assert "1,000 users decided" in str(account)
    assert account.expected.sum() == pytest.approx(1_000)


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        (lambda t: t.drop_columns(["age"]), {}, ContextError, "column 'age' is missing .the policy looks at it"),
        (lambda t: t.drop_columns(["id"]), {}, OptionError, "which column names a user"),
        (lambda t: t, {"id": "customer"}, ContextError, "column 'customer' is missing"),
        (lambda t: t.slice(0, 0), {}, ContextError, "there are columns but no users"),
        (
            lambda t: t.set_column(0, "id", pa.array([*range(8), 3, 9])),
            {},
            ContextError,
            "the id 3 comes twice, in rows 4 and 9",
        ),
        (
            lambda t: t.set_column(0, "id", pa.array([None, *range(9)])),
            {},
            ContextError,
            "row 1: the id is missing",
        ),
        (
            lambda t: t.set_column(0, "id", pa.array(np.arange(10.0))),
            {},
            ContextError,
            "an id must be text or a whole number, the column is double",
        ),
        (
            lambda t: t.set_column(1, "age", pa.array(["40"] * 6 + ["old"] + ["30"] * 3)),
            {},
            ContextError,
            "column 'age' in row 7 must be a number, got 'old'",
        ),
        (
            lambda t: t.set_column(0, "id", pa.array([b"\xff", *(bytes([i]) for i in range(9))])),
            {},
            ContextError,
            "an id must be text or a whole number, the column is binary",
        ),
        (
            lambda t: t.set_column(2, "city", pa.array([["north"]] * 10)),
            {},
            ContextError,
            "column 'city' must hold one category a user, the column is list",
        ),
        (
            lambda t: t.append_column("age", t.column("age")),
            {},
            ContextError,
            "the column 'age' stands there twice: rename one of them",
        ),
        (
            lambda t: [*t.to_pylist(), {"id": "ten", "age": 3.0, "city": "north"}],
            {},
            ContextError,
            "the list of users: a column has values of mixed types",
        ),
        (
            lambda t: t.append_column("may", pa.array([[["mail"]]] * 10)),
            {"available": "may"},
            ActionError,
            "which is no action; known: call, later",
        ),
        (
            lambda t: t.append_column("may", pa.array(['[{"mail": 1}]'] * 10)),
            {"available": "may"},
            ActionError,
            "which is no action; known: call, later",
        ),
        (lambda t: t, {"unseen": "shrug"}, OptionError, "unseen must be 'warn' or 'error'"),
        (lambda t: t, {"floor": 1.5}, HeadstartError, "floor"),
        (
            lambda t: t.append_column("action", pa.array(["x"] * 10)),
            {"keep": ["action"]},
            ContextError,
            "has the name of what is decided",
        ),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_the_place_and_nothing_is_written(
    change, options, error, words, tmp_path
):
    policy = hs.start(LOG, decide_on=["age", "city"], rng=0)
    with pytest.raises(error, match=words):
        policy.decide(change(make_users(10)), **options).write(tmp_path / "decisions.parquet")
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_written_as_each_kind_of_file_has_it(tmp_path):
    """JSON has no NaN, and text has no bytes."""
    kept = pa.table({"id": [1, 2], "spent": [np.nan, 2.5], "tag": [b"\xff", None], "seen": [[1.5, np.nan], None]})
    decisions = hs.ABTest(2, rng=0).decide(kept, keep=["spent", "tag", "seen"])
    for name in ("d.jsonl", "d.csv", "d.parquet"):
        decisions.write(tmp_path / name)
    told = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert [(row["spent"], row["tag"], row["seen"]) for row in told] == [
        (None, "b'\\xff'", [1.5, None]),
        (2.5, None, None),
    ]
    assert csv.read_csv(tmp_path / "d.csv").column("tag").to_pylist() == ["b'\\xff'", ""]
    assert parquet.read_table(tmp_path / "d.parquet").column("tag").to_pylist() == [b"\xff", None]


def test_a_table_with_the_outcome_in_it_is_refused(tmp_path):
    header = "offer,bought,age\n"
    rows = "".join(f"{'ab'[i % 2]},{i % 3 == 0:d},{i}\n" for i in range(100))
    (tmp_path / "log.csv").write_text(header + rows)
    log = hs.read_log(tmp_path / "log.csv", action="offer", outcome="bought")
    policy = hs.start(log, rng=0)
    with pytest.raises(ContextError, match="has the column 'bought', which is the outcome of the log"):
        policy.decide({"id": [1, 2], "age": [3, 4], "bought": [0, 1]})


_NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True, width=32))
_CITIES = st.sampled_from([None, "", "north", "south", "west", "missing", "other"])


@given(rows=st.lists(st.tuples(_NUMBERS, _CITIES, st.one_of(st.none(), st.booleans())), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_a_portion_is_encoded_as_each_of_its_rows(rows):
    encoding = Encoding(
        ("age", "city", "member"),
        {"city": ("north", "south", "missing", "other"), "member": (False, True)},
        {"age": 41.5},
        ("age",),
    )
    columns = {"age": pa.float64(), "city": pa.string(), "member": pa.bool_()}
    arrays = [pa.array([row[j] for row in rows], type=kind) for j, kind in enumerate(columns.values())]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
    matrix, surprises = encode_portion(encoding, batch, "here", 0)
    users = [dict(zip(columns, row, strict=True)) for row in rows]
    np.testing.assert_array_equal(matrix, [encoding.encode(user) for user in users])
    told = [item for user in users for item in encoding.surprises(user).items()]
    assert surprises == {item: told.count(item) for item in set(told)}


@pytest.mark.parametrize("order", ["growing", "shuffled", "late"])
def test_an_id_that_comes_twice_is_found_wherever_it_stands(order, monkeypatch):
    """Growing numbers are not remembered; the first that does not grow has those before it read again."""
    monkeypatch.setattr("headstart.logs.tables.users.PORTION", 100)
    ids = np.arange(1_000)
    if order == "shuffled":
        ids = np.random.default_rng(0).permutation(ids)
    twice = ids.copy()
    twice[950] = ids[7] if order != "growing" else ids[949]
    policy = hs.ABTest(2, rng=0)
    assert policy.decide({"id": ids}).to_arrow().num_rows == 1_000
    rows = (8, 951) if order != "growing" else (950, 951)
    with pytest.raises(ContextError, match=f"comes twice, in rows {rows[0]} and {rows[1]}"):
        policy.decide({"id": twice}).to_arrow()
    with pytest.raises(ContextError, match=f"comes twice, in rows {rows[0]} and {rows[1]}"):
        policy.decide({"id": [f"user {i}" for i in twice]}).to_arrow()
