"""Vowpal Wabbit text, dsjson, the Open Bandit Dataset and headstart's own decision log, against rows by hand."""

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headstart.errors import LogError
from headstart.logs.tables import read_log, scan_log
from headstart.logs.tables.sources import decisions

CB = """\
1:2:0.4 | a c
3:0.5:0.2 |user age:30 city:paris |:2 x:1.5
| only features, nothing learnt
2:-1:0.3 tag| a:2 a:1 action
"""


def test_cb_by_hand(tmp_path):
    """A cost is a negative reward; an absent feature is 0; one that is named twice adds up; a tag is no label."""
    (tmp_path / "log.vw").write_text(CB)
    log = read_log(tmp_path / "log.vw")
    assert log.action_names == (1, 2, 3)
    assert log.actions.tolist() == [0, 2, 1]
    assert log.outcomes.tolist() == [-2.0, -0.5, 1.0]
    assert log.propensities.tolist() == [0.4, 0.2, 0.3]
    assert log.context_names == ("a", "c", "user.age", "user.city=paris", ".x", "action#2")
    assert log.contexts.tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 30, 1, 3, 0], [3, 0, 0, 0, 0, 1]]
    assert log.reading.counts == {"lines without the cost of an action": 1}
    assert log.reading.format == "Vowpal Wabbit cb"
    assert any("a cost is read as its negative" in note for note in log.reading.notes)


def test_the_cost_itself_can_be_the_outcome(tmp_path):
    (tmp_path / "log.vw").write_text(CB)
    assert read_log(tmp_path / "log.vw", outcome="cost").outcomes.tolist() == [2.0, 0.5, -1.0]


def test_contexts_can_be_chosen_among_the_features(tmp_path):
    (tmp_path / "log.vw").write_text(CB)
    assert read_log(tmp_path / "log.vw", contexts=["user.age"]).contexts[:, 0].tolist() == [0.0, 30.0, 0.0]


def test_features_that_come_up_late_are_zero_before(tmp_path, monkeypatch):
    """Several batches and several files of the scratch folder make one table, compressed or not."""
    monkeypatch.setattr(decisions, "_BATCH", 3)
    lines = [f"{1 + i % 2}:{i}:0.5 | f{i // 5}\n" for i in range(20)]
    (tmp_path / "log.vw.gz").write_bytes(gzip.compress("".join(lines).encode()))
    log = read_log(tmp_path / "log.vw.gz")
    assert log.context_names == ("f0", "f1", "f2", "f3")
    np.testing.assert_array_equal(log.contexts, np.repeat(np.eye(4), 5, axis=0))
    np.testing.assert_array_equal(log.outcomes, -np.arange(20.0))


def test_a_missing_probability_is_a_missing_value(tmp_path):
    (tmp_path / "log.vw").write_text("1:1:0.5 | a\n2:1 | a\n")
    assert read_log(tmp_path / "log.vw").reading.counts == {"missing value in 'propensity', dropped": 1}
    with pytest.raises(LogError, match=r"log\.vw, line 2: missing value in 'propensity'"):
        read_log(tmp_path / "log.vw", missing="error")


def test_without_any_probability_there_are_no_propensities(tmp_path):
    (tmp_path / "log.vw").write_text("1:1 | a\n2:1 | a\n")
    assert not read_log(tmp_path / "log.vw").has_propensities


CB_ADF = """\
shared |user age:30
| article=sports
0:-1:0.25 | article=music
| article=news

shared |user age:40
0:0:0.5 | article=sports
| article=food
shared |user age:50
| article=sports
| article=music

"""


def test_cb_adf_by_hand(tmp_path):
    """An action is the place of a candidate; a decision without a cost is counted; candidates may vary."""
    (tmp_path / "log.dat").write_text(CB_ADF)
    log = read_log(tmp_path / "log.dat")
    assert log.action_names == (0, 1, 2)  # the third candidate was never taken and still exists
    assert log.actions.tolist() == [1, 0]
    assert log.outcomes.tolist() == [1.0, 0.0]
    assert log.propensities.tolist() == [0.25, 0.5]
    assert log.context_names == ("user.age",)
    assert log.contexts[:, 0].tolist() == [30.0, 40.0]
    assert log.reading.counts == {"decisions without the cost of an action": 1}
    assert "decisions have 2 to 3 candidates" in log.reading.notes
    assert any(note.startswith("1 decisions had other candidates") for note in log.reading.notes)


