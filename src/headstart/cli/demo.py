"""`headstart demo`: the paper's introduction, start to finish."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from headstart.cli.terminal import CORES, Jobs, Seed, app, check_writable, out, progress_bar
from headstart.errors import MissingExtraError
from headstart.extras import brought_by, check_extra

if TYPE_CHECKING:
    from headstart.arrays import Floats, Integers
    from headstart.experiments.demo import StrategyRow
    from headstart.experiments.running.experiment import Result


@app.command()
def demo(
    runs: Annotated[int, typer.Option(help="Repetitions of the 10,000 users, each with a new log.", min=2)] = 2000,
    seed: Seed = 7,
    jobs: Jobs = CORES,
    figure: Annotated[
        Path | None, typer.Option(help="Where to save the plot (.png or .svg).", show_default="demo.png")
    ] = None,
    is_served: Annotated[
        bool, typer.Option("--serve", help="Live instead: the service, simulated users over HTTP, a page to watch.")
    ] = False,
    users: Annotated[int, typer.Option(help="With --serve: how many users to send.", min=1)] = 10_000,
    stay: Annotated[bool, typer.Option(help="With --serve: keep the page up until Ctrl-C.")] = True,
) -> None:
    """The paper's introduction, start to finish: a log that misleads, and six ways to decide from it."""
    if is_served:
        _serve(users, seed, stay=stay)
        return
    from headstart.experiments import demo as story
    from headstart.experiments.paper import intro
    from headstart.experiments.running.experiment import count_experiment_steps

    plot = _choose_plot(figure)
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
    with progress_bar("10,000 users, six strategies", count_experiment_steps(story.STORY, runs)) as advance:
        results = story.run_strategies(runs, seed, jobs, advance)
    _print_strategies(list(story.table_rows(results)))
    _print_moral(results, story.START)
    if isinstance(plot, Path):
        story.draw_demo(results, plot)
        out.print(f"\nThe curves are in [bold]{plot}[/bold].")
    else:
        out.print(f"\nThe curves are not drawn: {escape(str(plot))}", highlight=False)


def _choose_plot(asked: Path | None) -> Path | MissingExtraError:
    """Where the curves go; where nobody asked for them and nothing can draw them, why they go nowhere."""
    try:
        check_extra("plot")
    except MissingExtraError as error:
        if asked is None:
            return error
        raise
    plot = asked or Path("demo.png")
    check_writable(plot)
    return plot


def _print_verdicts(verdicts: dict[str, Floats], actions: tuple[str, ...], average: str, causal: str) -> None:
    out.print()
    for name, sentence in ((average, "The raw average says"), (causal, "Causal inference says")):
        means = verdicts[name]
        rates = ", ".join(f"{action} {mean:.1%}" for action, mean in zip(actions, means, strict=True))
        out.print(f"{sentence}: {rates} -> [bold]{actions[int(means.argmax())]}[/bold].")
    out.print("The truth, which nobody knows: ad below image 9.0%, ad below video 6.0%.\n")


def _counts(plays: Integers, actions: tuple[str, ...]) -> str:
    return " and ".join(f"{n} of {action!r}" for n, action in zip(plays, actions, strict=True))


def _print_strategies(rows: list[StrategyRow]) -> None:
    strategy = Column("strategy", no_wrap=True)
    table = Table(strategy, "width c", title="10,000 users, $1 a click; the best possible is $900")
    for name in ("revenue $", "lost $", "± s.e.", "runs", "paper's $"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["strategy"],
            "" if row["width"] is None else f"{row['width']:g}",
            f"{row['revenue']:.1f}",
            f"{row['regret']:.1f}",
            f"{row['se']:.1f}",
            f"{row['runs']:,}",
            "" if row["paper"] is None else f"{row['paper']:.1f}",
        )
    out.print(table)


def _print_moral(results: list[Result], start: str) -> None:
    from headstart.experiments.paper import intro

    regret = {(r.series, r.setting.get("width")): r.curve.mean for r in results}
    narrow, wide = intro.WIDTHS
    out.print(
        "\n[bold]What happened.[/bold] The raw average takes the log at its word and keeps a wrong decision for all "
        f"users (it loses ${regret[intro.AVERAGE, None]:.0f}). "
        f"Causal inference is right on average but has only 400 users to go by "
        f"({regret[intro.CAUSAL, None]:.0f}). The A/B test pays for 2,000 users shown the worse ad "
        f"({regret[intro.AB_TEST, None]:.0f}). "
        f"A bandit that begins with the adjusted log goes on learning: "
        f"{regret[intro.WARM, narrow]:.0f}, where the same bandit without the log has "
        f"{regret[intro.COLD, narrow]:.0f}. hs.start, the one call, chooses everything by itself and loses "
        f"{regret[start, None]:.0f}.\n\n"
        f"That is with confidence widths sqrt({narrow:g} ln n / n_a), which the published figure used. With the "
        f"paper's own sqrt({wide:g} ln n / n_a) the width drowns the log: {regret[intro.WARM, wide]:.0f} warm "
        f"against {regret[intro.COLD, wide]:.0f} cold. The published 5.6 also came from another log design "
        "and 100 runs (s.e. 2.2); METHODS.md has the details."
    )


def _serve(users: int, seed: int, *, stay: bool) -> None:
    import tempfile
    import time

    with brought_by("serve"):
        from headstart.serve.demo import send_users, serve_introduction

    with tempfile.TemporaryDirectory() as folder, serve_introduction(Path(folder), seed=seed) as address:
        out.print(f"Started from the introduction's log. Watch it at [bold]{address}/experiments/ads[/bold]")
        try:
            with progress_bar("users", users) as advance:
                state = send_users(address, users, seed=seed, progress=advance)
            shown = ", ".join(f"{action['action']} to {action['shown']:,}" for action in state["actions"])
            out.print(f"{state['decisions']:,} users came over HTTP; shown: {shown}.")
            if stay:
                out.print("The page stays up; Ctrl-C ends it.")
            while stay:
                time.sleep(1)
        except KeyboardInterrupt:
            out.print("Closing: every decision and outcome was durable before it was answered.")
