"""A rehearsal as one page, for somebody who decides."""

from __future__ import annotations

import html
from pathlib import Path

from headstart.judgement.rehearsal.rehearsal import Rehearsal
from headstart.reports.page import save_page, write_frame, write_section
from headstart.reports.rehearsal_figures import draw_rehearsal
from headstart.reports.rehearsal_words import describe_rehearsal, tell_expectation, tell_headline, write_rehearsal


def write_rehearsal_page(found: Rehearsal, path: Path, *, source: str = "", reading: str = "") -> None:
    """Write the page; whole or not at all."""
    save_page(make_rehearsal_page(found, source=source, reading=reading), path)


def make_rehearsal_page(found: Rehearsal, *, source: str = "", reading: str = "") -> str:
    """The page's HTML. `source` and `reading` say what was read, if anybody knows."""
    figures = draw_rehearsal(found)
    title = f"Rehearsal of {source}" if source else "Rehearsal of a log"
    sections = "".join(write_section(part, figures.get(part.key, [])) for part in write_rehearsal(found))
    read = f"<summary>How it was read</summary><pre>{html.escape(reading)}</pre>"
    body = (
        f'<div class="verdict fine"><b>{html.escape(tell_headline(found))}</b>{html.escape(tell_expectation(found))}'
        f'<p class="soft">{html.escape(describe_rehearsal(found))}</p></div>'
        f"{f'<details>{read}</details>' if reading else ''}{sections}"
    )
    return write_frame(title, title, body)
