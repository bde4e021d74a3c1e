"""Alarms: what somebody should look at, in sentences. Failures stop the service; alarms are about its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from headstart.serve.engine.health import ExperimentHealth
from headstart.serve.engine.state import State
from headstart.serve.store import events as kinds
from headstart.serve.telling.deeds import Deed
from headstart.serve.telling.values import tell_values

_LEVEL = 1e-4  # chance that draws without fault ever raise an alarm


def find_failures(health: ExperimentHealth, behind: str | None) -> list[str]:
    """What health knows: a store that fails, history that is lost, an experiment that has no fold."""
    failures = []
    if health["has_lost_history"]:
        failures.append(f"Acknowledged events are lost: {health['error']}")
    elif health["error"] is not None:
        failures.append(f"The store fails, and nothing is decided or recorded: {health['error']}")
    if health["is_hanging"]:
        failures.append("The store does not answer.")
    if health["clock_behind"]:
        failures.append(
            f"The clock is {health['clock_behind']:,.0f} s behind the newest event: windows stay open as long."
        )
    if health["is_opening"]:
        failures.append(f"The experiment cannot decide yet: {health['broken']}")
    elif health["broken"] is not None:
        failures.append(f"The experiment cannot be folded, and decides for nobody: {health['broken']}")
    elif behind is not None:
        failures.append(f"The numbers of the policy are not the present ones: {behind}.")
    return failures


def find_alarms(state: State, p: float, last_deeds: Mapping[str, Deed]) -> list[str]:
    """What its numbers say is wrong."""
    alarms = []
    if p < _LEVEL:
        alarms.append(
            f"Actions are not shown as often as their probabilities say (the chance that this ever happens without "
            f"cause is {p:.2g}): what is learnt and compared may be wrong."
        )
    if state["dangling"] > max(10, 0.01 * state["outcomes"]):
        alarms.append(f"{state['dangling']:,} outcomes came for decisions that nobody made here.")
    if state["late"] > max(10, 0.1 * state["outcomes"]):
        alarms.append(f"{state['late']:,} outcomes came after their window: is it too short?")
    if state["decisions"] >= 1000 and state["outcomes"] == 0:
        alarms.append(f"{state['decisions']:,} decisions and not one outcome.")
    if state["not_learnable"]:
        alarms.append(f"{state['not_learnable']:,} outcomes could not be learnt by the present policy.")
    alarms += tell_values(state)
    if state["is_frozen"]:
        frozen = last_deeds.get(kinds.FROZEN)
        by, why = ("", "no reason was given") if frozen is None else frozen.who_and_why
        alarms.append(f"Learning was frozen{by} ({why}): outcomes are kept and learnt when it is unfrozen.")
    return alarms
