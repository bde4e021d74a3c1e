"""From a configuration and a log to a policy: the parts by their names in headstart, seeded, joined."""

from __future__ import annotations

import inspect
from typing import Any
from zlib import crc32

import numpy as np

from headstart import evaluators, oracles
from headstart.errors import OptionError
from headstart.logs.log import Log
from headstart.serve.config import ExperimentConfig, Part
from headstart.serve.engine.served_policy import ServedPolicy
from headstart.warmstart.warmstart import WarmStart


def build_policy(config: ExperimentConfig, log: Log | None) -> ServedPolicy:
    """The policy before its first user. The same configuration and log give the same bits."""
    names = config.encoding.names
    if log is None:
        return ServedPolicy(_guard(config, _build_oracle(config, len(names))), config.encoding, 0)
    # The log's columns are the experiment's, as far as it has them, then those that one only adjusts for.
    n_shared = sum(name in names for name in log.context_names)
    n_extra = log.n_features - n_shared
    if config.oracle is None and config.evaluator is None:
        from headstart.judgement.start.start import start

        chosen: Any = start(log, decide_on=list(range(n_shared)) or None, rng=_stream(config, "start"))
    else:
        chosen = _warm_start(config, log, n_shared)
    if getattr(chosen, "n_features", 0) > 0 and n_shared < len(names):
        missing = next(name for name in names if name not in log.context_names)
        raise OptionError(f"experiments.{config.name}: the policy decides on {missing!r}, which the log has not")
    return ServedPolicy(_guard(config, chosen), config.encoding, n_extra)


def _warm_start(config: ExperimentConfig, log: Log, n_shared: int) -> WarmStart:
    is_same = log.context_names == config.encoding.names
    oracle = _build_oracle(config, n_shared)
    return WarmStart(
        oracle,
        _build_evaluator(config, log),
        contexts=None if is_same else log.contexts,  # users bring no whole row: virtual ones are the log's alone
        schedule=config.schedule or "each-round",  # type: ignore[arg-type]
        decide_on=None if is_same else range(n_shared),
        rng=_stream(config, "contexts"),
    )


def _stream(config: ExperimentConfig, part: str) -> np.random.Generator:
    """Each part of each experiment has its own stream."""
    words = (config.seed, crc32(config.name.encode()), crc32(part.encode()))
    return np.random.default_rng(np.random.SeedSequence(words))


def _build_oracle(config: ExperimentConfig, n_features: int) -> Any:
    part = config.oracle or Part("ThompsonNormal" if hasattr(oracles, "ThompsonNormal") else "UCB")
    given = {"n_actions": len(config.actions), "n_features": n_features}
    return _build(f"experiments.{config.name}.oracle", oracles, part, given, _stream(config, "oracle"))


def _build_evaluator(config: ExperimentConfig, log: Log) -> Any:
    at = f"experiments.{config.name}.evaluator"
    part = config.evaluator or Part("IPSWeighting" if log.has_propensities else "HistoricalAverage")
    if config.evaluator is None and not log.has_propensities:
        raise OptionError(
            f"{at} is missing and the log has no propensities: name an evaluator, give log.propensity, or set "
            "log.estimate_propensities = true"
        )
    return _build(at, evaluators, part, {"log": log}, _stream(config, "evaluator"))


def _guard(config: ExperimentConfig, policy: Any) -> Any:
    """The policy under the configured guard, which withdraws the log of an action whose users contradict it."""
    if config.guard is None:
        return policy
    from headstart.warmstart import conflict

    at = f"experiments.{config.name}.guard"
    if not isinstance(policy, WarmStart):
        raise OptionError(f"{at} needs a log to guard against: declare experiments.{config.name}.log")
    return _build(at, conflict, config.guard, {"policy": policy}, _stream(config, "guard"))


def _build(at: str, family: Any, part: Part, given: dict[str, Any], rng: np.random.Generator) -> Any:
    make = getattr(family, part.name, None)
    if not inspect.isclass(make):
        known = sorted(name for name in family.__all__ if inspect.isclass(getattr(family, name)))
        raise OptionError(f"{at} has no {part.name!r}; known: {', '.join(known)}")
    taken = inspect.signature(make).parameters
    settings: dict[str, Any] = {name: value for name, value in given.items() if name in taken}
    if "rng" in taken:
        settings["rng"] = rng
    for name, value in part.options.items():
        if name not in taken or name in settings:
            offered = [each for each in taken if each not in settings]
            raise OptionError(f"{at} {part.name} has no setting {name!r}; known: {', '.join(offered) or 'none'}")
        settings[name] = _as_forest_options(value) if name == "options" else value
    try:
        return make(**settings)
    except TypeError as error:
        raise OptionError(f"{at} {part.name}: {error}") from None


def _as_forest_options(table: Any) -> Any:
    from headstart.forest import ForestOptions

    return ForestOptions(**table)
