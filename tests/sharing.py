"""How tests are shared out between the workers of `make test`.

A file stays with one worker, so that what its tests share is built once; and all files that need Spark stay together,
for its machine takes a minute to begin. (xdist's own groups, `--dist loadgroup`, are ignored without a word under
pytest 9.2.)
"""

from __future__ import annotations

import re
from functools import cache

from xdist.scheduler import LoadFileScheduling

from tests.durations import ROOT

_SPARK = re.compile(r"^def .*[(, ]spark(_session)?\b", re.MULTILINE)  # a fixture that a function of the file asks for


@cache
def group_of(file: str) -> str:
    """What stays together with this file, `tests/test_x.py`: itself, or all that needs Spark."""
    path = ROOT / file
    return "spark" if path.is_file() and _SPARK.search(path.read_text(encoding="utf-8")) else file


class Together(LoadFileScheduling):  # type: ignore[misc]
    """xdist's files, but for those of Spark."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0])
