"""The service's configuration: experiments declared in TOML, checked once, every error naming its key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.outliers import Range
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log
from headstart.serve.columns import Kind, read_columns, read_range
from headstart.serve.guardrails import Guardrail, as_tables, read_guardrails
from headstart.serve.life import ExperimentLife, read_life
from headstart.serve.logged import DeclaredLog, read_declared
from headstart.serve.outcomes import NO_OUTCOMES, NamedOutcomes, read_named_outcomes
from headstart.serve.retention import Retention, read_retention
from headstart.serve.tables import Table, check_keys, check_table, check_wholes, is_list
from headstart.serve.units import read_sticky

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TOP = ("store", "anchor", "after_loss", "retention", "experiments", "server", "keys")
_PER_EXPERIMENT = (
    "actions", "contexts", "oracle", "evaluator", "log", "guard", "schedule", "epsilon", "holdout",
    "outcome_window", "default_outcome", "seed", "revision", "outcome_range", "outside", "trust", "forget_after",
    "horizon", "sticky", "outcomes", "value", "safe_action", "guardrails", "life",
)  # fmt: skip
Label: TypeAlias = str | int  # of an action


@dataclass(frozen=True)
class Part:
    """An oracle, an evaluator or a guard by the name it has in headstart, with its settings."""

    name: str
    options: Table = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """The table that it came from."""
        return {"name": self.name, **self.options}


@dataclass(frozen=True)
class ExperimentConfig:
    """One experiment.

    `epsilon` is the exploration floor: every available action keeps a chance of at least epsilon / K. `holdout` is
    the share of users for whom the policy is not asked and every available action has the same chance. With a
    `default_outcome`, every decision is learnt when its `outcome_window` (seconds) closes, with the outcome that came
    or the default; without one, outcomes are learnt as they come, and those after the window are not. Without a
    `seed` it gets a random one when it is first recorded, for life. A higher `revision` than the recorded one's makes
    a configuration the newest, whatever was recorded before. What lies outside a declared range is refused, or
    recorded as it came and learnt as the nearest value inside (`outside`). The log's audit binds, unless the
    configuration says how far the log is to be believed (`trust`) or that it is used all the same (`despite_audit`).
    An outcome without a window is waited for until those of more than `forget_after` newer users have come: what is
    in flight is not explored again. `horizon` is the number of users to come, for what `start` makes of a log. A unit
    keeps the action that was drawn for it for `sticky` seconds. With `outcomes`, reports name them, and the policy
    learns their value. The `safe_action` is shown where the policy must not decide: outside of its `life`, to those
    whom it does not decide for yet, and when one of the `guardrails` has tripped that says so.
    """

    name: str
    actions: tuple[Label, ...]  # what may be shown
    contexts: Mapping[str, Kind] = field(default_factory=dict)  # columns of a user: "number", or a list of categories
    oracle: Part | None = None  # who chooses and learns; without one, `start` chooses it
    evaluator: Part | None = None  # how the log answers; without one, `start` chooses it
    log: Log | Table | None = None  # yesterday's decisions: `path` and the options of read_log
    guard: Part | None = None  # who takes the log back where users contradict it
    schedule: str | None = None  # of virtual plays: "each-round" or "batch"
    epsilon: float = 0.05  # the floor: the share of users who get an action by lot
    holdout: float = 0.0  # the share of users whom the policy does not decide for
    outcome_window: float | None = None  # seconds after which an outcome no longer counts
    default_outcome: float | None = None  # what no news means when the window closes
    seed: int | None = None  # who knows it can foretell the draws, so leave it out
    revision: int = 0  # a higher one makes this configuration the newest
    ranges: Mapping[str, Range] = field(default_factory=dict)  # of columns that are numbers
    outcome_range: Range | None = None  # the least and the greatest outcome
    outside: str = "refuse"  # what becomes of values beyond a range: "refuse" or "clip"
    trust: float | None = None  # how far `start` believes the log, set by hand; if not given, the audit says
    despite_audit: bool = False  # whether the log is used whatever the audit says
    forget_after: int | None = None  # newer users after whom no outcome is waited for; 1,000 for a new experiment
    horizon: int | None = None  # users to come; if not given, as many as have come
    sticky: float | None = None  # seconds for which a unit keeps its action; if not given, for ever
    outcomes: NamedOutcomes = NO_OUTCOMES  # outcomes that have names
    safe_action: Label | None = None  # what is shown where the policy must not decide
    guardrails: Mapping[str, Guardrail] = field(default_factory=dict)  # what is watched, by name
    life: ExperimentLife | None = None  # start, ramp-up and end; if not given, it decides for everybody

    @property
    def at(self) -> str:
        """Where it stands in the configuration, for errors."""
        return f"experiments.{self.name}"

    @property
    def encoding(self) -> Encoding:
        """How a user's columns become numbers."""
        categories = {name: tuple(kind) for name, kind in self.contexts.items() if kind != "number"}
        return Encoding(tuple(self.contexts), categories)

    @property
    def window_length(self) -> int:
        """The outcome window in microseconds; only asked of an experiment that has one."""
        return round((self.outcome_window or 0.0) * 1e6)

    def is_over(self, drawn: int, now: int) -> bool:
        """Whether a unit no longer keeps the action that was drawn for it then; times in microseconds."""
        return self.sticky is not None and now >= drawn + round(self.sticky * 1e6)

    @property
    def seed_in_force(self) -> int:
        """What draws follow; a configuration that is recorded has one."""
        return self.seed or 0

    def as_dict(self) -> dict[str, object]:
        """What a `configuration` event holds: the same text for the same configuration."""
        later: dict[str, object] = {}  # absent where nothing is declared: as before there were any
        if self.outcome_range is not None:
            later["outcome_range"] = list(self.outcome_range)
        if self.outside != "refuse":
            later["outside"] = self.outside
        for name in ("trust", "forget_after", "horizon", "sticky", "safe_action"):
            if vars(self)[name] is not None:
                later[name] = vars(self)[name]
        if self.life is not None:
            later["life"] = self.life.as_dict()
        later |= self.outcomes.as_dict() | as_tables(self.guardrails)
        return {
            "actions": list(self.actions),
            "contexts": {name: self._kind(name) for name in self.contexts},
            "oracle": self.oracle and self.oracle.as_dict(),
            "evaluator": self.evaluator and self.evaluator.as_dict(),
            "log": DeclaredLog(self.log, self.despite_audit).as_dict(),
            "guard": self.guard and self.guard.as_dict(),
            "schedule": self.schedule,
            "epsilon": self.epsilon,
            "holdout": self.holdout,
            "outcome_window": self.outcome_window,
            "default_outcome": self.default_outcome,
            "seed": self.seed,
            **({"revision": self.revision} if self.revision else {}),  # absent as before there were any
            **later,
        }

    def _kind(self, column: str) -> object:
        """A column as it was declared."""
        if column in self.ranges:
            return {"range": list(self.ranges[column])}
        kind = self.contexts[column]
        return kind if kind == "number" else list(kind)


