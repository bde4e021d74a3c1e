"""One file, three audits: the command's, the library's and the service's say the same, and the service obeys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import headstart as hs
from headstart.cli import app
from tests.serve.in_process import served
from tests.serve.logs import write_clean, write_confounded_cities, write_leaked, write_wealth

CITIES = ["west", "nowhere", "east", "south", "north"]  # another order than the log's, and one that it never shows
LOGS: dict[str, tuple[Callable[[Path], Path], dict[str, Any], str]] = {
    "wealth": (write_wealth, {"age": "number"}, "use it with a cap"),
    "leaked": (write_leaked, {"age": "number"}, "do not use it"),
    "clean": (write_clean, {"age": "number", "city": CITIES}, "use it"),
    "cities": (write_confounded_cities, {"city": CITIES}, "use it with a cap"),
}


def told_by_command(path: Path) -> dict[str, Any]:
    answer = CliRunner().invoke(app, ["audit", str(path), "--json"])
    assert answer.exit_code == 0, answer.output
    told: dict[str, Any] = json.loads(answer.stdout)
    return told


def as_shown(audit: dict[str, Any]) -> list[list[Any]]:
    """The figures of each action, to six digits: a table sums its rows in another order than an array."""
    rows = audit["actions"]["actions"]
    return [[f"{v:.6g}" if isinstance(v, float) else v for v in row.values()] for row in rows]


@pytest.mark.parametrize("name", LOGS)
def test_the_command_the_library_and_the_service_say_the_same(tmp_path: Path, name: str):
    """Verdict, reasons and caps are compared word by word; the figures of the actions to six digits with the
    command, which sums a table, and to the bit with the library."""
    write, contexts, decision = LOGS[name]
    path = write(tmp_path / "log.csv")
    command = told_by_command(path)
    library = json.loads(json.dumps(hs.audit(hs.read_log(path)).as_dict()))
    experiment = {"actions": ["B", "A"], "contexts": contexts, "log": {"path": str(path)}}
    with served(tmp_path / "s.sqlite", {"ads": experiment}) as client:
        log, page = client.get("/v1/ads/report").json()["log"], client.get("/experiments/ads").text
    service = log["audit"]
    for other in (command, library):
        assert service["verdict"]["decision"] == other["verdict"]["decision"] == decision == log["decision"]
        assert service["verdict"]["summary"] == other["verdict"]["summary"] == log["verdict"]
        assert service["verdict"]["reasons"] == other["verdict"]["reasons"]
        assert (service["verdict"]["caps"] or []) == (other["verdict"]["caps"] or service["verdict"]["caps"] or [])
        assert as_shown(service) == as_shown(other)
    assert service["actions"] == library["actions"]
    assert f"The audit says: {decision}." in page
    by_name = {action["name"]: action["mean"] for action in service["actions"]["actions"]}
    assert log["means"] == [by_name["B"], by_name["A"]]  # in the experiment's order


def test_the_service_adjusts_for_what_it_may_not_decide_on(tmp_path: Path):
    """Of the columns of the log only the age is among the contexts; the raw means, and those that are adjusted for
    the age alone, point to B."""
    path = write_wealth(tmp_path / "log.csv")
    experiment = {"actions": ["A", "B"], "contexts": {"age": "number"}, "log": {"path": str(path)}}
    with served(tmp_path / "s.sqlite", {"ads": experiment}) as client:
        report, state = client.get("/v1/ads/report").json(), client.get("/v1/ads/state").json()
    a, b = report["log"]["means"]
    assert state["log"]["means"][1] > state["log"]["means"][0] + 0.03  # raw
    assert a - b == pytest.approx(0.06, abs=0.03)  # four standard errors of a difference of 20,000 rows
    assert report["log"]["verdict"].startswith("It points to A")
    assert (state["start"]["decided_on"], state["start"]["adjusted_for"]) == (["age"], ["wealth"])
    assert "wealth" not in hs.read_log(path, contexts=["age"]).encoding.columns


def test_a_configuration_that_names_the_columns_has_its_way(tmp_path: Path):
    path = write_wealth(tmp_path / "log.csv", 2_000)
    for given, expected in (
        ({"contexts": ["age"]}, []),
        ({"contexts": ["age"], "confounders": ["wealth"]}, ["wealth"]),
    ):
        log = {"path": str(path), **given}
        experiment = {"actions": ["A", "B"], "contexts": {"age": "number"}, "log": log}
        with served(tmp_path / f"{len(expected)}.sqlite", {"ads": experiment}) as client:
            start = client.get("/v1/ads/state").json()["start"]
        assert (start["decided_on"], start["adjusted_for"]) == (["age"], expected)


def test_a_context_that_its_name_hides_is_read_all_the_same(tmp_path: Path):
    """`shop_id` is an identifier by its name, `arm` could be the action, as `ad` could; both are declared."""
    path = write_clean(tmp_path / "log.csv", 500)
    path.write_text(path.read_text().replace("city,age,", "shop_id,arm,"))
    contexts = {"arm": "number", "shop_id": CITIES}
    experiment = {"actions": ["A", "B"], "contexts": contexts, "log": {"path": str(path), "outcome": "click"}}
    with served(tmp_path / "s.sqlite", {"ads": experiment}) as client:
        assert client.get("/v1/ads/state").json()["start"]["decided_on"] == ["arm", "shop_id"]
