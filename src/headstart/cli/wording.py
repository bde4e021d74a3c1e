"""What the library says to programmers, in the words of the command line.

A message of `read_log` is written once: "give format=, one of ...". Here `format=` becomes `--format`.
"""

from __future__ import annotations

import re

_PYTHON = {  # what a programmer would type -> what stands for it in a terminal
    "policy.save(path) writes one": "headstart decide --save and headstart learn write one",
    "a Log or a LogTable (hs.read_log(...))": "a log",
    "which a table has not: use read_log": "which a table has not",
}
_NAMES = (
    "action|outcome|contexts|confounders|propensity|unit|timestamp|id|where|missing|format|query|population|horizon"
    "|available|keep|salt|unseen|default|until|time"
)
_ALONE = re.compile(rf"(?<![\w.'\"-])({_NAMES})=(?=[\s,;.)]|$)")
_VALUE = re.compile(rf"(?<![\w.'\"-])({_NAMES})=('[^']*'|\"[^\"]*\"|False|\[[^\]]*\]|\{{[^}}]*\}})")


def as_options(text: str) -> str:
    """A message with its keyword arguments as options: `unit='user_id'` is `--unit user_id`."""
    for python, words in _PYTHON.items():
        text = text.replace(python, words)
    text = re.sub(rf"^({_NAMES}|share|split|shuffles|seed|floor)(?= must be )", r"--\1", text)
    text = re.sub(r"\b(decide_on|users_per_day)\b(?!=)", lambda found: f"--{found[1].replace('_', '-')}", text)
    return _ALONE.sub(r"--\1", _VALUE.sub(_as_option, text))


def _as_option(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    if value == "False":
        return f"--{name} none"
    if value.startswith("{"):
        return " ".join(f"--{name} {_bare(pair.replace(': ', '='))}" for pair in value[1:-1].split(", "))
    if value.startswith("["):
        return f"--{name} {_bare(','.join(part.strip() for part in value[1:-1].split(',')))}"
    return f"--{name} {value if ' ' in value else _bare(value)}"


def _bare(text: str) -> str:
    return text.replace("'", "").replace('"', "")
