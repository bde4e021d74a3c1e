"""The model: what the events of one experiment mean, in plain dictionaries, without a store or a policy.

What the policy decides it cannot know; it checks that a decision follows from the vector that was logged, and keeps
what counts, in its order, so that a twin of the policy can be taught the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headstart.serve.config import ExperimentConfig, Label, read_experiment
from headstart.serve.engine.binding import Binding
from headstart.serve.engine.bounds import UNBOUNDED, Bounds
from headstart.serve.engine.draw import draw_action, draw_by_id

Body = dict[str, Any]


class PromiseBroken(AssertionError):
    """What the service did is not what it promises."""


class Row(NamedTuple):
    """An event as it stands in the store."""

    sequence: int
    kind: str
    event_id: str | None
    time: int
    about: int | None
    body: Body


class Counted(NamedTuple):
    """An outcome that counts, from this event on."""

    sequence: int
    about: int  # the sequence number of the decision
    decision: Body
    outcome: float
    is_default: bool

    def without(self, left: dict[int, Row]) -> Counted:
        """The same, of a decision that was erased."""
        return self._replace(decision=left[self.about].body) if self.about in left else self


@dataclass
class Flown:
    """A decision in flight, and how many outcomes of newer ones have been learnt."""

    row: Row
    overtaken: int = 0


@dataclass
class Model:
    """One experiment after the events so far. `minds` tells whether its policy minds what is in flight."""

    name: str
    minds: Callable[[Model], bool]
    head: int = 0
    time: int = 0
    version: int = 0  # before the turn that is being taken
    told: int = 0  # the last decision that a policy which minds was told of
    config: ExperimentConfig | None = None
    declared: dict[int, ExperimentConfig] = field(default_factory=dict)  # by sequence number
    begun: Body | None = None  # the warm start in force
    logs: list[str] = field(default_factory=list)  # hashes of those of the present configuration, newest last
    decisions: dict[str, Row] = field(default_factory=dict)
    units: dict[str, list[Row]] = field(default_factory=dict)  # the decisions of each, in their order
    outcomes: dict[str, dict[str, float]] = field(default_factory=dict)  # by kind, then event id
    come: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # by event id and name, in their windows
    learnt: list[Counted] = field(default_factory=list)  # ever
    counting: list[Counted] = field(default_factory=list)  # at present, those held by a freeze too
    frozen_at: int | None = None
    aside: dict[int, int] = field(default_factory=dict)  # decisions that somebody set aside, and by which event
    retired: dict[Label, int] = field(default_factory=dict)  # actions that are shown no more, and by which event
    since: dict[str, int] = field(default_factory=dict)  # guardrails, and the event after which each counts
    tripped: dict[str, int] = field(default_factory=dict)  # those in force, in the order of their events
    bounds: Bounds = UNBOUNDED
    closed_through: int = 0
    over: list[Row] = field(default_factory=list)  # decisions that are in archives alone
    gone: Counter[str] = field(default_factory=Counter)  # outcomes that are, by kind
    first: dict[int, Body] = field(default_factory=dict)  # what counts of each decision, by its sequence number
    noted: dict[tuple[str, str], Row] = field(default_factory=dict)  # outcomes that are known, by kind and id
    links: list[tuple[int, int]] = field(default_factory=list)  # events, and the decisions that they are about
    closes: list[tuple[int, int]] = field(default_factory=list)  # events that closed windows, up to which decision
    flying: list[Flown] = field(default_factory=list)
    held: list[Flown] | None = None  # what was in flight when it was frozen

    def __post_init__(self) -> None:
        for kind in ("outcome", "late", "dangling", "conflicting", "part", "early"):
            self.outcomes.setdefault(kind, {})

    def copied(self) -> Model:
        """As it is now, for trying and for going back."""
        twin = copy(self)
        twin.declared, twin.decisions = dict(self.declared), dict(self.decisions)
        twin.units = {unit: list(rows) for unit, rows in self.units.items()}
        twin.outcomes = {kind: dict(known) for kind, known in self.outcomes.items()}
        twin.learnt, twin.counting, twin.logs = list(self.learnt), list(self.counting), list(self.logs)
        twin.aside, twin.retired = dict(self.aside), dict(self.retired)
        twin.since, twin.tripped = dict(self.since), dict(self.tripped)
        twin.over, twin.gone, twin.first = list(self.over), Counter(self.gone), dict(self.first)
        twin.noted, twin.links, twin.closes = dict(self.noted), list(self.links), list(self.closes)
        twin.come = {i: {name: list(each) for name, each in come.items()} for i, come in self.come.items()}
        twin.flying = [copy(each) for each in self.flying]
        twin.held = None if self.held is None else list(self.held)
        return twin

    @property
    def made(self) -> list[Row]:
        """Every decision, in their order."""
        return sorted([*self.over, *self.decisions.values()], key=lambda row: row.sequence)

    def archive(self, row: Row) -> None:
        """What an archived stretch leaves in the store; the rest is over."""
        through = row.body["file"]["through"]
        closed = max((last for sequence, last in self.closes if sequence <= through), default=0)
        closed = closed if self.has_default or self.settles else through
        if row.body["open_after"] != closed or not 0 < through < row.sequence:
            raise PromiseBroken(f"event {row.sequence} archives {row.body}, windows were closed up to {closed}")
        kept = {about for sequence, about in self.links if sequence > through}
        for rows in self.units.values():
            kept |= {rows[-1].sequence, rows[-1].about or rows[-1].sequence}
        kept |= {each.sequence for each in self.decisions.values() if closed < each.sequence}
        for event_id, each in list(self.decisions.items()):
            if each.sequence <= through and each.sequence not in kept:
                self.over.append(self.decisions.pop(event_id))
                self.come.pop(event_id, None)
        for (kind, event_id), each in list(self.noted.items()):
            if each.sequence <= through and each.about not in kept:
                del self.noted[kind, event_id], self.outcomes[kind][event_id]
                self.gone[kind] += 1

    @property
    def newest(self) -> int:
        """The version by which the next user is decided for."""
        return self.told if self.told > self.version and self.minds(self) else self.version

    @property
    def expected(self) -> list[Row]:
        """The decisions that the policy is waiting for."""
        flown = self.flying if self.held is None else self.held
        return [each.row for each in flown if each.row.sequence not in self.aside]

    @property
    def present(self) -> ExperimentConfig:
        """The configuration in force."""
        assert self.config is not None
        return self.config

    @property
    def binding(self) -> Binding:
        """What the warm start in force holds the policy to."""
        return Binding.in_force(self.present, self.begun)

    @property
    def has_default(self) -> bool:
        return self.present.default_outcome is not None

    @property
    def settles(self) -> bool:
        """Whether values of outcomes with names are made when windows close."""
        return bool(self.present.outcomes) and self.present.outcome_window is not None

    def value_of(self, decision: Row) -> Body | None:
        """What the outcomes with names that came of a decision are worth; None if one is missing."""
        outcomes, come = self.present.outcomes, self.come.get(decision.event_id or "", {})
        known: dict[str, float] = {}
        for name, each in outcomes.named.items():
            if each.is_sum:
                known[name] = sum(come.get(name, []), 0.0)
            elif name in come or each.default is not None:
                known[name] = come.get(name, [each.default])[0]
            else:
                return None
        words = {**known, "shown": lambda label: float(label == str(decision.body["action"]))}
        text = next(iter(known)) if outcomes.formula is None else outcomes.formula.text
        return {"outcome": float(eval(text, {}, words)) + 0.0, "outcomes": known}

    def note_part(self, event_id: str, body: Body) -> None:
        """One more report that a value is made of."""
        decided = event_id.split("\x1f")[0]
        self.come.setdefault(decided, {}).setdefault(body["name"], []).append(body["outcome"])

    @property
    def released(self) -> list[Counted]:
        """What the policy has learnt: what counts, but for what a freeze holds back."""
        limit = self.head if self.frozen_at is None else self.frozen_at
        return [each for each in self.counting if each.sequence <= limit and each.about not in self.aside]

    def actions_at(self, version: int) -> tuple[Label, ...]:
        """The labels that a decision of this version was drawn from."""
        return next(config.actions for at, config in reversed(self.declared.items()) if at <= version)

    @property
    def offered(self) -> list[Label]:
        """The actions that are shown; all of them, if every one is retired."""
        return [each for each in self.present.actions if each not in self.retired] or list(self.present.actions)

    @property
    def fallen(self) -> str | None:
        """The guardrail that tripped first of those by which the safe action is shown."""
        rails = self.present.guardrails
        return next((name for name in self.tripped if rails[name].falls_back), None)

    def safe_among(self, offered: Sequence[Label] | None) -> Label | None:
        """The safe action, if all but the hold-out are shown it where these are available."""
        safe = None if self.fallen is None else self.present.safe_action
        return safe if safe in self.offered and (offered is None or safe in offered) else None

    def holds_out(self, event_id: str, unit: str | None) -> bool:
        """Whether the policy is not asked."""
        held = ("hold-out", event_id) if unit is None else ("hold-out of units", unit)
        return draw_by_id(held[0], self.present.seed_in_force, self.name, held[1]) < self.present.holdout

    def draw_of(self, unit: str | None, offered: Sequence[Label] | None, time: int) -> Row | None:
        """The decision whose action a unit keeps at some time, where these are available; None: it is drawn for."""
        draws = [row for row in self.units.get(unit or "", []) if "follows" not in row.body]
        if not draws:
            return None
        newest, sticky = draws[-1], self.present.sticky
        is_young = sticky is None or time < newest.time + round(1e6 * sticky)
        is_there = newest.body["action"] in self.offered
        is_there = is_there and (offered is None or newest.body["action"] in offered)
        safe = self.safe_among(offered)
        may_stay = newest.body["action"] == safe if safe is not None else "fell_back" not in newest.body
        may_stay = may_stay or "is_holdout" in newest.body
        before, present = self.share_at(newest.time), self.share_at(time)
        has_grown = newest.body["action"] == self.present.safe_action and before < present
        is_alive = before > 0.0 and present > 0.0 and not has_grown
        return newest if is_young and is_there and may_stay and is_alive else None

    def share_at(self, time: int) -> float:
        """The share of the users whom the experiment decides for at some time."""
        life = self.present.life
        if life is None:
            return 1.0
        over = life.end is not None and time >= life.end
        shares = [step.share for step in life.steps if step.time <= time] or ([] if life.steps else [1.0])
        return shares[-1] if shares and not over else 0.0

    def share_of(self, unit: str | None, time: int) -> float:
        """The share by which somebody is drawn for: a unit that it had left out, by what it has grown."""
        draws = [row for row in self.units.get(unit or "", []) if "follows" not in row.body]
        present, before = self.share_at(time), 0.0
        if draws and draws[-1].body["action"] == self.present.safe_action:
            before = self.share_at(draws[-1].time)
        return (present - before) / (1.0 - before) if before < present else present

    def note(self, row: Row) -> None:
        """Whose a decision is."""
        if "unit" in row.body:
            self.units.setdefault(row.body["unit"], []).append(row)

    def erase(self, left: dict[int, Row]) -> None:
        """Decisions are what is left of them: wherever one is known, it is known so."""
        known = {row.sequence: row for row in self.made}
        for row in left.values():
            before, body = known[row.sequence], row.body
            kept = {name: each for name, each in body.items() if name not in ("is_redacted", "is_clipped", "unit")}
            if kept != {**{name: each for name, each in before.body.items() if name != "unit"}, "context": {}}:
                raise PromiseBroken(f"decision {row.sequence} is {body} after it was erased")
            if "is_redacted" not in body or ("unit" in body and body["unit"] == before.body["unit"]):
                raise PromiseBroken(f"decision {row.sequence} still says who it was for: {body}")
            if self.decisions.get(row.event_id or "") == before:
                self.decisions[row.event_id or ""] = row
            self.over = [row if each == before else each for each in self.over]
            if "unit" in body:
                self.units.pop(before.body["unit"], None)
                self.note(row)
        self.learnt = [each.without(left) for each in self.learnt]
        self.counting = [each.without(left) for each in self.counting]
        for flown in (self.flying, self.held or []):
            for each in flown:
                each.row = left.get(each.row.sequence, each.row)

    def due(self, time: int) -> list[Row]:
        """Decisions whose window is over and that were not learnt yet."""
        if not self.has_default and not self.settles:
            return []
        limit = time - self.present.window_length
        rows = (row for row in self.decisions.values() if row.sequence > self.closed_through)
        return sorted(row for row in rows if row.time < limit)

    def closing(self, through: int) -> Body:
        """The body of an event that closes windows."""
        return {"after": self.closed_through, "through": through, "default": self.present.default_outcome}

    def take(self, row: Row) -> None:
        """One more event of the store."""
        if row.sequence != self.head + 1:
            raise PromiseBroken(f"event {row.sequence} follows {self.head}")
        if row.time < self.time:
            raise PromiseBroken(f"event {row.sequence} is earlier than the one before it")
        if row.about is not None:
            self.links.append((row.sequence, row.about))
        if row.kind == "decision":
            self._take_decision(row)
            self.head, self.time = row.sequence, row.time
            return
        if self.config is not None:
            self.version = self.newest
        if row.kind in self.outcomes:
            self._take_outcome(row)
        elif row.kind == "window_closed":
            self._take_close(row)
        else:
            self._take_steering(row)
            self.version = row.sequence
        self.head, self.time = row.sequence, row.time

    def _take_decision(self, row: Row) -> None:
        assert row.event_id is not None
        if row.event_id in self.decisions:
            raise PromiseBroken(f"decision {row.sequence} is the second one of {row.event_id!r}")
        if row.body["version"] != self.version:  # another turn: its decisions are made by the state before it
            self.version = self.newest
        self._check_decision(row)
        self.note(row)
        self.decisions[row.event_id] = row
        if self.present.forget_after is not None:
            self.flying.append(Flown(row))
            self.told = row.sequence if self.frozen_at is None else self.told
            self._forget(row.time)

    def _forget(self, now: int) -> None:
        """No longer wait for what newer ones have overtaken, or for what came to no end in its window."""
        config = self.present
        self.flying = [each for each in self.flying if each.overtaken <= (config.forget_after or 0)]
        if config.outcome_window is not None and not self.has_default:
            self.flying = [each for each in self.flying if now <= each.row.time + config.window_length]

    def _land(self, decision: int) -> None:
        """A decision's outcome is learnt, and older ones wait longer."""
        self.flying = [each for each in self.flying if each.row.sequence != decision]
        for each in self.flying:
            each.overtaken += each.row.sequence < decision

    def _check_decision(self, row: Row) -> None:
        """Drawn from what it logged, by its id; chances only of what is available, above the floor, sum 1."""
        config, body, at = self.present, row.body, f"decision {row.sequence}"
        chances, available = body["probabilities"], body.get("available", list(config.actions))
        offered = [label for label in available if label in self.offered]
        if body["version"] != self.version:
            raise PromiseBroken(f"{at} has version {body['version']}, the state before it {self.version}")
        columns = set() if "is_redacted" in body else set(config.contexts)
        if set(body["context"]) != columns or len(chances) != len(config.actions):
            raise PromiseBroken(f"{at} does not fit the configuration in force")
        if not all(isinstance(chance, float) and 0.0 <= chance <= 1.0 + 1e-9 for chance in chances):
            raise PromiseBroken(f"{at} has the probabilities {chances}")
        draw = self.draw_of(body.get("unit"), body.get("available"), row.time)
        if (draw is None) != ("follows" not in body):
            raise PromiseBroken(f"{at}: drawn or not, against what its unit keeps")
        if draw is not None:
            self._check_repeat(row, draw)
            return
        if not math.isclose(sum(chances), 1.0, abs_tol=1e-9):
            raise PromiseBroken(f"{at} has probabilities that sum to {sum(chances)}")
        is_holdout = self.holds_out(row.event_id or "", body.get("unit"))
        if "is_redacted" in body:  # by a unit whose name is forgotten
            is_holdout = body.get("is_holdout", False)
        if is_holdout != body.get("is_holdout", False):
            raise PromiseBroken(f"{at}: held out or not, against its id")
        safe = None if is_holdout else self.safe_among(offered)
        if body.get("fell_back") != (None if safe is None else self.fallen):
            raise PromiseBroken(f"{at}: fallen back by {body.get('fell_back')!r}, must be by {self.fallen!r}")
        if safe is not None and chances != [float(label == safe) for label in config.actions]:
            raise PromiseBroken(f"{at} has the chances {chances} though {safe!r} alone is to be shown")
        if safe is not None:
            offered = [safe]
        floor = 1.0 / len(offered) if is_holdout else config.epsilon / len(offered)
        if config.life is not None and config.safe_action in offered:
            share = self.share_of(body.get("unit"), row.time)
            floor, shown = share * floor, chances[config.actions.index(config.safe_action)]
            if shown < 1.0 - share - 1e-12 or (share == 0.0 and shown != 1.0):
                raise PromiseBroken(
                    f"{at} shows the safe action with a chance of {shown}, where the share is {share}"
                )
        for label, chance in zip(config.actions, chances, strict=True):
            if label not in offered and chance != 0.0:
                raise PromiseBroken(f"{at} gives a chance to {label!r}, which is not available")
            if label in offered and chance < floor - 1e-12:
                raise PromiseBroken(f"{at} gives {label!r} the chance {chance}, below the floor {floor}")
        action = draw_action(chances, draw_by_id("action", config.seed_in_force, self.name, row.event_id or ""))
        if (config.actions[action], chances[action]) != (body["action"], body["propensity"]):
            raise PromiseBroken(f"{at} was not drawn from what it logged")

    def _check_repeat(self, row: Row, draw: Row) -> None:
        """What was drawn for the unit, again."""
        body, then = (
            row.body,
            dict(zip(self.actions_at(draw.body["version"]), draw.body["probabilities"], strict=True)),
        )
        chances = [then.get(label, 0.0) for label in self.present.actions]
        rows = self.units[body["unit"]]
        number = 1 + sum(each == draw or each.about == draw.sequence for each in rows)
        found = {name: body.get(name) for name in ("action", "propensity", "is_holdout", "fell_back")}
        if found != {name: draw.body.get(name) for name in found} or body["probabilities"] != chances:
            raise PromiseBroken(f"decision {row.sequence} is not what was drawn for its unit")
        if (row.about, body["follows"], body["number"]) != (draw.sequence, draw.event_id, number):
            raise PromiseBroken(f"decision {row.sequence} repeats {body['follows']!r}, must be {draw.event_id!r}")

    def _take_outcome(self, row: Row) -> None:
        assert row.event_id is not None
        self.outcomes[row.kind][row.event_id] = row.body["outcome"]
        self.noted[row.kind, row.event_id] = row
        if row.kind == "outcome":
            self.first[row.about or 0] = row.body
        if row.kind == "part":
            self.note_part(row.event_id, row.body)
        if row.kind == "outcome" and self.present.outcomes:
            made = self.value_of(self.decisions[row.event_id])
            if made != row.body:
                raise PromiseBroken(f"the value of {row.event_id!r} is {row.body}, must be {made}")
        if row.kind == "outcome" and not self.has_default:
            decision = self.decisions[row.event_id]
            self._count(Counted(row.sequence, decision.sequence, decision.body, row.body["outcome"], False))
            self._forget(row.time)

    def _take_close(self, row: Row) -> None:
        due = self.due(row.time)
        if not due or row.body != self.closing(due[-1].sequence):
            raise PromiseBroken(f"event {row.sequence} closes {row.body}, due are {[each.sequence for each in due]}")
        for each in due if self.settles else ():
            if (self.value_of(each) is None) != (each.event_id not in self.outcomes["outcome"]):
                raise PromiseBroken(f"decision {each.sequence} has a value, or not, against what came of it")
        for each in () if self.settles else due:
            first = self.outcomes["outcome"].get(each.event_id or "")
            value = row.body["default"] if first is None else first
            self._count(Counted(row.sequence, each.sequence, each.body, value, first is None))
            self._forget(row.time)
        self.closed_through = due[-1].sequence
        self.closes.append((row.sequence, self.closed_through))

    def _count(self, counted: Counted) -> None:
        self.learnt.append(counted)
        self.counting.append(counted)
        if self.frozen_at is None:
            self.version = counted.sequence
        self._land(counted.about)

    def _take_steering(self, row: Row) -> None:
        if row.kind == "configuration":
            self.config = self.declared[row.sequence] = read_experiment(self.name, row.body)
            self.begun, self.logs, self.bounds = None, [], Bounds.in_force(self.config, None)
            self._declare_guardrails(row.sequence)
        elif row.kind == "warm_start":
            self.begun, self.bounds = row.body, Bounds.in_force(self.present, row.body)
            self.logs.append(row.body["hash"])
        elif row.kind == "log_withdrawn":
            self.begun, self.bounds = None, Bounds.in_force(self.present, None)
        elif row.kind == "set_aside":
            self.aside[row.about or 0] = row.sequence
        elif row.kind == "taken_back":
            del self.aside[row.about or 0]
        elif row.kind == "retired":
            self.retired[row.body["action"]] = row.sequence
        elif row.kind == "reinstated":
            del self.retired[row.body["action"]]
        elif row.kind == "tripped":
            self.tripped[row.body["guardrail"]] = row.sequence
        elif row.kind == "resumed":
            del self.tripped[row.body["guardrail"]]
            self.since[row.body["guardrail"]] = row.sequence
        elif row.kind == "frozen":
            self.held = list(self.flying) if self.frozen_at is None else self.held
            self.frozen_at = self.frozen_at or row.sequence
        elif row.kind == "archived":
            self.archive(row)
        elif row.kind == "unfrozen":
            self.frozen_at = self.held = None
        elif row.kind == "rolled_back":
            to = min(row.body["to"], self.frozen_at or row.sequence)
            self.counting = [each for each in self.counting if each.sequence <= to]
            self.frozen_at = None if self.frozen_at is None else row.sequence
            self.held = None if self.frozen_at is None else list(self.flying)
        elif row.kind not in ("accepted", "redacted"):  # what was erased is known by the rows themselves
            raise PromiseBroken(f"event {row.sequence} is of the unknown kind {row.kind!r}")

    def _declare_guardrails(self, sequence: int) -> None:
        """Those that are declared as they were go on; the others begin, or are gone."""
        tables = [
            {name: each.as_dict() for name, each in config.guardrails.items()} for config in self.declared.values()
        ]
        now, before = tables[-1], tables[-2] if len(tables) > 1 else {}
        self.since = {name: self.since[name] if before.get(name) == now[name] else sequence for name in now}
        self.tripped = {name: by for name, by in self.tripped.items() if self.since.get(name, sequence) < by}
