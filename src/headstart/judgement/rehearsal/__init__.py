"""Rehearsal: what will happen if this is switched on? Worlds drawn from the log, and policies that live there."""
