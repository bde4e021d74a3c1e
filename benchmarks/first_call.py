"""A new process from its start to the first decision: interpreter, imports, log, start, one play.

With nothing compiled yet (an empty cache folder) and with compiled code from the cache, beside what other libraries
need to their first decision, and beside importing numba, which is part of it.
"""

from __future__ import annotations

import os
import sys
import tempfile

from benchmarks.timing import Cost, cost_of, print_table

_LOG = """
import numpy as np
rng = np.random.default_rng(1)
actions, outcomes = rng.integers(0, 3, 1000), rng.random(1000)
"""
_OURS = f"""{_LOG}
import headstart as hs
hs.start(hs.Log(actions, outcomes, propensities=np.full(1000, 1 / 3)), rng=1).play()
"""
_BY_CONTEXT = f"""{_LOG}
import headstart as hs
contexts = rng.standard_normal((1000, 2))
log = hs.Log(actions, outcomes, contexts, propensities=np.full(1000, 1 / 3))
hs.start(log, decide_on=[0, 1], rng=1).play(contexts[0])
"""
_ESTIMATED = f"""{_LOG}
import headstart as hs
hs.start(hs.Log(actions, outcomes, rng.standard_normal((1000, 2))), rng=1).play()
"""
_BENT = """
import numpy as np
import headstart as hs
rng = np.random.default_rng(1)
actions, contexts = rng.integers(0, 3, 3000), rng.standard_normal((3000, 2))
outcomes = 3.0 * (contexts[:, 0] * contexts[:, 1] > 0.5) * (actions == 1) + rng.standard_normal(3000)
hs.start(hs.Log(actions, outcomes, contexts, propensities=np.full(3000, 1 / 3)), rng=1).play()
"""
_WRITE = f"""{_LOG}
import sys
rows = np.column_stack([actions, outcomes, rng.standard_normal((1000, 2))])
np.savetxt(sys.argv[1], rows, delimiter=",", header="action,outcome,age,visits", comments="")
"""
_FROM_CSV = """
import headstart as hs
hs.start(hs.read_log({file!r}), rng=1).play()
"""
_UCB = "import headstart as hs; hs.UCB(3).play()"
_IMPORTS = {"import numba": "import numba", "import headstart": "import headstart"}
_PEERS = {
    "River: UCB, one decision": "from river import bandit; bandit.UCB(delta=1).pull([0, 1, 2])",
    "MABWiser: UCB fitted to 1,000 rows, one decision": f"""{_LOG}
from mabwiser.mab import MAB, LearningPolicy
mab = MAB([0, 1, 2], LearningPolicy.UCB1(alpha=1.0))
mab.fit(actions, outcomes)
mab.predict()
""",
}


def _cost(code: str) -> Cost:
    """A new process to the end of the code; what taking the interpreter down costs comes after the decision."""
    return cost_of([sys.executable, "-c", f"{code}\nimport os; os._exit(0)"])


def _best(code: str, goes: int = 4) -> Cost:
    """The quickest of several new processes."""
    return min((_cost(code) for _ in range(goes)), key=lambda cost: cost.worked)


def _compiling(code: str) -> Cost:
    """One process that finds no compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        kept = os.environ.get("NUMBA_CACHE_DIR")
        os.environ["NUMBA_CACHE_DIR"] = folder
        try:
            return _cost(code)
        finally:
            os.environ.pop("NUMBA_CACHE_DIR")
            if kept is not None:
                os.environ["NUMBA_CACHE_DIR"] = kept


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/log.csv"
        cost_of([sys.executable, "-c", _WRITE, file])
        ours = {
            "headstart: UCB, one decision": _UCB,
            "headstart: start from a log of 1,000 rows, one decision": _OURS,
            "headstart: the same by context (decide_on two columns)": _BY_CONTEXT,
            "headstart: start from a log without propensities, which are estimated": _ESTIMATED,
            "headstart: start from a log of 3,000 rows that no line follows: boosted trees": _BENT,
            "headstart: the log without propensities, read from a CSV file": _FROM_CSV.format(file=file),
        }
        for code in ours.values():
            _cost(code)  # what is compiled is in the cache from here on
        rows = [(name, _best(code)) for name, code in (_IMPORTS | ours | _PEERS).items()]
        rows += [(f"{name}, nothing compiled yet", _compiling(code)) for name, code in ours.items()]
    print_table(
        "A new process to its first decision",
        ("", "seconds", "of work", "peak memory"),
        [(name, f"{c.seconds:.2f}", f"{c.worked:.2f}", f"{c.megabytes:.0f} MB") for name, c in rows],
    )


if __name__ == "__main__":
    main()
