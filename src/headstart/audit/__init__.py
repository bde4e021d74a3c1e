"""Audit: is this log worth anything, and can it be trusted?

Numbers of all rows are sums that a log in memory and a table of any size give alike; what needs rows is done on a
stated sample. Each finding has its file, and `rules.RULES` says what becomes of them.
"""

from headstart.audit.report import STEPS, Audit, audit
from headstart.audit.rules import RULES, Rule
from headstart.audit.verdict import Reason, Verdict

__all__ = ["RULES", "STEPS", "Audit", "Reason", "Rule", "Verdict", "audit"]
