"""A real PostgreSQL for tests: Debian's programs, a folder of its own, a free port on loopback, fsync on."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serve.waiting import wait


class PostgresServer:
    """A server that runs while it is entered. PostgreSQL refuses to run as root: then its own user runs it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="headstart-postgres-"))
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self._n_schemas = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def __enter__(self) -> PostgresServer:
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if (Path(self._data) / "postmaster.pid").exists():  # a standby may have taken over
            self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def address(self) -> str:
        """Of the database, with no store chosen."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def start(self) -> None:
        self._serve(self._data, self.port)

    def _serve(self, data: str, port: int) -> None:
        options = f"-h 127.0.0.1 -p {port} -k {self._folder} -c fsync=on -c max_connections=60"
        self._run("pg_ctl", "-D", data, "-l", f"{data}.log", "-w", "-o", options, "start")

    def stop(self, mode: str) -> None:
        """fast: as asked; immediate: as if the power had gone."""
        self._end(self._data, mode)

    @contextmanager
    def standby(self) -> Iterator[Standby]:
        """A streaming standby of this server, which can be held back and can take over its port."""
        other = Standby(self)
        self._run("pg_basebackup", "-D", other.data, "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-R")
        try:
            other.start()
            yield other
        finally:
            other.end()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Every process of it is stopped: TCP still answers, and nothing else does."""
        master = int((Path(self._data) / "postmaster.pid").read_text().split()[0])
        os.kill(master, signal.SIGSTOP)  # first, so that there are no new ones
        wait(lambda: Path(f"/proc/{master}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        others = [int(pid) for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split()]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in (*others, master):
                os.kill(pid, signal.SIGCONT)

    def count_connections(self, name: str) -> int:
        """How many there are of programs of this name."""
        import psycopg

        with psycopg.connect(self.address) as connection:
            question = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
            found = connection.execute(question, (name,)).fetchone()
            assert found is not None
            return int(found[0])

    def new_store(self) -> str:
        """The address of an empty store: a schema of its own."""
        import psycopg

        self._n_schemas += 1
        name = f"store_{self._n_schemas}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.address}?options=-csearch_path%3D{name}"

    def _end(self, data: str, mode: str) -> None:
        self._run("pg_ctl", "-D", data, "-m", mode, "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode()}")


class Standby:
    """A copy that follows its primary asynchronously, as most do: what it has not received yet it does not know."""

    def __init__(self, primary: PostgresServer) -> None:
        self._primary, self._is_running = primary, False
        self.data = f"{primary._data}-standby"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]

    def start(self) -> None:
        """Follow the primary."""
        self._primary._serve(self.data, self._port)
        self._is_running = True

    def cut_off(self) -> None:
        """The network between the two is gone: it receives no more."""
        self.end()

    def take_over(self) -> None:
        """The primary dies at once; this one is promoted and answers at its address."""
        self._primary.stop("immediate")
        self._primary._serve(self.data, self._primary.port)
        self._is_running = True
        self._primary._run("pg_ctl", "-D", self.data, "-w", "promote")

    def end(self) -> None:
        if self._is_running:
            self._primary._end(self.data, "fast")
            self._is_running = False
