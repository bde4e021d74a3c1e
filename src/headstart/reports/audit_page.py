"""The audit as one page: no other file, no script, no outside host; for a screen, a phone and paper."""

from __future__ import annotations

import html
from pathlib import Path

from headstart.judgement.audit.audit import Audit
from headstart.judgement.audit.rules import RULES
from headstart.reports.audit_figures import draw_figures
from headstart.reports.audit_words import describe_log, write_sections
from headstart.reports.page import save_page, write_frame, write_section, write_sign

_MOST_ROWS = 50


def write_page(audit: Audit, path: Path, *, source: str = "", reading: str = "") -> None:
    """Write the page; whole or not at all."""
    save_page(make_page(audit, source=source, reading=reading), path)


def make_page(audit: Audit, *, source: str = "", reading: str = "") -> str:
    """The page's HTML. `source` and `reading` say what was read, if anybody knows."""
    figures = draw_figures(audit)
    verdict = audit.verdict
    title = f"Audit of {source}" if source else "Audit of a log"
    decision = verdict.decision[:1].upper() + verdict.decision[1:]
    sections = "".join(write_section(part, figures.get(part.key, [])) for part in write_sections(audit, _MOST_ROWS))
    read = f"<summary>How it was read</summary><pre>{html.escape(reading)}</pre>"
    read = f"<details>{read}</details>" if reading else ""
    body = (
        f'<div class="verdict {verdict.severity}"><b>{html.escape(decision)}</b>{html.escape(verdict.summary)}'
        f'<p class="soft">{html.escape(describe_log(audit))}</p></div>'
        f"{_reasons(audit)}{read}{sections}{_rules()}"
    )
    return write_frame(f"{title}: {verdict.decision}", title, body)


def _reasons(audit: Audit) -> str:
    items = [
        f"<li>{write_sign(reason.severity)}<div>{html.escape(reason.text[:1].upper() + reason.text[1:])}."
        f'<div class="advice">→ {html.escape(reason.advice)}.</div></div></li>'
        for reason in audit.verdict.reasons
    ]
    if all(reason.severity == "note" for reason in audit.verdict.reasons):
        items.append(f"<li>{write_sign('fine')}<div>No check found a fault.</div></li>")
    return f'<ul class="reasons">{"".join(items)}</ul>'


def _rules() -> str:
    rows = "".join(
        f"<tr><td>{write_sign(rule.severity)}</td><td>{html.escape(rule.name)}</td><td>{html.escape(rule.when)}</td></tr>"
        for rule in RULES
    )
    return (
        "<section><h2>The rules of the verdict</h2><p>The gravest reason decides: one ✗ is “do not use it”, one ! is "
        "“use it with a cap”.</p><details><summary>All rules</summary>"
        f'<div class="scroll"><table><tbody>{rows}</tbody></table></div></details></section>'
    )