def dsjson_line(index=1, cost=-1.0, chances=(0.2, 0.8), order=(1, 2), **more):
    shared = {"User": [{"tier": "pro"}, {"visits": 3}], "_synthetic": False, "isNew": True}
    candidates = [{"_tag": f"article {k}", "x": {"y": 1}} for k in range(len(order))]
    event = {"_label_cost": cost, "_label_probability": chances[order.index(index + 1)], "_labelIndex": index}
    event |= {"a": list(order), "p": list(chances), "c": {**shared, "_multi": candidates}}
    return event | more


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_dsjson_by_hand(tmp_path):
    """p follows the order of a; shared features become columns; a line that is no decision is counted."""
    rows = [
        dsjson_line(EventId="e1", Timestamp="2026-01-01T00:00:00.1234567Z"),
        {"RewardValue": 3, "EventId": "e1"},
        dsjson_line(0, 0.5, (0.7, 0.3), (2, 1), EventId="e2", Timestamp="2026-01-02T00:00:00Z"),
    ]
    log = read_log(write_lines(tmp_path / "log.dsjson", rows))
    assert log.actions.tolist() == [1, 0]
    assert log.outcomes.tolist() == [1.0, -0.5]
    assert log.propensities.tolist() == [0.8, 0.3]
    assert log.propensity_matrix.tolist() == [[0.2, 0.8], [0.3, 0.7]]
    assert log.context_names == ("User.tier=pro", "User.visits", "isNew")
    assert log.contexts.tolist() == [[1, 3, 1], [1, 3, 1]]
    assert log.reading.counts == {"lines that are no decisions": 1}
    assert log.reading.columns["timestamp"] == "time"
    assert log.reading.columns["id"] == "id"


def test_dsjson_is_recognised_by_its_first_line(tmp_path):
    log = read_log(write_lines(tmp_path / "log.json", [dsjson_line(), dsjson_line(0)]))
    assert log.reading.format == "dsjson"


def test_the_tags_of_dsjson_can_be_actions(tmp_path):
    log = read_log(write_lines(tmp_path / "log.dsjson", [dsjson_line(), dsjson_line(0)]), action="tag")
    assert log.action_names == ("article 0", "article 1")
    assert log.propensities.tolist() == [0.8, 0.2]
    assert log.propensity_matrix is None


def test_dsjson_features_that_are_absent(tmp_path):
    rows = [dsjson_line(), dsjson_line(0)]
    rows[1]["c"]["User"] = {}
    log = read_log(write_lines(tmp_path / "log.dsjson", rows))
    assert log.context_names == ("User.tier=absent", "User.tier=pro", "User.visits", "isNew")
    assert log.contexts.tolist() == [[0, 1, 3, 1], [1, 0, 0, 1]]


def test_dsjson_probabilities_that_do_not_sum_to_one_are_not_read_as_ones(tmp_path):
    log = read_log(write_lines(tmp_path / "log.dsjson", [dsjson_line(), dsjson_line(0, chances=(0.2, 0.3))]))
    assert log.propensity_matrix is None
    assert log.propensities.tolist() == [0.8, 0.2]
    assert any(note.startswith("in 1 rows the probabilities do not sum to 1") for note in log.reading.notes)


def open_bandit_rows(n=60):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "timestamp": pd.date_range("2019-11-24", periods=n, freq="min", tz="UTC").astype(str),
            "item_id": rng.integers(0, 4, n),
            "position": rng.integers(1, 4, n),
            "click": rng.integers(0, 2, n),
            "propensity_score": np.full(n, 0.25),
            **{f"user_feature_{j}": rng.choice(["81ce123cbb5bd8ce", "9b2d331c329ceb74"], n) for j in range(2)},
            **{f"user-item_affinity_{k}": rng.random(n) for k in range(4)},
        }
    )


def test_the_open_bandit_dataset_is_recognised_by_its_columns(tmp_path):
    frame = open_bandit_rows()
    frame.to_csv(tmp_path / "all.csv")  # with an unnamed index, as it is published
    for source in (tmp_path / "all.csv", frame):
        log = read_log(source)
        assert log.reading.format.startswith("Open Bandit Dataset")
        assert log.reading.contexts == ("user_feature_0", "user_feature_1")
        np.testing.assert_array_equal(log.actions, frame.item_id)
        np.testing.assert_array_equal(log.outcomes, frame.click)
        assert log.n_features == 4
    first = read_log(tmp_path / "all.csv", where={"position": 1})
    np.testing.assert_array_equal(first.actions, frame.item_id[frame.position == 1])
    affine = read_log(frame, contexts=["user-item_affinity_0"])
    np.testing.assert_array_equal(affine.contexts[:, 0], frame["user-item_affinity_0"])


def decision_rows():
    contexts = [{"age": 30, "region": "eu"}, {"age": 40, "region": "us"}, {"age": 50, "region": "eu"}]
    outcomes = [1.0, None, 0.0]
    return [
        {
            "event_id": f"e{i}",
            "time": f"2026-01-0{i + 1}T00:00:00Z",
            "context": context,
            "action": "video" if i else "banner",
            "propensity": 0.75 if i else 0.15,
            "probabilities": {"banner": 0.15, "video": 0.75, "unplayed": 0.1},
            "outcome": outcome,
        }
        for i, (context, outcome) in enumerate(zip(contexts, outcomes, strict=True))
    ]


