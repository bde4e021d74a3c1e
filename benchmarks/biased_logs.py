"""The default of `start` on logs with one action's outcomes shifted, with more runs than the whole grid can have: the
worst cells of each kind at gap 0.5 over 5,000 users, relative to a cold Thompson sampler.

Good logs have 100 or 1,000 rows, deflated ones 50, 100 or 1,000, inflated ones 1,000, where they do the most harm.
`python -m benchmarks.biased_logs --runs 600 --seed 77`.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from headstart.experiments.leagues.biased_logs import COLD, DEFAULT, Biased, policies
from headstart.simulation.simulate import simulate
from headstart.worlds import Synthetic

GAP, USERS = 0.5, 5000
KINDS = {"good": ((100, 1000), (0.0,)), "deflated best": ((50, 100, 1000), (-0.3, -0.6, -0.9))}
KINDS["inflated inferior"] = ((1000,), (0.3, 0.6, 0.9))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=77)
    options = parser.parse_args()
    both = {name: policy for name, policy in policies(USERS).items() if name in (COLD, DEFAULT)}
    for kind, (sizes, biases) in KINDS.items():
        found = []
        for k, n_log, bias in product((2, 3, 5), sizes, biases):
            action = k - 2 if kind == "inflated inferior" else k - 1
            world = Biased(Synthetic(n_actions=k, n_log=n_log, step=GAP), action, bias)
            curves = simulate(world, both, rounds=USERS, runs=options.runs, seed=options.seed)
            cold, warm = (curves[name].regrets[:, -1] for name in (COLD, DEFAULT))
            ratio = warm.mean() / cold.mean()
            error = np.std(warm - ratio * cold, ddof=1) / np.sqrt(options.runs) / cold.mean()
            found.append((ratio, error, f"K = {k}, N = {n_log}, bias {bias:+g}"))
        found.sort(reverse=True)
        print(f"{kind}: mean over {len(found)} cells {np.mean([ratio for ratio, _, _ in found]):.2f}; the worst:")
        for ratio, error, where in found[:4]:
            print(f"  {ratio:5.2f} ± {error:.2f}  {where}", flush=True)


if __name__ == "__main__":
    main()
