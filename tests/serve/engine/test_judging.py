"""The audit binds the policy that starts from a log, and what binds it is on record."""

from __future__ import annotations

import json
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.serve import Engine, load_config
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.chain import GENESIS, link_rows
from tests.serve.logs import write_clean, write_confounded_cities, write_leaked, write_wealth

NAMED: dict[str, Any] = {"oracle": "ThompsonNormal", "evaluator": "IPSWeighting", "schedule": "batch"}
ESTIMATED = {**NAMED, "log": {"estimate_propensities": True}}


def opened(folder: Path, path: Path, store: str = "s.sqlite", **settings: Any) -> Engine:
    log = {"path": str(path), **settings.pop("log", {})}
    experiment = {"actions": ["A", "B"], "log": log, "seed": 7, **settings}
    return Engine.open(load_config({"store": str(folder / store), "experiments": {"ads": experiment}}))


def plays_of(engine: Engine) -> list[int]:
    return [action["virtual_plays"] for action in engine.state("ads")["actions"]]


@pytest.mark.parametrize("settings", [{}, NAMED, {"oracle": "KnowledgeGradient", "evaluator": "DoublyRobust"}])
def test_a_log_that_is_not_to_be_used_is_not(
    tmp_path: Path, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    """A leaked outcome. Before, 7,995 and 7,989 virtual plays, and no word on it."""
    path = write_leaked(tmp_path / "log.csv")
    with caplog.at_level(logging.INFO, "headstart.serve"), opened(tmp_path, path, **settings) as engine:
        assert plays_of(engine) == [0, 0]
        state = engine.state("ads")
        if settings:  # what start makes of it tries one of the two first
            assert state["actions"][0]["chance"] == pytest.approx(0.5, abs=0.02)  # nothing is known of either
        assert state["start"] is not None
        assert not state["start"]["is_used"]
    loud = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert any("THE LOG IS NOT USED: the audit says do not use it" in each for each in loud)
    assert "because the context paid tells the outcome almost by itself" in caplog.text
    assert "adjusts for: age, paid" in caplog.text


@pytest.mark.parametrize(
    "settings", [{"trust": 0.5}, {"log": {"despite_audit": True}}, {**NAMED, "log": {"despite_audit": True}}]
)
def test_what_is_said_by_hand_overrules_the_audit_out_loud(
    tmp_path: Path, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    path = write_leaked(tmp_path / "log.csv")
    with caplog.at_level(logging.WARNING, "headstart.serve"), opened(tmp_path, path, **settings) as engine:
        assert min(plays_of(engine)) > 1_900  # about 2,000 rows each
    assert "THE AUDIT IS OVERRULED: it says do not use it" in caplog.text


@pytest.mark.parametrize("settings", [{}, ESTIMATED])
def test_the_caps_of_the_audit_are_the_virtual_plays_that_are_used(tmp_path: Path, settings: dict[str, Any]):
    path = write_confounded_cities(tmp_path / "log.csv")
    found = hs.audit(hs.read_log(path)).verdict
    assert found.decision == "use it with a cap"
    with opened(tmp_path, path, **settings) as engine:
        assert plays_of(engine) == list(found.caps or ())


def test_trust_by_hand_leaves_the_caps_and_despite_audit_does_not(tmp_path: Path):
    path = write_confounded_cities(tmp_path / "log.csv")
    caps = list(hs.audit(hs.read_log(path)).verdict.caps)
    for folder, settings in (("trusted", {"trust": 0.5}), ("despite", {"log": {"despite_audit": True}})):
        (tmp_path / folder).mkdir()
        with opened(tmp_path / folder, path, **settings) as engine:
            plays = plays_of(engine)
        assert plays == caps if folder == "trusted" else min(plays) > max(caps)


def test_a_log_that_is_fine_is_used_as_before(tmp_path: Path):
    path = write_clean(tmp_path / "log.csv")
    log = hs.read_log(path)
    with opened(tmp_path, path) as engine:
        sizes = hs.start(log).effective_sizes
        assert plays_of(engine) == pytest.approx(sizes.tolist(), abs=1.0)
        assert engine.state("ads")["start"]["decision"] == "use it"


def change_warm_start(store: Path, change: dict[str, Any], without: tuple[str, ...] = ()) -> None:
    """As another version would have recorded it: the event, and the chain of hashes from there on."""
    connection = sqlite3.connect(store)
    ((sequence, body),) = connection.execute("SELECT sequence, body FROM events WHERE kind = 'warm_start'").fetchall()
    told = {name: value for name, value in {**json.loads(body), **change}.items() if name not in without}
    connection.execute("UPDATE events SET body = ? WHERE sequence = ?", (json.dumps(told), sequence))
    rows = connection.execute(
        "SELECT sequence, experiment, kind, event_id, time, about, body FROM events ORDER BY sequence"
    ).fetchall()
    for row in link_rows(GENESIS, rows):
        connection.execute("UPDATE events SET hash = ? WHERE sequence = ?", (row[-1], row[0]))
    connection.execute("DELETE FROM snapshots")
    connection.commit()
    connection.close()
    Path(f"{store}.anchor").unlink()


def test_the_audit_on_record_decides_and_no_other(tmp_path: Path):
    """Another version, or another machine, may find other caps in the same log: the fold is by those on record."""
    path = write_confounded_cities(tmp_path / "log.csv")
    opened(tmp_path, path, **ESTIMATED).close()
    change_warm_start(tmp_path / "s.sqlite", {"caps": [3, 1]}, without=("fit",))
    with opened(tmp_path, path, **ESTIMATED) as engine:
        assert plays_of(engine) == [3, 1]
    store = open_store(str(tmp_path / "s.sqlite"))
    assert verify_store(store.query).faults == []
    store.close()


def test_an_experiment_that_began_with_the_narrower_reading_folds_as_it_did(tmp_path: Path):
    """A warm start of an earlier headstart says neither how it was read nor what the audit found: its contexts alone
    are adjusted for, nothing is capped, and the log says so."""
    path = write_wealth(tmp_path / "log.csv", 2_000)
    narrow = {"contexts": {"age": "number"}, **NAMED, "log": {"propensity": False, "estimate_propensities": True}}
    opened(tmp_path, path, **narrow).close()
    gone = ("read", "reading", "audit", "caps", "trust", "centres", "fit")
    change_warm_start(tmp_path / "s.sqlite", {"columns": ["age"]}, without=gone)
    with opened(tmp_path, path, **narrow) as engine:
        events = [event.kind for event in engine.events("ads")]
        assert events == ["configuration", "warm_start"]  # nothing is declared anew
        fold = engine._ledgers["ads"].fold
        source = fold._find_source(fold.config, fold.log)
        assert source.log.encoding.columns == ("age",)
        assert sum(plays_of(engine)) > 1_900  # of 2,000 rows, hardly weighted: age tells nothing of the ad
        start = engine.state("ads")["start"]
        assert start is not None
        assert "Raise experiments.ads.revision to begin anew with all columns" in start["used"]
    store = open_store(str(tmp_path / "s.sqlite"))
    assert verify_store(store.query).faults == []
    store.close()
    with opened(tmp_path, path, **narrow, revision=1) as engine:
        start = engine.state("ads")["start"]
        assert start is not None
        assert (start["adjusted_for"], start["decision"]) == (["age", "wealth"], "use it with a cap")


def test_a_log_is_read_again_as_it_was_read(tmp_path: Path):
    """What was recognised stands in the event: columns, roles, and what is done about missing values."""
    path = write_clean(tmp_path / "log.csv", 300)
    with opened(tmp_path, path) as engine:
        read = next(event.body["read"] for event in engine.events("ads") if event.kind == "warm_start")
        fold = engine._ledgers["ads"].fold
    assert read["contexts"] == ["city", "age"]
    assert (read["action"], read["outcome"], read["propensity"], read["id"]) == ("ad", "click", "propensity", False)
    assert (read["missing"], read["unit"]) == ("fill", False)
    again = fold._find_source(fold.config, {**fold.log, "read": {**read, "contexts": ["age"]}})
    assert again.log.encoding.columns == ("age",)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"trust": 2.0}, r"ads\.trust must be a finite number in \[0, 1\]"),
        ({"trust": 0.5, "oracle": "UCB"}, r"ads\.trust is for what start makes of a log"),
        ({"log": {"despite_audit": "yes"}}, r"ads\.log\.despite_audit must be true or false"),
    ],
)
def test_a_word_by_hand_that_means_nothing_is_refused(tmp_path: Path, settings: dict[str, Any], text: str):
    path = write_clean(tmp_path / "log.csv", 100)
    with pytest.raises(OptionError, match=text):
        opened(tmp_path, path, **settings)


