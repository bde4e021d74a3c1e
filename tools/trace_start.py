"""How far one call of `start` walks: the files and rooms that run, in the order of their first call.

`python -m tools.trace_start` prints, for `start(log)` and `start(log, decide_on=...)`, every file of headstart in
which a function runs, how many rooms (the first name below headstart) they lie in, and how often the call goes from
one file to another. The log has 300 rows and is read from a CSV with one column of categories, two of numbers and
the propensities; then without them, when they have to be estimated first. Each call is traced when it has run once
on a log of its own, so that neither importing nor compiling counts, nor is anything found that a log remembers.

A start begins with an audit, which is a call of its own (`audit.examine`): it counts as the one file that it is in,
and its inside is printed apart.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import numpy as np

import headstart as hs
from headstart.judgement.audit.audit import examine

HOUSE = Path(hs.__file__).parent
COLUMNS = ["device", "age", "visits"]


class Trace(NamedTuple):
    """The files of headstart that a call went through."""

    files: tuple[str, ...]  # in the order of their first call, below headstart/
    changes: int  # how often a function was entered that is of another file than the one entered before

    @property
    def rooms(self) -> tuple[str, ...]:
        """The first names below headstart/, in the order of their first call."""
        return tuple(dict.fromkeys(file.split("/")[0] for file in self.files))


def trace(call: Callable[[], object], closed: Callable[..., object] | None = None) -> Trace:
    """Run the call and note every function of headstart that is entered, compiled ones included.

    What runs inside the function `closed` is not noted.
    """
    walk: list[str] = []
    known: dict[CodeType, str] = {}
    inside: list[FrameType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if inside:
            if event == "return" and frame is inside[0]:
                inside.clear()
            return
        if event != "call":
            return
        code = frame.f_code
        if closed is not None and code is closed.__code__:
            inside.append(frame)
        if code not in known:
            path = Path(code.co_filename)
            known[code] = path.relative_to(HOUSE).as_posix() if path.is_relative_to(HOUSE) else ""
        file = known[code]
        if file and (not walk or walk[-1] != file):
            walk.append(file)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Trace(tuple(dict.fromkeys(walk)), len(walk))


def write_log(path: Path, n_rows: int = 300) -> None:
    """A confounded log: who is shown B depends on the device and on the age, and so does what comes of it."""
    rng = np.random.default_rng(7)
    devices = np.array(["phone", "tablet", "desktop"])[rng.integers(0, 3, n_rows)]
    ages, visits = rng.normal(40.0, 12.0, n_rows), rng.poisson(3.0, n_rows)
    chances = np.clip(np.where(devices == "phone", 0.7, 0.4) - 0.005 * (ages - 40.0), 0.05, 0.95)
    is_b = rng.random(n_rows) < chances
    rates = np.clip(0.2 + 0.1 * is_b + 0.1 * (devices == "phone") + 0.004 * (ages - 40.0), 0.02, 0.98)
    clicks, taken = rng.random(n_rows) < rates, np.where(is_b, chances, 1.0 - chances)
    columns = zip(devices, ages, visits, np.where(is_b, "B", "A"), clicks, taken, strict=True)
    rows = [f"{device},{age:.1f},{n},{ad},{int(click)},{p:.6f}" for device, age, n, ad, click, p in columns]
    path.write_text("\n".join(["device,age,visits,ad,click,chance", *rows]) + "\n")


def trace_starts(propensities: Sequence[str | None] = ("chance", None)) -> dict[str, Trace]:
    """The calls by their texts, on the log with this column of propensities or, None, without any."""
    traces = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        write_log(path)
        for propensity in propensities:
            for decide_on in (None, COLUMNS):
                logs = [
                    hs.read_log(path, action="ad", outcome="click", contexts=COLUMNS, propensity=propensity)
                    for _ in range(2)
                ]
                hs.start(logs[0], decide_on=decide_on, rng=0)
                text = "start(log)" if decide_on is None else f"start(log, decide_on={decide_on})"
                text += "" if propensity else ", without propensities"
                traces[text] = trace(
                    lambda log=logs[1], chosen=decide_on: hs.start(log, decide_on=chosen, rng=0), closed=examine
                )
            if propensity is None or len(propensities) == 1:
                continue
            log = hs.read_log(path, action="ad", outcome="click", contexts=COLUMNS, propensity=propensity)
            traces["audit(log)"] = trace(lambda log=log: hs.audit(log))
    return traces


def main() -> None:
    """Print them."""
    for text, found in trace_starts().items():
        print(f"{text}: {len(found.files)} files in {len(found.rooms)} rooms, {found.changes} changes of file")
        for file in found.files:
            print(f"  {file}")


if __name__ == "__main__":
    main()
