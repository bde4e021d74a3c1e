"""Runs give the same numbers whoever computes them: threads, processes, a Dask cluster."""

import joblib
import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.simulation.spreading import spread
from headstart.worlds import Synthetic
from tests.plain import SlowUCB


@pytest.fixture(scope="module")
def cluster():
    """A real one, of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started,
        distributed.Client(started),
    ):
        yield started


def _ask(n_jobs=None):
    policies = {
        "warm": lambda world, log, rng: hs.WarmStart(hs.UCB(world.n_actions), hs.IPSWeighting(log), rng=rng),
        "plain": lambda world, log, rng: SlowUCB(world.n_actions),
    }
    steps = []
    curves = hs.simulate(
        Synthetic(n_log=50), policies, rounds=60, runs=40, seed=3, n_jobs=n_jobs, progress=steps.append
    )
    assert sum(steps) == 80
    return np.stack([curves[name].regrets for name in policies])


@pytest.fixture(scope="module")
def expected():
    return _ask()


def test_threads(expected):
    np.testing.assert_array_equal(_ask(2), expected)


def test_processes(expected):
    with joblib.parallel_config("loky", n_jobs=2):
        np.testing.assert_array_equal(_ask(), expected)


def test_a_dask_cluster(cluster, expected):
    with joblib.parallel_config("dask"):
        np.testing.assert_array_equal(_ask(), expected)


def test_a_comparison_on_a_dask_cluster(cluster):
    rng = np.random.default_rng(4)
    actions = rng.integers(0, 2, 400)
    log = hs.Log(actions, rng.normal(0.3 * actions), propensities=np.full(400, 0.5))

    def ask():
        found = hs.compare(log, ["cold", "thompson + ips"], shuffles=2, seed=1)
        return [(each.name, each.mean, each.low, each.high) for each in found.earnings]

    here = ask()
    with joblib.parallel_config("dask"):
        assert ask() == here


def test_a_rehearsal_on_a_dask_cluster(cluster):
    rng = np.random.default_rng(5)
    actions = rng.integers(0, 2, 200)
    log = hs.Log(actions, rng.normal(0.3 * actions), propensities=np.full(200, 0.5))

    def ask():
        found = hs.rehearse(log, users_per_day=20, days=3, runs=6, seed=1)
        return [(each.policy, each.scenario, each.regret, each.known) for each in found.forecasts]

    here = ask()
    with joblib.parallel_config("dask"):
        np.testing.assert_equal(ask(), here)


def test_results_come_in_their_order_and_an_error_ends_the_rest():
    done = []

    def run_one(run):
        if run == 5:
            raise OptionError("run 5")
        done.append(run)
        return run

    found = []
    with pytest.raises(OptionError, match="run 5"):
        found.extend(spread(run_one, 40, 1))
    assert found == [] or found == sorted(found)
    assert done == [0, 1, 2, 3, 4]
    assert list(spread(lambda run: run * run, 50, 3)) == [run * run for run in range(50)]
