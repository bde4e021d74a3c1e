"""biased-logs: ratios to a cold start, the worst of them, and the frontier."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.experiments.leagues.biased_logs import (
    BIASES,
    COLD,
    DEFAULT,
    EXPERIMENT,
    HORIZONS,
    Biased,
    averages,
    draw_frontier,
    policies,
    relative,
    worst,
)
from headstart.experiments.running.experiment import Result
from headstart.simulation.simulate import Curve, simulate
from headstart.worlds import Synthetic


def cell(series: str, regrets: list[float], **setting) -> Result:
    known = {"gap": 0.5, "K": 2, "n_log": 100, "T": 5000, "of": "none", "bias": 0.0, **setting}
    curve = Curve(np.array([2500, 5000]), np.array([[0, y] for y in regrets]), 1.0)
    return Result("biased-logs", series, known, curve)


def test_a_ratio_and_its_standard_error_by_hand():
    """Cold 2 and 6, policy 1 and 5: ratio 6 / 8; x - 0.75 c is -0.5 and 0.5, over the mean 4: -0.125 and 0.125, whose
    standard error is 0.125."""
    found = {r.series: r.curve for r in relative(iter([cell(COLD, [2, 6]), cell("x", [1, 5])]))}
    assert found["x"].mean == pytest.approx(0.75)
    assert found["x"].se == pytest.approx(0.125)
    assert found[COLD].mean == 1.0


def test_the_worst_of_each_kind_of_log():
    """Good logs count from 100 rows; a bias that helps is no bad log."""
    cells = [
        result
        for setting, ratio in [
            ({"n_log": 50}, 9.0),
            ({"n_log": 100}, 0.4),
            ({"n_log": 1000}, 0.3),
            ({"of": "inferior", "bias": 0.6}, 1.1),
            ({"of": "inferior", "bias": 0.9}, 0.9),
            ({"of": "inferior", "bias": -0.9}, 0.2),
            ({"of": "best", "bias": -0.3, "K": 5}, 1.5),
            ({"of": "best", "bias": 0.9}, 0.1),
        ]
        for result in (cell(COLD, [1, 1], **setting), cell(DEFAULT, [ratio, ratio], **setting))
    ]
    told = {r.setting["log"]: r for r in worst(relative(iter(cells)))}
    assert {kind: round(r.curve.mean, 6) for kind, r in told.items()} == {
        "good": 0.4,
        "inflated inferior": 1.1,
        "deflated best": 1.5,
        "harmless bias": 0.2,
    }
    assert told["deflated best"].setting["at"] == "K=5, N=100, bias -0.3"


def test_an_average_over_cells_is_taken_run_by_run():
    """Ratios (1, 3) and (3, 1) over two runs of cold regret 1: the average is 2 in both, without an error."""
    cells = [
        result
        for n_log, regrets in ((100, [1, 3]), (1000, [3, 1]), (50, [9, 9]))
        for result in (cell(COLD, [1, 1], n_log=n_log), cell(DEFAULT, regrets, n_log=n_log))
    ]
    (told,) = averages(relative(iter(cells)))
    assert told.curve.mean == pytest.approx(2.0)
    assert told.curve.se == pytest.approx(0.0, abs=1e-12)


def test_the_bias_is_in_the_log_and_not_in_the_users():
    world = Synthetic(n_actions=3, n_log=60)
    plain, biased = (w.draw(np.random.default_rng(1)) for w in (world, Biased(world, 1, 0.6)))
    np.testing.assert_allclose(biased.log.outcomes - plain.log.outcomes, 0.6 * (plain.log.actions == 1), atol=1e-12)
    np.testing.assert_array_equal(biased.expected_outcomes(), plain.expected_outcomes())


def test_the_grid_is_the_issues():
    cases = EXPERIMENT.cases()
    assert len(cases) == 3 * 2 * 3 * len(HORIZONS) * (1 + 2 * len(BIASES))
    assert {case.rounds for case in cases} == set(HORIZONS)


def test_every_policy_runs_and_is_drawn(tmp_path):
    """Two runs of one cell of each kind; every series comes out, in the table and in the figure."""
    results = []
    for of, action, bias in (("none", 0, 0.0), ("inferior", 0, 0.6), ("best", 1, -0.6)):
        world = Biased(Synthetic(n_actions=2, n_log=100), action, bias)
        for series, curve in simulate(world, policies(5000), rounds=5000, runs=2, seed=1).items():
            setting = {"gap": 0.5, "K": 2, "n_log": 100, "T": 5000, "of": of, "bias": bias}
            results.append(Result("biased-logs", series, setting, curve))
    told = list(averages(relative(iter(results))))
    assert {result.series for result in told} == set(policies(5000)) - {COLD}
    draw_frontier(told, tmp_path / "frontier.svg")
    assert (tmp_path / "frontier.svg").stat().st_size > 10_000
