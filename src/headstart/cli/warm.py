"""`headstart warm`: compile before the first user comes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.markup import escape

from headstart.cli.terminal import app, err, out

if TYPE_CHECKING:
    from headstart.logs.log import Log


@app.command("warm")
def compile_ahead() -> None:
    """Compile what deciding and learning need, and keep it: later processes begin in a second.

    [dim]headstart warm[/dim]

    Once after installing, or while an image is built; minutes at first, seconds when everything is there. A service
    compiles what its own experiments need when it starts.
    """
    from headstart.kernels.keeping import find_code_folder

    began = time.perf_counter()
    jobs = _jobs()
    for number, (what, job) in enumerate(jobs.items(), 1):
        with err.status(f"{number} of {len(jobs)}: {what}"):
            started = time.perf_counter()
            job()
        out.print(f"{time.perf_counter() - started:6.1f} s  {escape(what)}", highlight=False)
    found = find_code_folder()
    out.print(f"{time.perf_counter() - began:6.1f} s  in all; kept in {escape(str(found.folder))}", highlight=False)


def _grow_trees(log: Log) -> None:
    from headstart.estimates.gradient_trees import boost_numbers

    trees = boost_numbers(log.contexts, log.outcomes, 1, log.actions, log.n_actions)
    trees.score(log.contexts, (1,), log.actions)


def _jobs() -> dict[str, Callable[[], object]]:
    """What users do first, each with a log of a few rows."""
    import numpy as np

    import headstart as hs
    from headstart.parts.warming import warm

    rng = np.random.default_rng(1)
    n = 400
    contexts, actions = rng.standard_normal((n, 2)), rng.integers(0, 2, n)
    amounts = contexts[:, 0] + 0.1 * actions + rng.standard_normal(n)
    numbers = hs.Log(actions, amounts, contexts, np.full(n, 0.5))
    clicks = hs.Log(actions, (amounts > 0.0).astype(float), contexts, np.full(n, 0.5))
    unknown = hs.Log(actions, amounts, contexts)
    return {
        "audit": lambda: hs.audit(numbers),
        "audit of a log without propensities": lambda: hs.audit(unknown),
        "boosted trees, for logs that no line follows": lambda: _grow_trees(numbers),
        "start for all users": lambda: warm(hs.start(numbers, rng=1)),
        "start for all users, outcomes 0 and 1": lambda: warm(hs.start(clicks, rng=1)),
        "start by context": lambda: warm(hs.start(numbers, decide_on=[0, 1], rng=1)),
        "UCB with virtual plays": lambda: warm(hs.WarmStart(hs.UCB(2), hs.IPSWeighting(numbers), rng=1)),
        "ThompsonBeta": lambda: warm(hs.ThompsonBeta(2, rng=1)),
        "LinUCB": lambda: warm(hs.LinUCB(2, 2)),
        "LinThompson": lambda: warm(hs.LinThompson(2, 2, rng=1)),
    }
