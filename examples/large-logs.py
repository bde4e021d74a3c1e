"""Large logs on DuckDB and Spark.

Made from docs/tutorials/large-logs.md by `python -m tools.site.examples`: change it there.
"""

# Most of what headstart needs of a log are sums: of outcomes, of weights, of products of columns. It asks the database for them, so
# a log may be much larger than memory. This page writes half a million rows of Parquet and works on them without loading them.

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headstart as hs

rng = np.random.default_rng(8)
n = 500_000
age = rng.uniform(18, 80, n)
chance = np.where(age > 50, 0.7, 0.3)
is_video = rng.random(n) < chance
table = pa.table(
    {
        "ad": np.where(is_video, "video", "text"),
        "click": (rng.random(n) < 0.03 + 0.001 * (age - 18) + 0.01 * is_video).astype(float),
        "propensity": np.where(is_video, chance, 1 - chance),
        "age": age,
    }
)
pq.write_table(table, "clicks.parquet")

log = hs.scan_log("clicks.parquet", action="ad", outcome="click", propensity="propensity", contexts=["age"])
print(log)

# Nothing has been read but what was needed to check the columns. `scan_log` takes a folder or a pattern as well, and `memory_limit=` says
# how much DuckDB may use.

began = time.perf_counter()
found = hs.audit(log)
seconds = time.perf_counter() - began
assert seconds < 60
print(found)

# Sums are of all rows. What needs rows one by one (groups of users, leaks) looks at a sample of 50,000, which the audit states.

policy = hs.start(log, horizon=1_000_000, rng=1)
print(policy.explanation)

# ## On Spark, in a warehouse
#
# The same expressions run where your table lives. With PySpark:
#
# ```text
# table = hs.scan_log(spark.read.parquet("clicks.parquet"), action="ad", outcome="click")
# hs.audit(table)
# policy = hs.start(table)
# policy.decide(spark.read.parquet("users.parquet")).frame      # a Spark frame of decisions
# ```
#
# Any Ibis table works in the same way: BigQuery, Snowflake, PostgreSQL ([sources](../docs/sources.md#other-databases-an-ibis-table-of-any-backend)).
# The tests of that page run Spark; this one does not start it, because that takes longer than all of the above.
