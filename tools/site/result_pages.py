"""The pages of results: the paper's claim, what was found, a figure, and every row of results/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tools.site.result_figures import draw_results

from headstart.experiments.running.catalogue import all_experiments
from headstart.experiments.running.results import HEAD, read_rows, tell_experiment, write_table


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
            f"### [{experiment.name}]({experiment.name}.md)",
            "",
            f"{experiment.shows}. {experiment.reading}",
            "",
        ]
        picture = f"![{experiment.shows}: {experiment.measure} of every series]({figure})"
        yield (
            f"{experiment.name}.md",
            f"# {experiment.name}\n\n{told}\n{picture}\n\n## Every number\n\n{write_table(rows)}\n"
            f"Made by `headstart reproduce {experiment.name} --runs {rows[0]['runs']} --seed 1`.\n",
        )
    lines += ["```{toctree}", ":hidden:", "", *names, "```", ""]
    yield "index.md", "\n".join(lines)
