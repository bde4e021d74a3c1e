"""What a policy would do for each user of a log if it only meant to earn, and what it expects of every action."""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.regression import predict_from
from headstart.logs.log import Log
from headstart.oracles.epsilon_forest import EpsilonForest
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient
from headstart.parts import ContextLike, Oracle, OracleAbilities, Wrapper


def read_policy(policy: Oracle, log: Log) -> tuple[Integers, Floats]:
    """Its choice for each row, (n,), and the outcome that it expects of each action, (n, K).

    Context-free policies that say what they believe choose the largest mean. Others that do not predict choose the
    action that they play most; the log's regressions then say what is to be expected.
    """
    n = len(log)
    inner, seen = policy, list[ContextLike](log.contexts)
    while isinstance(inner, Wrapper):
        seen = [inner.seen(context) for context in seen]
        inner = inner.inner
    if not OracleAbilities(inner).n_features:
        believed = OracleAbilities(policy).readings().means
        if np.isfinite(believed).any():
            expected = np.tile(np.where(np.isfinite(believed), believed, np.nanmin(believed)), (n, 1))
            return np.full(n, int(np.nanargmax(believed)), dtype=np.int64), expected
    if isinstance(inner, LinKnowledgeGradient):
        expected = inner.predict(np.array(seen))[0]
        return np.argmax(expected, axis=1), expected
    if isinstance(inner, EpsilonForest) and inner.forest is not None:
        forested = inner.forest.predict(np.array(seen))
        least = np.nanmin(forested) if np.isfinite(forested).any() else 0.0
        expected = np.where(np.isnan(forested), least, forested)  # of what it knows nothing it is no reason to play
        return np.argmax(expected, axis=1), expected
    chances = np.array([policy.probabilities(context) for context in log.contexts])
    choices: Integers = np.argmax(chances, axis=1)
    expected = predict_from(log, log.contexts)
    own = expected[np.arange(n), choices]
    # It is the policy that is copied: an action that the log puts above its choice is no gain.
    return choices, np.where(
        np.arange(expected.shape[1]) == choices[:, None], own[:, None], np.minimum(expected, own[:, None])
    )
