"""The command line: `headstart --help`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from headstart import __version__
from headstart.errors import HeadstartError, MissingExtraError

app = typer.Typer(
    name="headstart",
    help="A bandit that starts with what the log already knows.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
_CORES = os.cpu_count() or 1
out = Console()
err = Console(stderr=True)

Seed = Annotated[int, typer.Option(help="Every number printed follows from it.", min=0)]
Jobs = Annotated[int, typer.Option(help="Threads. The numbers do not depend on it.", min=1)]


def _print_version(is_asked: bool) -> None:
    if is_asked:
        out.print(f"headstart {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    runs: Annotated[int, typer.Option(help="Repetitions of the 10,000 users, each with a new log.", min=2)] = 2000,
    seed: Seed = 7,
    jobs: Jobs = _CORES,
    figure: Annotated[Path, typer.Option(help="Where to save the plot (.png or .svg).")] = Path("demo.png"),
) -> None:
    """The paper's introduction, start to finish: a log that misleads, and four ways to decide from it."""
    from headstart.experiments import demo as story
    from headstart.experiments import intro
    from headstart.experiments.experiment import count_steps

    _check_writable(figure)
    log = story.example_log(seed)
    out.rule("[bold]Where should the ad go?")
    out.print(
        "An ad can stand below a video or below an image. 10,000 users will come, half of whom like videos. "
        "There is a log of 400 users. Those who like videos mostly saw the ad below a video:\n"
    )
    table = Table("user", "action shown", "users", "clicks", "click rate", box=None, pad_edge=False)
    for kind, action, users, clicks in story.cell_lines(log):
        table.add_row(kind, action, str(users), str(clicks), f"{clicks / users:.1%}")
    out.print(table)
    _print_verdicts(story.verdicts(log), intro.ACTION_NAMES, intro.AVERAGE, intro.CAUSAL)
    adjusted, naive = story.virtual_plays(log, intro.WIDTHS[0])
    out.print(
        f"As virtual plays, the adjusted log was worth {_counts(adjusted.virtual_plays, intro.ACTION_NAMES)} "
        f"before the first user came (the raw log: {_counts(naive.virtual_plays, intro.ACTION_NAMES)}).\n"
    )
    with _progress("10,000 users, five strategies", count_steps(intro.EXPERIMENT, runs)) as advance:
        results = story.run_strategies(runs, seed, jobs, advance)
    story.draw_demo(results, figure)
    _print_strategies(list(story.table_rows(results)), runs)
    _print_moral(results, intro)
    out.print(f"\nThe curves are in [bold]{figure}[/bold].")


def _print_verdicts(verdicts: dict[str, Any], actions: tuple[str, ...], average: str, causal: str) -> None:
    out.print()
    for name, sentence in ((average, "The raw average says"), (causal, "Causal inference says")):
        means = verdicts[name]
        rates = ", ".join(f"{action} {mean:.1%}" for action, mean in zip(actions, means, strict=True))
        out.print(f"{sentence}: {rates} -> [bold]{actions[int(means.argmax())]}[/bold].")
    out.print("The truth, which nobody knows: ad below image 9.0%, ad below video 6.0%.\n")


def _counts(plays: Any, actions: tuple[str, ...]) -> str:
    return " and ".join(f"{n} of {action!r}" for n, action in zip(plays, actions, strict=True))


def _print_strategies(rows: list[dict[str, Any]], runs: int) -> None:
    table = Table("strategy", "width c", title=f"10,000 users, $1 a click, {runs} runs; the best possible is $900")
    for name in ("revenue $", "regret $", "± s.e.", "paper's regret"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["strategy"],
            "" if row["width"] is None else f"{row['width']:g}",
            f"{row['revenue']:.1f}",
            f"{row['regret']:.1f}",
            f"{row['se']:.1f}",
            "" if row["paper"] is None else f"{row['paper']:.1f}",
        )
    out.print(table)


