"""docs/serve.md runs: its configuration, its snippets, its curls, its commands."""

import json
import re
import shlex
import subprocess
import textwrap
import tomllib
from pathlib import Path

import openfeature.api
from tools.calling import call_headstart

from headstart.experiments.demo import example_log
from headstart.serve import load_config
from headstart.serve.demo import write_csv
from headstart.serve.engine.engine import Engine
from headstart.serve.http.app import App
from headstart.serve.http.openapi import decide_schema, write_document
from headstart.serve.http.steering_schema import steering_verbs
from headstart.serve.options import ServerOptions
from tests.serve.experiments import Clock
from tests.serve.in_process import served

_BLOCK = re.DOTALL | re.MULTILINE
TEXT = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


def _blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, _BLOCK)


def _settings(folder):
    """The document's configuration, with a log as it describes."""
    write_csv(example_log(7), folder / "yesterday.csv")
    text = (folder / "yesterday.csv").read_text().replace("ad below ", "")
    lines = text.splitlines()
    rows = [f"{20 + i % 50},{line}" for i, line in enumerate(lines[1:])]
    (folder / "yesterday.csv").write_text("\n".join([f"age,{lines[0]}", *rows]))
    return tomllib.loads(_blocks("toml")[0])


def test_its_configuration_is_one(tmp_path):
    settings = _settings(tmp_path)
    (tmp_path / "ads.toml").write_text(_blocks("toml")[0])
    config = load_config(tmp_path / "ads.toml")
    assert set(config.experiments) == {"ads", "offers"}
    assert ServerOptions.read(config.server).rate_limit == settings["server"]["rate_limit"]
    with Engine.open(config) as engine:
        assert engine.state("ads")["log"]["rows"] == 400


def test_its_outcomes_with_names_are_ones(tmp_path):
    """A mail whose click brought 12.5, an hour and more later, is worth 12.5 - 0.15 when the week is over."""
    declared = tomllib.loads(textwrap.dedent(next(iter(re.findall(r"^  ```toml\n(.*?)^  ```$", TEXT, _BLOCK)))))
    report = json.loads(next(iter(re.findall(r'`(\{"event_id": "visit-1", "outcomes".*?)`', TEXT))))
    clock = Clock()
    config = load_config({"store": str(tmp_path / "shop.sqlite"), **declared})
    with Engine.open(config, clock=clock) as engine:
        engine.decide("shop", available=["mail"], event_id="visit-1")
        clock.seconds += 3601
        engine.outcome("shop", *(report[name] for name in ("event_id", "outcomes", "report_id")))
        clock.seconds += 604800
        engine.close_windows()
        assert [row["outcome"] for row in engine.export("shop")] == [12.35]


def test_its_guardrails_are_ones():
    block = next(block for block in _blocks("toml") if "guardrails" in block)
    shop = load_config(tomllib.loads(block)).experiments["shop"]
    assert {name: each.falls_back for name, each in shop.guardrails.items()} == {"complaints": True, "sales": False}


def test_its_snippets_and_curls_run(tmp_path, monkeypatch, capsys):
    settings = _settings(tmp_path)
    settings["experiments"]["ads"]["log"]["path"] = str(tmp_path / "yesterday.csv")
    monkeypatch.chdir(tmp_path)
    client_snippet, unit_snippet, flag_snippet, log_snippet = _blocks("python serve")
    with served(tmp_path / "ads.sqlite", settings["experiments"]) as client:
        here = str(client.base_url)
        names: dict[str, object] = {}
        for snippet in (client_snippet, unit_snippet, flag_snippet):
            exec(compile(snippet.replace("http://127.0.0.1:8000", here), "docs/serve.md", "exec"), names)
        shown = capsys.readouterr().out.split()
        assert {shown[0], shown[-1]} <= {"image", "video"}
        openfeature.api.clear_providers()  # it lets its connections go
        curls = next(block for block in _blocks("bash") if "curl" in block)
        commands = curls.replace("http://127.0.0.1:8000", here).replace("\\\n", " ").splitlines()
        for command, said in zip(commands[0::2], commands[1::2], strict=True):
            told = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True).stdout
            assert set(json.loads(told)) == set(json.loads(said.removeprefix("# ")))
        for _ in range(30):  # a log worth reading: outcomes that are known without waiting for a window
            client.post("/v1/offers/decide", json={})
    rows = [
        {"event_id": f"e{i}", "time": 1e9 + i, "context": {"age": 20.0 + i % 7}, "action": ("image", "video")[i % 2],
         "propensity": 0.5, "probabilities": {"image": 0.5, "video": 0.5}, "outcome": float(i % 3 == 0)}
        for i in range(200)
    ]  # fmt: skip
    (tmp_path / "ads-decisions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    exec(compile(log_snippet, "docs/serve.md", "exec"), {})


def test_its_commands_exist(tmp_path):
    lines = [line for block in _blocks("bash") for line in block.replace("\\\n", " ").splitlines()]
    typed = [words[1:] for words in map(shlex.split, lines) if words and words[0] == "headstart"]
    commands = {tuple(words[: 2 if words[0] in ("store", "keys") else 1]) for words in typed}
    assert commands
    for command in commands:
        assert call_headstart(*command, "--help", cwd=tmp_path).returncode == 0, command


def test_every_path_of_the_service_is_in_the_table(tmp_path):
    config = load_config({"store": str(tmp_path / "s.sqlite"), "experiments": {"ads": {"actions": ["a", "b"]}}})
    steering = {"ads": steering_verbs(["a", "b"], ["clicks"])}
    document = write_document({"ads": decide_schema(["a", "b"], {})}, steering=steering)
    with Engine.open(config) as engine:
        posts = {f"/v1/{{experiment}}/{verb}" for verb in App(engine).posts}
    paths = {path.replace("/v1/ads/", "/v1/{experiment}/") for path in document["paths"]}
    assert posts <= paths
    for path in paths:
        assert f"{path}`" in TEXT or f"{path}?" in TEXT, path
