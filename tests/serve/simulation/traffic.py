"""What callers send: users of the experiment's columns, outcomes of its range, and everything else besides."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from headstart.serve.config import ExperimentConfig

_HOSTILE: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, 10**400, None, True, [], {}, "\0", "\ud800", "'; DROP TABLE events; --",
)  # fmt: skip
_EXTREME = (1e300, -1e300, 1e-300, 5e-324, 1e200, 2.0**53 + 1.0, -0.0)
_HOSTILE_IDS: tuple[Any, ...] = ("", "x" * 201, "a\nb", "\0", "\ud800", 7, None, b"x", ["u"])


def draw_user(rng: random.Random, config: ExperimentConfig, *, is_wild: bool = False) -> dict[str, Any]:
    """A context that the experiment takes, with its columns in any order; wild: numbers of any size."""
    user: dict[str, Any] = {}
    for column, kind in config.contexts.items():
        if rng.random() < 0.03:
            user[column] = None
        elif kind != "number":
            user[column] = rng.choice(kind) if rng.random() < 0.95 else _draw_unseen(rng, kind)
        elif is_wild and rng.random() < 0.5:
            user[column] = rng.choice(_EXTREME)
        else:
            user[column] = rng.choice([rng.gauss(0.0, 1.0), rng.randint(-3, 3), 0])
    return dict(rng.sample(list(user.items()), len(user)))


def _draw_unseen(rng: random.Random, kind: Sequence[Any]) -> Any:
    """A category that nobody declared, of a type that a declared one has."""
    texts, numbers = ("Atlantis", "", "x=1", "'; --"), (99, -1, 2**62)
    fitting = texts if any(isinstance(each, str) for each in kind) else numbers
    return rng.choice(kind) if all(isinstance(each, bool) for each in kind) else rng.choice(fitting)


def draw_hostile_user(rng: random.Random, config: ExperimentConfig) -> dict[str, Any]:
    """A context that no experiment may take: a column too few or too many, or a value that is none."""
    user, columns = draw_user(rng, config), list(config.contexts)
    what = rng.choice(["more", "fewer", "value"]) if columns else "more"
    if what == "more":
        user[rng.choice(["nobody knows", "", "z ", "__class__"])] = rng.choice([1.0, "yes"])
    elif what == "fewer":
        del user[rng.choice(columns)]
    else:
        column = rng.choice(columns)
        kind = config.contexts[column]
        taken = [] if kind == "number" else [*kind]
        values = [value for value in _HOSTILE if not any(value is each or value == each for each in taken)]
        user[column] = rng.choice([value for value in values if not _is_surprising(value, taken)])
    return user


def _is_surprising(value: Any, kind: Sequence[Any]) -> bool:
    """Whether a value is taken all the same: null, or a category that nobody declared."""
    is_text = isinstance(value, str) and value.isprintable()
    return value is None or (is_text and any(isinstance(each, str) for each in kind))


def draw_available(rng: random.Random, actions: Sequence[Any]) -> list[Any] | None:
    """What may be shown: everything (None), or some of it, in any order and perhaps twice."""
    if rng.random() < 0.7:
        return None
    some = rng.sample(list(actions), rng.randint(1, len(actions)))
    return [*some, some[0]] if rng.random() < 0.2 else some


def draw_hostile_available(rng: random.Random) -> list[Any]:
    """What is not to be had, or nothing at all."""
    return rng.choice([[], ["no such action"], [None], [[]], [math.nan], [True]])


def draw_outcome(rng: random.Random, low: float, high: float, *, is_wild: bool = False) -> float:
    """An outcome within the policy's range; wild: of any size, where there is no range."""
    if low > -math.inf and high < math.inf:
        return rng.choice([low, high, high, rng.uniform(low, high)])
    if is_wild and rng.random() < 0.2:
        return rng.choice(_EXTREME)
    return rng.choice([0, 1, 1.0, rng.gauss(0.5, 1.0)])


def draw_named(rng: random.Random, named: Mapping[str, Any]) -> dict[str, float]:
    """Some of the outcomes with names, in any order; of few values, so that reports agree and contradict."""
    some = rng.sample(list(named), rng.randint(1, len(named)))
    return {name: rng.choice([0, 1, 1.0, 0.5, 0.25]) for name in some}


def draw_hostile_outcome(rng: random.Random, low: float, high: float) -> Any:
    """What is no outcome, or is out of the policy's range."""
    values: list[Any] = [value for value in _HOSTILE if value is not True]
    if high < math.inf:
        values += [math.nextafter(high, math.inf), high + 1.0]
    if low > -math.inf:
        values += [math.nextafter(low, -math.inf), low - 1e9]
    return rng.choice(values)


def draw_hostile_id(rng: random.Random) -> Any:
    """What is no event id."""
    return rng.choice([each for each in _HOSTILE_IDS if each is not None])