def _print_moral(results: list[Any], intro: Any) -> None:
    regret = {(r.series, r.setting.get("width")): r.curve.mean for r in results}
    narrow, wide = intro.WIDTHS
    out.print(
        "\n[bold]What happened.[/bold] The raw average takes the log at its word and keeps a wrong decision for all "
        f"users (regret {regret[intro.AVERAGE, None]:.0f}). "
        f"Causal inference is right on average but has only 400 users to go by "
        f"({regret[intro.CAUSAL, None]:.0f}). The A/B test pays for 2,000 users shown the worse ad "
        f"({regret[intro.AB_TEST, None]:.0f}). "
        f"headstart begins with the adjusted log and goes on learning: "
        f"{regret[intro.WARM, narrow]:.0f}, where the same bandit without the log has "
        f"{regret[intro.COLD, narrow]:.0f}.\n\n"
        f"That is with confidence widths sqrt({narrow:g} ln n / n_a), which the published figure used. With the "
        f"paper's own sqrt({wide:g} ln n / n_a) the width drowns the log: {regret[intro.WARM, wide]:.0f} warm "
        f"against {regret[intro.COLD, wide]:.0f} cold. The published 5.6 also came from another log design "
        "and 100 runs (s.e. 2.2); METHODS.md has the details."
    )


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment, or [bold]all[/bold]; --list shows them.")] = "",
    runs: Annotated[int | None, typer.Option(help="Runs per series; by default the paper's number.", min=1)] = None,
    seed: Seed = 1,
    jobs: Jobs = _CORES,
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
    from headstart.experiments import YAHOO_EXPERIMENTS, all_experiments, get_experiment

    known: dict[str, Any] = {**all_experiments(), **YAHOO_EXPERIMENTS}
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
        _check_writable(figure)
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

    def results(self, experiment: Any) -> Iterator[Any]:
        """Each result as it is ready, under a progress bar."""
        from headstart.errors import LogError
        from headstart.experiments import YAHOO_EXPERIMENTS, count_steps, run_experiment
        from headstart.experiments.yahoo import count_yahoo_steps, run_yahoo
        from headstart.worlds.yahoo import WHERE

        runs = self.runs or experiment.runs
        if experiment.name not in YAHOO_EXPERIMENTS:
            with _progress(experiment.name, count_steps(experiment, runs)) as advance:
                yield from run_experiment(experiment, runs=runs, seed=self.seed, n_jobs=self.jobs, progress=advance)
            return
        if self.data is None:
            raise LogError(f"{experiment.name} needs --data PATH. {WHERE}")
        with _progress(experiment.name, count_yahoo_steps(experiment.name, runs)) as advance:
            yield from run_yahoo(
                experiment.name, self.data, runs=runs, seed=self.seed, n_jobs=self.jobs, progress=advance
            )


def _print_experiments(experiments: Iterable[Any]) -> None:
    table = Table("name", "shows", "paper", "runs", "takes", box=None, pad_edge=False)
    for experiment in experiments:
        seconds = getattr(experiment, "seconds", None)
        takes = "needs --data" if seconds is None else f"{seconds} s" if seconds < 90 else f"{seconds / 60:.0f} min"
        table.add_row(
            f"[bold]{experiment.name}[/bold]", experiment.shows, experiment.source, str(experiment.runs), takes
        )
    out.print(table)
    out.print("[dim]Times are for that number of runs on two cores, compiled code from the cache.[/dim]")


def _write_report(experiments: list[Any], known: Iterable[Any], folder: Path, job: _Job) -> None:
    from headstart.experiments.report import Report

    report = Report(folder, seed=job.seed, runs=job.runs)
    for experiment in experiments:
        if report.is_finished(experiment):
            out.print(f"{experiment.name}: finished before, kept")
            continue
        try:
            report.add(experiment, list(job.results(experiment)))
        except MissingExtraError as error:
            out.print(f"{experiment.name}: left out, {error}")
        else:
            out.print(f"{experiment.name}: done")
    out.print(f"The page is [bold]{report.write_page(known)}[/bold].")


def _run_and_print(experiment: Any, job: _Job, *, as_json: bool, figure: Path | None) -> None:
    from headstart.experiments.figures import draw_figure, label_of

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


@contextmanager
def _progress(what: str, steps: int) -> Iterator[Any]:
    """A bar on standard error: gone when done, silent when nobody watches."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=steps)
        yield lambda n: bar.advance(task, n)


def _check_writable(path: Path) -> None:
    """Fail before the work, not after it."""
    if path.suffix not in (".png", ".svg"):
        raise typer.BadParameter(f"{path} must end in .png or .svg")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"the folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written")


def main() -> None:
    """The console script: errors that users can mend are one line, not a traceback."""
    try:
        app()
    except HeadstartError as error:
        err.print(f"[bold red]Error:[/bold red] {error}", highlight=False)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