@dataclass(frozen=True)
class ServiceConfig:
    """Experiments by name, where events are kept, and the tables that the server itself reads.

    `anchor` is a file outside the store that remembers how far it had come; beside a SQLite file by default.
    `after_loss` says what to do when the store lacks events that it once had: "refuse" until somebody accepts it, or
    "go on". `retention` has the service archive what is older than so many days.
    """

    experiments: Mapping[str, ExperimentConfig]
    store: str = "headstart.sqlite"  # a SQLite file, or postgresql://user@host/database
    anchor: str | None = None  # a file that remembers how far the store had come
    after_loss: str = "refuse"  # what to do where the store lacks events: "refuse" or "go on"
    server: Table = field(default_factory=dict)
    keys: Table = field(default_factory=dict)
    retention: Retention | None = None  # `keep` days, and the folder (`archive`) of older events


def load_config(source: str | Path | Table) -> ServiceConfig:
    """A TOML file, or a mapping of the same shape; relative paths count from the file's folder."""
    if isinstance(source, Mapping):
        return _read_service(source, Path())
    path = Path(source)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"the configuration {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise OptionError(f"the configuration {path} is not UTF-8 text: byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"the configuration {path} is not TOML: {error}") from None
    return _read_service(tables, path.resolve().parent)


def read_experiment(name: str, table: Table, folder: Path = Path()) -> ExperimentConfig:
    """One experiment from its table (or from a `configuration` event)."""
    at = f"experiments.{name}"
    if not _NAME.fullmatch(name):
        raise OptionError(f"{at}: a name is 1 to 64 letters, digits, - and _, and begins with a letter or digit")
    check_keys(at, table, _PER_EXPERIMENT)
    window, default = table.get("outcome_window"), table.get("default_outcome")
    if default is not None and window is None:
        raise OptionError(f"{at}.default_outcome needs {at}.outcome_window: when is an outcome missing?")
    schedule = table.get("schedule")
    if schedule not in (None, "each-round", "batch"):
        raise OptionError(f"{at}.schedule must be 'each-round' or 'batch', got {schedule!r}")
    oracle, evaluator = (_read_part(f"{at}.{part}", table.get(part)) for part in ("oracle", "evaluator"))
    declared = read_declared(f"{at}.log", table.get("log"), folder)
    if evaluator is not None and declared.rows is None and evaluator.name != "NoLog":
        raise OptionError(f"{at}.evaluator needs {at}.log: what is it to evaluate?")
    holdout = check_number(f"{at}.holdout", table.get("holdout", 0.0), 0.0, 1.0)
    contexts, ranges = read_columns(f"{at}.contexts", table.get("contexts") or {})
    outside = table.get("outside", "refuse")
    if outside not in ("refuse", "clip"):
        raise OptionError(f"{at}.outside must be 'refuse' or 'clip', got {outside!r}")
    actions, outcomes = _read_actions(f"{at}.actions", table.get("actions")), read_named_outcomes(at, table)
    safe_action = _read_safe_action(f"{at}.safe_action", table.get("safe_action"), actions)
    return ExperimentConfig(
        name=name,
        actions=actions,
        contexts=contexts,
        oracle=oracle,
        evaluator=evaluator,
        log=declared.rows,
        guard=_read_part(f"{at}.guard", table.get("guard")),
        schedule=schedule,
        epsilon=check_number(f"{at}.epsilon", table.get("epsilon", 0.05), 0.0, 1.0),
        holdout=holdout,
        outcome_window=None if window is None else check_number(f"{at}.outcome_window", window, 1e-3, 1e9),
        default_outcome=None if default is None else check_number(f"{at}.default_outcome", default),
        seed=_read_whole(f"{at}.seed", table.get("seed")),
        revision=_read_whole(f"{at}.revision", table.get("revision")) or 0,
        ranges=ranges,
        outcome_range=_read_outcome_range(at, table.get("outcome_range"), default),
        outside=outside,
        trust=_read_trust(at, table, declared),
        despite_audit=declared.despite_audit,
        forget_after=_read_whole(f"{at}.forget_after", table.get("forget_after"), 1),
        horizon=_read_horizon(at, table, declared),
        sticky=read_sticky(f"{at}.sticky", table.get("sticky")),
        outcomes=outcomes,
        safe_action=safe_action,
        guardrails=read_guardrails(at, table, outcomes, holdout),
        life=read_life(f"{at}.life", table.get("life"), safe_action),
    )


