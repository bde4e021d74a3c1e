"""Every benchmark in turn."""

from benchmarks import audit, conflict, core, forest, linear, propensity, serve, tables

core.main()
linear.main()
forest.main()
tables.main()
audit.main()
propensity.main()
conflict.main()
serve.main()
