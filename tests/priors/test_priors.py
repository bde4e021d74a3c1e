"""Priors as objects: what they say, what they are worth, weaker ones, and their picture."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.estimates.control_line import ControlLine
from headstart.estimates.summary import Summary
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.priors.linear import LOGGED, SHIFTED, models_of_rows
from headstart.priors.logged import LoggedPrior
from headstart.priors.options import LoggedPriorOptions

# Sizes 0.25 / 0.05^2 = 100 and 0.25 / 0.1^2 = 25.
SUMMARY = Summary(np.array([0.5, 0.3]), np.array([0.05, 0.1]), np.array([0.25, 0.25]))


def prior(trust: float = 0.8, **options) -> LoggedPrior:
    return LoggedPrior.of_summary(SUMMARY, np.full(2, trust), LoggedPriorOptions(**options), ("a", "b"))


def rows(n: int = 400):
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(n), rng.standard_normal((n, 1))])
    actions = rng.integers(0, 2, n)
    return x, actions, actions + 0.5 * x[:, 1] + rng.standard_normal(n)


class Canvas:
    """Remembers what was drawn on it."""

    def __init__(self) -> None:
        self.areas: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.labels: list[object] = []
        self.ticks: tuple = ()

    def fill_between(self, x, low, high, **style):
        self.areas.append((x, low, high))
        self.labels.append(style.get("label"))

    def set_yticks(self, ticks, labels):
        self.ticks = tuple(ticks), tuple(labels)

    def set_xlabel(self, text):
        assert text == "mean outcome"

    def legend(self, **style):
        pass


def test_a_prior_is_worth_trust_times_size():
    np.testing.assert_allclose(prior().worth, [80.0, 20.0])
    np.testing.assert_allclose(prior(0.0).worth, [0.0, 0.0])


def test_a_weakened_prior_says_the_same_and_is_worth_less():
    weak = prior().weakened(0.25)
    np.testing.assert_allclose(weak.worth, [20.0, 5.0])
    np.testing.assert_array_equal(weak.centres, prior().centres)
    np.testing.assert_array_equal(weak.sizes[:, 1:], prior().sizes[:, 1:])  # the rival is as it was
    np.testing.assert_allclose(prior().worth, [80.0, 20.0])
    with pytest.raises(OptionError, match="share must be"):
        prior().weakened(0.0)


def test_components_by_hand():
    """Pooled variance (99 x 0.25 + 24 x 0.25 + 0.02) / 124 and the log's means 0.02 apart (their variance): S^2 =
    pooled + 0.02. An action's own variance leans on the pooled one with 8 outcomes' worth."""
    pooled = (123 * 0.25 + 0.02) / 124
    own = np.array([(99 * 0.25 + 8 * pooled) / 107, (24 * 0.25 + 8 * pooled) / 32])
    found = prior().components
    np.testing.assert_allclose(found.chances, [[0.8, 0.2, 0.0]] * 2)
    np.testing.assert_allclose(found.centres, [[0.5, 0.5, 0.4], [0.3, 0.5, 0.4]])
    np.testing.assert_allclose(found.errors[:, 0], np.sqrt(own / [100, 25]))
    np.testing.assert_allclose(found.errors[:, 1], 0.6 * np.sqrt(pooled + 0.02))
    np.testing.assert_allclose(found.errors[:, 2], np.sqrt(pooled + 0.02))


def test_it_says_what_it_is_worth():
    lines = str(prior()).splitlines()
    assert lines[0] == "a log worth 100 users, 2 actions"
    assert lines[1].startswith("  a, worth 80 users: 0.5 ± 0.05 (the log) with chance 0.8; 0.5 ± 0.31 (rival")
    assert len(lines) == 3
    assert "anything" not in str(prior())
    assert "anything" in str(prior(rival_share=0.5))


@pytest.mark.parametrize("decide_on", [None, [0]])
def test_a_log_that_does_not_vary_claims_no_certainty(decide_on):
    log = hs.Log([0, 1] * 20, [0.0] * 40, np.arange(40.0).reshape(-1, 1))
    said = str(hs.start(log, decide_on=decide_on, rng=0).prior)
    assert "±" not in said
    assert "outcomes do not vary, or are too few to tell: their spread is unknown" in said


def test_an_action_that_the_log_does_not_know_has_no_logged_component():
    unknown = Summary(np.array([0.5, np.nan]), np.array([0.05, np.inf]), np.array([0.25, np.nan]))
    found = LoggedPrior.of_summary(unknown, np.full(2, 0.8))
    np.testing.assert_allclose(found.worth, [80.0, 0.0])
    assert found.action_names == (0, 1)


def test_an_oracle_from_a_prior_is_the_one_from_its_summary():
    one = KnowledgeGradient(2, SUMMARY, trust=0.8, horizon=300, rng=3)
    two = KnowledgeGradient.from_prior(prior(), horizon=300, rng=3)
    for name, value in one.get_state().items():
        np.testing.assert_array_equal(value, two.get_state()[name])
    weak = KnowledgeGradient.from_prior(prior().weakened(0.01), horizon=300, rng=3)
    assert weak.readings().standard_errors[0] > one.readings().standard_errors[0]


def test_heights_are_chances():
    """0.9 of an action's line is a chance of 1: the log's peak is 0.72 above it, the rival's 0.18."""
    canvas = Canvas()
    prior().plot(canvas)
    assert canvas.ticks == ((0.0, -1.0), ("a", "b"))
    assert [label for label in canvas.labels if label] == ["the log", "rival of the best"]
    peaks = [(high - low).max() for _, low, high in canvas.areas]  # of a, of b; the rival of a, of b
    np.testing.assert_allclose(peaks, [0.72, 0.72, 0.18, 0.18], rtol=1e-3)
    at = [x[np.argmax(high)] for x, _, high in canvas.areas]
    np.testing.assert_allclose(at, [0.5, 0.3, 0.5, 0.5], atol=0.01)


