"""The numbers of RESULTS.md, at length: `python -m headstart.experiments.running.campaign FOLDER [NAME ...]`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import joblib

from headstart.experiments.running.catalogue import all_experiments
from headstart.experiments.running.experiment import run_experiment

RUNS, SEED = 4000, 1
_FEWER = {"trials": 150, "biased-logs": 100}  # one log after another through causal inference


def run_campaign(folder: Path, names: list[str]) -> None:
    """Run the named experiments, or those whose results are not there yet, and write their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for experiment in all_experiments().values():
        path = folder / f"{experiment.name}.jsonl"
        if experiment.name not in names if names else path.exists():
            continue
        started = time.perf_counter()
        runs, cores = _FEWER.get(experiment.name, RUNS), os.cpu_count() or 1
        with joblib.parallel_config("loky"):  # setting a run up is Python, and threads would take turns with it
            results = list(run_experiment(experiment, runs=runs, seed=SEED, n_jobs=cores))
        lines = "".join(json.dumps(result.as_row()) + "\n" for result in results)
        path.write_text(lines)
        print(f"{experiment.name}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    run_campaign(Path(sys.argv[1]), sys.argv[2:])