def check_decision_log(log):
    assert log.action_names == ("banner", "unplayed", "video")
    assert log.actions.tolist() == [0, 2]
    assert log.outcomes.tolist() == [1.0, 0.0]
    assert log.propensity_matrix.tolist() == [[0.15, 0.1, 0.75], [0.15, 0.1, 0.75]]
    assert log.context_names == ("age", "region=eu")
    assert log.contexts[:, 0].tolist() == [30.0, 50.0]
    assert log.reading.counts == {"missing value in 'outcome', dropped": 1}
    assert log.reading.columns["id"] == "event_id"


def test_our_own_decision_log(tmp_path):
    """Of actions that were never played the probabilities tell; a decision whose outcome is to come is counted."""
    check_decision_log(read_log(write_lines(tmp_path / "decisions.jsonl", decision_rows())))
    pq.write_table(pa.Table.from_pylist(decision_rows()), tmp_path / "decisions.parquet")
    check_decision_log(read_log(tmp_path / "decisions.parquet"))
    check_decision_log(read_log(pa.Table.from_pylist(decision_rows())))


def test_a_decision_log_with_probabilities_by_key(tmp_path):
    """A Parquet map instead of a struct: it does not say which keys there are, so the names are given."""
    table = pa.Table.from_pylist(decision_rows())
    chances = pa.array([list(row["probabilities"].items()) for row in decision_rows()], pa.map_("string", "double"))
    place = table.schema.get_field_index("probabilities")
    pq.write_table(table.set_column(place, "probabilities", chances), tmp_path / "decisions.parquet")
    check_decision_log(read_log(tmp_path / "decisions.parquet", action_names=["banner", "unplayed", "video"]))


def test_a_decision_log_with_contexts_in_a_list(tmp_path):
    rows = [row | {"context": [row["context"]["age"], 7.5]} for row in decision_rows()]
    log = read_log(write_lines(tmp_path / "decisions.jsonl", rows))
    assert log.context_names == ("x0", "x1")
    assert log.contexts.tolist() == [[30.0, 7.5], [50.0, 7.5]]


@pytest.mark.parametrize("context", [{}, None])
def test_a_decision_log_without_contexts(tmp_path, context):
    rows = [row | {"context": context} for row in decision_rows()]
    log = read_log(write_lines(tmp_path / "decisions.jsonl", rows))
    assert log.n_features == 0
    assert log.outcomes.tolist() == [1.0, 0.0]
    bare = [{name: value for name, value in row.items() if name != "context"} for row in rows]
    pq.write_table(pa.Table.from_pylist(bare), tmp_path / "decisions.parquet")
    assert read_log(tmp_path / "decisions.parquet").reading.format == "headstart's decision log, Parquet"


def test_what_else_the_service_writes_is_no_context(tmp_path):
    extra = {"sequence": 7, "available": None, "version": 3}
    rows = [row | extra | {"is_holdout": i == 0, "time": 1.7e9 + i} for i, row in enumerate(decision_rows())]
    log = read_log(write_lines(tmp_path / "decisions.jsonl", rows), where={"is_holdout": False})
    assert log.outcomes.tolist() == [0.0]
    assert log.context_names == ("age", "region=eu")


def test_a_decision_log_whose_outcomes_have_not_come(tmp_path):
    rows = [row | {"outcome": None} for row in decision_rows()]
    with pytest.raises(LogError, match=r"no row can be used \(missing value in 'outcome'"):
        read_log(write_lines(tmp_path / "decisions.jsonl", rows))


def test_outcomes_that_come_only_after_many_decisions(tmp_path):
    rows = [decision_rows()[0] | {"event_id": f"e{i}", "outcome": None} for i in range(21_000)]
    rows.append(decision_rows()[2])
    log = read_log(write_lines(tmp_path / "decisions.jsonl", rows))
    assert log.outcomes.tolist() == [0.0]


def test_a_format_that_the_columns_do_not_show_is_refused(tmp_path):
    with pytest.raises(LogError, match="not in the format 'decision-log'; columns: action, reward"):
        read_log({"action": [1], "reward": [2]}, format="decision-log")


def test_a_scan_of_text_leaves_nothing_behind(tmp_path, monkeypatch):
    """The scratch folder goes with the table."""
    import gc
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "log.vw").write_text(CB)
    table = scan_log(tmp_path / "log.vw")
    assert len(list(tmp_path.glob("headstart-*/*.parquet"))) == 1
    assert len(table.to_log()) == 3
    del table
    gc.collect()
    assert list(tmp_path.glob("headstart-*")) == []
