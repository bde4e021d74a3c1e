"""An A/B test with a log behind it.

Made from docs/tutorials/ab-test.md by `python -m tools.site.examples`: change it there.
"""

# You are about to test two pages. There is a log in which both were shown, though not by lot. An A/B test would throw that
# log away and give half of all users the worse page until it ends. This page runs the two side by side in a world whose truth
# we know.
#
# ## The world
#
# Two kinds of users, two pages. The new page is better for both kinds: 9 % against 6 % on average. The old log showed it mostly to the
# kind of users who click less, so its raw rate looks worse. `Cells` is such a world: success rates for each kind of user and
# action, and a log with so many rows of each.

import headstart as hs

world = hs.worlds.Cells(
    rates=[[0.09, 0.12], [0.03, 0.06]],  # (kind, page): old page, new page
    shares=[0.5, 0.5],
    log_counts=[[400, 100], [100, 400]],
)

# ## Four ways to decide

curves = hs.simulate(
    world,
    {
        "A/B test of 2,000 users": lambda world, log, rng: hs.ABTest(2, test_rounds=2000, rng=rng),
        "a bandit without the log": lambda world, log, rng: hs.ThompsonBeta(2, rng=rng),
        "a bandit fed the raw log": lambda world, log, rng: hs.WarmStart(
            hs.ThompsonBeta(2, rng=rng), hs.HistoricalAverage(log, rng=rng), rng=rng
        ),
        "a bandit with the corrected log": lambda world, log, rng: hs.WarmStart(
            hs.ThompsonBeta(2, rng=rng), hs.IPSWeighting(log), rng=rng
        ),
    },
    rounds=10_000,
    runs=100,
    seed=5,
)
for name, curve in curves.items():
    print(f"{name:<30}{curve.mean:5.1f} ± {curve.se:.1f}")

# The numbers are clicks lost against showing the better page from the first user on, with a standard error.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5.4, 3.4), layout="constrained")
for name, curve in curves.items():
    axes.plot(curve.rounds, curve.means, label=name)
axes.set_xlabel("users")
axes.xaxis.set_major_formatter("{x:,.0f}")
axes.set_ylabel("clicks lost so far,\nmean of 100 runs")
figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=8)
plt.savefig("ab-test-1.png")

# The test loses at an even pace until it ends. The bandit fed with the raw log begins with the wrong page and has to unlearn it.
# With the corrected log the lead is real, and users confirm it.
#
# ## And on a real log?
#
# With a log of your own, `hs.start(log)` does the correcting and chooses the bandit, and `hs.compare(log)` says on the log itself
# which way of deciding would have earned most, with intervals.
