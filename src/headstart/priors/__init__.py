"""Priors: what a log is worth before the first user, as objects one can print, weaken and start from."""
