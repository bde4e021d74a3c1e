"""The figures by which the house is kept in order, of one tree of Python files: python tools/house.py [TREE].

They are counted from the syntax, so words in comments and strings do not count.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONG_FUNCTION, LONG_FILE = 60, 300  # lines
HERE = Path(__file__).resolve().parent.parent / "src"


@dataclass(frozen=True)
class House:
    """What was counted in a tree; paths are relative to it."""

    lines: dict[str, int]  # file -> lines
    any_words: Counter[str]  # file -> times that `Any` is said in code, imports aside
    lookups: Counter[str]  # file -> calls of getattr and hasattr
    homes: dict[str, list[str]]  # public function or class -> the files that define it at their top
    functions: dict[str, int]  # file:line name -> lines

    @property
    def any_per_thousand(self) -> float:
        return 1000.0 * self.any_words.total() / max(sum(self.lines.values()), 1)

    @property
    def n_lookups(self) -> int:
        return self.lookups.total()

    @property
    def names_of_two(self) -> dict[str, list[str]]:
        """Public names that stand for more than one thing."""
        return {name: homes for name, homes in sorted(self.homes.items()) if len(homes) > 1}

    @property
    def long_functions(self) -> dict[str, int]:
        return {place: n for place, n in self.functions.items() if n > LONG_FUNCTION}

    @property
    def long_files(self) -> dict[str, int]:
        return {path: n for path, n in self.lines.items() if n > LONG_FILE}

    def __str__(self) -> str:
        longest = max(self.lines, key=lambda path: self.lines[path], default="(no file)")
        rows = [
            ("files, lines", f"{len(self.lines)}, {sum(self.lines.values()):,}"),
            ("Any per 1,000 lines", f"{self.any_per_thousand:.1f} ({self.any_words.total():,} in all)"),
            ("getattr + hasattr", f"{self.n_lookups}"),
            ("public names in two files", f"{len(self.names_of_two)}"),
            (f"functions over {LONG_FUNCTION} lines", f"{len(self.long_functions)}"),
            ("largest file", f"{longest} ({self.lines.get(longest, 0)} lines)"),
            (f"files over {LONG_FILE} lines", f"{len(self.long_files)}"),
        ]
        shown = [f"{what:<28}{figure}" for what, figure in rows]
        shown += _section("names", {name: ", ".join(homes) for name, homes in self.names_of_two.items()})
        shown += _section("functions", self.long_functions)
        shown += _section("files", self.long_files)
        shown += _section("Any", _by_room(self.any_words))
        shown += _section("getattr + hasattr", _by_room(self.lookups))
        return "\n".join(shown)


def count_house(tree: Path) -> House:
    """Every figure of the Python files below a folder."""
    house = House({}, Counter(), Counter(), defaultdict(list), {})
    for path in sorted(tree.rglob("*.py")):
        name, source = str(path.relative_to(tree)), path.read_text(encoding="utf-8")
        module = ast.parse(source, filename=name)
        nodes = list(ast.walk(module))
        house.lines[name] = len(source.splitlines())
        house.any_words[name] = sum(_is_any(node) for node in nodes)
        house.lookups[name] = sum(_is_lookup(node) for node in nodes)
        for node in module.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[0] != "_":
                house.homes[node.name].append(name)
        for function in _functions(nodes):
            house.functions[f"{name}:{function.lineno} {function.name}"] = _length(function)
    return house


def _is_any(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id == "Any") or (
        isinstance(node, ast.Attribute) and node.attr == "Any"
    )


def _is_lookup(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")


def _functions(nodes: Iterable[ast.AST]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From `def` to the last line, decorators aside."""
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is None:
        return whole
    return whole - ((first.end_lineno or first.lineno) - first.lineno + 1)  # what it says of itself is no code


def _by_room(counts: Counter[str]) -> dict[str, int]:
    rooms: Counter[str] = Counter()
    for path, n in counts.items():
        rooms["/".join(Path(path).parts[1:3][:-1]) or "the top"] += n
    return {room: n for room, n in rooms.most_common() if n}


def _section(title: str, rows: dict[str, str] | dict[str, int]) -> list[str]:
    return ["", f"{title}:", *(f"  {what:<48} {figure}" for what, figure in rows.items())] if rows else []


if __name__ == "__main__":
    print(count_house(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))
