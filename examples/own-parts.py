"""An oracle and an evaluator of one's own.

Made from docs/tutorials/own-parts.md by `python -m tools.site.examples`: change it there.
"""

# An oracle needs three methods, an evaluator one. Neither must inherit from anything. This page writes both, has headstart check
# them, and joins them.
#
# ## An oracle
#
# It chooses, it learns, and it says with which chance it would choose each action. This one prefers better actions by a *softmax*.

import numpy as np

import headstart as hs


class Softmax:
    """Better actions are likelier."""

    def __init__(self, n_actions, temperature=0.1, rng=None):
        self.n_actions, self.temperature = n_actions, temperature
        self.rng = np.random.default_rng(rng)
        self.sums, self.counts = np.zeros(n_actions), np.zeros(n_actions)

    def probabilities(self, context, available=None):
        allowed = as_mask(available, self.n_actions)
        means = self.sums / np.maximum(self.counts, 1)
        weights = np.where(allowed, np.exp((means - means[allowed].max()) / self.temperature), 0.0)
        return weights / weights.sum()

    def play(self, context, available=None):
        return int(self.rng.choice(self.n_actions, p=self.probabilities(context, available)))

    def update(self, context, action, outcome):
        if not 0 <= action < self.n_actions or not np.isfinite(outcome):
            raise ValueError(f"no such action or outcome: {action}, {outcome}")
        self.sums[action] += outcome
        self.counts[action] += 1


def as_mask(available, n_actions):
    """Which actions may be chosen: a mask, a list of indices, or None for all."""
    if available is None:
        return np.ones(n_actions, bool)
    given = np.asarray(available)
    if given.dtype == bool:
        return given
    mask = np.zeros(n_actions, bool)
    mask[given] = True
    return mask

# `check_oracle` puts it through the promises that every built-in oracle keeps: chances that sum to one and are those of `play`, masks,
# calls that are rejected and leave no trace, outcomes out of order.

hs.testing.check_oracle(lambda: Softmax(3, rng=1))
print("It keeps the contract.")

# ## An evaluator
#
# It answers with an outcome, or with `None` when the log has no more to say. This one answers with the average of the last rows of
# an action, once for each of them: for a log drawn by lot whose early rows are out of date.

class RecentAverage:
    """The mean of an action's last rows."""

    def __init__(self, log, n_rows=100):
        self.n_actions = log.n_actions
        last = [np.flatnonzero(log.actions == a)[-n_rows:] for a in range(log.n_actions)]
        self.means = [log.outcomes[rows].mean() if rows.size else None for rows in last]
        self.left = [rows.size for rows in last]

    def get_outcome(self, context, action):
        if not 0 <= action < self.n_actions:
            raise ValueError(f"no such action: {action}")
        if self.left[action] == 0:
            return None  # an outcome of 0.0 would be an answer
        self.left[action] -= 1
        return float(self.means[action])

rng = np.random.default_rng(1)
log = hs.Log(rng.choice(["a", "b", "c"], 600), rng.random(600), propensities=np.full(600, 1 / 3))
hs.testing.check_evaluator(lambda: RecentAverage(log))
print("It keeps the contract.")

# ## Joined

policy = hs.WarmStart(Softmax(3, rng=1), RecentAverage(log), rng=1)
action = policy.play(None)
policy.update(None, action, outcome=0.7)
print(log.action_names[action], "after", policy.virtual_plays.sum(), "virtual plays")

# A part in plain Python runs at some 10 microseconds a round. A part whose arithmetic is written as kernels is compiled into the
# simulator's loop and saved with the policy: [Architecture](../ARCHITECTURE.md#add-an-oracle) has the recipe.
