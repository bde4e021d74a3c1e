"""Old events go into files: nothing is lost, nothing is decided otherwise, and the store is small."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.errors import OptionError
from headstart.serve import Engine, load_config
from headstart.serve.engine.archiving import archive_events
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import Verification, verify_store
from headstart.serve.errors import ArchiveAway
from headstart.serve.store.archives import ArchiveFile
from headstart.serve.store.backup import back_up, restore
from headstart.serve.units import Unit
from tests.serve.experiments import Clock, make_config
from tests.serve.waiting import wait

START = 1_700_000_000
LINEAR = {"oracle": "LinUCB", "contexts": {"age": "number"}}
SETTINGS: dict[str, dict[str, Any]] = {
    "learns at once": LINEAR,
    "learns at close": {**LINEAR, "outcome_window": 5.0, "default_outcome": 0.0},
    "learns values": {**LINEAR, "outcomes": {"click": {}, "revenue": {}}, "value": "revenue - click"},
}


def live(engine: Engine, clock: Clock, first: int, n: int) -> None:
    """A user a second, half of them units that come back; every second has an outcome."""
    is_named = bool(engine.config.experiments["ads"].outcomes)
    for i in range(first, first + n):
        clock.seconds += 1
        unit = f"c{i % 4}" if i % 2 else None
        engine.decide("ads", {"age": 20.0 + i % 13}, event_id=f"u{i}", unit=unit)
        if i % 3:
            click = float(i % 5 == 0)
            engine.outcome("ads", f"u{i}", {"click": click, "revenue": 2.0 * click} if is_named else click)
    engine.close_windows()


def archive(address: str, folder: Path, seconds: float, clock: Clock, slice_size: int = 50) -> list[ArchiveFile]:
    """Everything from before so many seconds after the start."""
    store = open_store(address)
    try:
        before = int((START + seconds) * 1e6)
        return archive_events(store, "ads", before, folder, {"by": "ann"}, clock=clock, slice_size=slice_size)
    finally:
        store.close()


def verify(address: str, folder: Path | None = None) -> Verification:
    store = open_store(address)
    try:
        return verify_store(store.query, archive_folder=folder)
    finally:
        store.close()


def drop_snapshots(address: str, *kinds: str) -> None:
    store = open_store(address)
    with store.writing("ads") as turn:
        for kind in kinds:
            turn.execute("DELETE FROM snapshots WHERE kind = ?", (kind,))
    store.close()


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_fold_the_export_and_the_units_are_what_they_were(address, tmp_path, settings):
    clock, config = Clock(), make_config(address, **SETTINGS[settings])
    with Engine.open(config, clock=clock) as engine:
        live(engine, clock, 0, 60)
        before, state = list(engine.export("ads")), engine.state("ads")
        files = archive(address, tmp_path / "old", 40, clock)  # beside the engine, which goes on
        assert len(files) >= 2
        assert list(engine.export("ads")) == before
        live(engine, clock, 60, 20)
        known = engine.fingerprint("ads")
        kept = engine.decide("ads", {"age": 1.0}, unit="c1", event_id="kept")
        drawn = next(row for row in engine.export("ads") if row["event_id"] == kept.follows)
        assert (drawn["action"], drawn["propensity"]) == (kept.action, kept.propensity)
        assert engine.state("ads")["decisions"] == state["decisions"] + 21
        assert [event.sequence for event in engine.events("ads")] == list(
            range(1, engine.state("ads")["position"] + 1)
        )
    drop_snapshots(address, "fold")
    with Engine.open(config, clock=clock) as engine:  # from the checkpoint
        assert engine.export("ads").labels == ["video", "image"]
        from_checkpoint = engine.fingerprint("ads")
    drop_snapshots(address, "fold", "checkpoint")
    with Engine.open(config, clock=clock) as engine:  # from the files, and so after a rebuild
        assert engine.fingerprint("ads") == from_checkpoint != known
        engine.set_aside("ads", "u70")
        engine.take_back("ads", "u70")
        again = engine.fingerprint("ads")
    verdict = verify(address)
    assert (verdict.faults, verdict.away, verdict.fingerprints["ads"]) == ([], [], again)
    assert verdict.decided_again == verdict.decisions == 81
    assert verdict.archived == files[-1].through


def test_an_archived_decision_is_over_and_one_that_a_unit_needs_is_not(tmp_path):
    """u2 is nobody's; u1 was drawn for a unit, and is the draw of its newest decision."""
    address, clock = str(tmp_path / "e.sqlite"), Clock()
    with Engine.open(make_config(address, **LINEAR), clock=clock) as engine:
        live(engine, clock, 0, 20)
        archive(address, tmp_path, 15, clock)
        assert engine.outcome("ads", "u6", 1.0).status == "dangling"
        assert engine.outcome("ads", "u6", 1.0).status == "duplicate"
        assert engine.outcome("ads", "u1", 0.0).status == "duplicate"
        assert engine.decide("ads", {"age": 5.0}, event_id="u2").follows is None  # its id is free
        assert engine.outcome("ads", Unit("c3"), 1.0).status in ("applied", "duplicate", "conflicting")
    verdict = verify(address)
    assert (verdict.faults, verdict.decided_again) == ([], 21)