def test_a_password_in_the_address_of_a_log_is_refused(tmp_path: Path):
    with pytest.raises(OptionError, match=r"ads\.log\.path holds a password"):
        opened(tmp_path, Path("x"), log={"path": "postgresql://me:secret@host/db"})


def test_a_log_may_be_a_table_of_a_database_with_any_role_of_read_log(tmp_path: Path):
    """Its hash is that of its rows, so other rows are another beginning, and the same ones are not."""
    path, place = write_clean(tmp_path / "log.csv", 300), tmp_path / "past.sqlite"
    _, *rows = [line.split(",") for line in path.read_text().splitlines()]
    connection = sqlite3.connect(place)
    connection.execute(
        "CREATE TABLE clicks (city TEXT, age REAL, ad TEXT, click INTEGER, propensity REAL, member TEXT)"
    )
    for i, row in enumerate(rows):
        connection.execute("INSERT INTO clicks VALUES (?, ?, ?, ?, ?, ?)", (*row, f"m{i // 2}"))
    connection.commit()
    log = {"path": f"{place}::clicks", "unit": "member", "where": {"city": "north"}}
    for n_warm_starts in (1, 1, 2):
        if n_warm_starts == 2:
            connection.execute("UPDATE clicks SET click = 1 - click WHERE rowid < 50")
            connection.commit()
        with opened(tmp_path, path, log=log) as engine:
            begun = [event.body for event in engine.events("ads") if event.kind == "warm_start"]
            fold = engine._ledgers["ads"].fold
            assert fold._find_source(fold.config, fold.log).log.units is not None
        assert len(begun) == n_warm_starts
        assert (begun[-1]["read"]["unit"], begun[-1]["read"]["contexts"]) == ("member", ["age"])
        assert begun[-1]["rows"] == sum(row[0] == "north" for row in rows)
    connection.close()
