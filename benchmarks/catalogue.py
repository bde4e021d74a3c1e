"""The benchmarks of the page: what each measures, how it is called, and what its first call is."""

from __future__ import annotations

from typing import NamedTuple


class Benchmark(NamedTuple):
    """One command, and what the page says before its tables."""

    name: str  # python -m benchmarks NAME
    title: str
    command: str  # what is run, after `python -m`
    says: str  # beside whom, from where to where, and what of the first call
    minutes: float  # on two quiet cores; 1 or less is quick


BENCHMARKS = (
    Benchmark(
        "first-call",
        "The first call",
        "benchmarks.first_call",
        "A new process from its start to the first decision, as somebody types it: the interpreter, the "
        "imports, the log, `hs.start`, one `play`; with nothing compiled yet, and with compiled code from the "
        "cache. Where a table below is of calls after the first, it says so.",
        1.0,
    ),
    Benchmark(
        "core",
        "The core",
        "benchmarks.core",
        "Many runs of UCB + IPSW, and one decide + update through the public classes, beside plain Python, a "
        "loop written by hand for numba, River and MABWiser in the same process. Calls after the first; the "
        "best of several goes.",
        2.0,
    ),
    Benchmark(
        "workers",
        "More workers",
        "benchmarks.workers",
        "The same runs of `simulate` by one thread, two threads, two processes and a Dask cluster of two workers on "
        "this machine. Processes have begun before.",
        1.0,
    ),
    Benchmark(
        "linear",
        "Linear models",
        "benchmarks.linear",
        "LinUCB live, in the simulator and on many contexts at once, beside a loop written by hand for numba, "
        "numpy, River, MABWiser and Vowpal Wabbit (RegCB, a gradient step: another algorithm). Calls after "
        "the first.",
        3.0,
    ),
    Benchmark(
        "forest",
        "The forest",
        "benchmarks.forest",
        "The honest forest beside econml's RegressionForest with the same settings, by the clock and by the "
        "processor, how both grow with contexts and rows, and its error beside that of R's grf. Calls after the "
        "first.",
        5.0,
    ),
    Benchmark(
        "tables",
        "Large logs: statistics",
        "benchmarks.tables --spark --rows 10000000 100000000",
        "Evaluators of 10 and 100 million rows of Parquet beside the bare queries, in turns: DuckDB's on one thread, "
        "then Spark's in local mode on two, whose session is open and has had each query before. Both sides open "
        "the file, but for the rows that say a table is open.",
        6.0,
    ),
    Benchmark(
        "audit",
        "Large logs: the audit",
        "benchmarks.audit",
        "`headstart audit` of 10 million rows as a command, from the interpreter's start to its end.",
        1.0,
    ),
    Benchmark(
        "growth",
        "Large logs: how cost grows",
        "benchmarks.growth --rows 1000000 10000000 100000000",
        "Reading with every row checked, auditing, starting, and deciding for as many users, each a process of its "
        "own from the interpreter's start to its end, imports included, kernels compiled before.",
        12.0,
    ),
    Benchmark(
        "propensity",
        "Propensities",
        "benchmarks.propensity",
        "A logistic regression of a million rows, and small ones in five folds, beside scikit-learn's, in "
        "turns. Calls after the first.",
        3.0,
    ),
    Benchmark(
        "boosted",
        "Boosted trees",
        "benchmarks.boosted",
        "The trees that are tried where neither lines nor curves follow outcomes or policy, beside scikit-learn's, "
        "which are the same: one thread, processor time of calls after the first. Its import, two seconds, is not "
        "counted.",
        1.0,
    ),
    Benchmark(
        "decide",
        "Deciding for a table",
        "benchmarks.decide",
        "`policy.decide` for 10 million users, beside DuckDB copying the same columns of the same rows; each "
        "a process of its own, its imports included.",
        4.0,
    ),
    Benchmark(
        "conflict",
        "Alarms of the conflict test",
        "benchmarks.conflict",
        "How often the watch calls a right log wrong, and how many users it takes to find a wrong one.",
        2.0,
    ),
    Benchmark(
        "serve",
        "The decision service",
        "benchmarks.serve",
        "Decisions a second over HTTP, by wrk on the same cores, beside the same server without a store and a "
        "Starlette app that commits each request. After a second of warming.",
        5.0,
    ),
    Benchmark(
        "serve-growth",
        "The service as its log grows",
        "benchmarks.serve_growth --events 1000000",
        "`headstart serve` on a store of so many events, from its start.",
        10.0,
    ),
    Benchmark(
        "league",
        "Regret on random worlds",
        "benchmarks.league --worlds 200 --seed 9004",
        "What `start` and others lose over 1,000 users, beside a cold Thompson sampler. Each world is drawn "
        "(actions, contexts, outcomes, who logged), with a log that is good (given), lacks its propensities "
        "(withheld), makes a worse action look good (inflated) or the best one bad (deflated). Worlds and seeds that "
        "nothing was chosen on; ± is one standard error.",
        6.0,
    ),
    Benchmark(
        "contextual-league",
        "Regret on random worlds, by context",
        "benchmarks.contextual_league --worlds 100 --seed 1001",
        "The same for decisions that depend on the user, beside a cold linear Thompson sampler; an action's slopes "
        "may be wrong in the log too, or a column hidden that moved actions and outcomes.",
        6.0,
    ),
)
