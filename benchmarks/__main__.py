"""Every benchmark in turn."""

from benchmarks import core

core.main()
