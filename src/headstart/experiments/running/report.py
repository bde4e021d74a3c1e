"""The folder of results: every experiment in it, JSON lines, figures and a page, finished ones kept."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from headstart.errors import OptionError
from headstart.experiments.paper.yahoo import YahooExperiment
from headstart.experiments.running.experiment import Experiment, Result, ResultRow
from headstart.experiments.running.figures import draw_figure

AnyExperiment = Experiment | YahooExperiment

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 60rem; }
body { margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.15rem 0.9rem 0.15rem 0; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.claim { color: #444; }
nav a { margin-right: 0.8rem; }
"""


class ResultsFolder:
    """A folder of results that one may interrupt and take up again.

    An experiment is finished when its .jsonl is there; it is written last, and under another name first, so a
    half-written one cannot pass for finished. The folder belongs to one seed and one number of runs.
    """

    def __init__(self, folder: Path, *, seed: int, runs: int | None) -> None:
        self.folder, self.seed, self.runs = folder, seed, runs
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"--out {folder} cannot be made: {error.strerror}") from None
        if not os.access(folder, os.W_OK):
            raise OptionError(f"--out {folder} cannot be written")
        self._check_settings({"seed": seed, "runs": runs})

    def _check_settings(self, settings: dict[str, int | None]) -> None:
        path = self.folder / "settings.json"
        if not path.exists():
            _write(path, json.dumps(settings) + "\n")
            return
        try:
            known = json.loads(path.read_text())
        except ValueError:
            raise OptionError(f"{path} is broken; delete the folder or name another --out") from None
        if known != settings:
            raise OptionError(
                f"{self.folder} holds results for {known}; give the same --seed and --runs, or another --out"
            )

    def is_finished(self, experiment: AnyExperiment) -> bool:
        """Whether this experiment's results are there and whole."""
        return bool(self.rows(experiment))

    def rows(self, experiment: AnyExperiment) -> list[ResultRow]:
        """This experiment's rows of JSON; empty if it is not finished."""
        path = self.folder / f"{experiment.name}.jsonl"
        if not path.exists():
            return []
        try:
            return [json.loads(line) for line in path.read_text().splitlines()]
        except ValueError:
            raise OptionError(f"{path} is broken; delete it to run {experiment.name} again") from None

    def add(self, experiment: AnyExperiment, results: Sequence[Result]) -> None:
        """Keep one experiment's rows and figures."""
        for suffix in (".png", ".svg"):
            draw_figure(experiment, results, self.folder / (experiment.name + suffix))
        lines = "".join(json.dumps(result.as_row()) + "\n" for result in results)
        _write(self.folder / f"{experiment.name}.jsonl", lines)

    def write_page(self, experiments: Iterable[AnyExperiment]) -> Path:
        """index.html: every finished experiment with its figure, its numbers, and the paper's claim beside ours."""
        finished = [experiment for experiment in experiments if self.is_finished(experiment)]
        path = self.folder / "index.html"
        _write(path, _page(finished, self))
        return path


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    partial = path.with_suffix(path.suffix + ".partial")
    partial.write_text(text)
    partial.replace(path)


def _page(experiments: Sequence[AnyExperiment], report: ResultsFolder) -> str:
    links = "".join(f'<a href="#{e.name}">{e.name}</a>' for e in experiments)
    body = "".join(_section(e, report.rows(e)) for e in experiments)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>headstart: the paper, reproduced</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
        "<h1>The paper, reproduced</h1><p>Ye, Lin, Xie and Lui: Combining offline causal inference and online bandit "
        f"learning for data driven decision. Seed {report.seed}. Regret is at the last round.</p>"
        f"<nav>{links}</nav>{body}</body></html>\n"
    )


def _section(experiment: AnyExperiment, rows: Sequence[ResultRow]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row["setting"]))
    columns = [*names, "series", experiment.measure, "s.e.", "20 %", "80 %"]
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    lines = "".join(
        "<tr>"
        + "".join(f"<td>{html.escape(str(row['setting'].get(name, '')))}</td>" for name in names)
        + f"<td>{html.escape(row['series'])}</td>"
        + "".join(f'<td class="n">{row[key]:.4g}</td>' for key in ("mean", "se", "p20", "p80"))
        + "</tr>"
        for row in rows
    )
    return (
        f'<h2 id="{experiment.name}">{experiment.name}</h2><p>{html.escape(experiment.shows)} '
        f"({html.escape(experiment.source)}; {rows[0]['runs']} runs of {rows[0]['rounds']} rounds).</p>"
        f'<p class="claim"><b>The paper:</b> {html.escape(experiment.claim)}<br>'
        f"<b>Here:</b> {html.escape(experiment.reading)}</p>"
        f'<a href="{experiment.name}.svg"><img src="{experiment.name}.png" alt="{html.escape(experiment.shows)}"></a>'
        f"<details><summary>Numbers</summary><table><tr>{head}</tr>{lines}</table></details>"
    )
