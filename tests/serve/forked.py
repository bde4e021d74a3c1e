"""Processes of tests that begin with what all of them import: each is forked from one that has imported it.

An interpreter of its own would import numba and the package again, for longer than most of these processes work. What
has to be a process from its first instruction on (`headstart serve`, another processor) is not begun here.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import BinaryIO

_PRELOADED = ("headstart.serve", "headstart.serve.engine.verification", "psycopg")


class Forked:
    """A process that runs `main` of a module, with pipes to its standard input and from its standard output."""

    def __init__(self, handle: int, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self._handle, self.stdin, self.stdout = handle, stdin, stdout

    def send_signal(self, number: signal.Signals) -> None:
        signal.pidfd_send_signal(self._handle, number)

    def tell(self, line: str) -> None:
        """A line to its standard input."""
        self.stdin.write(f"{line}\n".encode())
        self.stdin.flush()

    def read(self) -> str:
        """A line of its standard output."""
        return self.stdout.readline().decode().strip()

    def end(self) -> None:
        """There is nothing more to read for it, and it is waited for until it is gone."""
        self.stdin.close()
        self.stdout.read()
        select.select([self._handle], [], [])


@contextmanager
def forked(module: str, *arguments: str) -> Iterator[Forked]:
    """A process that ends, by itself once its standard input does, with the block."""
    its_in, our_out = os.pipe()
    our_in, its_out = os.pipe()
    with open(our_out, "wb") as stdin, open(our_in, "rb") as stdout:
        try:
            socket.send_fds(_parent(), [json.dumps([module, *arguments]).encode()], [its_in, its_out])
        finally:
            os.close(its_in)
            os.close(its_out)
        handle = os.pidfd_open(int(_parent().recv(64)))
        try:
            process = Forked(handle, stdin, stdout)
            yield process
            process.end()
        finally:
            os.close(handle)


@cache
def _parent() -> socket.socket:
    """The process that forks, one for all tests of a process; it ends with this one."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        command = [sys.executable, "-m", "tests.serve.forked", str(its.fileno())]
        process = subprocess.Popen(command, pass_fds=[its.fileno()])

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait(30)

    return ours


def _wait_for_ended(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Fork for everybody who asks, until nobody can."""
    for module in _PRELOADED:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, _wait_for_ended)
    with socket.socket(fileno=int(sys.argv[1])) as asking:
        while True:
            asked, descriptors, _, _ = socket.recv_fds(asking, 1 << 16, 2)
            if not asked:
                return
            pid = os.fork()
            if not pid:
                break
            for descriptor in descriptors:
                os.close(descriptor)
            asking.send(str(pid).encode())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor, place in zip(descriptors, (0, 1), strict=True):
        os.dup2(descriptor, place)
        os.close(descriptor)
    name, *arguments = json.loads(asked)
    sys.argv = [name, *arguments]
    importlib.import_module(name).main()


if __name__ == "__main__":
    main()
