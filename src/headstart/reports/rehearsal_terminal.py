"""A rehearsal in the terminal: the advice first, then the tables."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from headstart.judgement.rehearsal.rehearsal import Rehearsal
from headstart.reports.audit_terminal import print_section
from headstart.reports.rehearsal_words import describe_rehearsal, tell_expectation, tell_headline, write_rehearsal


def print_rehearsal(found: Rehearsal, console: Console) -> None:
    """Readable from the top: one who stops after the panel knows what to do."""
    body = (
        f"[bold]{escape(tell_headline(found))}[/bold]\n{escape(tell_expectation(found))}\n"
        f"[dim]{escape(describe_rehearsal(found))}[/dim]"
    )
    title = "[bold green] WHAT TO SWITCH ON [/bold green]"
    console.print(Panel(body, title=title, title_align="left", border_style="green", padding=(1, 2)))
    for section in write_rehearsal(found):
        print_section(section, console)
