"""From Vowpal Wabbit.

Made from docs/tutorials/vowpal-wabbit.md by `python -m tools.site.examples`: change it there.
"""

# If you run Vowpal Wabbit's contextual bandits, you already have logs with propensities. headstart reads them as they are.
#
# ## Text of `--cb`
#
# A line is `action:cost:probability | features`. headstart reads a cost as its negative, because for it more is better.

import pathlib

import numpy as np

import headstart as hs

rng = np.random.default_rng(1)
lines = []
for _ in range(2000):
    age, action = rng.uniform(0, 1), rng.integers(1, 4)
    click = rng.random() < (0.1, 0.15, 0.3 * age)[action - 1]
    lines.append(f"{action}:{-float(click)}:{1 / 3:.4f} |user age:{age:.3f}")
pathlib.Path("cb.vw").write_text("\n".join(lines) + "\n")
print(*lines[:3], sep="\n")

log = hs.read_log("cb.vw")
print(log.reading)

print(hs.audit(log))

# ## The same question, asked of both
#
# In Vowpal Wabbit one evaluates a policy offline with `--cb_type dr` or `ips`. Here `hs.ope` has the estimators, and
# `hs.compare(log)` runs whole learning policies over the log. What Vowpal Wabbit does not have is a start: a policy that begins
# with the log and takes it back where users contradict it.

policy = hs.start(log, decide_on=["user.age"], horizon=10_000, rng=1)
for age in (0.1, 0.5, 0.9):
    print(age, {name: round(chance, 2) for name, chance in policy.probabilities({"user.age": age}).items()})

# ## The other way round
#
# The service exports its decisions as dsjson (`/v1/EXPERIMENT/log?format=dsjson`), which Vowpal Wabbit's tools read. `--cb_adf` text and
# dsjson are read too: [Vowpal Wabbit text](../docs/sources.md#vowpal-wabbit-text), [dsjson](../docs/sources.md#dsjson).
