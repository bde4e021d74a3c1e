"""Prometheus metrics: counted on the way, the costly ones computed when somebody looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from headstart.errors import HeadstartError
from headstart.serve.engine.engine import Engine
from headstart.serve.telling.overview import Overview

if TYPE_CHECKING:
    from prometheus_client import Metric

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """`GET /metrics`."""

    def __init__(self, engine: Engine, overviews: Mapping[str, Overview]) -> None:
        from prometheus_client import CollectorRegistry, Histogram

        self._engine, self._overviews = engine, overviews
        self._answers: dict[int, int] = {}
        self.registry = CollectorRegistry()
        self._commits = Histogram(
            "headstart_commit_seconds", "Time of a commit to the store", registry=self.registry, buckets=_SECONDS
        )
        self._events = Histogram(
            "headstart_commit_events", "Events in a commit", registry=self.registry, buckets=(1, 4, 16, 64, 256, 1024)
        )
        self.registry.register(self)
        engine.watch_commits(self._count_commit)

    def count_answer(self, status: int) -> None:
        """One more answer with this status."""
        self._answers[status] = self._answers.get(status, 0) + 1

    def _count_commit(self, seconds: float, n_events: int) -> None:
        self._commits.observe(seconds)
        self._events.observe(n_events)

    def as_text(self) -> bytes:
        """The exposition format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def describe(self) -> Iterable[Metric]:
        """Nothing until asked: collecting reads the store."""
        return []

    def collect(self) -> Iterable[Metric]:
        """What is computed on demand."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        answers = CounterMetricFamily("headstart_answers", "Answers by status", labels=["status"])
        for status, n in sorted(self._answers.items()):
            answers.add_metric([str(status)], n)
        yield answers
        health = self._engine.health()
        yield GaugeMetricFamily("headstart_lag_events", "Events this process has not folded", value=health["lag"])
        yield GaugeMetricFamily("headstart_waiting_requests", "Requests before a commit", value=health["waiting"])
        yield GaugeMetricFamily("headstart_writable", "1 while the store can be written", value=health["is_writable"])
        counters = {
            name: CounterMetricFamily(f"headstart_{name}", text, labels=["experiment"])
            for name, text in (
                ("decisions", "Decisions"),
                ("outcomes", "First outcomes in their window"),
                ("late", "Outcomes after their window"),
                ("dangling", "Outcomes of unknown decisions"),
                ("duplicates", "Outcomes delivered again"),
                ("conflicting", "Outcomes that contradict the first"),
                ("clipped_contexts", "Decisions for a context outside the bounds"),
                ("clipped_outcomes", "Outcomes outside the bounds"),
            )
        }
        p = GaugeMetricFamily(
            "headstart_chi_square_p", "Actions drawn against logged propensities: p-value", labels=["experiment"]
        )
        sizes = GaugeMetricFamily(
            "headstart_effective_sample_size", "Of each action's outcomes", labels=["experiment", "action"]
        )
        outliers = GaugeMetricFamily("headstart_outliers", "Values far outside all others", labels=["experiment"])
        aside = GaugeMetricFamily("headstart_set_aside", "Decisions set aside at present", labels=["experiment"])
        for name, overview in self._overviews.items():
            try:
                state, checks = self._engine.state(name), overview.checks()
            except HeadstartError:  # the store cannot be read now: the gauge above says so
                continue
            counted = {
                "decisions": state["decisions"],
                "outcomes": state["outcomes"],
                "late": state["late"],
                "dangling": state["dangling"],
                "duplicates": state["duplicates"],
                "conflicting": state["conflicting"],
                "clipped_contexts": state["clipped_contexts"],
                "clipped_outcomes": state["clipped_outcomes"],
            }
            outliers.add_metric([name], len(state["outliers"]))
            aside.add_metric([name], state["set_aside"])
            for key, n in counted.items():
                counters[key].add_metric([name], n)
            p.add_metric([name], checks["p"])
            for action, size in zip(state["actions"], checks["effective_sizes"], strict=True):
                sizes.add_metric([name, str(action["action"])], size)
        yield from (*counters.values(), p, sizes, outliers, aside)
