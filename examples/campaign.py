"""An e-mail campaign from yesterday's log.

Made from docs/campaign.md by `python -m tools.site.examples`: change it there.
"""

# You do not run a server. You choose an offer for every customer tonight, and next week you know who bought. This is how
# headstart does it, from a raw CSV to the second campaign: on the command line, and in Python (which is what a test runs).
#
# ```console
# $ headstart audit yesterday.csv --action offer --outcome bought          # can this log be trusted?
# $ headstart decide yesterday.csv customers.csv --action offer --outcome bought --decide-on age \
#       --floor 0.1 --out tonight.parquet --save offers.policy             # an offer for each customer
# $ headstart learn offers.policy bought.csv --decisions tonight.parquet --outcome bought --default 0 \
#       --out offers-2.policy --log second-log.parquet                     # a week later
# $ headstart decide offers-2.policy customers.csv --floor 0.1 --out next.parquet
# ```
#
# ## From the log to tonight's offers
#
# The log says what each customer got, whether they bought, what was known of them, and the chance the offer had. Only
# `offer` and `bought` must be there: without propensities they are estimated, and the audit says so.

import csv

import numpy as np

import headstart as hs

rng = np.random.default_rng(7)
OFFERS = ["none", "discount", "free, shipping"]  # a name may have a comma


def buys(offer, age):  # what nobody knows: the young like a discount, everybody likes free shipping
    rate = {"none": 0.05, "discount": 0.05 + 0.15 * (age < 40), "free, shipping": 0.1}[offer]
    return int(rng.random() < rate)


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


ages = rng.integers(18, 80, 4000).tolist()
chances = {offer: p for offer, p in zip(OFFERS, (0.5, 0.25, 0.25))}
sent = rng.choice(OFFERS, 4000, p=list(chances.values())).tolist()
write(
    "yesterday.csv",
    ["offer", "bought", "age", "propensity"],
    [(offer, buys(offer, age), age, chances[offer]) for offer, age in zip(sent, ages)],
)
write("customers.csv", ["customer_id", "age"], [(f"c{i}", int(rng.integers(18, 80))) for i in range(8000)])

log = hs.read_log("yesterday.csv", action="offer", outcome="bought", propensity="propensity", contexts=["age"])
policy = hs.start(log, decide_on=["age"], horizon=8000, rng=1)
policy.save("offers.policy")  # it decides, learns and explains itself anywhere, without the log

decisions = policy.decide("customers.csv", id="customer_id", floor=0.1)
account = decisions.write("tonight.parquet")
print(account)  # who gets what, how many get an action only to learn about it, and why

# A week later, in another process. Who bought is in a table by id; of the others nothing comes: that is a 0.
table = hs.load("offers.policy", log=log).decide("customers.csv", id="customer_id", floor=0.1).to_arrow()
write(
    "bought.csv",
    ["customer_id", "bought"],
    [(row["customer_id"], 1) for row in table.to_pylist() if buys(row["action"], row["age"])],
)

policy = hs.load("offers.policy")
learnt = policy.learn(
    "bought.csv", "tonight.parquet", id="customer_id", outcome="bought", default=0.0, log="second-log.parquet"
)
print(learnt)
policy.save("offers-2.policy")

# The second campaign, and the first one as a log of its own.
second = policy.decide("customers.csv", id="customer_id", floor=0.1)
second.write("next.parquet")
assert hs.audit(hs.read_log("second-log.parquet", unit=False)).verdict.decision != "do not use it"

young = [row["action"] for row in second.to_arrow().to_pylist() if row["age"] < 35]
assert young.count("discount") > len(young) / 2  # it has found out what the young like

# ## What to know
#
# - **The table that comes out** has one row for each customer, in their order: the id, the columns that were decided on,
#   `action`, `propensity`, and with `vector=True` the chance of every action as `probabilities`. It is written as a whole
#   or not at all: killed in the middle, `tonight.parquet` is not there, and run again it is the same.
# - **The same id gets the same action**, whatever the order of the table, the size of portions or the engine: rows, DuckDB
#   or Spark (`policy.decide(spark_frame).frame`). The draw is by the id and a *salt*, which is the policy's digest unless
#   you give one, so a policy that has learnt draws anew. Give `salt=` if the same users must keep their offers.
# - **A batch is not a stream.** All customers are decided before any outcome comes, so no more of them get an offer only to learn about it than
#   what is learnt from them is worth; `account.why` says how many. See METHODS.md, "A table in, a table out". If another table
#   is decided before these outcomes come, tell the policy first: `policy.expect_outcomes("tonight.parquet")`. The policy that
#   `headstart decide --save` writes has been told.
# - **A floor makes the next log.** `floor=0.1` gives every tenth customer an offer by lot. Without it a policy that is sure
#   sends one offer to everybody of a kind, and that campaign cannot tell what the others would have done: the audit of it
#   says "do not use it". The floor costs about its share of the difference between the offers.
# - **Some customers may not get some offers**: a column with a list of those they may get, `available="offers"`, as a list
#   (Parquet, JSON lines) or as text with `|` between the names.
# - **Outcomes** are learnt by the service's rules: the first of an id counts; one that comes again, contradicts it, comes
#   after `until` or is of nobody who was decided for is counted and not learnt; a customer of whom nothing came is learnt
#   with `default`, or not at all without one. If more outcomes come later, learn from the first policy again with all of
#   them: a policy file is never changed.
# - **What is refused**, before anything is written: a missing column, an id that comes twice or is empty, a column of
#   outcomes among the users, a text where a number should be. A category that the log never showed is answered and counted
#   in `account.warnings`, or refused with `unseen="error"`.
