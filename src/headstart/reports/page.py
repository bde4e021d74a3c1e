"""A report as one page: no other file, no script, no outside host; for a screen, a phone and paper."""

from __future__ import annotations

import base64
import html
from pathlib import Path

from headstart.reports.audit_words import numeric_columns
from headstart.reports.section import Section

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


def save_page(text: str, path: Path) -> None:
    """Write the page; whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def write_frame(title: str, heading: str, body: str) -> str:
    """The whole page around a body that is HTML already."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_CSS}</style></head><body><main>"
        f"<h1>{html.escape(heading)}</h1>{body}</main></body></html>\n"
    )


def write_sign(severity: str) -> str:
    """A disc that says how grave something is."""
    return f'<span class="sign {severity}" title="{severity}">{_SIGNS[severity]}</span>'


def write_section(section: Section, figures: list[tuple[str, str]]) -> str:
    """A section with its figures, pairs of (description, SVG), beside its table or above a wide one."""
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
    heading = f"<h2>{write_sign(section.status)}<span>{html.escape(section.title)}</span></h2>"
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
