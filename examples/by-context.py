"""Decisions by context.

Made from docs/tutorials/by-context.md by `python -m tools.site.examples`: change it there.
"""

# Not everybody likes the same. This page learns from a log for whom which ad is best, and decides by it.
#
# ## A log in which it matters who the user is
#
# Young users click on videos, older ones on text; nobody told us. The log was drawn by lot, half and half.

import numpy as np

import headstart as hs

rng = np.random.default_rng(2)
n = 2000
age = rng.uniform(18, 80, n)
city = rng.choice(["Oslo", "Rome"], n)
ad = rng.choice(["text", "video"], n)
rate = np.where(ad == "video", 0.35 - 0.005 * (age - 18), 0.05 + 0.005 * (age - 18))
click = (rng.random(n) < rate).astype(float)
log = hs.Log(ad, click, {"age": age, "city": city}, np.full(n, 0.5))
print(log)

# On average the two ads are alike: one ad for all has nothing to gain.
#
# ## A policy that looks at the user
#
# `decide_on` names the columns that decisions may look at. Users come by name, and actions are the log's own labels.

for horizon in (200, 50_000):
    policy = hs.start(log, decide_on=["age", "city"], horizon=horizon, rng=1)
    print(f"{horizon:,} users to come:")
    for years in (20, 50, 75):
        chances = policy.probabilities({"age": years, "city": "Rome"})
        print(f"  {years} years", {name: round(chance, 3) for name, chance in chances.items()})

# A chance of 1 means that trying the other ad on such a user is not worth its price. With 50,000 users to come it is worth more
# to be sure, so at first half of the users still try the other ad; that fades as outcomes come in.

user = {"age": 25, "city": "Oslo"}
shown = policy.play(user)
policy.update(user, shown, outcome=1.0)
print(shown)

# ## What has it learnt?
#
# `to_rules` copies the policy as a small tree that one can read, and ship as SQL. It says how often the copy agrees.

rules = policy.to_rules(max_leaves=4)
print(rules)

# ## Is it better than one ad for all?
#
# `compare` lets both start from a part of the log and meet the users of the rest.

compared = hs.compare(
    log,
    {
        "one ad for all": lambda log, rng: hs.start(log, rng=rng),
        "by age and city": lambda log, rng: hs.start(log, decide_on=["age", "city"], rng=rng),
    },
    shuffles=4,
)
compared.plot()
import matplotlib.pyplot as plt
plt.savefig("by-context-1.png")

# ## Adjust for more than you decide on
#
# A column may explain why the log chose as it did and yet be unknown when you decide: the sales agent, say. Leave it in the log's
# contexts and out of `decide_on`. The log is then adjusted for it, and nobody is asked for it later.
