"""A table in, a table out: decisions for many users before any outcome, and learning when the outcomes come."""
