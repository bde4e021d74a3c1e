"""`headstart serve` as a process of its own: started, killed, ended, misconfigured."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from functools import partial

import httpx
import pytest
from tools.calling import call_headstart
from tools.programs import run_program

from headstart.serve.client import Client, RequestFailed
from headstart.serve.http.access import draw_key
from tests.serve.in_process import USER
from tests.serve.logs import write_leaked
from tests.serve.waiting import wait

CONFIG = """
store = "ads.sqlite"

[server]
port = 0

[experiments.ads]
actions = ["image", "video", "text"]
contexts = { age = "number", likes_videos = ["yes", "no"] }
oracle = "ThompsonGaussian"
"""


REFUSED = "postgresql://ann:s3cret@127.0.0.1:1/ads"


def _run_process(*arguments, cwd, **environment):
    """`headstart ...` to its end, as a process."""
    return subprocess.run(
        [sys.executable, "-m", "headstart.cli", *arguments],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}, timeout=60,
    )  # fmt: skip


@pytest.fixture
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")


@contextmanager
def running(folder, config=CONFIG, **options):
    (folder / "ads.toml").write_text(config)
    process = subprocess.Popen(
        [sys.executable, "-m", "headstart.cli", "serve", "ads.toml", "--log-level", "warning"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={"COLUMNS": "300", **os.environ},
        **options,
    )
    try:
        said = process.stdout.readline()
        found = re.search(r"http://[\d.]+:\d+", said)
        assert found, f"it said {said!r}"
        process.said = said
        yield process, found[0]
    finally:
        process.kill()
        process.stdout.close()
        process.wait(10)


def test_the_console_says_what_each_experiment_starts_from(tmp_path):
    """What was read, decided on, adjusted for and found; that a log is not used cannot be overlooked."""
    write_leaked(tmp_path / "log.csv")
    logged = '[experiments.leaked]\nactions = ["A", "B"]\ncontexts = { age = "number" }\nlog = { path = "log.csv" }\n'
    with running(tmp_path, CONFIG + logged) as (process, _):
        lines = []
        while not lines or "THE LOG IS NOT USED" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], lines
    told = "".join(lines)
    assert "ads: starts without a log" in told
    assert re.search(r"leaked: .*log\.csv: 4,000 rows, 4,000 kept", told)
    for line in (
        "decides on: age",
        "adjusts for: paid",
        "the audit: DO NOT USE IT.",
        "because the context paid tells",
    ):
        assert line in told


def test_what_was_acknowledged_over_http_survives_a_kill(tmp_path):
    acknowledged = {}
    with running(tmp_path) as (process, address):

        def load(number):
            with Client(address, "ads", retries=0) as client:
                for i in range(10_000):
                    try:
                        decision = client.decide(USER, event_id=f"{number}-{i}")
                        acknowledged[decision["event_id"]] = decision
                        client.outcome(decision["event_id"], i % 2)
                    except RequestFailed:
                        return

        threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        wait(lambda: len(acknowledged) > 40, 60)
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join(30)
    assert len(acknowledged) > 10
    with running(tmp_path) as (_, address), Client(address, "ads") as client:
        for event_id, decision in list(acknowledged.items())[-200:]:
            assert client.decide(USER, event_id=event_id) == decision
    told = call_headstart("store", "verify", "ads.toml", cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr


def test_sigterm_answers_what_is_in_flight_and_closes(tmp_path):
    with running(tmp_path) as (process, address):
        assert httpx.post(f"{address}/v1/ads/decide", json={"context": USER}).status_code == 200
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        # uvicorn raises the signal again once everything is closed, so that a supervisor sees why it ended.
        assert process.returncode in (0, -signal.SIGTERM)
    assert not (tmp_path / "ads.sqlite-wal").exists()  # the last connection to close folds it in


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("store = 3", "experiments"),
        (CONFIG + "\nepsylon = 0.1\n", "has no setting 'epsylon'"),
        (CONFIG.replace("port = 0", "prot = 0"), "server has no setting 'prot'"),
        (CONFIG.replace("ThompsonGaussian", "Thompson"), "has no 'Thompson'; did you mean "),
        (CONFIG.replace("port = 0", 'host = "0.0.0.0"'), "there are no [keys]"),
        ("[experiments", "is not TOML"),
    ],
)
@pytest.mark.usefixtures("_wide_terminal")
def test_a_bad_configuration_is_one_line_and_exit_code_1(tmp_path, text, message):
    """The port in use, below, is one in a process of its own."""
    (tmp_path / "bad.toml").write_text(text)
    told = call_headstart("serve", "bad.toml", cwd=tmp_path)
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    assert message in told.stderr


def test_no_password_is_printed_at_the_start(tmp_path, postgres):
    address = postgres.new_store().replace("postgres@", "postgres:s3cret@")
    with running(tmp_path, CONFIG.replace("ads.sqlite", address), stderr=subprocess.STDOUT) as (process, _):
        process.send_signal(signal.SIGTERM)
        said = process.said + process.stdout.read()
    assert "postgres:***@127.0.0.1" in said
    assert "s3cret" not in said


@pytest.mark.parametrize(
    "address",
    [
        REFUSED,
        "postgresql://127.0.0.1:1/ads?user=ann&password=s3cret",
        "postgresql://ann:s3cret%zz@127.0.0.1/ads",
        "postgresql://ann:s3cret@127.0.0.1/ads?nonsense=1",
        "mysql://ann:s3cret@127.0.0.1/ads",
    ],
)
@pytest.mark.usefixtures("_wide_terminal")
def test_no_password_is_in_an_error(tmp_path, address):
    """The first in processes of their own: whatever they print in any way is looked at."""
    (tmp_path / "ads.toml").write_text(CONFIG.replace("ads.sqlite", address))
    run = _run_process if address == REFUSED else call_headstart
    for command in (("serve", "ads.toml"), ("store", "verify", "ads.toml"), ("store", "verify", address)):
        told = run(*command, cwd=tmp_path)
        assert told.returncode == 1
        assert "Error:" in told.stderr
        assert "s3cret" not in told.stdout + told.stderr


def test_every_connection_has_a_descriptor(tmp_path):
    """Started with 256, as some systems do, it takes 400 connections and still opens its store."""
    limited = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (256, 4096))
    with running(tmp_path, preexec_fn=limited) as (_, address), ExitStack() as opened:
        url = httpx.URL(address)
        for _ in range(400):
            opened.enter_context(socket.create_connection((url.host, url.port), timeout=10))
        assert httpx.post(f"{address}/v1/ads/decide", json={"context": USER}, timeout=10).status_code == 200


def test_sighup_reads_the_configuration_again_keys_included(tmp_path):
    secret, key = draw_key("ops", ("admin",))
    more = (
        f'[experiments.new]\nactions = ["a", "b"]\n[keys]\nops = {{ sha256 = "{key.sha256}", scopes = ["admin"] }}\n'
    )
    with (
        (tmp_path / "log").open("w") as log,
        running(tmp_path, stderr=log) as (process, address),
        httpx.Client(base_url=address, verify=False) as client,
    ):
        assert client.post("/v1/ads/decide", json={"context": USER}).status_code == 200
        (tmp_path / "ads.toml").write_text(CONFIG + "[experiments.new]\nactions = 3\n")
        process.send_signal(signal.SIGHUP)
        wait(lambda: "all stays as it is: experiments.new.actions must be" in (tmp_path / "log").read_text())
        assert client.post("/v1/ads/decide", json={"context": USER}).status_code == 200
        (tmp_path / "ads.toml").write_text(CONFIG + more)
        process.send_signal(signal.SIGHUP)
        wait(lambda: client.post("/v1/ads/decide", json={"context": USER}).status_code == 401)
        bearer = {"Authorization": f"Bearer {secret}"}
        wait(lambda: client.post("/v1/new/decide", json={}, headers=bearer).status_code == 200, 30)
        told = call_headstart("reload", address, "--key", secret, cwd=tmp_path)
        assert told.stdout == "ads: taken up\nnew: taken up\n"
        refused = call_headstart("reload", address, cwd=tmp_path)
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
        assert "an API key is needed" in refused.stderr
        assert process.poll() is None


def test_a_port_in_use_is_one_line_and_exit_code_1(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "ads.toml").write_text(CONFIG.replace("port = 0", f"port = {taken.getsockname()[1]}"))
        told = _run_process("serve", "ads.toml", cwd=tmp_path, COLUMNS="400")
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    assert "cannot be listened on: Address already in use" in told.stderr
    assert not (tmp_path / "ads.sqlite").exists()  # nothing was opened


def test_keys_are_made_in_the_terminal(tmp_path):
    told = call_headstart("keys", "new", "shop", "--scopes", "decide,read", cwd=tmp_path)
    assert told.returncode == 0
    assert re.search(r"hs_shop_[\w-]{43}", told.stdout)
    assert re.search(r'shop = \{ sha256 = "[0-9a-f]{64}", scopes = \["decide", "read"\] \}', told.stdout)


def test_who_collects_garbage_does_not_look_at_what_was_there_before_the_first_decision(tmp_path):
    """To look at it was a pause of 80 to 100 ms, every few thousand decisions; some objects come while it is told."""
    (tmp_path / "ads.toml").write_text(CONFIG)
    told = run_program(f"""
import gc, os, signal
from headstart.serve import load_config
from headstart.serve.http.server import run_service

def tell(port, starts):
    print(gc.get_freeze_count(), len(gc.get_objects()), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

run_service(load_config({str(tmp_path / "ads.toml")!r}), log_level="error", on_ready=tell)
""")
    assert (told.returncode, told.stderr) == (-signal.SIGTERM, "")
    kept, looked_at = map(int, told.stdout.split())
    assert kept > 50_000
    assert looked_at < 2_000
