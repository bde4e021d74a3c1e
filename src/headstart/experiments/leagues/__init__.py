"""Measurements of our own: many worlds, many policies. A module with an EXPERIMENT is found by its name."""
