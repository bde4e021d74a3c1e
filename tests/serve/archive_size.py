"""How small a store becomes: `python -m tests.serve.archive_size 200000` fills one, archives half of it, then all."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from headstart.serve.engine.archiving import archive_events
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from tests.serve.ready import fill_store, time_open


def main() -> None:
    """Sizes, and seconds of archiving, of writing the file anew, of opening and of verifying."""
    with tempfile.TemporaryDirectory() as folder:
        path, files = Path(folder) / "events.sqlite", Path(folder) / "old"
        fill_store(str(path), int(sys.argv[1]), keeps_snapshots=True)
        _tell(path, files, "filled")
        for share in (0.5, 1.0):
            with closing(open_store(str(path))) as store:
                first, last = store.query("SELECT min(time), max(time) FROM events WHERE kind <> 'configuration'")[0]
                before = first + round(share * (last + 1 - first))
                started = time.perf_counter()
                archive_events(store, "ads", before, files, {"by": "a test"})
                archived = time.perf_counter()
                store.shrink()
                written = time.perf_counter()
            seconds = f"archived in {archived - started:.1f} s, shrunk in {written - archived:.1f} s"
            _tell(path, files, f"{share:.0%} {seconds}")
        print(f"opened in {time_open(str(path))['open']:.2f} s")
        with closing(open_store(str(path))) as store:
            started = time.perf_counter()
            verdict = verify_store(store.query)
        print(f"{verdict.events:,} events, {verdict.n_faults} faults, in {time.perf_counter() - started:.1f} s")


def _tell(path: Path, files: Path, what: str) -> None:
    old = sum(file.stat().st_size for file in files.glob("*"))
    print(f"{what}: the store {path.stat().st_size / 1e6:.2f} MB, its archives {old / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
