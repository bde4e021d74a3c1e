"""Findings as plain values: what a report or a program in another language can read."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np


def as_plain(finding: Any) -> Any:
    """Dataclasses become dicts, arrays lists, and numbers that JSON does not know (NaN, infinity) None."""
    if dataclasses.is_dataclass(finding) and not isinstance(finding, type):
        return {field.name: as_plain(getattr(finding, field.name)) for field in dataclasses.fields(finding)}
    if isinstance(finding, dict):
        return {str(key): as_plain(value) for key, value in finding.items()}
    if isinstance(finding, list | tuple):
        return [as_plain(value) for value in finding]
    if isinstance(finding, np.ndarray | np.generic):
        return as_plain(finding.tolist())
    if isinstance(finding, float):
        return finding if math.isfinite(finding) else None
    if finding is None or isinstance(finding, str | int | bool):
        return finding
    return str(finding)  # an action's label may be anything
