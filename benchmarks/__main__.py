"""Every benchmark in turn."""

from benchmarks import core, forest, linear

core.main()
linear.main()
forest.main()
