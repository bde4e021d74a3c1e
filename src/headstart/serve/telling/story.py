"""The page's first sentences: what is shown to whom now, and why, by what the policy believes."""

from __future__ import annotations

from collections.abc import Sequence

from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.deciding import PolicyState
from headstart.serve.engine.state import State
from headstart.serve.telling.outcomes import tell_share
from headstart.serve.telling.report import Report, Shown

_NAMED = 3  # actions that a sentence names


def tell_showing(actions: Sequence[Shown], state: State, config: ExperimentConfig, report: Report) -> str:
    """Who sees what now."""
    n, policy = report.n_outcomes, state["policy"]
    known = f"{n:,} outcomes count so far." if n else _tell_waiting(state["outcomes"])
    fallen = [each["guardrail"] for each in state["tripped"] if each["falls_back"]]
    if fallen:
        why = f"{config.safe_action} is the safe action, and the guardrail {fallen[0]} has tripped."
        return f"Shown now: {config.safe_action} to all who are not held out, because {why} {known}"
    chances = report.chances() if policy["has_context"] else [action["chance"] or 0.0 for action in actions]
    order = sorted(range(len(actions)), key=lambda a: -chances[a])[:_NAMED]
    shares = [f"{actions[a]['name']} to {tell_share(chances[a])}" for a in order]
    rest = len(actions) - len(shares)
    told = f"{', '.join(shares)}{f' and {rest} more to the rest' if rest else ''}"
    if policy["has_context"]:
        columns = ", ".join(config.contexts)
        told = f"What a user sees depends on {columns}. Of late: {told} of the users."
    else:
        told = f"Shown now: {told} of the users.{_tell_beliefs(actions, order)}"
    return f"{told} {known}"


def _tell_waiting(n_came: int) -> str:
    if not n_came:
        return "No outcome has come yet."
    came = "1 outcome has come: it counts" if n_came == 1 else f"{n_came:,} outcomes have come: they count"
    return f"{came} when the windows of their decisions close."


def _tell_beliefs(actions: Sequence[Shown], order: Sequence[int]) -> str:
    known = [a for a in order if actions[a]["believed"] is not None]
    if len(known) < len(order):
        return ""
    expected = [f"{actions[a]['believed_text']} of {actions[a]['name']}" for a in known]
    return f" The policy expects {', '.join(expected)}."


def tell_policy(policy: PolicyState, actions: Sequence[Shown]) -> str:
    """What decides, and how far it still believes the log."""
    began = ", started from the log" if {"Started", "WarmStart"} & {*policy["around"]} else ""
    looks = "by what is known of the user" if policy["has_context"] else "one action for all users"
    text = f"{policy['name']}{began}, decides {looks}." if began else f"{policy['name']} decides {looks}."
    trusted = [f"{action['name']} {action['trust_text']}" for action in actions if action["trust"] is not None]
    if trusted:
        text += f" By now, the chance that the log is right about an action: {', '.join(trusted)}."
    return text
