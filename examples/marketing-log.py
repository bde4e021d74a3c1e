"""A marketing log without propensities.

Made from docs/tutorials/marketing-log.md by `python -m tools.site.examples`: change it there.
"""

# A shop has sent three offers to its customers for a month. Nobody drew lots: the sales team sent what it thought would work,
# and nobody wrote down the chances. This page takes such a log from the first look to decisions: audit, start, rehearse, decide.
#
# ## The log
#
# The customers' age and whether they are members moved the choice of the offer, and they move what people spend too. So the
# raw averages mix up what the offers do with whom they went to.

import numpy as np

import headstart as hs

rng = np.random.default_rng(11)
n = 3000
age = rng.integers(18, 80, n)
is_member = rng.random(n) < 0.4
wish = np.column_stack([0.03 * (age - 50), np.zeros(n), 1.2 * is_member])  # whom the team thought of for which offer
chance = np.exp(wish) / np.exp(wish).sum(axis=1, keepdims=True)
offer = np.array([rng.choice(3, p=row) for row in chance])
effect = np.array([2.0, 5.0, 3.0])  # what nobody knows: the gift card is best
revenue = np.round(effect[offer] + 0.1 * (age - 18) + 4.0 * is_member + rng.normal(0, 4, n), 2)
names = np.array(["free shipping", "gift card", "ten percent"])

log = hs.Log(names[offer], revenue, {"age": age, "member": np.where(is_member, "yes", "no")})
print(log)

# By the raw means the gift card is hardly better than ten percent. But ten percent mostly went to members, who spend more
# whatever they are sent.
#
# ## Can it be believed?

found = hs.audit(log, horizon=20_000)
print(found)

# The verdict is *use it with a cap*, the best that a log without propensities can get: the chances were estimated from age and
# membership, and no file can show that nothing else moved the choice. The adjusted means put the
# gift card well ahead.

found.plot()
import matplotlib.pyplot as plt
plt.savefig("marketing-log-1.png")

# The crosses are the raw means. The dots, with their intervals, are what every offer would bring if all customers got it.
#
# ## Start from it

policy = hs.start(log, horizon=20_000, rng=1)
print(policy)

# `explanation` has the same in words, a line for each step. *Users' worth* is how many customers the log saves us from trying
# an offer on, as far as it is believed.
#
# Why would a customer get one offer and not the other? The policy says so itself.

print(policy.explain())

# ## What will happen if it is switched on?

rehearsal = hs.rehearse(log, users_per_day=200, days=10, runs=10)
print(rehearsal.advice.policy, rehearsal.advice.reasons[0], sep=": ")
rehearsal.plot()
plt.savefig("marketing-log-2.png")

# Each line is a kind of world: one in which the log is right, and others in which it is wrong in a stated way. Above zero the
# start earns more than an A/B test would; the lowest line is the price that you pay if you are unlucky.
#
# ## Decide
#
# A table of customers in, a table of offers out. One customer in ten gets an offer by lot (`floor=0.1`), so that the next log
# has true propensities and will be worth more than this one.

customers = [{"customer_id": f"c{i}", "age": int(rng.integers(18, 80)), "member": "no"} for i in range(1000)]
decisions = policy.decide(customers, id="customer_id", floor=0.1)
print(decisions.to_arrow().to_pandas().head())

# [An e-mail campaign](../docs/campaign.md) shows how outcomes are learnt a week later, and how the policy is kept in a file.
