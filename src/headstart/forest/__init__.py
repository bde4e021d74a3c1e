"""The honest multi-action forest: one file per stage, from options to predictions."""

from headstart.forest.forest import HonestForest
from headstart.forest.options import ForestOptions
from headstart.forest.predicting import predict_context
from headstart.forest.tree import ForestArrays, find_leaf

__all__ = ["ForestArrays", "ForestOptions", "HonestForest", "find_leaf", "predict_context"]
