"""Judging a log before an experiment begins with it: the audit that `headstart audit` makes, recorded once.

It is of the log as it was read, before it is put in the experiment's order: so the page, the command and the library
say the same of one file. What it found stands in the `warm_start` event, and a policy obeys that and no other audit:
one by a later version, or by another machine, would be another policy.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from headstart.addresses import mask_secrets
from headstart.errors import HeadstartError
from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.trust import suggest_trust
from headstart.logs.log import Log
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.blas import one_blas_thread
from headstart.serve.engine.sources import Source
from headstart.serve.store.events import Body

_NOT_AUDITED = "The log could not be audited"

logger = logging.getLogger("headstart.serve")


def begin_with(config: ExperimentConfig, source: Source) -> Body:
    """What a `warm_start` event says of a log that an experiment begins with."""
    assert source.raw is not None  # just read
    told = judge_log(source.raw)
    names = source.raw.action_names
    return {
        **source.summary(),
        "reading": _describe_reading(source.raw),
        "audit": {"verdict": told["verdict"], "actions": told.get("actions")},
        "caps": _as_declared(told["verdict"]["caps"], names, config, 0),
        "trust": _as_declared(told.get("trust"), names, config, 0.0),
    }


def _describe_reading(log: Log) -> Body | None:
    """What was read and what was not, for people; None for a log that was made in memory."""
    reading = log.reading
    if reading is None:
        return None
    return {
        "source": mask_secrets(reading.source),
        "rows": reading.n_rows,
        "kept": reading.n_kept,
        "roles": dict(reading.columns),
        "counts": dict(reading.counts),
        "filled": dict(reading.filled),
        "left_out": dict(reading.left_out),
        "notes": list(reading.notes),
    }


def judge_log(log: Log) -> Body:
    """The audit's verdict and what it knows of each action, as `headstart audit --json` has them; plus the trust."""
    try:
        with one_blas_thread():
            found = audit(log)
            told = found.as_dict()
            return {
                "verdict": told["verdict"],
                "actions": told["actions"],
                "trust": suggest_trust(found).weights.tolist(),
            }
    except HeadstartError as error:
        return _not_audited(str(error))
    except Exception as error:  # a fault of ours: the log is as good as it was, and somebody must know
        logger.exception("the audit of a log failed")
        return _not_audited(f"{type(error).__name__}: {error}")


def _not_audited(why: str) -> Body:
    reason = {"rule": "not audited", "severity": "note", "text": why, "advice": "look at the log by hand"}
    return {"verdict": {"decision": None, "summary": _NOT_AUDITED, "reasons": [reason], "caps": None}}


def _as_declared(values: Sequence[Any] | None, named: Sequence[object], config: ExperimentConfig, absent: Any) -> Any:
    """Values per action of the log in the order of the experiment's actions; `absent` for one it never shows."""
    if values is None:
        return None
    known = {str(name): value for name, value in zip(named, values, strict=True)}
    return [known.get(str(label), absent) for label in config.actions]
