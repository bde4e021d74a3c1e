"""Rules: a policy that one can read, as a small tree over raw columns: text, SQL, JSON."""
