"""Several servers on one PostgreSQL under wrk: one, two on one experiment, two with an experiment each.

The same number of connections is spread over the servers, so the figures say what a second server is worth.
Everything (PostgreSQL with fsync, the servers, wrk) shares this machine's cores.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serve.postgres_server import PostgresServer

from benchmarks.serve import SCRIPT, await_server, free_port, load
from benchmarks.timing import print_table

CONFIG = """
store = "{store}"

[server]
port = {port}
"""
EXPERIMENT = """
[experiments.{name}]
actions = ["image", "video", "text"]
contexts = {{ age = "number", likes_videos = ["yes", "no"] }}
oracle = "ThompsonNormal"
"""
LAYOUTS = {  # which experiment each server is asked about
    "one server": ("ads",),
    "two servers, one experiment": ("ads", "ads"),
    "two servers, an experiment each": ("ads", "offers"),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=5, help="of load per figure")
    parser.add_argument("--goes", type=int, default=3, help="each figure is the median of so many, taken in turns")
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64])
    given, _ = parser.parse_known_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer() as postgres,
        _servers(Path(folder), postgres.new_store(), 2) as ports,
    ):
        for connections in given.connections:
            rates: dict[str, list[float]] = {name: [] for name in LAYOUTS}
            for _ in range(given.goes):  # in turns: the machine's noise falls on all alike
                for name, experiments in LAYOUTS.items():
                    rates[name].append(_load_all(ports, experiments, Path(folder), connections, given.seconds))
            median = {name: sorted(found)[len(found) // 2] for name, found in rates.items()}
            one = median["one server"]
            print_table(
                f"Decisions a second on PostgreSQL, {connections} connections in all, median of {given.goes}",
                ("servers", "decisions a second", "of one server"),
                [(name, f"{rate:,.0f}", f"{rate / one:.2f}") for name, rate in median.items()],
            )


@contextmanager
def _servers(folder: Path, store: str, n: int) -> Iterator[list[int]]:
    ports, running = [], []
    try:
        for i in range(n):
            ports.append(free_port())
            config = folder / f"{i}.toml"
            tables = "".join(EXPERIMENT.format(name=name) for name in ("ads", "offers"))
            config.write_text(CONFIG.format(store=store, port=ports[-1]) + tables)
            command = [sys.executable, "-m", "headstart.cli", "serve", str(config), "--log-level", "warning"]
            running.append(subprocess.Popen(command))
            await_server(ports[-1])
        yield ports
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)


def _load_all(ports: list[int], experiments: tuple[str, ...], folder: Path, connections: int, seconds: int) -> float:
    """Decisions a second of all servers together."""
    script = folder / "decide.lua"
    script.write_text(SCRIPT)
    share, rates = connections // len(experiments), []

    def run(port: int, experiment: str) -> None:
        rates.append(load(port, script, share, seconds, experiment)[0])

    threads = [threading.Thread(target=run, args=each) for each in zip(ports, experiments, strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(rates)


if __name__ == "__main__":
    main()