def test_matplotlib_takes_it():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    prior().plot(axes)
    assert len(axes.collections) == 4


def test_the_linear_prior_speaks_of_the_average_user():
    """By lot and centred: some 200 rows of each action, a level known to sigma / sqrt(n), worth 0.8 n."""
    x, actions, outcomes = rows()
    found = models_of_rows(x, actions, outcomes, 2, np.full(2, 0.8))
    counts = np.bincount(actions)
    np.testing.assert_allclose(found.worth, 0.8 * counts, rtol=0.1)
    components = found.components
    np.testing.assert_allclose(components.chances, found.chances)
    means = [outcomes[actions == a].mean() for a in range(2)]
    np.testing.assert_allclose(components.centres[:, LOGGED], means, atol=0.15)
    assert (components.errors[:, SHIFTED] > components.errors[:, LOGGED]).all()
    assert "worth" in str(found)
    assert str(found).endswith("1 columns and 0 products move them")
    np.testing.assert_allclose(found.weakened(0.5).worth, found.worth / 2)
    canvas = Canvas()
    found.plot(canvas)
    assert canvas.areas


def test_a_started_policy_has_its_prior():
    x, actions, outcomes = rows()
    log = hs.Log(actions, outcomes, {"age": x[:, 1]}, np.full(400, 0.5), action_names=[0, 1])
    free = hs.start(log, rng=0)
    # Contexts are taken off what is learnt, so a user tells more, and the log is worth fewer of them.
    left = 1.0 - ControlLine.of_log(log).explained
    assert left < 0.9
    np.testing.assert_allclose(free.prior.worth, left * free.worth, rtol=0.02)
    by_age = hs.start(log, decide_on=["age"], rng=0)
    assert by_age.prior.action_names == (0, 1)
    assert "average user" in str(by_age.prior)


def test_levels_that_are_known_better_by_hand():
    """Two actions, levels known to be 5 and 7 with errors 0.1 and 0.2, where the rows say -1 and 1. The levels'
    prior, by the other's level, is so wide that it takes a twentieth of their difference at most; the errors are
    those given but for as little, and the slopes are the rows' but for what the levels' prior pulls."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(400), rng.standard_normal(400)])
    x[:, 1] = (x[:, 1] - x[:, 1].mean()) / x[:, 1].std()
    actions = np.arange(400) % 2
    outcomes = 2.0 * actions - 1.0 + 3.0 * x[:, 1] + rng.standard_normal(400)
    plain = models_of_rows(x, actions, outcomes, 2, np.full(2, 0.8))
    known = Summary(np.array([5.0, 7.0]), np.array([0.1, 0.2]), np.ones(2))
    found = models_of_rows(x, actions, outcomes, 2, np.full(2, 0.8), levels=known)
    np.testing.assert_allclose(found.centres[:, LOGGED, 0], [5.0, 7.0], atol=0.1)
    errors = np.sqrt(found.variance * found.inverses[:, LOGGED, 0, 0])
    np.testing.assert_allclose(errors, [0.1, 0.2], rtol=0.1)
    np.testing.assert_allclose(found.centres[:, LOGGED, 1], plain.centres[:, LOGGED, 1], rtol=1e-3)
