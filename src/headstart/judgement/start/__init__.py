"""Start: one call that audits a log, estimates what is missing, chooses how to decide, and returns a policy."""
