"""Links between documents: what leads to a file of the repository leads to its page on the site."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(```.*?```)", re.DOTALL)


def slug(heading: str) -> str:
    """A heading as the anchor that Markdown's readers make of it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class Links:
    """Where every document of the repository stands on the site.

    `places` maps a path of the repository to a path of the site's source; `METHODS.md#trust` may have a place of its
    own. What stands in docs/ keeps its place within it.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def rewrite(self, text: str, origin: str, place: str) -> str:
        """The text of the document `origin`, its links as they must be at `place`; code is left as it is."""
        pieces = _FENCE.split(text)
        pieces[::2] = [_LINK.sub(lambda link: self._lead(link, origin, place), piece) for piece in pieces[::2]]
        return "".join(pieces)

    def _lead(self, link: re.Match[str], origin: str, place: str) -> str:
        mark, words, target = link.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return link.group()
        path, _, anchor = target.partition("#")
        known = os.path.normpath(PurePosixPath(origin).parent / path)
        found = self._place(known, anchor)
        if found is None:  # a folder, a test: there to be named, not to be read here
            return words
        at = os.path.relpath(found.partition("#")[0], PurePosixPath(place).parent)
        anchor = found.partition("#")[2]
        return f"{mark}[{words}]({at}{'#' + anchor if anchor else ''})"

    def _place(self, path: str, anchor: str) -> str | None:
        whole = f"{path}#{anchor}"
        if anchor and whole in self._places:
            return self._places[whole]
        if path in self._places:
            found = self._places[path]
        elif path.startswith("docs/") and PurePosixPath(path).suffix:
            found = path.removeprefix("docs/")
        else:
            return None
        return f"{found}#{anchor}" if anchor else found
