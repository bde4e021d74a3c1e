"""Every benchmark in turn."""

from benchmarks import core, forest, linear, tables

core.main()
linear.main()
forest.main()
tables.main()
