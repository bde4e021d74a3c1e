"""Yahoo R6A, the Today Module's click log: its original files and the table of 100,000 rows made from them.

Yahoo! Front Page Today Module User Click Log Dataset, version 1.0: 45,811,883 visits of May 2009, each shown an
article chosen uniformly from about twenty (Li, Chu, Langford and Schapire 2010). Its agreement allows approved
non-commercial research and forbids passing it on, so it is not here, in no part: `WHERE` says how to get it.

An original line is an event, `timestamp displayed click |user feature:value ... |article feature:value ... |...`
with features 1 to 6, any of which may be missing; feature 1 is the constant 1. A line of the table is
`timestamp`, six user features, `displayed`, `click` and the candidates, between blanks or commas, with or without
a line of column names.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from headstart.arrays import Integers
from headstart.errors import LogError, OptionError
from headstart.simulation.replay import Events

N_FEATURES = 6
WHERE = (
    "Yahoo's R6A (Front Page Today Module User Click Log Dataset, version 1.0) may not be passed on. Researchers get "
    "it from Yahoo Webscope, https://webscope.sandbox.yahoo.com/catalog.php?datatype=r; give the path of one of its "
    "files (ydata-fp-td-clicks-v1_0.20090501.gz, ...), of a folder of them, or of the table of 100,000 rows"
)
_N_TABLE = 3 + N_FEATURES  # columns before the candidates
_NOTHING = ("", "nan", "NaN", "None")

Parsed = tuple[str, str, list[float], str]  # displayed, click, user features, the candidates' text
Line = tuple[int, str, bool]  # number from 1, text, whether it ends in a line break


def read_yahoo(path: str | Path, limit: int | None = None) -> Events:
    """The events of a file, compressed or not, in either format, or of a folder's original files by name.

    A missing user feature is 0, the constant 1. Actions are the articles in the order of their numbers. A line
    that cannot be read is an error with its number; so is a file that is cut in the middle of a line. (A last line
    cut exactly after an article cannot be told from a whole one.)

    Parameters
    ----------
    path
        The file or the folder.
    limit
        Read only so many events.
    """
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, got {limit}")
    place = Path(path)
    if not place.exists():
        raise LogError(f"there is no Yahoo data at {place}. {WHERE}")
    files = sorted(place.glob("ydata-fp-td-clicks-*")) if place.is_dir() else [place]
    if not files:
        raise LogError(f"the folder {place} has no file ydata-fp-td-clicks-*. {WHERE}")
    reading = _Reading()
    for file in files:
        reading.add_file(file, limit)
    if not reading.clicks:
        raise LogError(f"{place} has no events")
    return reading.as_events()


class _Reading:
    """What has been read so far. Candidates are the same for hours, so their text is looked up, not read again."""

    def __init__(self) -> None:
        self.features: list[list[float]] = []
        self.shown: list[str] = []
        self.clicks: list[float] = []
        self.pool_of: list[int] = []
        self.pools: dict[tuple[str, ...], int] = {}
        self.texts: dict[str, tuple[str, ...]] = {}
        self.articles: set[str] = set()

    def add_file(self, file: Path, limit: int | None) -> None:
        parse: Callable[[str], Parsed] | None = None
        for line in _lines(file):
            if limit is not None and len(self.clicks) >= limit:
                return
            number, text, is_whole = line
            try:
                if parse is None:
                    parse = _parse_original if "|" in text else _table_parser(text)
                    if parse is not _parse_original and _is_header(text):
                        continue
                self._add(line, parse)
            except LogError as error:
                cut = "" if is_whole else "the line is cut, the file ends without a line break: "
                raise LogError(f"{file}, line {number}: {cut}{error}") from None

    def _add(self, line: Line, parse: Callable[[str], Parsed]) -> None:
        shown, click, features, text = parse(line[1])
        pool = self.texts.get(text)
        if pool is None:
            pool = _parse_articles(text)
            if not line[2]:  # no line break: only its look tells whether the last article is whole
                self._check_last(text, pool)
            self.texts[text] = pool
            self.articles.update(pool)
        if click not in ("0", "1"):
            raise LogError(f"click must be 0 or 1, got {click!r}")
        if shown not in pool:
            raise LogError(f"the displayed article {shown} is not among the {len(pool)} candidates")
        self.shown.append(shown)
        self.clicks.append(float(click))
        self.features.append(features)
        self.pool_of.append(self.pools.setdefault(pool, len(self.pools)))

    def _check_last(self, text: str, pool: tuple[str, ...]) -> None:
        if text.startswith("|"):
            features = text.rpartition("|")[2].split()[1:]
            decimals = {len(token.partition(".")[2]) for token in features}
            is_cut = len(features) < N_FEATURES or len(decimals) > 1
        else:
            is_cut = pool[-1] not in self.articles and len(pool[-1]) < min(map(len, pool[:-1]), default=0)
        if is_cut:
            raise LogError(f"its last article is not whole: {text[-20:]!r}")

    def as_events(self) -> Events:
        names = tuple(sorted(self.articles, key=lambda name: (len(name), name)))
        index = {name: k for k, name in enumerate(names)}
        pools = np.zeros((len(self.pools), len(names)), dtype=np.bool_)
        for pool, row in self.pools.items():
            pools[row, [index[name] for name in pool]] = True
        actions: Integers = np.array([index[name] for name in self.shown], dtype=np.int64)
        pool_of: Integers = np.array(self.pool_of, dtype=np.int64)
        return Events(np.array(self.features), actions, np.array(self.clicks), pools, pool_of, names)


def _lines(file: Path) -> Iterator[Line]:
    """The lines that are not blank."""
    with file.open("rb") as raw:
        is_compressed = raw.read(2) == b"\x1f\x8b"
    number = 0
    with gzip.open(file, "rb") if is_compressed else file.open("rb") as lines:
        try:
            for line in lines:
                number += 1
                if line.strip():
                    yield number, line.decode("ascii").rstrip(), line.endswith(b"\n")
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise LogError(f"{file}, line {number + 1}: the compressed file is cut or damaged here") from None
        except UnicodeDecodeError:
            raise LogError(f"{file}, line {number}: the line is not text") from None


def _parse_original(text: str) -> Parsed:
    head, bar, rest = text.partition("|user")
    user, second_bar, articles = rest.partition("|")
    fields = head.split()
    if len(fields) != 3 or not bar or not second_bar:
        raise LogError(f"an event is 'timestamp article click |user ... |article ...', got {text[:60]!r}")
    given = _parse_features(user)
    features = [given.get(j, 1.0 if j == 1 else 0.0) for j in range(1, N_FEATURES + 1)]
    return fields[1], fields[2], features, "|" + articles


def _parse_features(text: str) -> dict[int, float]:
    given = {}
    for token in text.split():
        number, _, value = token.partition(":")
        try:
            feature, amount = int(number), float(value)
        except ValueError:
            feature, amount = 0, 0.0
        if not 1 <= feature <= N_FEATURES or not np.isfinite(amount):
            raise LogError(f"a feature is 'number:value' with a number 1..{N_FEATURES}, got {token!r}")
        given[feature] = amount
    return given


def _parse_articles(text: str) -> tuple[str, ...]:
    """The candidates, from either format's text; each once, in their order."""
    if not text.startswith("|"):
        return tuple(dict.fromkeys(text.split()))
    articles = []
    for block in text[1:].split("|"):
        name, _, features = block.strip().partition(" ")
        if not name or ":" in name:
            raise LogError("an article has no number")
        _parse_features(features)
        articles.append(name)
    return tuple(dict.fromkeys(articles))


