"""Reading: what a log was read from, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headstart.displayed import Display, Displayed


@dataclass(frozen=True, repr=False)
class Reading(Displayed):
    """What was recognised in a source, which rows were dropped and why, and what else a reader should know.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.read_log({"ad": ["a", "b"], "click": [1, 0]}, action="ad", outcome="click")
    >>> log.reading.n_kept, log.reading.columns
    (2, {'action': 'ad', 'outcome': 'click'})
    """

    source: str  # in words
    format: str  # in words
    n_rows: int  # rows of the source
    n_kept: int  # rows of the log
    columns: Mapping[str, str]  # role -> column
    recognised: tuple[str, ...] = ()  # roles whose column was found by its name, not given
    contexts: tuple[str, ...] = ()  # columns to decide on
    confounders: tuple[str, ...] = ()  # columns to adjust for only
    decide_on: tuple[str, ...] = ()  # the encoded columns to decide on, as WarmStart(decide_on=...) takes them
    left_out: Mapping[str, str] = field(default_factory=dict)  # column -> why
    counts: Mapping[str, int] = field(default_factory=dict)  # rule -> rows
    filled: Mapping[str, int] = field(default_factory=dict)  # context -> rows in which it was missing
    notes: tuple[str, ...] = ()

    def _tell(self) -> Display:
        roles = {**self.columns, "contexts": ", ".join(self.contexts), "confounders": ", ".join(self.confounders)}
        kept = {role: column for role, column in roles.items() if column}
        how = ["recognised" if role in self.recognised else "given" if role in self.columns else "" for role in kept]
        said = [f"{n:,} row{'s' * (n != 1)}: {rule}" for rule, n in self.counts.items()]
        said += [f"left out {column}: {why}" for column, why in self.left_out.items()]
        headline = f"{self.source} ({self.format}): {self.n_rows:,} rows, {self.n_kept:,} kept"
        columns = {"role": list(kept), "column": list(kept.values()), "how": how}
        return Display(headline, tuple(f"{each[:1].upper()}{each[1:]}." for each in (*said, *self.notes)), columns)

    def __str__(self) -> str:
        lines = [f"{self.source} ({self.format}): {self.n_rows:,} rows, {self.n_kept:,} kept"]
        for role, column in self.columns.items():
            how = "recognised" if role in self.recognised else "given"
            lines.append(f"  {role:<12}{column}  ({how})")
        for what, names in (("contexts", self.contexts), ("confounders", self.confounders)):
            if names:
                shown = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
                lines.append(f"  {what:<12}{shown}")
        lines += [f"  {n:,} row{'s' * (n != 1)}: {rule}" for rule, n in self.counts.items()]
        lines += [f"  left out {column}: {why}" for column, why in self.left_out.items()]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)