def test_what_needs_the_files_is_refused_while_they_are_away(tmp_path):
    address, clock, folder = str(tmp_path / "e.sqlite"), Clock(), tmp_path / "old"
    config = make_config(address, **LINEAR)
    with Engine.open(config, clock=clock) as engine:
        live(engine, clock, 0, 40)
        archive(address, folder, 30, clock)
        folder.rename(tmp_path / "moved")
        for refused in (
            lambda: engine.set_aside("ads", "u39"),
            lambda: engine.withdraw_log("ads"),
            lambda: engine.roll_back("ads", 3),
            lambda: engine.erase("ads", Unit("c1")),
        ):
            with pytest.raises(ArchiveAway, match=r"were archived, and .* is not there: bring the file back"):
                refused()
        live(engine, clock, 40, 5)  # the rest goes on
        known = engine.fingerprint("ads")
    with Engine.open(config, clock=clock) as engine:
        assert engine.fingerprint("ads") == known
    verdict = verify(address)
    assert (verdict.faults, len(verdict.away), verdict.fingerprints["ads"]) == ([], 1, known)
    assert 0 < verdict.decided_again < 45
    moved = verify(address, tmp_path / "moved")
    assert (moved.faults, moved.away, moved.decided_again) == ([], [], 45)
    changed = make_config(address, **{**LINEAR, "epsilon": 0.2})
    with pytest.raises(ArchiveAway):
        Engine.open(changed, clock=clock)
    (tmp_path / "moved").rename(folder)
    with Engine.open(changed, clock=clock) as engine:
        assert engine.state("ads")["learnt"] == sum(i % 3 > 0 for i in range(45))


def test_a_file_that_was_changed_and_a_checkpoint_that_was_swapped_are_faults(tmp_path):
    address, clock, folder = str(tmp_path / "e.sqlite"), Clock(), tmp_path / "old"
    with Engine.open(make_config(address, **LINEAR), clock=clock) as engine:
        live(engine, clock, 0, 30)
    first, *_ = archive(address, folder, 20, clock, slice_size=20)
    shutil.copy(first.path, tmp_path / "right")
    first.path.write_bytes(first.path.read_bytes()[:-1] + b"x")
    assert "it was changed" in verify(address).faults[0]
    first.path.unlink()
    store = open_store(address)
    with store.writing("ads") as turn:
        turn.execute("UPDATE snapshots SET body = ? WHERE kind = 'checkpoint'", ("another",))
    store.close()
    assert "the checkpoint of 'ads' is not the one" in verify(address).faults[0]
    shutil.copy(tmp_path / "right", first.path)
    assert verify(address).faults == []


def test_who_is_erased_is_erased_in_the_archives_too(address, tmp_path):
    clock, folder = Clock(), tmp_path / "old"
    with Engine.open(make_config(address, **LINEAR), clock=clock) as engine:
        for i in range(30):
            clock.seconds += 1
            engine.decide("ads", {"age": 77.0625 if i % 5 == 0 else 3.0}, unit="anna" if i % 5 == 0 else None)
        before = [(row["action"], row["propensity"]) for row in engine.export("ads")]
        files = archive(address, folder, 20, clock, slice_size=10)
        assert engine.erase("ads", Unit("anna")) > 0
        assert [(row["action"], row["propensity"]) for row in engine.export("ads")] == before
        assert [row["context"] == {} for row in engine.export("ads")] == [i % 5 == 0 for i in range(30)]
        live(engine, clock, 30, 5)
        known = engine.fingerprint("ads")
    left = sorted(folder.glob("*.parquet"))
    assert len(left) == len(files)
    import pyarrow.parquet as pq

    bodies = [body for path in left for body in pq.read_table(path)["body"].to_pylist()]
    assert not any("anna" in body or "77.0625" in body for body in bodies)
    verdict = verify(address)
    assert (verdict.faults, verdict.redacted, verdict.fingerprints["ads"]) == ([], 6, known)


