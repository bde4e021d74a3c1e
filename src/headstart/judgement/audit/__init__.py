"""Audit: is this log worth anything, and can it be trusted?

Numbers of all rows are sums that a log in memory and a table of any size give alike; what needs rows is done on a
stated sample. Each finding has its file in `checks`, and `rules.RULES` says what becomes of them.
"""
