"""From a configuration and a log to a policy: the parts by their names in headstart, seeded, joined."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeAlias, cast
from zlib import crc32

import numpy as np

from headstart import evaluators, oracles
from headstart.checks import guess_name
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.evaluators.capped import Capped
from headstart.forest import ForestOptions
from headstart.judgement.start.start import start
from headstart.judgement.start.started import Started
from headstart.logs.log import Log
from headstart.parts import Evaluator, EvaluatorAbilities, Oracle, OracleAbilities
from headstart.parts.catalogue import BuiltIn, find_parts
from headstart.serve.config import ExperimentConfig, Part
from headstart.serve.engine.binding import FREE, Binding
from headstart.serve.engine.blas import one_blas_thread
from headstart.serve.engine.bounds import UNBOUNDED, Bounds
from headstart.serve.engine.served_policy import ServedPolicy
from headstart.warmstart.conflict import Guarded
from headstart.warmstart.warmstart import Schedule, WarmStart

_ORACLES = find_parts(oracles, "play", "update", "probabilities")
_EVALUATORS = find_parts(evaluators, "get_outcome")
_GUARDS = {Guarded.__name__: BuiltIn.of(Guarded)}
_DEFAULT_ORACLE, _DEFAULT_EVALUATOR = Part("ThompsonNormal"), Part("IPSWeighting")
_MOST_STARTS = 4  # of one log: configurations that an experiment goes to and fro between
_ONCE_ASSUMED = 5000  # users to come, when nobody could tell them: experiments of then go on as they began

Starts: TypeAlias = dict[Hashable, Started]


def build_policy(
    config: ExperimentConfig,
    source: Log | None,
    bounds: Bounds = UNBOUNDED,
    binding: Binding = FREE,
    starts: Starts | None = None,
) -> ServedPolicy:
    """The policy before its first user. The same configuration, log, bounds and binding give the same bits on one
    processor. `starts` is what was made of this very log before: what is among it is copied.

    An experiment that declares a log may have to go on without it, when it was withdrawn: there is nothing to guard
    against then, and an oracle that starts from a summary gets one that knows nothing.
    """
    log = None if source is None else bounds.take_log(config, source)
    if log is None:
        if config.log is None and config.guard is not None:
            raise OptionError(f"{config.at}.guard needs a log to guard against: declare {config.at}.log")
        summary = None if config.log is None else _know_nothing(len(config.actions))
        return ServedPolicy(_build_oracle(config, len(config.encoding.names), summary), config.encoding, 0, bounds)
    # The log's columns are the experiment's, as far as it has them, then those that one only adjusts for.
    n_shared = sum(owner in config.contexts for owner in log.encoding.owners)
    if config.oracle is not None and "n_features" in _needs(config.oracle):
        _check_has_columns(config, log)  # before an oracle of no columns is asked for
    with one_blas_thread():
        policy = _build_from(config, log, n_shared, bounds, binding, {} if starts is None else starts)
    if OracleAbilities(policy).n_features:
        _check_has_columns(config, log)
    users = log.encoding.choose([column for column in config.contexts if column in log.encoding.columns])
    if set(users.columns) != set(config.contexts):  # the policy looks at none of them
        users = config.encoding
    return ServedPolicy(policy, users, log.n_features - n_shared, bounds, binding)


def _know_nothing(n_actions: int) -> Summary:
    return Summary(np.full(n_actions, np.nan), np.full(n_actions, np.inf), np.full(n_actions, np.nan))


def _needs(oracle: Part) -> tuple[str, ...]:
    return _ORACLES[oracle.name].needs if oracle.name in _ORACLES else ()


def _check_has_columns(config: ExperimentConfig, log: Log) -> None:
    for column in config.contexts:
        if column not in log.encoding.columns:
            known = ", ".join(log.encoding.columns) or "none"
            raise OptionError(
                f"{config.at}: the policy decides on {column!r}, which {config.at}.log has not; its columns: {known}"
            )


def _build_from(
    config: ExperimentConfig, log: Log, n_shared: int, bounds: Bounds, binding: Binding, starts: Starts
) -> Oracle:
    """A policy that starts from the log: by `start`, by an oracle that takes a summary of it, or by virtual plays."""
    if config.oracle is None and config.evaluator is None:
        started = _start(config, log, n_shared, bounds, binding, starts)
        return _guard(config, started, started.summary)
    evaluator = _build_evaluator(config, log)
    if binding.is_capped and binding.caps is not None:
        evaluator = Capped(evaluator, binding.caps)
    wanted = config.oracle or _DEFAULT_ORACLE
    if "summary" in _needs(wanted):
        return _build_from_summary(config, evaluator, wanted, n_shared)
    is_same = log.encoding.columns == tuple(config.contexts)
    warm_start = WarmStart(
        _build_oracle(config, n_shared),
        evaluator,
        contexts=None if is_same else log.contexts,  # users bring no whole row: virtual ones are the log's alone
        schedule=cast(Schedule, config.schedule or "each-round"),
        decide_on=None if is_same else range(n_shared),
        rng=_stream(config, "contexts"),
    )
    return _guard(config, warm_start, None)


def _start(
    config: ExperimentConfig, log: Log, n_shared: int, bounds: Bounds, binding: Binding, starts: Starts
) -> Started:
    """What `start` makes of the log, believed and capped as the binding says, whatever it would find now.

    It is made once and copied: a fold begins anew whenever rows are set aside, erased or rolled back.
    """
    caps = math.inf if binding.caps is None else binding.caps
    columns = list(range(n_shared)) or None
    horizon = config.horizon if config.forget_after is not None else config.horizon or _ONCE_ASSUMED
    within = bounds.outcome, tuple(bounds.columns.items())  # what the log was clipped to
    key = config.name, config.seed_in_force, within, n_shared, binding.trust, caps, horizon
    made = starts.get(key)
    if made is None:
        stream = _stream(config, "start")
        made = start(log, decide_on=columns, trust=binding.trust, cap=caps, horizon=horizon, rng=stream)
        if len(starts) >= _MOST_STARTS:
            starts.pop(next(iter(starts)), None)  # the oldest
        starts[key] = made
    return made.copy()


def _build_from_summary(config: ExperimentConfig, evaluator: Evaluator, wanted: Part, n_shared: int) -> Oracle:
    """An oracle that knows the log by its summary: virtual plays would tell it everything a second time."""
    if config.schedule is not None:
        raise OptionError(f"{config.at}.schedule is of virtual plays, and {wanted.name} takes the log as a whole")
    told = EvaluatorAbilities(evaluator).summary
    if told is None:
        raise OptionError(
            f"{config.at}.oracle {wanted.name} needs a summary of the log, which {type(evaluator).__name__} has not: "
            f'declare {config.at}.evaluator = "{_DEFAULT_EVALUATOR.name}" or "DoublyRobust"'
        )
    summary = told()
    return _guard(config, _build_oracle(config, n_shared, summary), summary)


def _stream(config: ExperimentConfig, part: str) -> np.random.Generator:
    """Each part of each experiment has its own stream."""
    words = (config.seed_in_force, crc32(config.name.encode()), crc32(part.encode()))
    return np.random.default_rng(np.random.SeedSequence(words))


def _build_oracle(config: ExperimentConfig, n_features: int, summary: Summary | None = None) -> Oracle:
    given: dict[str, object] = {"n_actions": len(config.actions), "n_features": n_features}
    if summary is not None:
        given["summary"] = summary
    part = config.oracle or _DEFAULT_ORACLE
    return cast(Oracle, _build(config, "oracle", _ORACLES, part, given))


def _build_evaluator(config: ExperimentConfig, log: Log) -> Evaluator:
    if config.evaluator is None and not log.has_propensities:
        raise OptionError(
            f"{config.at}.evaluator is missing and the log has no propensities: name an evaluator, give "
            "log.propensity, or set log.estimate_propensities = true"
        )
    part = config.evaluator or _DEFAULT_EVALUATOR
    return cast(Evaluator, _build(config, "evaluator", _EVALUATORS, part, {"log": log}))


def _guard(config: ExperimentConfig, policy: Oracle, summary: Summary | None) -> Oracle:
    """The policy under the configured guard, which withdraws the log of an action whose users contradict it."""
    if config.guard is None:
        return policy
    decider = policy.oracle if isinstance(policy, WarmStart) else policy
    if OracleAbilities(decider).n_features:
        raise OptionError(
            f"{config.at}.guard compares what users of an action do with what the log says of all, and this policy "
            "decides by context whom it shows an action to. Leave the guard out, or declare an oracle that decides "
            f'for all alike, {config.at}.oracle = "{_DEFAULT_ORACLE.name}"'
        )
    given = {"policy": policy, "summary": summary}
    return cast(Oracle, _build(config, "guard", _GUARDS, config.guard, given))


def _build(
    config: ExperimentConfig, kind: str, family: Mapping[str, BuiltIn], part: Part, given: Mapping[str, object]
) -> object:
    at = f"{config.at}.{kind}"
    supplied = {**given, "rng": _stream(config, kind)}
    made = family.get(part.name)
    if made is None:
        # A summary is supplied to an oracle that wants one, where there is a log.
        known = [name for name, each in family.items() if not each.lacks({*supplied, "summary"})]
        raise OptionError(f"{at} has no {part.name!r}; {guess_name(part.name, known)}known: {', '.join(known)}")
    lacking = made.lacks(supplied)
    if "summary" in lacking:
        raise OptionError(f"{at} {part.name} needs a summary of a log: declare {config.at}.log")
    if lacking:
        raise OptionError(f"{at} {part.name} needs {', '.join(lacking)}, which a configuration cannot hold")
    settings = {name: _as_setting(name, value) for name, value in part.options.items()}
    try:
        return made.build(supplied, settings)
    except OptionError as error:
        raise OptionError(f"{at} {error}") from None


def _as_setting(name: str, value: object) -> object:
    """A part's setting; a forest's options are a table."""
    return ForestOptions(**value) if name == "options" and isinstance(value, dict) else value