def _is_header(text: str) -> bool:
    first = text.replace(",", " ").split()[0]
    return not first.replace(".", "", 1).isdigit()


def _table_parser(first: str) -> Callable[[str], Parsed]:
    separator = "," if "," in first else None

    def parse(text: str) -> Parsed:
        fields = [field.strip() for field in text.split(separator)]
        if len(fields) <= _N_TABLE:
            raise LogError(
                f"a row is timestamp, {N_FEATURES} features, article, click and at least one candidate, "
                f"got {len(fields)} columns"
            )
        try:
            features = [float(field) for field in fields[1 : 1 + N_FEATURES]]
        except ValueError:
            features = [np.nan]
        if not np.isfinite(features).all():
            raise LogError(f"user features must be {N_FEATURES} numbers, got {fields[1 : 1 + N_FEATURES]}")
        shown, click = (_whole_number(field) for field in fields[1 + N_FEATURES : _N_TABLE])
        pool = " ".join(_whole_number(field) for field in fields[_N_TABLE:] if field not in _NOTHING)
        if not pool:
            raise LogError("the row has no candidates")
        return shown, click, features, pool

    return parse


def _whole_number(field: str) -> str:
    """An article's number or a click as tables write it: a column with gaps comes out as 109498.0."""
    return field[:-2] if field.endswith(".0") else field
