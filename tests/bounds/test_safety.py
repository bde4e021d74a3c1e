"""What safety costs: a bound on any policy, and policies that keep to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.bounds import safety_lower
from headstart.errors import OptionError
from headstart.estimates.summary import Summary

SUMMARY = Summary(np.array([0.0, 0.5]), np.array([0.02, 0.02]), np.array([1.0, 1.0]))
POLICIES: dict[str, Callable[[Any], Any]] = {
    "gradient": lambda rng: hs.KnowledgeGradient(2, SUMMARY, horizon=500, rng=rng),
    "gradient that trusts blindly": lambda rng: hs.KnowledgeGradient(2, SUMMARY, trust=1.0, horizon=500, rng=rng),
    "Thompson": lambda rng: hs.RobustThompson(2, SUMMARY, rng=rng),
    "cold": lambda rng: hs.ThompsonNormal(2, rng=rng),
}


def test_the_price_by_hand():
    """gap = advantage = 0.5, deviation 1, T = 1,000, regret 10: n with 2n/1000 + 0.04 = exp(-n/2) / 2."""
    found = safety_lower(0.5, 0.5, 1.0, 1000, 10.0)
    n = found / 0.5
    assert 2 * n / 1000 + 0.04 == pytest.approx(0.5 * math.exp(-n / 2), rel=1e-9)
    assert safety_lower(0.5, 0.5, 1.0, 1000, 125.0) == 0.0  # who may lose that much need not look
    assert safety_lower(0.5, 0.5, 1.0, 1000, 1.0) > found


def _regret(make: Callable[[Any], Any], means: np.ndarray, seed: int) -> float:
    rng = np.random.default_rng([seed, 5])
    policy, noise, lost = make(rng), rng.normal(size=500), 0.0
    for y in noise:
        action = policy.play()
        policy.update(None, action, means[action] + y)
        lost += means.max() - means[action]
    return lost


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_is_below_the_price_of_its_safety(name: str):
    """Two worlds, one summary: action 0 is 0.5 worse, as the log says, or 0.5 better. 100 runs, 3 standard errors."""
    good = np.array([_regret(POLICIES[name], np.array([0.0, 0.5]), seed) for seed in range(100)])
    slandered = np.array([_regret(POLICIES[name], np.array([1.0, 0.5]), seed) for seed in range(100)])
    price = safety_lower(0.5, 0.5, 1.0, 500, float(slandered.mean()))
    assert good.mean() + 3 * good.std(ddof=1) / math.sqrt(good.size) >= price


def test_rejects_what_it_cannot_mean():
    with pytest.raises(OptionError, match="gap"):
        safety_lower(0.0, 0.5, 1.0, 1000, 1.0)
    with pytest.raises(OptionError, match="horizon"):
        safety_lower(0.5, 0.5, 1.0, 0, 1.0)