def test_a_backup_of_what_is_left_goes_on_by_its_checkpoint(address, another, tmp_path):
    clock = Clock()
    with Engine.open(make_config(address, **LINEAR), clock=clock) as engine:
        live(engine, clock, 0, 40)
        archive(address, tmp_path / "old", 30, clock)
        live(engine, clock, 40, 3)
        known = engine.fingerprint("ads")
    shutil.move(tmp_path / "old", tmp_path / "moved")
    back_up(address, tmp_path / "backup.sqlite")
    restore(tmp_path / "backup.sqlite", another)
    with Engine.open(make_config(another, **LINEAR), clock=clock) as engine:
        assert engine.fingerprint("ads") == known
        live(engine, clock, 43, 3)
    assert verify(another).faults == []


def test_what_is_not_over_stays(tmp_path):
    """Windows of 5 s: at second 20 those up to second 14 are closed. Frozen at second 10, nothing later goes."""
    address, clock = str(tmp_path / "e.sqlite"), Clock()
    with Engine.open(make_config(address, **SETTINGS["learns at close"]), clock=clock) as engine:
        live(engine, clock, 0, 10)
        frozen = engine.freeze("ads")
        live(engine, clock, 10, 10)
        files = archive(address, tmp_path / "old", 1e6, clock)
        assert files[-1].through <= frozen
        engine.unfreeze("ads")
        archive(address, tmp_path / "old", 1e6, clock)
        clock.seconds += 10
        engine.close_windows()
        assert engine.state("ads")["learnt"] == 20
    verdict = verify(address)
    assert (verdict.faults, verdict.decided_again) == ([], 20)


def test_the_command_line_archives_and_the_file_shrinks(tmp_path):
    path, address = tmp_path / "ads.toml", tmp_path / "e.sqlite"
    path.write_text('store = "e.sqlite"\n[experiments.ads]\nactions = ["a", "b"]\noracle = "UCB"\n')
    with Engine.open(make_config(str(address), actions=["a", "b"], oracle="UCB"), clock=Clock()) as engine:
        for _ in range(10):
            decided = engine.decide_many("ads", [{} for _ in range(100)])
            engine.outcome_many("ads", [(each.event_id, 1.0) for each in decided])
    size = address.stat().st_size
    command = ["store", "archive", str(path), "ads", "--out", str(tmp_path / "old"), "--keep", "30"]
    told = CliRunner().invoke(app, command)
    assert (told.exit_code, told.output) == (0, "ads: 2,001 events are in 1 new files.\n")
    assert address.stat().st_size < size / 4
    assert CliRunner().invoke(app, command).output == "ads: 0 events are in 0 new files.\n"
    verified = CliRunner().invoke(app, ["store", "verify", str(path)])
    assert (verified.exit_code, "2,001 of the events are in archives" in verified.output) == (0, True)
    exported = CliRunner().invoke(app, ["store", "export", str(path), "ads", "--out", str(tmp_path / "next.jsonl")])
    assert exported.exit_code == 0
    assert len((tmp_path / "next.jsonl").read_text().splitlines()) == 1000
    assert CliRunner().invoke(app, [*command, "--before", "2026-01-01"]).exit_code != 0


def test_the_service_archives_by_itself_what_is_older_than_it_keeps(tmp_path):
    """Users of 40 seconds, of which it keeps 20; asked again, what has become old since."""
    address, clock = str(tmp_path / "e.sqlite"), Clock()
    ads = {"actions": ["video", "image"], **LINEAR}
    days = {"keep": 20 / 86_400, "archive": str(tmp_path / "old")}
    config = load_config({"store": address, "retention": days, "experiments": {"ads": ads}})
    with Engine.open(config, clock=clock) as engine:
        live(engine, clock, 0, 40)
        wait(lambda: engine.healths()["ads"]["is_folder"])
        n = engine._retainer.retain()["ads"]
        assert 0 < n < engine.state("ads")["position"] - 20
        assert engine._retainer.retain() == {"ads": 0}
        clock.seconds += 10
        live(engine, clock, 40, 5)
        assert engine._retainer.retain()["ads"] > 0
    verdict = verify(address)
    assert (verdict.faults, verdict.decided_again) == ([], 45)


def test_a_retention_names_its_days_and_its_folder():
    ads = {"actions": ["a", "b"]}
    with pytest.raises(OptionError, match=r"retention.archive must be the path of a folder"):
        load_config({"retention": {"keep": 3}, "experiments": {"ads": ads}})
    with pytest.raises(OptionError, match=r"retention.keep"):
        load_config({"retention": {"archive": "old"}, "experiments": {"ads": ads}})
