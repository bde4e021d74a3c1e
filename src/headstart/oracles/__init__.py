"""Oracles: they choose and learn. One algorithm per file."""

from headstart.oracles.abtest import ABTest
from headstart.oracles.discounted_thompson import DiscountedThompson
from headstart.oracles.discounted_ucb import DiscountedUCB
from headstart.oracles.epsilon_forest import EpsilonForest
from headstart.oracles.epsilon_greedy import EpsilonGreedy
from headstart.oracles.exp3 import Exp3
from headstart.oracles.greedy import Greedy
from headstart.oracles.kl_ucb import KLUCB
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient
from headstart.oracles.linthompson import LinThompson
from headstart.oracles.linucb import LinUCB
from headstart.oracles.min_linucb import MinLinUCB
from headstart.oracles.min_ucb import MinUCB
from headstart.oracles.robust_thompson import RobustThompson
from headstart.oracles.sliding_window_ucb import SlidingWindowUCB
from headstart.oracles.stochastic_delayed import StochasticDelayedBandit
from headstart.oracles.thompson_beta import ThompsonBeta
from headstart.oracles.thompson_gaussian import ThompsonGaussian
from headstart.oracles.thompson_normal import ThompsonNormal
from headstart.oracles.ucb import UCB
from headstart.oracles.ucb_normal import UCBNormal
from headstart.oracles.ucb_tuned import UCBTuned

__all__ = [
    "KLUCB",
    "UCB",
    "ABTest",
    "DiscountedThompson",
    "DiscountedUCB",
    "EpsilonForest",
    "EpsilonGreedy",
    "Exp3",
    "Greedy",
    "KnowledgeGradient",
    "LinKnowledgeGradient",
    "LinThompson",
    "LinUCB",
    "MinLinUCB",
    "MinUCB",
    "RobustThompson",
    "SlidingWindowUCB",
    "StochasticDelayedBandit",
    "ThompsonBeta",
    "ThompsonGaussian",
    "ThompsonNormal",
    "UCBNormal",
    "UCBTuned",
]
