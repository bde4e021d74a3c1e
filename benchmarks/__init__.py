"""Benchmarks: ratios measured in one run, never timed tests. `make benchmark`, or `python -m benchmarks.core`."""
