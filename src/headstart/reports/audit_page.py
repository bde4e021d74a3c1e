"""The audit as one page: no other file, no script, no outside host; for a screen, a phone and paper."""

from __future__ import annotations

import base64
import html
from pathlib import Path

from headstart.judgement.audit.audit import Audit
from headstart.judgement.audit.rules import RULES
from headstart.reports.audit_figures import draw_figures
from headstart.reports.audit_words import describe_log, numeric_columns, write_sections
from headstart.reports.section import Section

_MOST_ROWS = 50
_WIDE = 5  # columns, beyond which a table stands below the figures and not beside them
_SIGNS = {"stop": "✗", "cap": "!", "note": "i", "fine": "✓"}

_CSS = """
:root { --ink: #1f2328; --soft: #57606a; --line: #d9dde2; }
:root { --stop: #b3261e; --cap: #8a5a00; --note: #0b5a8a; --fine: #1a6e3c; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
body { color: var(--ink); background: #fff; margin: 0; }
main { max-width: 74rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.15rem; font-weight: 600; color: var(--soft); margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 .4rem; }
p { margin: .3rem 0; max-width: 48rem; }
.verdict { border: 1px solid; border-left-width: 10px; border-radius: 10px; }
.verdict { padding: 1.1rem 1.3rem; margin-bottom: 1.2rem; }
.verdict b { display: block; font-size: 1.7rem; line-height: 1.2; margin-bottom: .3rem; }
.verdict.stop { border-color: var(--stop); background: #fdf3f2; }
.verdict.cap { border-color: #d9a441; background: #fffaf0; }
.verdict.fine { border-color: var(--fine); background: #f2faf5; }
.verdict.stop b { color: var(--stop); } .verdict.cap b { color: var(--cap); } .verdict.fine b { color: var(--fine); }
ul.reasons { list-style: none; margin: 0 0 1.5rem; padding: 0; }
ul.reasons li { display: flex; gap: .7rem; padding: .55rem 0; border-bottom: 1px solid var(--line); }
.sign { flex: none; width: 1.5rem; height: 1.5rem; margin-top: .1rem; border-radius: 50%; color: #fff; }
.sign { font-weight: 700; font-size: .85rem; display: inline-flex; align-items: center; justify-content: center; }
.sign.stop { background: var(--stop); } .sign.cap { background: #c77f00; }
.sign.note { background: var(--note); } .sign.fine { background: var(--fine); }
.advice, .soft { color: var(--soft); }
section { border-top: 1px solid var(--line); padding: 1.5rem 0; }
section h2 { display: flex; gap: .6rem; align-items: flex-start; }
.parts { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.2rem; margin-top: .8rem; align-items: start; }
@media (min-width: 60rem) { .parts.both { grid-template-columns: minmax(0, 34rem) minmax(0, 1fr); } }
.pictures { display: grid; gap: 1.2rem; margin-top: .8rem; }
.pictures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 34rem)); }
figure { margin: 0 0 1rem; }
figure img { width: 100%; max-width: 34rem; height: auto; display: block; }
figcaption { font-size: .85rem; color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; min-width: 18rem; }
th, td { text-align: left; padding: .32rem 1rem .32rem 0; border-bottom: 1px solid #eceff2; vertical-align: top; }
th { font-weight: 600; color: var(--soft); border-bottom-color: var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
td.failed { color: var(--stop); font-weight: 700; }
pre { background: #f6f8fa; padding: .8rem 1rem; border-radius: 8px; overflow-x: auto; font-size: .85rem; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--soft); }
@media print { section { break-inside: avoid; } }
"""


def write_page(audit: Audit, path: Path, *, source: str = "", reading: str = "") -> None:
    """Write the page; whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(make_page(audit, source=source, reading=reading), encoding="utf-8")
    partial.replace(path)


def make_page(audit: Audit, *, source: str = "", reading: str = "") -> str:
    """The page's HTML. `source` and `reading` say what was read, if anybody knows."""
    figures = draw_figures(audit)
    verdict = audit.verdict
    title = f"Audit of {source}" if source else "Audit of a log"
    decision = verdict.decision[:1].upper() + verdict.decision[1:]
    sections = "".join(_section(part, figures.get(part.key, [])) for part in write_sections(audit, _MOST_ROWS))
    read = f"<summary>How it was read</summary><pre>{html.escape(reading)}</pre>"
    read = f"<details>{read}</details>" if reading else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}: "
        f"{html.escape(verdict.decision)}</title><style>{_CSS}</style></head><body><main><h1>{html.escape(title)}</h1>"
        f'<div class="verdict {verdict.severity}"><b>{html.escape(decision)}</b>{html.escape(verdict.summary)}'
        f'<p class="soft">{html.escape(describe_log(audit))}</p></div>'
        f"{_reasons(audit)}{read}{sections}{_rules()}</main></body></html>\n"
    )


def _reasons(audit: Audit) -> str:
    items = [
        f"<li>{_sign(reason.severity)}<div>{html.escape(reason.text[:1].upper() + reason.text[1:])}."
        f'<div class="advice">→ {html.escape(reason.advice)}.</div></div></li>'
        for reason in audit.verdict.reasons
    ]
    if all(reason.severity == "note" for reason in audit.verdict.reasons):
        items.append(f"<li>{_sign('fine')}<div>No check found a fault.</div></li>")
    return f'<ul class="reasons">{"".join(items)}</ul>'


def _sign(severity: str) -> str:
    return f'<span class="sign {severity}" title="{severity}">{_SIGNS[severity]}</span>'


def _section(section: Section, figures: list[tuple[str, str]]) -> str:
    sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in section.sentences)
    pictures = "".join(
        f'<figure><img alt="{html.escape(words)}" src="data:image/svg+xml;base64,'
        f'{base64.b64encode(svg.encode()).decode()}"><figcaption>{html.escape(words)}</figcaption></figure>'
        for words, svg in figures
    )
    table = _table(section)
    if len(section.header) > _WIDE:
        parts = f'<div class="pictures">{pictures}</div>{table}'
    else:
        parts = "".join(f"<div>{part}</div>" for part in (pictures, table) if part)
        parts = f'<div class="parts{" both" if pictures and table else ""}">{parts}</div>'
    heading = f"<h2>{_sign(section.status)}<span>{html.escape(section.title)}</span></h2>"
    return f'<section id="{section.key}">{heading}{sentences}{parts}</section>'


def _table(section: Section) -> str:
    if not section.rows:
        return ""
    right = set(numeric_columns(section))

    def cell(tag: str, j: int, text: str) -> str:
        kind = ' class="n"' if j in right else ' class="failed"' if text == "FAILED" else ""
        return f"<{tag}{kind}>{html.escape(text)}</{tag}>"

    head = "".join(cell("th", j, name) for j, name in enumerate(section.header))
    body = "".join(
        "<tr>" + "".join(cell("td", j, text) for j, text in enumerate(row)) + "</tr>" for row in section.rows
    )
    more = f'<p class="soft">{section.n_left_out:,} more rows are in --json.</p>' if section.n_left_out else ""
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def _rules() -> str:
    rows = "".join(
        f"<tr><td>{_sign(rule.severity)}</td><td>{html.escape(rule.name)}</td><td>{html.escape(rule.when)}</td></tr>"
        for rule in RULES
    )
    return (
        "<section><h2>The rules of the verdict</h2><p>The gravest reason decides: one ✗ is “do not use it”, one ! is "
        "“use it with a cap”.</p><details><summary>All rules</summary>"
        f'<div class="scroll"><table><tbody>{rows}</tbody></table></div></details></section>'
    )
