"""Boosted trees: a sum of small trees, each grown on what those before it leave over."""

from headstart.estimates.gradient_trees.bins import MOST_BINS
from headstart.estimates.gradient_trees.boosting import GradientTrees, boost_classes, boost_numbers, softmax

__all__ = ["MOST_BINS", "GradientTrees", "boost_classes", "boost_numbers", "softmax"]
