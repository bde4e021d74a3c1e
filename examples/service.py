"""Running the service and watching it.

Made from docs/tutorials/service.md by `python -m tools.site.examples`: change it there.
"""

# A website cannot wait for a table. The decision service answers over HTTP, and every answer is on the disk before it is sent.
# This page starts one, sends users to it and reads what it has learnt. It needs the extra `serve`.
#
# ## Declare an experiment
#
# A log of yesterday, and a configuration that names it. The port is a free one of this machine; say 8000 in real life.

import csv
import pathlib
import socket

import numpy as np

rng = np.random.default_rng(6)
RATES = {"image": 0.09, "video": 0.06}  # what nobody knows
with open("yesterday.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["ad", "click", "propensity"])
    for ad in rng.choice(list(RATES), 1000):
        rows.writerow([ad, int(rng.random() < RATES[ad]), 0.5])

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

pathlib.Path("ads.toml").write_text(f"""
store = "ads.sqlite"

[server]
port = {port}

[experiments.ads]
actions = ["image", "video"]
log = {{ path = "yesterday.csv", action = "ad", outcome = "click" }}
epsilon = 0.05
holdout = 0.1
seed = 1
""")
print("The configuration is written.")

# `epsilon` is the floor: every ad keeps a chance of at least 2.5 %. `holdout` keeps one user in ten out of the policy's hands:
# they see either ad with the same chance, and show what the policy is worth. (`seed` is only here so that this page is the same each
# time. Leave it out: who knows it can predict the draws.)
#
# ## Start it
#
# In a terminal this is `headstart serve ads.toml`. Here it is the same command, started by the page.

import subprocess
import sys
import time

import httpx

service = subprocess.Popen(
    [sys.executable, "-m", "headstart.cli", "serve", "ads.toml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
address = f"http://127.0.0.1:{port}"


def is_ready():
    try:
        return httpx.get(f"{address}/ready").status_code == 200
    except httpx.TransportError:
        return False


while not is_ready():
    assert service.poll() is None, "the service ended: its log says why"
    time.sleep(0.1)
print("It is ready.")

# ## Decide, and report what happened

from headstart.serve.client import Client

with Client(address, "ads") as ads:
    decision = ads.decide({})
    print({name: decision[name] for name in ("action", "propensity", "probabilities")})
    ads.outcome(decision["event_id"], 1.0)
    for _ in range(30):  # 600 users more, 20 at a time
        decisions = ads.decide_many([{}] * 20)
        ads.outcome_many({each["event_id"]: float(rng.random() < RATES[each["action"]]) for each in decisions})

# A request that is sent again with the same event id gets the same answer and counts once, so retrying is always safe.
#
# ## Watch it
#
# The page is at `/experiments/ads`; a program reads the same numbers as JSON.

state = httpx.get(f"{address}/v1/ads/state").json()
for action in state["actions"]:
    print(f"{action['action']}: shown to {action['shown']:,} users")

# ![The page of an experiment](../docs/serve.png)
#
# `/metrics` is for Prometheus, and an alarm on the page names what is wrong in words. [The decision service](../docs/serve.md) has every
# path, and how to freeze, roll back or withdraw the log.
#
# ## Why did this user get this ad?
#
# Each decision has a page of its own, `headstart explain ads.toml EVENT_ID` says the same in a terminal, and so does this:

why = httpx.get(f"{address}/v1/ads/decisions/{decision['event_id']}").json()
print(why["sentence"], *why["why"], sep="\n")

# ## Its log is the next log

text = httpx.get(f"{address}/v1/ads/log", params={"format": "jsonl"}).text
pathlib.Path("decisions.jsonl").write_text(text)
service.terminate()
service.wait(30)

import headstart as hs

print(hs.audit(hs.read_log("decisions.jsonl")))

# The service wrote down the true chance of every decision, so this log needs no estimated propensities.
