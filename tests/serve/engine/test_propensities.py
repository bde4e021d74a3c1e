"""What is logged is what was drawn with."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.serve import Engine
from headstart.serve.engine.draw import draw_action, draw_by_id, mix_floor
from tests.serve.experiments import make_config
from tests.serve.propensities import draw_decisions


def test_decisions_fit_the_probabilities_they_logged(tmp_path):
    """A false alarm of the chi-square in 1 of 1,000 seeds; IPS of a constant 1 within 4 standard errors of 1."""
    found = draw_decisions(str(tmp_path / "events.sqlite"), 10_000)
    assert found.p_value > 1e-3
    assert abs(found.ips - 1.0) < 4.0 * found.standard_error
    assert found.standard_error < 0.03


def test_the_floor_by_hand():
    """(1 - 0.1) * (0.75, 0.25) + 0.1 / 2, over the first and the last of three actions."""
    assert mix_floor([0.75, 0.0, 0.25], [0, 2], 0.1) == pytest.approx([0.725, 0.0, 0.275])


def test_a_policy_without_a_chance_for_what_is_offered_leaves_it_to_chance():
    assert mix_floor([1.0, 0.0, 0.0], [1, 2], 0.0) == [0.0, 0.5, 0.5]


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).filter(lambda p: sum(p) > 0.01),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0, exclude_max=True),
)
def test_only_what_has_a_chance_is_drawn(chances, epsilon, uniform):
    mixed = mix_floor(chances, range(len(chances)), epsilon)
    assert math.isclose(sum(mixed), 1.0, rel_tol=1e-12)
    assert mixed[draw_action(mixed, uniform)] > 0.0
    assert all(p >= epsilon / len(chances) * (1 - 1e-12) for p in mixed)


def test_draws_end_where_rounding_leaves_a_gap():
    assert draw_action([0.1] * 10 + [0.0], math.nextafter(1.0, 0.0)) == 9


def test_uniforms_are_uniform_and_independent_of_each_other():
    """Kolmogorov-Smirnov over 20,000 ids: the 99.9 % bound is 1.95 / sqrt(n); the correlation of the two draws of an
    id is within 4 / sqrt(n) of 0."""
    n = 20_000
    one, two = (np.array([draw_by_id(p, 7, "ads", f"u{i}") for i in range(n)]) for p in ("action", "hold-out"))
    for draws in (one, two):
        assert np.abs(np.sort(draws) - (np.arange(n) + 0.5) / n).max() < 1.95 / math.sqrt(n)
    assert abs(np.corrcoef(one, two)[0, 1]) < 4.0 / math.sqrt(n)


def test_the_draw_is_the_same_in_every_process():
    """A change of this number would make every store unverifiable."""
    assert draw_by_id("action", 7, "ads", "u1") == 0.6812294234918436


def test_the_hold_out_is_uniform_and_of_its_share(tmp_path):
    """1,000 users, a share of 0.3: within 4 standard errors (0.058)."""
    config = make_config(str(tmp_path / "events.sqlite"), holdout=0.3, epsilon=0.0)
    with Engine.open(config) as engine:
        decisions = engine.decide_many("ads", [{"event_id": f"u{i}"} for i in range(1000)])
        held = [d for d in decisions if d.is_holdout]
        assert abs(len(held) / 1000 - 0.3) < 0.058
        assert {d.probabilities for d in held} == {(0.5, 0.5)}
        assert {d.probabilities for d in decisions if not d.is_holdout} == {(1.0, 0.0)}
        assert set(Counter(d.action for d in held)) == {"video", "image"}
        assert engine.state("ads")["held_out"] == len(held)


def test_without_a_floor_a_deterministic_policy_is_certain(tmp_path):
    with Engine.open(make_config(str(tmp_path / "events.sqlite"), epsilon=0.0)) as engine:
        assert {engine.decide("ads").propensity for _ in range(5)} == {1.0}
