"""The pages of results: the paper's claim, what was found, a figure, and every row of results/."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.site.result_figures import draw_results

from headstart.experiments.running.catalogue import all_experiments
from headstart.experiments.running.experiment import ResultRow
from headstart.experiments.running.results import HEAD, read_rows, tell_experiment, write_table

_WORDS = {  # what a figure and its table say, by the letters that they use
    "offline+online": "a bandit that starts from the log",
    "only online": "a bandit without the log",
    "only offline": "the action that the log points to, for every user",
    "IPSW": "inverse propensity weighting",
    "PSM": "propensity score matching",
    "EM": "exact matching",
    "LR": "linear regression",
    "MoF": "matching on forests",
    "SDB": "the stochastic delayed bandit, which is fed the raw log",
}


def write_results(folder: Path, out: Path) -> Iterator[tuple[str, str]]:
    """(file, text) of the index and of a page for each experiment; their figures are drawn into `out`."""
    names = []
    lines = [HEAD, "## The experiments", ""]
    for experiment in all_experiments().values():
        rows = read_rows(folder, experiment.name)
        if not rows:
            continue
        names.append(experiment.name)
        figure = f"{experiment.name}.svg"
        draw_results(rows, experiment.measure, out / figure)
        told = tell_experiment(experiment, rows)
        lines += [
            f"### [{experiment.shows}]({experiment.name}.md)",
            "",
            f"`{experiment.name}`: {experiment.reading}",
            "",
        ]
        picture = f"![{experiment.shows}: {experiment.measure} of every series]({figure})"
        yield (
            f"{experiment.name}.md",
            f"# {experiment.name}\n\n{told}\n{picture}\n\n{_explain(rows)}\n\n"
            f"## Every number\n\n{write_table(rows)}\n"
            f"Made by `headstart reproduce {experiment.name} --runs {rows[0]['runs']} --seed 1`.\n",
        )
    lines += ["```{toctree}", ":hidden:", "", *names, "```", ""]
    yield "index.md", "\n".join(lines)


def _explain(rows: Sequence[ResultRow]) -> str:
    said = {row["series"] for row in rows} | {str(value) for row in rows for value in row["setting"].values()}
    used = [f"*{word}* is {told}" for word, told in _WORDS.items() if any(_holds(text, word) for text in said)]
    return f"In the figure and the table, {'; '.join(used)}." if used else ""


def _holds(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
