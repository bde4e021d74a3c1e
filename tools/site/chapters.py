"""A long document as chapters: one page for each of its second-level headings, nothing left out."""

from __future__ import annotations

import re
from typing import NamedTuple

from tools.site.links import slug


class Chapter(NamedTuple):
    """A page of its own."""

    title: str
    name: str  # of its file, without the ending
    text: str


def split_chapters(text: str) -> tuple[str, list[Chapter]]:
    """What stands before the first second-level heading, and the chapters; headings move up by one level."""
    first, *rest = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    chapters = [
        Chapter(title.strip(), slug(title), f"# {title.strip()}\n{re.sub(r'^(##+) ', _shallower, body, flags=re.M)}")
        for title, body in zip(rest[::2], rest[1::2], strict=True)
    ]
    return first, chapters


def _shallower(heading: re.Match[str]) -> str:
    return heading.group(1)[1:] + " "
