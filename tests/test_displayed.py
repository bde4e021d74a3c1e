"""Results show themselves: one table, as text, as HTML, as a frame and as a picture."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.displayed import Display, Displayed


class Tally(Displayed):
    def __init__(self, n: int = 2) -> None:
        self.n = n

    def _tell(self) -> Display:
        return Display(
            "A <tally>", ("It has words.",), {"name": ["a"] * self.n, "mean": [1234.5, float("nan")] * (self.n // 2)}
        )

    def _draw(self, axes) -> None:
        axes.plot([0, 1], [0, 1])


@pytest.fixture(scope="module")
def log() -> hs.Log:
    rng = np.random.default_rng(5)
    return hs.Log(
        rng.choice(["image", "video"], 400), rng.random(400), {"age": rng.uniform(20, 60, 400)}, np.full(400, 0.5)
    )


def test_a_table_in_text_by_hand():
    """Words to the left, numbers to the right; a thousand has a comma and what is not known a dash."""
    assert repr(Tally()) == "A <tally>\nIt has words.\nname   mean\na     1,234\na         -"


def test_html_is_escaped_and_long_tables_are_cut():
    shown = Tally(40)._repr_html_()
    assert "A &lt;tally&gt;" in shown
    assert shown.count("<td") == 2 * 12
    assert "28 more rows: to_frame() has them all." in shown
    assert len(Tally(40).to_frame()) == 40


def test_a_frame_is_of_arrow_where_there_is_no_pandas(monkeypatch: pytest.MonkeyPatch):
    import pyarrow as pa

    monkeypatch.setattr("headstart.displayed.find_spec", lambda name: None)
    frame = Tally().to_frame()
    assert isinstance(frame, pa.Table)
    assert frame.column_names == ["name", "mean"]


def test_a_picture_is_drawn_on_the_axes_that_are_given():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert Tally().plot(axes) is axes
    assert len(axes.lines) == 1
    plt.close(figure)


def test_an_audit_is_a_page_not_a_novel(log: hs.Log):
    """It was 6,000 characters of dataclass."""
    found = hs.audit(log)
    assert repr(found).startswith(f"Audit of 400 rows: {found.verdict.decision}")
    assert len(repr(found)) < 1500
    frame = found.to_frame()
    assert frame["action"].tolist() == ["image", "video"]
    assert frame["rows"].sum() == 400
    assert frame["adjusted mean"].tolist() == [each.mean for each in found.actions.actions]


def test_a_log_is_shown_by_its_actions_and_framed_by_its_rows(log: hs.Log):
    assert "<td" in log._repr_html_()
    frame = log.to_frame()
    assert list(frame.columns) == ["action", "outcome", "propensity", "age"]
    assert frame["outcome"].tolist() == log.outcomes.tolist()
    assert frame["action"].tolist() == [log.action_names[a] for a in log.actions]


def test_a_table_is_shown_like_a_log_of_its_rows(log: hs.Log, tmp_path):
    log.to_frame().to_csv(tmp_path / "log.csv", index=False)
    table = hs.scan_log(tmp_path / "log.csv")
    frame = table.to_frame()
    assert frame["rows"].tolist() == np.bincount(log.actions).tolist()
    raw = [log.outcomes[log.actions == a].mean() for a in range(2)]
    np.testing.assert_allclose(frame["raw mean of outcome"], raw, rtol=1e-12)
    assert "role" in table.reading.to_frame().columns


def test_every_result_shows_itself(log: hs.Log):
    """Each has a short text, HTML, a frame; and a picture where one is promised."""
    import matplotlib.pyplot as plt

    policy = hs.start(log, rng=1)
    world = hs.worlds.Synthetic(n_actions=2, n_log=50)
    curve = hs.simulate(world, {"cold": hs.UCB(2)}, rounds=50, runs=3, seed=1)["cold"]
    results = [log, hs.audit(log), policy, policy.summary, policy.trust, curve]
    for each in results:
        assert 0 < len(repr(each)) < 2000
        assert each._repr_html_().startswith("<p><b>")
        assert len(each.to_frame()) > 0
    for each in (hs.audit(log), policy, policy.summary, curve):
        figure, axes = plt.subplots()
        each.plot(axes)
        assert axes.get_xlabel()
        plt.close(figure)


def test_a_comparison_and_a_rehearsal_show_themselves(log: hs.Log):
    import matplotlib.pyplot as plt

    found = hs.rehearse(log, users_per_day=20, days=3, runs=4)
    assert len(found.to_frame()) == len(found.forecasts)
    compared = hs.compare(log, shuffles=3)
    assert compared.to_frame()["policy"].tolist() == [each.name for each in compared.earnings]
    assert compared.best in repr(compared)
    for each in (found, compared):
        figure, axes = plt.subplots()
        each.plot(axes)
        assert axes.get_xlabel()
        plt.close(figure)


def test_a_forest_says_what_it_is(log: hs.Log):
    forest = hs.HonestForest(hs.ForestOptions(n_trees=10), seed=1)
    assert repr(forest) == "HonestForest(10 trees, not fitted)"
    forest.fit(log.contexts, log.actions, log.outcomes, n_actions=2)
    assert repr(forest) == "HonestForest(10 trees, 2 actions, 1 columns)"
