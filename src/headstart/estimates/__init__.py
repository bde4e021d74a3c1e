"""Estimates: what a log says of each action, how surely, and for whom. Each statistic stands here once."""
