"""`python -m tools.site [--out site]`: assemble the pages, run the tutorials, build the site; warnings are errors."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tools.site.assemble import assemble
from tools.site.build import build


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the documentation site, offline.")
    parser.add_argument("--out", type=Path, default=Path("site"), help="the folder that it is built into")
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "source")
        assemble(source)
        build(source, out)
    print(f"The site is in {out}: open {out / 'index.html'}, or serve it with python -m http.server -d {out}.")


if __name__ == "__main__":
    main()
