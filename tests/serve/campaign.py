"""The reliability campaigns, whole: `python -m tests.serve.campaign` runs all of them and prints RELIABILITY.md's
figures; a name runs one (kill, power, faults, replicas, units, pauses, propensities, ready, machine, simulation).
`--share 0.05`: small.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from tests.serve.failing_disk import FailingDisk
from tests.serve.faults import count_calls, count_writes, run_failing_call, run_failing_write
from tests.serve.killing import Tally, run_kills
from tests.serve.killing_http import run_http_kills
from tests.serve.pauses import run_paused_folder
from tests.serve.postgres_server import PostgresServer
from tests.serve.power_cuts import run_power_cuts
from tests.serve.propensities import draw_decisions
from tests.serve.ready import fill_store, time_open
from tests.serve.replicas import run_replicas
from tests.serve.returning import ask_returning
from tests.serve.silence import run_silent_server

_PER_STORE = 25  # kills on one store before a new one is begun


class Campaign:
    """All of them, at a share of their full size."""

    def __init__(self, share: float, folder: Path, server: PostgresServer) -> None:
        self._share, self._folder, self._server = share, folder, server
        self._disk = FailingDisk()  # SQLite keeps it: one per process

    def _size(self, whole: int, least: int = 1) -> int:
        return max(least, round(whole * self._share))

    def kill(self) -> None:
        """SIGKILL under load."""
        folder = self._folder
        self._kill("SQLite, engine", self._size(100), lambda i: str(folder / f"kill-{i}.sqlite"), run_kills)
        self._kill(
            "SQLite, HTTP",
            self._size(100),
            lambda i: str(folder / f"http-{i}.sqlite"),
            lambda address, n, seed: run_http_kills(folder, address, n, seed),
        )
        self._kill("PostgreSQL, engine", self._size(25), lambda i: self._server.new_store(), run_kills)
        self._kill(
            "PostgreSQL, HTTP",
            self._size(25),
            lambda i: self._server.new_store(),
            lambda address, n, seed: run_http_kills(folder, address, n, seed),
        )

    def _kill(
        self, name: str, runs: int, address: Callable[[int], str], run: Callable[[str, int, int], Tally]
    ) -> None:
        total = Tally()
        for i in range(0, runs, _PER_STORE):
            tally = run(address(i), min(_PER_STORE, runs - i), i)
            total.runs += tally.runs
            total.acknowledged += tally.acknowledged
            total.events += tally.events
            total.slowest_open = max(total.slowest_open, tally.slowest_open)
            total.faults += tally.faults
        print(
            f"kill, {name}: {total.runs} kills, {total.acknowledged:,} acknowledged, {total.events:,} events, "
            f"slowest reopening {total.slowest_open:.2f} s, {len(total.faults)} faults {total.faults[:3]}",
            flush=True,
        )

    def power(self) -> None:
        """The power goes between two operations of the disk."""
        disk, cuts, found = self._disk, self._size(100, least=10), 0
        for seed in range(0, cuts, 10):
            folder = self._folder / f"power-{seed}"
            folder.mkdir()
            found += run_power_cuts(folder, disk, min(10, cuts - seed), 60, seed)
        print(f"power: {cuts} cuts, {found:,} acknowledged answers looked for and found", flush=True)

    def faults(self) -> None:
        """Every n-th write, fsync and statement fails."""
        disk, step = self._disk, max(1, round(1 / self._share))
        n = count_writes(self._folder, disk)
        errors = [run_failing_write(self._folder, disk, i) for i in range(0, n, step)]
        print(f"faults, disk: {len(errors)} of {n} writes and fsyncs failed in turn, {sum(errors)} errors to clients")
        for name in ("SQLite", "PostgreSQL"):
            for when in ("before", "after"):
                address = str(self._folder / f"{when}.sqlite") if name == "SQLite" else self._server.new_store()
                n = count_calls(address, when)
                errors = [run_failing_call(address, when, i) for i in range(0, n, step)]
                print(
                    f"faults, {name}, {when}: {len(errors)} of {n} statements failed in turn, {sum(errors)} errors",
                    flush=True,
                )

    def replicas(self) -> None:
        """Two replicas asked about the same users at once."""
        n = self._size(5_000, least=100)
        result = run_replicas(self._server.new_store(), 2, n)
        first, second = result["told"]
        applied = sorted(first["applied"] + second["applied"])
        print(
            f"replicas: {n:,} users asked of both, same decisions {first['decisions'] == second['decisions']}, "
            f"each outcome applied once {applied == sorted(first['decisions'])} ({len(first['applied'])} and "
            f"{len(second['applied'])}), same fold {result['folds'][0]['fold'] == result['folds'][1]['fold']}, "
            f"{result['verdict'].n_faults} faults",
            flush=True,
        )

    def units(self) -> None:
        """Users who come back, to two replicas, after restarts and under other configurations."""
        n = self._size(100_000, least=500)
        for name, address in (
            ("SQLite", str(self._folder / "units.sqlite")),
            ("PostgreSQL", self._server.new_store()),
        ):
            found = ask_returning(address, n)
            store = open_store(address)
            n_faults = verify_store(store.query).n_faults
            store.close()
            print(
                f"units, {name}: {n:,} units, {found.asked:,} decisions, {found.draws:,} draws, {found.changed} "
                f"units whose action changed; chi-square p = {found.p_value:.3f}; {found.drawing:,.0f} decisions a "
                f"second at first, {found.repeating:,.0f} when all come back; {n_faults} faults",
                flush=True,
            )

    def pauses(self) -> None:
        """A PostgreSQL that is silent, and a folder that is paused."""
        silence = run_silent_server(self._server, max(6.0, 25.0 * self._share), deadline=5.0)
        print(
            f"pauses, PostgreSQL: {silence.requests} requests, slowest {silence.slowest:.2f} s (deadline 5), "
            f"{len(silence.acknowledged)} acknowledged, {len(silence.lost)} lost, {len(silence.faults)} faults",
            flush=True,
        )
        folder = run_paused_folder(self._server.new_store(), max(7.0, 30.0 * self._share))
        print(
            f"pauses, folder: another took over after {folder.takeover:.2f} s; {folder.decisions} decisions, "
            f"{folder.learnt} learnt, {len(folder.faults)} faults",
            flush=True,
        )

    def propensities(self) -> None:
        """A million decisions against what they logged."""
        found = draw_decisions(str(self._folder / "million.sqlite"), self._size(1_000_000, least=10_000))
        print(
            f"propensities: {found.n:,} decisions, chi-square p = {found.p_value:.3f}; IPS of a constant 1: "
            f"{found.ips:.4f} +- {found.standard_error:.4f}",
            flush=True,
        )

    def ready(self) -> None:
        """From a start to the first decision."""
        n = self._size(100_000, least=10_000)
        places = {"SQLite": str(self._folder / "ready.sqlite"), "PostgreSQL": self._server.new_store()}
        for name, address in places.items():
            fill_store(address, n)
            bare = time_open(address)
            again = time_open(address)  # the first one left a snapshot
            print(
                f"ready, {name}: {n:,} events, folded in {bare['open']:.2f} s without a snapshot, "
                f"{again['open']:.2f} s with one (the whole process {again['process']:.2f} s)",
                flush=True,
            )

    def machine(self) -> None:
        """The engine against the model in memory."""
        examples = self._size(2_000, least=25)
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "tests/serve/engine/test_machine.py"],
            env={**os.environ, "HEADSTART_EXAMPLES": str(examples)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        print(f"machine: {examples:,} runs of 40 steps agree, {time.perf_counter() - started:.0f} s", flush=True)

    def simulation(self) -> None:
        """Lives of a store, each from its seed; the first ones also with compiled kernels."""
        n, n_compiled = self._size(10_000, least=100), self._size(40)
        for arguments in (["--seeds", f"0:{n}"], ["--seeds", f"0:{n_compiled}", "--compiled"]):
            told = subprocess.run(
                [sys.executable, "-m", "tests.serve.simulation", "--jobs", "2", *arguments],
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            print(f"simulation {' '.join(arguments[2:])}: {told.stdout.splitlines()[-1]}", flush=True)
            print("".join(f"  {line}\n" for line in told.stdout.splitlines() if line.startswith("seed")), end="")


NAMES = (
    "kill", "power", "faults", "replicas", "units", "pauses", "propensities", "ready", "machine", "simulation",
)  # fmt: skip


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=", ".join(NAMES))
    parser.add_argument("--share", type=float, default=1.0, help="of the full size")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headstart-campaign-") as folder, PostgresServer() as server:
        campaign = Campaign(asked.share, Path(folder), server)
        for name in asked.names:
            getattr(campaign, name)()


if __name__ == "__main__":
    main()
