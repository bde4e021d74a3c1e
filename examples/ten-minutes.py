"""From a CSV to decisions in ten minutes.

Made from docs/start/ten-minutes.md by `python -m tools.site.examples`: change it there.
"""

import subprocess

# You need headstart ([Install](../docs/start/install.md)), a terminal and a file. If you have no file at hand, type `python` in an empty folder
# and paste these lines. They make one: a shop that sent one of three offers to 3,000 customers. Older customers were sent free
# shipping more often, because somebody thought that they would like it.

import csv

import numpy as np

rng = np.random.default_rng(3)
OFFERS = ["free shipping", "nothing", "ten percent"]
RATES = {"free shipping": 0.12, "nothing": 0.06, "ten percent": 0.16}  # what nobody knows

ages = rng.integers(18, 80, 3000)
chances = np.where(ages[:, None] > 50, [0.6, 0.2, 0.2], [0.2, 0.4, 0.4])
sent = [rng.choice(OFFERS, p=row) for row in chances]
bought = [int(rng.random() < RATES[offer] + 0.002 * (age - 18)) for offer, age in zip(sent, ages)]

with open("yesterday.csv", "w", newline="") as file:
    rows = zip(sent, bought, ages, strict=True)
    csv.writer(file).writerows([("offer", "bought", "age"), *rows])

with open("customers.csv", "w", newline="") as file:
    csv.writer(file).writerows([("customer_id", "age"), *((f"c{i}", int(rng.integers(18, 80))) for i in range(2000))])

# Leave that Python open, it is needed again in step 3. What begins with `$` is typed in a second terminal, in the same folder.
#
# ## 1. Can this log be believed?

subprocess.run("headstart audit yesterday.csv --action offer --outcome bought --contexts age", shell=True, check=True)

# Read the box first. Nobody wrote down the chance that each customer had for each offer, so headstart estimated it from the age.
# That is why the verdict is *use it with a cap*: what else may have moved the choice, no file can tell. A cap is not something
# that you set. It is how much weight headstart will give to the log, and it keeps to it by itself.
#
# The table below the box shows the raw mean of each offer, and the adjusted one, in which every offer speaks for customers of
# all ages.
#
# ## 2. An offer for each customer

subprocess.run("headstart decide yesterday.csv customers.csv --action offer --outcome bought --contexts age      --id customer_id --floor 0.1 --out tonight.parquet --save offers.policy", shell=True, check=True)

# `tonight.parquet` has a row for each customer: the offer to send, and the chance that it had. The floor of 0.1 gives one
# customer in ten an offer by lot; that is what makes the next log better than this one.
#
# ## 3. Learn from what came back
#
# A week later you know who bought. In the Python of the first step, these lines make a file of the buyers; customers who are not in
# it bought nothing (`--default 0`).

import pyarrow.parquet as pq

tonight = pq.read_table("tonight.parquet").to_pylist()
with open("bought.csv", "w", newline="") as file:
    buyers = [row["customer_id"] for row in tonight if rng.random() < RATES[row["action"]]]
    csv.writer(file).writerows([("customer_id", "bought"), *((each, 1) for each in buyers)])

subprocess.run("headstart learn offers.policy bought.csv --decisions tonight.parquet --id customer_id      --outcome bought --default 0 --out offers-2.policy", shell=True, check=True)

# `offers-2.policy` decides next time. [An e-mail campaign](../docs/campaign.md) goes on from here, and
# [Which command do I need?](../docs/start/which-command.md) has the other jobs.
#
# ## The same in Python

import headstart as hs

log = hs.read_log("yesterday.csv", action="offer", outcome="bought", contexts=["age"])
policy = hs.start(log, horizon=2000, rng=1)
print(policy.explanation)
