"""`population=` of the log's own people: what it costs where nobody differs, and what it saves where users do.

`python -m benchmarks.own_people` prints the root mean squared error of the doubly robust means for users of whom 300
are shown, with and without `population=`, by how far their column means are from the log's.
"""

from __future__ import annotations

import argparse

import numpy as np

import headstart as hs

N_USERS = 300
SHIFTS = (0.0, 0.1, 0.2, 0.4, 0.8)  # standard deviations, of the first column


def draw(rng: np.random.Generator, n: int, k: int, d: int, shift: float) -> tuple[hs.Log, np.ndarray, np.ndarray]:
    """A log, users, and the actions' means over the users' population."""
    slopes = rng.standard_normal((d, k)) / np.sqrt(d)
    x, users = rng.standard_normal((n, d)), rng.standard_normal((N_USERS, d))
    users[:, 0] += shift
    scores = np.exp(x @ rng.standard_normal((d, k)) / np.sqrt(d))
    chances = scores / scores.sum(axis=1, keepdims=True)
    actions = np.minimum((chances.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1), k - 1)
    levels = 0.2 * np.arange(k)
    outcomes = levels[actions] + (x @ slopes)[np.arange(n), actions] + rng.standard_normal(n)
    return hs.Log(actions, outcomes, x, chances, n_actions=k), users, levels + shift * slopes[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"rmse of means, {given.logs} logs of {given.rows:,} rows, {N_USERS} users: without population=, with it")
    for k, d in ((3, 4), (5, 10)):
        for shift in SHIFTS:
            squares = np.zeros((given.logs, 2))
            for i in range(given.logs):
                rng = np.random.default_rng([given.seed, k, int(100 * shift), i])
                log, users, truth = draw(rng, given.rows, k, d, shift)
                for j, population in enumerate((None, users)):
                    means = hs.DoublyRobust(log, population=population).means
                    squares[i, j] = float(np.nanmean((means - truth) ** 2))
            without, with_it = np.sqrt(squares.mean(axis=0))
            words = f"K = {k}, {d} columns, users {shift:.1f} apart"
            print(f"{words}: {without:.4f} -> {with_it:.4f} ({with_it / without - 1.0:+.1%})", flush=True)


if __name__ == "__main__":
    main()