def _read_service(tables: Table, folder: Path) -> ServiceConfig:
    check_keys("the configuration", tables, _TOP)
    check_wholes("", tables)
    experiments = check_table("experiments", tables.get("experiments"))
    if not experiments:
        raise OptionError("experiments is missing: declare at least one, [experiments.NAME]")
    store = tables.get("store", "headstart.sqlite")
    if not isinstance(store, str) or not store:
        raise OptionError(f"store must be a path or postgresql://..., got {store!r}")
    if "://" not in store:
        store = str(folder / store)
    after_loss = tables.get("after_loss", "refuse")
    if after_loss not in ("refuse", "go on"):
        raise OptionError(f"after_loss must be 'refuse' or 'go on', got {after_loss!r}")
    return ServiceConfig(
        {name: read_experiment(name, check_table(f"experiments.{name}", table), folder)
         for name, table in experiments.items()},
        store,
        _read_anchor(tables.get("anchor"), store, folder),
        str(after_loss),
        check_table("server", tables.get("server") or {}),
        check_table("keys", tables.get("keys") or {}),
        read_retention(tables.get("retention"), folder),
    )  # fmt: skip


def _read_anchor(value: object, store: str, folder: Path) -> str | None:
    if value is None:
        return None if "://" in store else f"{store}.anchor"
    if not isinstance(value, str) or not value:
        raise OptionError(f"anchor must be the path of a file, got {value!r}")
    return str(folder / value)


