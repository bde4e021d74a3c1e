"""Logs: rows of (context, action, outcome) in memory, how columns become numbers, and sums that stand for them."""
