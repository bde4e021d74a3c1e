"""Prometheus metrics: counted on the way or read from memory, so that they are answered at once, whatever happens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headstart.errors import HeadstartError
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.state import State
from headstart.serve.telling.overviews import Overviews

if TYPE_CHECKING:
    from prometheus_client import Metric

_PATIENCE = 0.01  # seconds that an experiment is waited for; then its last state is told
_HEALTH = {
    "failing": "1 while its events cannot be written",
    "broken": "1 while it cannot be folded: it decides for nobody",
    "hanging": "1 while the store has not answered it for 5 s",
    "lost_history": "1 while acknowledged events are not in the store",
    "folder": "1 in the process that closes its windows and writes its snapshots",
    "position_events": "Its last event that this process has folded",
    "lag_events": "Its events that this process has not folded",
    "waiting_requests": "Its requests before a commit",
    "since_commit_seconds": "Seconds since this process last wrote an event of it",
}
_COUNTERS = {
    "decisions": "Decisions",
    "outcomes": "First outcomes in their window",
    "late": "Outcomes after their window",
    "dangling": "Outcomes of unknown decisions",
    "duplicates": "Outcomes delivered again",
    "conflicting": "Outcomes that contradict the first",
    "clipped_contexts": "Decisions for a context outside the bounds",
    "clipped_outcomes": "Outcomes outside the bounds",
}
_SURPRISES = {
    "missing_values": "Users of whom a column was null",
    "unseen_categories": "Users who had a category that nobody declared",
}
_GAUGES = {
    "chi_square_p": "Actions drawn against logged propensities: p-value of one look",
    "sample_ratio_p": "The same, by a p-value that holds at every look",
    "report_lag_events": "Events that the report's numbers lack",
    "outliers": "Values far outside all others",
    "set_aside": "Decisions set aside at present",
    "share": "Of the users whom the experiment decides for, by its life",
}
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """`GET /metrics`."""

    def __init__(self, engine: Engine, overviews: Overviews) -> None:
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
        """Nothing until asked."""
        return []

    def collect(self) -> Iterable[Metric]:
        """What is known at this moment, from memory: nothing here waits for the store or for a fold."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        answers = CounterMetricFamily("headstart_answers", "Answers by status", labels=["status"])
        for status, n in sorted(self._answers.items()):
            answers.add_metric([str(status)], n)
        yield answers
        refused = CounterMetricFamily(
            "headstart_refused", "Requests refused, by reason", labels=["experiment", "code"]
        )
        for (experiment, code), n in sorted(self._overviews.callers.totals.copy().items()):
            refused.add_metric([experiment, code], n)
        yield refused
        health = self._engine.health()
        yield GaugeMetricFamily("headstart_lag_events", "Events this process has not folded", value=health["lag"])
        yield GaugeMetricFamily("headstart_waiting_requests", "Requests before a commit", value=health["waiting"])
        yield GaugeMetricFamily("headstart_writable", "1 while the store can be written", value=health["is_writable"])
        yield from self._collect_health()
        yield from self._collect_states()

    def _collect_health(self) -> Iterable[Metric]:
        """What health knows of each experiment."""
        from prometheus_client.core import GaugeMetricFamily

        gauges = {
            name: GaugeMetricFamily(f"headstart_experiment_{name}", text, labels=["experiment"])
            for name, text in _HEALTH.items()
        }
        for name, health in self._engine.healths().items():
            told = {
                "failing": health["error"] is not None,
                "broken": health["broken"] is not None,
                "hanging": health["is_hanging"],
                "lost_history": health["has_lost_history"],
                "folder": health["is_folder"],
                "position_events": health["position"],
                "lag_events": health["lag"],
                "waiting_requests": health["waiting"],
                "since_commit_seconds": health["since_commit"],
            }
            for key, value in told.items():
                if value is not None:
                    gauges[key].add_metric([name], float(value))
        yield from gauges.values()

    def _collect_states(self) -> Iterable[Metric]:
        """What has happened in each experiment."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        counters = {
            name: CounterMetricFamily(f"headstart_{name}", text, labels=["experiment"])
            for name, text in _COUNTERS.items()
        }
        gauges = {
            name: GaugeMetricFamily(f"headstart_{name}", text, labels=["experiment"])
            for name, text in _GAUGES.items()
        }
        surprises = {
            name: CounterMetricFamily(f"headstart_{name}", text, labels=["experiment", "column"])
            for name, text in _SURPRISES.items()
        }
        tripped = GaugeMetricFamily(
            "headstart_guardrail_tripped", "1 while a guardrail has tripped", labels=["experiment", "guardrail"]
        )
        sizes = GaugeMetricFamily(
            "headstart_effective_sample_size", "Of each action's outcomes", labels=["experiment", "action"]
        )
        for name, overview in self._overviews.items():
            try:
                state, config = self._engine.look(name, _PATIENCE)
            except HeadstartError:  # it was never opened: the gauges above say so
                continue
            checks = overview.checks(list(config.actions))
            for key, n in _count(state).items():
                counters[key].add_metric([name], n)
            told = {
                "chi_square_p": checks["p"],
                "sample_ratio_p": checks["mismatch_p"],
                "report_lag_events": max(0, state["position"] - checks["position"]),
                "outliers": len(state["outliers"]),
                "set_aside": state["set_aside"],
                "share": 1.0 if state["life"] is None else state["life"]["share"],
            }
            for key, value in told.items():
                gauges[key].add_metric([name], value)
            for column, n in state["missing"].items():
                surprises["missing_values"].add_metric([name, column], n)
            for column, n in state["unseen"].items():
                surprises["unseen_categories"].add_metric([name, column], n)
            in_force = [each["guardrail"] for each in state["tripped"]]
            for guardrail in config.guardrails:
                tripped.add_metric([name, guardrail], float(guardrail in in_force))
            for action, size in zip(config.actions, checks["effective_sizes"], strict=True):
                sizes.add_metric([name, str(action)], size)
        yield from (*counters.values(), *surprises.values(), *gauges.values(), tripped, sizes)


def _count(state: State) -> dict[str, int]:
    return {
        "decisions": state["decisions"],
        "outcomes": state["outcomes"],
        "late": state["late"],
        "dangling": state["dangling"],
        "duplicates": state["duplicates"],
        "conflicting": state["conflicting"],
        "clipped_contexts": state["clipped_contexts"],
        "clipped_outcomes": state["clipped_outcomes"],
    }
