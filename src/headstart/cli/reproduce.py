"""`headstart reproduce`: the paper's experiments."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from headstart.cli.terminal import CORES, Jobs, Seed, app, check_writable, out, progress_bar
from headstart.errors import MissingExtraError
from headstart.extras import check_extra

if TYPE_CHECKING:
    from headstart.experiments.running.experiment import Result
    from headstart.experiments.running.report import AnyExperiment


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment, or [bold]all[/bold]; --list shows them.")] = "",
    runs: Annotated[int | None, typer.Option(help="Runs per series; by default the paper's number.", min=1)] = None,
    seed: Seed = 1,
    jobs: Jobs = CORES,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, nothing else.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Also draw the curves here (.png or .svg).")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="A folder for JSON lines, figures and a page; may be taken up again.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Yahoo's R6A, for the experiments named yahoo-...")] = None,
    is_list: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
) -> None:
    """Run the paper's experiments and print regret with standard errors.

    [dim]headstart reproduce ucb-ipsw --runs 4000[/dim] prints one;
    [dim]headstart reproduce all --out results[/dim] writes them all, and goes on where it was interrupted.
    """
    from headstart.experiments.paper.yahoo import YAHOO_EXPERIMENTS
    from headstart.experiments.running.catalogue import all_experiments, get_experiment

    known: dict[str, AnyExperiment] = {**all_experiments(), **YAHOO_EXPERIMENTS}
    if is_list or not name:
        _print_experiments(known.values())
        return
    if name == "all":
        chosen = [e for e in known.values() if data is not None or e.name not in YAHOO_EXPERIMENTS]
    else:
        chosen = [known[name] if name in known else get_experiment(name)]
    job = _Job(runs, seed, jobs, data)
    if folder is not None:
        _write_report(chosen, known.values(), folder, job)
        return
    if figure is not None:
        check_writable(figure)
        if len(chosen) > 1:
            raise typer.BadParameter("--figure is for one experiment; for all of them give --out FOLDER")
    for experiment in chosen:
        _run_and_print(experiment, job, as_json=as_json, figure=figure)


@dataclass(frozen=True)
class _Job:
    """How experiments are to be run."""

    runs: int | None
    seed: int
    jobs: int
    data: Path | None

    def results(self, experiment: AnyExperiment) -> Iterator[Result]:
        """Each result as it is ready, under a progress bar."""
        from headstart.errors import LogError
        from headstart.experiments.paper.yahoo import YahooExperiment, count_yahoo_steps, run_yahoo
        from headstart.experiments.running.experiment import count_experiment_steps, run_experiment
        from headstart.worlds.yahoo import WHERE

        runs = self.runs or experiment.runs
        if not isinstance(experiment, YahooExperiment):
            with progress_bar(experiment.name, count_experiment_steps(experiment, runs)) as advance:
                yield from run_experiment(experiment, runs=runs, seed=self.seed, n_jobs=self.jobs, progress=advance)
            return
        if self.data is None:
            raise LogError(f"{experiment.name} needs --data PATH. {WHERE}")
        with progress_bar(experiment.name, count_yahoo_steps(experiment.name, runs)) as advance:
            yield from run_yahoo(
                experiment.name, self.data, runs=runs, seed=self.seed, n_jobs=self.jobs, progress=advance
            )


def _print_experiments(experiments: Iterable[AnyExperiment]) -> None:
    from headstart.experiments.running.experiment import Experiment

    table = Table(Column("name", no_wrap=True), "shows", "paper", "runs", "takes", box=None, pad_edge=False)
    for experiment in experiments:
        takes = "needs --data"
        if isinstance(experiment, Experiment):
            seconds = experiment.seconds
            takes = f"{seconds} s" if seconds < 90 else f"{seconds / 60:.0f} min"
        table.add_row(
            f"[bold]{experiment.name}[/bold]", experiment.shows, experiment.source, str(experiment.runs), takes
        )
    out.print(table)
    out.print("[dim]Times are for that number of runs on two cores, compiled code from the cache.[/dim]")


def _write_report(experiments: list[AnyExperiment], known: Iterable[AnyExperiment], folder: Path, job: _Job) -> None:
    from headstart.experiments.running.report import ResultsFolder

    check_extra("plot")
    report = ResultsFolder(folder, seed=job.seed, runs=job.runs)
    for experiment in experiments:
        if report.is_finished(experiment):
            out.print(f"{experiment.name}: finished before, kept")
            continue
        try:
            report.add(experiment, list(job.results(experiment)))
        except MissingExtraError as error:
            out.print(f"{experiment.name}: left out, {escape(str(error))}")
        else:
            out.print(f"{experiment.name}: done")
    out.print(f"The page is [bold]{report.write_page(known)}[/bold].")


def _run_and_print(experiment: AnyExperiment, job: _Job, *, as_json: bool, figure: Path | None) -> None:
    from headstart.experiments.running.figures import draw_figure, label_of

    results = []
    for result in job.results(experiment):
        results.append(result)
        if as_json:
            sys.stdout.write(json.dumps(result.as_row()) + "\n")
            sys.stdout.flush()
    if figure is not None:
        draw_figure(experiment, results, figure)
    if as_json:
        return
    table = Table(title=f"{experiment.name}: {experiment.shows}")
    table.add_column("series")
    for column in (experiment.measure, "± s.e.", "20 %", "80 %", "seconds"):
        table.add_column(column, justify="right")
    for result in results:
        c = result.curve
        table.add_row(
            label_of(result), f"{c.mean:.4g}", f"{c.se:.2g}", f"{c.p20:.4g}", f"{c.p80:.4g}", f"{c.seconds:.1f}"
        )
    out.print(table)
    curve = results[0].curve
    out.print(
        f"[dim]{curve.runs} runs of {int(curve.rounds[-1]):,} rounds. The paper ({experiment.source}): "
        f"{experiment.claim}\nHere: {experiment.reading}[/dim]"
    )
