"""Timing: the best of several goes, what a whole command costs, and tables of ratios."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

# A process is charged with the memory of the one that began it, up to its own exec: so a small one begins it.
_LAUNCHER = """
import json, os, subprocess, sys, time
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
output = child.stdout.read().decode()
_, status, used = os.wait4(child.pid, 0)
seconds = time.perf_counter() - began
print(json.dumps([output, os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


class Cost(NamedTuple):
    """What a command said and cost, from the interpreter's start to its end."""

    output: str
    seconds: float  # by the clock
    worked: float  # seconds that processors worked
    megabytes: float  # at most


def cost_of(command: Sequence[str]) -> Cost:
    """Run a command to its end."""
    launched = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command]
    done = subprocess.run(launched, check=True, capture_output=True, text=True)
    output, status, seconds, worked, kilobytes = json.loads(done.stdout)
    if status:
        raise SystemExit(f"{command[:4]} ended with {status}:\n{output}")
    return Cost(output, seconds, worked, kilobytes / 1024)


def best_seconds(job: Callable[[], object], goes: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """The quickest of several goes: what the machine can do when nobody else is at it.

    With time.process_time as the clock, seconds that this process worked: what counts where others share the cores.
    """
    seconds = []
    for _ in range(goes):
        started = clock()
        job()
        seconds.append(clock() - started)
    return min(seconds)


def family_seconds() -> float:
    """Processor seconds of this process and of all that it began: of Spark, the JVM and the workers of that."""
    children: dict[int, list[int]] = {}
    worked: dict[int, float] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        pid, parent = int(status.parent.name), int(fields[1])
        children.setdefault(parent, []).append(pid)
        worked[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own, and of those it has seen end
    seconds, waiting = 0.0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        seconds += worked.get(pid, 0.0)
        waiting += children.get(pid, [])
    return seconds


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in Markdown, as the page of benchmarks has it."""
    print(f"\n{title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
