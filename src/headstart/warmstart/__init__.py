"""Warm starts: an oracle joined to an evaluator by virtual plays, and the guard that takes the log back."""
