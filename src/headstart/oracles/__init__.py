"""Oracles: they choose and learn. One algorithm per file."""

from headstart.oracles.abtest import ABTest
from headstart.oracles.compiled import CompiledOracle, Readings
from headstart.oracles.epsilon_forest import EpsilonForest
from headstart.oracles.epsilon_greedy import EpsilonGreedy
from headstart.oracles.exp3 import Exp3
from headstart.oracles.greedy import Greedy
from headstart.oracles.linthompson import LinThompson
from headstart.oracles.linucb import LinUCB
from headstart.oracles.stochastic_delayed import StochasticDelayedBandit
from headstart.oracles.thompson_beta import ThompsonBeta
from headstart.oracles.thompson_gaussian import ThompsonGaussian
from headstart.oracles.ucb import UCB

__all__ = [
    "UCB",
    "ABTest",
    "CompiledOracle",
    "EpsilonForest",
    "EpsilonGreedy",
    "Exp3",
    "Greedy",
    "LinThompson",
    "LinUCB",
    "Readings",
    "StochasticDelayedBandit",
    "ThompsonBeta",
    "ThompsonGaussian",
]
