"""An outcome in words: its name, a share in per cent, a number with few digits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headstart.numerals import tell_number
from headstart.numerals import tell_share as tell_share
from headstart.serve.config import ExperimentConfig

NOTHING = "-"


def name_outcome(config: ExperimentConfig) -> str:
    """The log's column, where the configuration tells it; of outcomes with names the only one, or their value."""
    if config.outcomes:
        return next(iter(config.outcomes.named)) if config.outcomes.formula is None else "value"
    told = config.log.get("outcome") if isinstance(config.log, dict) else None
    return str(told) if told else "outcome"


@dataclass(frozen=True)
class Wording:
    """How an experiment's outcome is told: one that is 0 or 1 for everybody is a share of users."""

    name: str = "outcome"
    is_rate: bool = False

    def tell(self, value: float | None) -> str:
        """Three digits, or per cent of a share; a dash for what is not known."""
        if value is None or not math.isfinite(value):
            return NOTHING
        if self.is_rate:
            return f"{tell_number(100.0 * value)} %"
        return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else tell_number(value)

    def tell_between(self, low: float, high: float) -> str:
        """An interval; a dash for none."""
        if not (math.isfinite(low) and math.isfinite(high)):
            return NOTHING
        return f"{self.tell(low).removesuffix(' %') if self.is_rate else self.tell(low)} to {self.tell(high)}"

    def tell_change(self, value: float) -> str:
        """A difference, with its sign; of shares in percentage points."""
        sign = "+" if value >= 0.0 else "-"
        if self.is_rate:
            points = tell_number(100.0 * abs(value))
            return f"{sign}{points} {'point' if points == '1' else 'points'}"
        return sign + self.tell(abs(value))

    def tell_size(self, value: float) -> str:
        """A difference without its sign."""
        return self.tell_change(abs(value)).removeprefix("+")

    def tell_total(self, value: float) -> str:
        """A sum over many users, with its sign."""
        return f"{value:+,.0f}" if abs(value) >= 10.0 else f"{value:+.2g}"
