"""The audit in the terminal: the verdict and its reasons first, then the tables."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table

from headstart.judgement.audit.audit import Audit
from headstart.reports.audit_words import describe_log, numeric_columns, write_sections
from headstart.reports.section import Section

_COLOURS = {"stop": "red", "cap": "yellow", "note": "cyan", "fine": "green"}
_SIGNS = {"stop": "✗", "cap": "!", "note": "·", "fine": "✓"}
_MOST_ROWS = 12
_LONGEST_WORD = 16  # of a table, that is never broken in two
_GAP = 3  # characters between columns


def print_audit(audit: Audit, console: Console) -> None:
    """Readable from the top: one who stops after the panel knows what to do."""
    verdict = audit.verdict
    colour = _COLOURS[verdict.severity]
    body = f"[bold]{escape(verdict.summary)}[/bold]\n[dim]{escape(describe_log(audit))}[/dim]"
    title = f"[bold {colour}] {verdict.decision.upper()} [/bold {colour}]"
    console.print(Panel(body, title=title, title_align="left", border_style=colour, padding=(1, 2)))
    reasons = Table.grid(padding=(0, 1))
    for reason in verdict.reasons:
        colour = _COLOURS[reason.severity]
        text = reason.text[:1].upper() + reason.text[1:]
        reasons.add_row(f" [bold {colour}]{_SIGNS[reason.severity]}[/]", f"{escape(text)}.")
        reasons.add_row("", f"[dim]→ {escape(reason.advice)}.[/dim]")
    if all(reason.severity == "note" for reason in verdict.reasons):
        reasons.add_row(" [bold green]✓[/]", "No check found a fault.")
    console.print(reasons, highlight=False)
    for section in write_sections(audit, _MOST_ROWS):
        print_section(section, console)


def print_section(section: Section, console: Console) -> None:
    """A question, its answer and its table."""
    colour = _COLOURS[section.status]
    console.print(f"\n[bold {colour}]{_SIGNS[section.status]}[/] [bold]{escape(section.title)}[/bold]")
    for sentence in section.sentences:
        console.print(Padding(f"[dim]{escape(sentence)}[/dim]", (0, 0, 0, 2)), highlight=False)
    if not section.rows:
        return
    right = set(numeric_columns(section))
    widths = _narrow(section, right, console.width - 2)
    for columns in _beside_each_other(widths, console.width - 2):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for j, width in zip(columns, _spread(section, columns, widths, console.width - 2), strict=True):
            table.add_column(
                escape(section.header[j]), justify="right" if j in right else "left", overflow="fold", width=width
            )
        for row in section.rows:
            table.add_row(*(escape(row[j]) for j in columns))
        console.print(Padding(table, (0, 0, 0, 1)))
    if section.n_left_out:
        console.print(Padding(f"[dim]{section.n_left_out:,} more rows are in --json and --html.[/dim]", (0, 0, 0, 2)))


def _narrow(section: Section, right: set[int], room: int) -> list[int]:
    """What each column needs: its longest word. Where that is too much headers are broken, numbers never."""
    cells = [[word for row in section.rows for word in row[j].split()] for j in range(len(section.header))]
    numbers = [max(map(len, words), default=1) for words in cells]
    least = [width if j in right else min(width, _LONGEST_WORD) for j, width in enumerate(numbers)]
    heads = [max(map(len, name.split()), default=1) for name in section.header]
    whole = [max(width, min(head, _LONGEST_WORD)) for width, head in zip(least, heads, strict=True)]
    return whole if sum(whole) + _GAP * len(whole) <= room else least


def _beside_each_other(widths: list[int], room: int) -> list[list[int]]:
    """Columns in tables that the terminal is wide enough for, each begun by the one that names the rows."""
    tables, used = [[0]], widths[0] + _GAP
    for j in range(1, len(widths)):
        if used + widths[j] + _GAP > room and len(tables[-1]) > 1:
            tables, used = [*tables, [0]], widths[0] + _GAP
        tables[-1].append(j)
        used += widths[j] + _GAP
    return tables


def _spread(section: Section, columns: list[int], widths: list[int], room: int) -> list[int]:
    """What each column gets: what it needs, and of what is left first what its cells fill, then its header."""
    given = [widths[j] for j in columns]
    left = room - sum(given) - _GAP * len(given)
    for lines in (section.rows, (section.header,)):
        for i, j in enumerate(columns):
            more = max(min(max(len(line[j]) for line in lines) - given[i], left), 0)
            given[i] += more
            left -= more
    return given