def _read_actions(at: str, value: object) -> tuple[Label, ...]:
    if not is_list(value) or len(value) < 2:
        raise OptionError(f"{at} must be a list of at least two labels, got {value!r}")
    labels: list[Label] = []
    for label in value:
        if not isinstance(label, str | int) or isinstance(label, bool) or label == "":
            raise OptionError(f"{at} must be text or whole numbers, got {label!r}")
        labels.append(label)
    if len({str(label) for label in labels}) < len(labels):
        raise OptionError(f"{at} must differ, got {labels}")
    return tuple(labels)


def _read_safe_action(at: str, value: object, actions: tuple[Label, ...]) -> Label | None:
    if value is None:
        return None
    for label in actions:
        if value == label and not isinstance(value, bool):  # True is no 1
            return label
    raise OptionError(f"{at} must be one of the actions {list(actions)[:20]}, got {value!r}")


def _read_outcome_range(at: str, value: object, default: object) -> Range | None:
    if value is None:
        return None
    found = read_range(f"{at}.outcome_range", value)
    if default is not None:
        check_number(f"{at}.default_outcome", default, *found)
    return found


def _read_trust(at: str, table: Table, declared: DeclaredLog) -> float | None:
    trust = table.get("trust")
    if trust is None:
        return None
    if declared.rows is None:
        raise OptionError(f"{at}.trust needs {at}.log: what is to be trusted?")
    if table.get("oracle") is not None or table.get("evaluator") is not None:
        raise OptionError(
            f"{at}.trust is for what start makes of a log, without {at}.oracle and {at}.evaluator; with them, "
            f"{at}.log.despite_audit = true uses a log that the audit speaks against"
        )
    return check_number(f"{at}.trust", trust, 0.0, 1.0)


def _read_horizon(at: str, table: Table, declared: DeclaredLog) -> int | None:
    horizon = _read_whole(f"{at}.horizon", table.get("horizon"), 1)
    if horizon is not None and (declared.rows is None or table.get("oracle") or table.get("evaluator")):
        raise OptionError(
            f"{at}.horizon is for what start makes of a log, with {at}.log and without {at}.oracle and "
            f'{at}.evaluator; with them, {at}.oracle = {{ name = "KnowledgeGradient", horizon = {horizon} }} says it'
        )
    return horizon


def _read_whole(at: str, value: object, least: int = 0) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise OptionError(f"{at} must be a whole number of at least {least}, got {value!r}")
    return value


def _read_part(at: str, value: object) -> Part | None:
    if value is None:
        return None
    if isinstance(value, str):
        return Part(value)
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return Part(value["name"], {key: option for key, option in value.items() if key != "name"})
    raise OptionError(f"{at} must be a name, or a table with a name and its settings, got {value!r}")
