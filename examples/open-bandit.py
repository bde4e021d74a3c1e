"""From the Open Bandit Dataset.

Made from docs/tutorials/open-bandit.md by `python -m tools.site.examples`: change it there.
"""

# The Open Bandit Dataset (ZOZO, 2020) is a public log of fashion recommendations with true propensities. It may not be shipped with
# headstart, so this page makes a small file of the same columns; with the real one, only the path changes.

import csv

import numpy as np

import headstart as hs

rng = np.random.default_rng(3)
with open("men.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(
        ["", "timestamp", "item_id", "position", "click", "propensity_score", "user_feature_0", "user_feature_1"]
    )
    for i in range(6000):
        item, position = int(rng.integers(4)), int(rng.integers(1, 4))
        click = int(rng.random() < (0.02, 0.03, 0.05, 0.04)[item])
        kind = rng.choice(["a1", "b2", "c3"])
        rows.writerow(
            [
                i,
                f"2019-11-24 00:{i // 60 % 60:02}:{i % 60:02}+00:00",
                item,
                position,
                click,
                0.25,
                kind,
                rng.choice(["x", "y"]),
            ]
        )

log = hs.read_log("men.csv", where={"position": 1})
print(log.reading)

# The columns are recognised by their names; `where` keeps one of the three positions, because an item is clicked more often at
# the left.
#
# ## Which policy would have done best?

compared = hs.compare(log, shuffles=4)
print(compared)

compared.plot()
import matplotlib.pyplot as plt
plt.savefig("open-bandit-1.png")

# Intervals that overlap that much say: 2,000 rows with a click rate of 3 % cannot tell these policies apart. With the real file there
# are hundreds of thousands of rows; `hs.scan_log("men.csv")` reads them without loading them.
#
# ## For those who know OBP
#
# | in Open Bandit Pipeline | here |
# |---|---|
# | `OpenBanditDataset(...).obtain_batch_bandit_feedback()` | `hs.read_log("men.csv")` |
# | `OffPolicyEvaluation(...)` with `InverseProbabilityWeighting`, `DoublyRobust` | `hs.ope`, and the evaluators `hs.IPSWeighting`, `hs.DoublyRobust` |
# | `run_bandit_simulation(...)` on a log (replay) | `hs.compare(log, policies)` |
# | none | `hs.audit(log)`: is the log fit for it? `hs.start(log)`: a policy that begins with it |
