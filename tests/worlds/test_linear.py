import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.worlds import Linear

LEVELS, SLOPES = [0.0, -1.0, 0.5], [[0.6, 0.2], [0.4, -0.3], [0.0, 0.8]]


def _outcomes(drawn, action, n):
    seen = np.empty(n)
    for i in range(n):
        drawn.draw_user()
        seen[i] = drawn.draw_outcome(action)
    return seen


@pytest.mark.parametrize("outcome", ["normal", "binary", "revenue"])
def test_its_means_are_those_of_its_users(outcome):
    """4,000 users per action: the average is within 4 standard errors of the stated mean (1 in 5,000 for three)."""
    drawn = Linear(LEVELS, SLOPES, noise=0.5, outcome=outcome).draw(np.random.default_rng(1))
    truth = drawn.expected_outcomes()
    for action in range(3):
        seen = _outcomes(drawn, action, 4000)
        assert abs(seen.mean() - truth[action]) < 4.0 * seen.std() / np.sqrt(seen.size)
        if outcome == "binary":
            assert set(seen) == {0.0, 1.0}


def test_its_outcomes_vary_by_slopes_and_noise():
    """Variance |slopes|^2 + noise^2 = 0.4 + 0.25; the variance of 4,000 normal outcomes has an s.e. of 2.2 %."""
    drawn = Linear(LEVELS, SLOPES, noise=0.5).draw(np.random.default_rng(2))
    assert abs(_outcomes(drawn, 0, 4000).var() / 0.65 - 1.0) < 4 * 0.0224


def test_the_mean_of_a_success_by_hand():
    """Without slopes the chance is that of the level; with symmetric log-odds it is a half."""
    flat = Linear([-2.0, 0.0], np.zeros((2, 1)), outcome="binary").draw(np.random.default_rng(3))
    assert flat.expected_outcomes() == pytest.approx([1 / (1 + np.exp(2.0)), 0.5], abs=1e-12)
    steep = Linear([0.0, 0.0], [[3.0], [0.1]], outcome="binary").draw(np.random.default_rng(3))
    assert steep.expected_outcomes() == pytest.approx([0.5, 0.5], abs=1e-12)


def test_revenue_is_nothing_or_an_amount_of_mean_1():
    """One in two pays exp(N(-1/8, 1/4)), in the log as among users: mean 1, and 4,000 amounts of deviation 0.53 have
    an s.e. of 0.012 at 2,000 of them."""
    drawn = Linear([0.0, 0.0], np.zeros((2, 1)), noise=0.5, outcome="revenue", n_log=4000).draw(
        np.random.default_rng(6)
    )
    for seen in (_outcomes(drawn, 0, 4000), drawn.log.outcomes):
        paid = seen[seen > 0.0]
        assert abs(paid.size / 4000 - 0.5) < 4 * 0.5 / np.sqrt(4000)
        assert abs(paid.mean() - 1.0) < 4 * 0.012


def test_the_log_is_weighted_back_to_the_truth():
    """Its chances are the policy's: weighting by them undoes it, within 4.5 standard errors."""
    world = Linear(LEVELS, SLOPES, n_log=20_000, pulls=[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    drawn = world.draw(np.random.default_rng(4))
    found = hs.IPSWeighting(drawn.log).summary()
    assert (np.abs(found.means - drawn.expected_outcomes()) < 4.5 * found.standard_errors).all()
    raw = [drawn.log.outcomes[drawn.log.actions == a].mean() for a in range(3)]
    assert abs(raw[0] - LEVELS[0]) > 0.2  # who was shown action 0 had more of the first column


def test_an_absent_action_is_never_logged():
    drawn = Linear(LEVELS, SLOPES, n_log=500, offsets=[0.0, -np.inf, 0.0]).draw(np.random.default_rng(5))
    assert (drawn.log.actions != 1).all()
    assert (drawn.log.propensity_matrix[:, 1] == 0.0).all()
    assert drawn.n_actions == 3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"levels": [0.0]}, "slopes one row per action"),
        ({"outcome": "ternary"}, "normal, binary or revenue"),
        ({"noise": -1.0}, "noise"),
        ({"offsets": -np.inf}, "at least one action"),
    ],
)
def test_rejects(settings, said):
    with pytest.raises(OptionError, match=said):
        Linear(**{"levels": LEVELS, "slopes": SLOPES, **settings})
