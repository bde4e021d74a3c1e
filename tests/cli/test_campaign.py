"""`headstart decide` and `headstart learn`, run as a user would: campaign after campaign, on real files."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tools.calling import call_headstart

import headstart as hs

OFFERS = ["none", "discount", "free, shipping"]


def words(done):
    return " ".join((done.stdout + done.stderr).split())


def buys(offer, age, rng):
    """Young people like a discount, everybody likes free shipping."""
    rate = {"none": 0.1, "discount": 0.1 + 0.2 * (age < 40), "free, shipping": 0.2}[offer]
    return int(rng.random() < rate)


def quoted(value):
    return f'"{value}"' if "," in str(value) else str(value)


def write_csv(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(quoted, row)) for row in rows)]) + "\n")


def write_outcomes(decisions, path, seed):
    rng = np.random.default_rng(seed)
    rows = parquet.read_table(decisions).to_pylist()
    write_csv(path, "customer_id,bought", [(r["customer_id"], 1) for r in rows if buys(r["action"], r["age"], rng)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("campaign"), np.random.default_rng(0)
    ages = rng.integers(18, 80, 3_000)
    chances = np.where((ages < 40)[:, None], [0.2, 0.5, 0.3], [0.5, 0.2, 0.3])
    taken = [int(rng.choice(3, p=p)) for p in chances]
    rows = [(OFFERS[a], buys(OFFERS[a], g, rng), g, p[a]) for a, g, p in zip(taken, ages, chances, strict=True)]
    write_csv(folder / "yesterday.csv", "offer,bought,age,propensity", rows)
    write_csv(
        folder / "customers.csv", "customer_id,age", [(10_000 + i, int(rng.integers(18, 80))) for i in range(6_000)]
    )
    return folder


def test_three_generations_each_a_log_that_the_audit_passes(folder):
    """Log, campaign, outcomes, policy: three times; every campaign with its outcomes is a log to be used."""
    first = ("decide", "yesterday.csv", "customers.csv", "--action", "offer", "--outcome", "bought")
    started = call_headstart(
        *first, "--decide-on", "age", "--floor", "0.3", "--out", "1.parquet", "--save", "1.policy", cwd=folder
    )
    assert started.returncode == 0, started.stderr
    assert "6,000 users decided" in words(started)
    assert "The expected gain over today's policy is" in words(started)
    for generation in (1, 2, 3):
        decisions, policy, following = (folder / f"{generation}.parquet", f"{generation}.policy", generation + 1)
        if generation > 1:
            done = call_headstart(
                "decide", policy, "customers.csv", "--floor", "0.3", "--out", decisions.name, "--json", cwd=folder
            )
            assert done.returncode == 0, done.stderr
            assert sum(json.loads(done.stdout)["actions"].values()) == 6_000
        write_outcomes(decisions, folder / "bought.csv", generation)
        learnt = call_headstart(
            *("learn", policy, "bought.csv", "--decisions", decisions.name, "--outcome", "bought", "--default", "0"),
            *("--out", f"{following}.policy", "--log", f"log-{generation}.parquet", "--json"),
            cwd=folder,
        )
        assert learnt.returncode == 0, learnt.stderr
        told = json.loads(learnt.stdout)
        assert told["n_learnt"] + told["n_default"] == 6_000
        audited = call_headstart("audit", f"log-{generation}.parquet", "--unit", "none", "--json", cwd=folder)
        assert audited.returncode == 0, audited.stderr
        verdict = json.loads(audited.stdout)["verdict"]
        assert verdict["decision"] != "do not use it", verdict
    last = parquet.read_table(folder / "3.parquet").to_pylist()
    young = [row["action"] for row in last if row["age"] < 35]
    assert young.count("discount") > 0.5 * len(young)  # what is best for them, but for the floor's 20 %


def test_learning_by_the_services_rules(folder, tmp_path):
    """1: learnt; 2: came twice; 3: contradicts itself; 4: late; 5: nothing came; 99: nobody."""
    hs.ABTest(2, rng=0).save(tmp_path / "p.policy")
    write_csv(tmp_path / "users.csv", "id", [(i,) for i in range(1, 6)])
    done = call_headstart("decide", "p.policy", "users.csv", "--out", "d.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [(1, 1, 5), (2, 1, 5), (2, 1, 6), (3, 0, 5), (3, 1, 6), (4, 1, 20), (99, 1, 5)]
    write_csv(tmp_path / "o.csv", "id,outcome,at", rows)
    asked = ("learn", "p.policy", "o.csv", "--decisions", "d.csv", "--time", "at", "--until", "10", "--json")
    told = json.loads(call_headstart(*asked, "--out", "q.policy", cwd=tmp_path).stdout)
    counts = {"n_decisions": 5, "n_learnt": 3, "n_waiting": 2, "n_default": 0, "n_out_of_range": 0}
    counts |= {"n_late": 1, "n_duplicate": 1, "n_conflicting": 1, "n_unknown": 1, "n_empty": 0}
    assert told == counts
    assert hs.load(tmp_path / "q.policy").readings().counts.sum() == 3
    told = json.loads(call_headstart(*asked, "--default", "0", "--out", "q.policy", cwd=tmp_path).stdout)
    assert (told["n_default"], told["n_waiting"]) == (2, 0)
    readings = hs.load(tmp_path / "q.policy").readings()
    assert readings.counts.sum() == 5
    assert np.nansum(readings.counts * readings.means) == pytest.approx(2.0)


def test_killed_in_the_middle_it_leaves_nothing_and_again_it_decides_the_same(tmp_path):
    hs.ABTest(3, rng=0).save(tmp_path / "p.policy")
    n = 3_000_000
    parquet.write_table(pa.table({"id": np.arange(n)}), tmp_path / "users.parquet")
    command = [sys.executable, "-m", "headstart.cli", "decide", "p.policy", "users.parquet", "--out", "d.csv"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        parts = [path for path in tmp_path.glob(".d.csv*.part") if path.stat().st_size > 1_000_000]
        if parts or running.poll() is not None:
            break
        time.sleep(0.005)
    assert running.poll() is None, "it was done before it could be killed"
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "d.csv").exists()
    for name in ("d.parquet", "again.parquet"):
        assert call_headstart("decide", "p.policy", "users.parquet", "--out", name, cwd=tmp_path).returncode == 0
    one, two = (parquet.read_table(tmp_path / name) for name in ("d.parquet", "again.parquet"))
    assert one.num_rows == n
    assert one.equals(two)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("decide", "nowhere.policy", "customers.csv", "--out", "d.csv"), "nowhere.policy: no such file"),
        (("decide", "yesterday.csv", "nowhere.csv", "--out", "d.csv"), "nowhere.csv: no such file"),
        (("decide", "yesterday.csv", "customers.csv", "--out", "d.xlsx"), "the name must end in one of .parquet"),
        (("decide", "yesterday.csv", "customers.csv", "--out", "a/b/d.csv"), "the folder a/b does not exist"),
        (("decide", "yesterday.csv", "customers.csv", "--out", "d.csv"), "give --action, one of offer"),
        (("decide", "0.policy", "customers.csv", "--id", "name", "--out", "d.csv"), "the column 'name' is missing"),
        (
            ("decide", "0.policy", "yesterday.csv", "--id", "age", "--out", "d.csv"),
            "has the column 'bought', which is the outcome",
        ),
        (("learn", "0.policy", "customers.csv", "--decisions", "customers.csv", "--out", "q.policy"), "'action'"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(arguments, message, folder):
    if not (folder / "0.policy").exists():
        log = hs.read_log(folder / "yesterday.csv", action="offer", outcome="bought")
        hs.start(log, rng=0).save(folder / "0.policy")
    before = sorted(os.listdir(folder))
    done = call_headstart(*arguments, cwd=folder)
    assert done.returncode == 1
    assert message in words(done)
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(folder)) == before


def test_help_teaches(folder):
    for command, said in (("decide", "POLICY_OR_LOG"), ("learn", "OUTCOMES")):
        done = call_headstart(command, "--help", cwd=folder)
        assert done.returncode == 0
        assert said in done.stdout
