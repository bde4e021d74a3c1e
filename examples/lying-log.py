"""A log that lies, and what protects you.

Made from docs/tutorials/lying-log.md by `python -m tools.site.examples`: change it there.
"""

# No check finds every fault of a log. This page gives headstart a log that is wrong and shows what happens: first a fault that the
# audit sees, then one that it cannot see.
#
# ## A fault that can be seen
#
# The propensities in this log are half of what they were. Somebody divided by two.

import numpy as np

import headstart as hs

rng = np.random.default_rng(4)
n = 2000
ad = rng.choice(["text", "video"], n)
click = (rng.random(n) < np.where(ad == "video", 0.10, 0.15)).astype(float)
wrong = hs.Log(ad, click, propensities=np.full(n, 0.25))
print(hs.audit(wrong))

# "Do not use it" binds: `hs.start(wrong)` is then a start without the log, and says so.

print(hs.start(wrong, rng=1).explanation)

# ## A fault that nobody can see
#
# Here somebody counted some clicks of the video twice. Each row looks right, the propensities are true, and the log says that the
# video is better. It is worse.

flattered = click.copy()
videos = np.flatnonzero(ad == "video")
flattered[videos[rng.random(videos.size) < 0.12]] = 1.0
log = hs.Log(ad, flattered, propensities=np.full(n, 0.5))
print(hs.audit(log).verdict.summary)

# What protects you now is that users have the last word. We let 4,000 users come, with the true rates, and watch what each policy
# shows them: the start, and one that simply believes the log.

def live(policy, users=4000, seed=9):
    """The share of users shown the better ad, in steps of 500."""
    rng = np.random.default_rng(seed)
    is_best = np.zeros(users)
    for i in range(users):
        action = policy.play(None)
        is_best[i] = log.action_names[action] == "text"
        policy.update(None, action, float(rng.random() < (0.15 if is_best[i] else 0.10)))
    return is_best.reshape(-1, 500).mean(axis=1)


shares = {
    "hs.start": live(hs.start(log, horizon=4000, rng=1)),
    "a bandit that believes the log": live(hs.WarmStart(hs.ThompsonBeta(2, rng=1), hs.IPSWeighting(log), rng=1)),
    "no log": live(hs.ThompsonBeta(2, rng=1)),
}

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
for name, share in shares.items():
    axes.plot(np.arange(1, 9) * 500, 100 * share, marker="o", label=name)
axes.set_xlabel("users so far")
axes.xaxis.set_major_formatter("{x:,.0f}")
axes.set_ylabel("% of the last 500 users\nwho saw the better ad")
axes.set_ylim(0, 100)
axes.legend(frameon=False)
plt.savefig("lying-log-1.png")

# A single run is luck in part; [Methods: when the log lies](../METHODS.md#when-the-log-lies) has thousands, on worlds that
# nothing was chosen on, and says what cannot be had: whoever gains on good logs must be able to lose a little on bad ones.
#
# ## What you can do
#
# - Look at `audit(log).sensitivity`: how large a hidden bias would have to be to turn the advice.
# - Lower the trust, if you know something that the log does not: `hs.start(log, trust=0.3)`.
# - Keep a floor or a hold-out, so that the next log can tell.
