"""Started: the policy that `start` returns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from typing import Any, NamedTuple, Self, cast, overload

import numpy as np

from headstart.arrays import Bools, Floats, Integers, Scratch
from headstart.checks import Available, check_context, check_saved
from headstart.displayed import Display, Displayed
from headstart.estimates.summary import Summary
from headstart.judgement.audit.audit import Audit
from headstart.judgement.audit.trust import Trust
from headstart.judgement.rules.rules import Rules, make_rules
from headstart.kernels import expect, implements, kernel, play, probabilities, release, update
from headstart.kernels.states import load_state, save_state
from headstart.logs.any_log import AnyLog
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient
from headstart.parts import (
    ContextLike,
    Oracle,
    OracleAbilities,
    Saved,
    State,
    UserOutcomes,
    Wrapper,
    load_parts,
    save_parts,
)
from headstart.parts.names import NamedUser, Names, as_user, has_text
from headstart.parts.tables.chances import Foresight, chances_of, foresee
from headstart.priors.linear import LinearPrior
from headstart.priors.logged import LoggedPrior
from headstart.priors.sources import weigh_sources


class View(NamedTuple):
    """How an oracle sees a user: a constant, then some columns in standard units."""

    constant: float
    columns: Integers  # (m,) of the log's contexts
    centres: Floats  # (m,)
    scales: Floats  # (m,)


class StartedState(NamedTuple):
    oracle: State
    lens: View  # numba keeps the name `view` for itself
    seen: Scratch  # (m + 1,)


@kernel
def _see(state: StartedState, context: Floats) -> None:
    state.seen[0] = state.lens.constant
    for j in range(state.lens.columns.size):
        column = state.lens.columns[j]
        state.seen[j + 1] = (context[column] - state.lens.centres[j]) / state.lens.scales[j]


@implements(play, StartedState)
def _play(state: StartedState, context: Floats, available: Bools) -> int:
    _see(state, context)
    return play(state.oracle, state.seen, available)


@implements(update, StartedState)
def _update(state: StartedState, context: Floats, action: int, outcome: float) -> None:
    _see(state, context)
    update(state.oracle, state.seen, action, outcome)


@implements(expect, StartedState)
def _expect(state: StartedState, context: Floats, action: int) -> None:
    _see(state, context)
    expect(state.oracle, state.seen, action)


@implements(release, StartedState)
def _release(state: StartedState, context: Floats, action: int) -> None:
    _see(state, context)
    release(state.oracle, state.seen, action)


@implements(probabilities, StartedState)
def _probabilities(state: StartedState, context: Floats, available: Bools, out: Floats) -> None:
    _see(state, context)
    probabilities(state.oracle, state.seen, available, out)


class Choice(NamedTuple):
    """What decides, how it sees a user, what it believes before the first, and why it was chosen."""

    oracle: Oracle
    view: View | None  # None: it does not look
    prior: LoggedPrior | LinearPrior | None  # None: a forest, which has learnt the rows
    reason: str


class Origin(NamedTuple):
    """What a policy was started from."""

    log: AnyLog | None  # None: left behind
    population: object  # contexts of the users to come; None: such as the log's
    horizon: int | None  # None: not known


class Started(Wrapper, Displayed):
    """A policy that starts from a log: an oracle with `play`, `update` and `probabilities`, and what it was made of.

    A user may be given by names, as a mapping or a data frame's row: then actions are the log's labels, in and out
    (`policy.play({"age": 34}, available=["video", "text"])` gives "video"), and only those columns are asked for that
    decisions look at. A user given by numbers, or None, speaks indices, as to every oracle.

    Attributes
    ----------
    oracle
        What decides.
    prior
        What was believed before the first user, to print and to plot; None for a forest, which has learnt the rows.
    audit
        The audit of the log as it is used, whose verdict was obeyed; of several logs, the one that is worth most.
    audits
        The audit of each log.
    summary, trust
        What the log says per action, its plays capped, and how far it is believed.
    explanation
        What was done and why, in words.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> policy = hs.start(log, rng=1)
    >>> policy.audit.verdict.decision
    'use it'
    >>> round(float(policy.probabilities(None).sum()), 6)
    1.0
    """

    def __init__(
        self,
        choice: Choice,
        origin: Origin,
        audit: Audit,
        summary: Summary,
        trust: Trust,
        reasons: tuple[str, ...],
        audits: tuple[Audit, ...] = (),
    ) -> None:
        self.oracle, self.prior = choice.oracle, choice.prior
        self.audit, self.summary, self.trust, self.reasons = audit, summary, trust, reasons
        self.audits = audits or (audit,)
        assert origin.log is not None, "a policy starts from a log"
        self._origin, self._view = origin, choice.view
        self._n_features = 0 if choice.view is None else origin.log.n_features
        self._seen = np.ones(1 if choice.view is None else choice.view.columns.size + 1)
        self._encoding = origin.log.encoding
        self._names = Names(self._encoding, self.looks_at, origin.log.action_names)

    @property
    def inner(self) -> Oracle:
        """What decides."""
        return self.oracle

    @property
    def origin_log(self) -> AnyLog | None:
        """The log it was started from; None in a policy from a file, which does without."""
        return self._origin.log

    @property
    def looks_at(self) -> Integers:
        """Which of the log's encoded columns decisions look at."""
        return np.empty(0, dtype=np.int64) if self._view is None else self._view.columns

    def batch_probabilities(self, contexts: Floats, available: Bools | None) -> Floats:
        """`probabilities` of many users at once, (n, K)."""
        seen = contexts[:, :0] if self._view is None else self._see_rows(contexts)
        return chances_of(self.oracle, seen, available)

    def foresee(self, contexts: Floats, available: Bools | None) -> Foresight:
        """These users, to be asked about with whatever is in flight: by this policy, or by copies of it."""
        ask = foresee(self.oracle, contexts[:, :0] if self._view is None else self._see_rows(contexts), available)
        return lambda place, rows: ask(cast(Started, place).oracle, rows)

    def expected_outcomes(self, contexts: Floats) -> tuple[Floats, Floats] | None:
        """What is expected of each action for many users, and how sure that is, (n, K) each; None: a forest."""
        if not isinstance(self.oracle, KnowledgeGradient | LinKnowledgeGradient):
            return None
        return self.oracle.expected_outcomes(contexts if self._view is None else self._see_rows(contexts))

    def heard(self) -> UserOutcomes | None:
        """What users said of each action; None of a forest, which learns the log's rows and users' alike."""
        return None if self.prior is None else super().heard()

    def log_says(self, context: ContextLike) -> tuple[Floats, Floats]:
        """The mean of each action by the log alone and its standard error, (K,) each: for this user, where the prior
        looks at users, else over all of them."""
        if isinstance(self.prior, LinearPrior):
            return self.prior.log_says(np.asarray(self.seen(context)))
        return self.summary.means, self.summary.standard_errors

    def _see_rows(self, contexts: Floats) -> Floats:
        """`seen` of many users at once."""
        view = self._view
        assert view is not None
        seen = np.empty((len(contexts), view.columns.size + 1))
        seen[:, 0] = view.constant
        np.subtract(contexts[:, view.columns], view.centres, out=seen[:, 1:])
        seen[:, 1:] /= view.scales
        return seen

    def copy(self) -> Self:
        """An independent policy with the same state and the same future; what it was made of is shared."""
        twin = copy(self)
        twin.oracle, twin._seen = OracleAbilities(self.oracle).copy(), self._seen.copy()
        return twin

    def file_state(self) -> dict[str, object]:
        """What a policy file holds of it: all but the rows."""
        return {**self.__dict__, "_origin": Origin(None, None, self._origin.horizon)}

    @overload
    def play(self, context: ContextLike = None, available: Available = None) -> int: ...
    @overload
    def play(self, context: NamedUser, available: Iterable[Hashable] | None = None) -> Hashable: ...

    def play(self, context: Any = None, available: Any = None) -> Any:
        """An available action for this user: its label for one given by names, else its index."""
        names, user = self._names, self._user_of(context, available)
        if user is None:
            return self.oracle.play(self.seen(context), available)
        return names.label(self.oracle.play(self.seen(names.context(user)), names.available(available)))

    @overload
    def update(self, context: ContextLike, action: int, outcome: float) -> None: ...
    @overload
    def update(self, context: NamedUser, action: Hashable, outcome: float) -> None: ...

    def update(self, context: Any, action: Any, outcome: float) -> None:
        """Learn what came of an action: its label for a user given by names, else its index."""
        seen, index = self._decided(context, action)
        self.oracle.update(self._whole(context) if self._view is None else seen, index, outcome)

    def _whole(self, context: Any) -> ContextLike:
        """The log's columns of a user who comes with all of them, to explain an outcome by; None for any other."""
        encoding, user = self._encoding, as_user(context)
        if user is None:
            return context if context is not None and np.size(context) == len(encoding.names) > 0 else None
        if not encoding.columns or any(column not in user for column in encoding.columns):
            return None
        return encoding.encode({column: user[column] for column in encoding.columns})

    def expect(self, context: Any, action: Any) -> None:
        """A decision for this user was made whose outcome is still to come; users and actions as in `update`."""
        OracleAbilities(self.oracle).expect(*self._decided(context, action))

    def release(self, context: Any, action: Any) -> None:
        """An expected decision is in flight no more: its outcome has come (`update` is next) or never will."""
        OracleAbilities(self.oracle).release(*self._decided(context, action))

    def _decided(self, context: Any, action: Any) -> tuple[ContextLike, int]:
        """What the oracle sees of a user, and the index of the action that was decided on."""
        user = self._user_of(context, [action])
        if user is None:
            return self.seen(context), action
        return self.seen(self._names.context(user)), self._names.action(action)

    @overload
    def probabilities(self, context: ContextLike = None, available: Available = None) -> Floats: ...
    @overload
    def probabilities(
        self, context: NamedUser, available: Iterable[Hashable] | None = None
    ) -> dict[Hashable, float]: ...

    def probabilities(self, context: Any = None, available: Any = None) -> Any:
        """The exact chance of each action in `play`: by label for a user given by names, else (K,)."""
        names, user = self._names, self._user_of(context, available)
        if user is None:
            return self.oracle.probabilities(self.seen(context), available)
        seen = self.seen(names.context(user))
        return names.by_label(self.oracle.probabilities(seen, names.available(available)))

    def _user_of(self, context: Any, actions: Any) -> Mapping[str, object] | None:
        """The columns of a user given by names; of nobody, if actions are named by text: an index is never text."""
        user = as_user(context)
        if user is None and context is None and self._view is None and has_text(actions):
            return {}
        return user

    @property
    def n_features(self) -> int:
        """Columns of the log that a context has; 0: none is looked at."""
        return self._n_features

    @property
    def explanation(self) -> str:
        """What was done and why, a sentence for each step."""
        return "\n".join(f"{reason[:1].upper()}{reason[1:]}." for reason in self.reasons)

    @property
    def effective_sizes(self) -> Floats:
        """Online plays that would know each action's mean as well as the log does, (K,)."""
        return self.summary.effective_sizes

    @property
    def worth(self) -> Integers:
        """Users that the log is worth per action as far as it is believed: effective sizes times trust, (K,)."""
        return np.floor(self.trust.weights * self.summary.effective_sizes).astype(np.int64)

    @property
    def log_weights(self) -> Floats:
        """The chance, by now, that each log is right about each action, (S, K): by its trust, by whether the logs
        agree, and by how well it foretold users. Of a forest, which has learnt the rows, all 1."""
        prior, oracle = self.prior, self.oracle
        while isinstance(oracle, Wrapper):
            oracle = oracle.inner
        if prior is None or not isinstance(oracle, KnowledgeGradient | LinKnowledgeGradient):
            return np.ones((1, self.n_actions))
        return weigh_sources(oracle.chances, prior.believed)

    @property
    def virtual_plays(self) -> Integers:
        """The plays that the log stands for in the prior, as far as it is right, (K,): what the audit's caps leave, a
        count as in WarmStart. `worth` is what they count for as far as the log is believed."""
        return self.summary.plays

    def around(self, inner: State) -> State:
        """The compiled view of a user, around the oracle's state."""
        return inner if self._view is None else StartedState(inner, self._view, self._seen)

    def seen(self, context: ContextLike) -> ContextLike:
        """The columns that are decided on, in standard units; from the log's columns, or from these alone."""
        view = self._view
        if view is None:
            return None
        given = np.asarray(context, dtype=np.float64).reshape(-1) if context is not None else np.empty(0)
        if given.size == view.columns.size != self._n_features:
            chosen = check_context(given, view.columns.size)
        else:
            chosen = check_context(context, self._n_features)[view.columns]
        return np.concatenate([[view.constant], (chosen - view.centres) / view.scales])

    def to_rules(self, max_leaves: int = 8, *, log: AnyLog | None = None) -> Rules:
        """A small tree over the log's raw columns that copies the best choice by now: to read, or to ship as SQL. A
        policy that was loaded has left its log behind, and is given one of the same columns."""
        return make_rules(self, self.origin_log if log is None else log, max_leaves, self.looks_at)

    def get_state(self) -> Saved:
        """The oracle's state, and how it sees a user, which the log told."""
        view = {} if self._view is None else {"view": save_state(self._view)}
        return {**save_parts({"oracle": self.oracle}), **view}

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of a start from the same log: it has the same future."""
        check_saved(saved)
        view = None if self._view is None else load_state(self._view, saved.get("view", {}))
        load_parts({"oracle": self.oracle}, saved)
        self._view = view

    def _tell(self) -> Display:
        said = self.summary
        columns = {
            "action": [str(name) for name in self.audit.facts.action_names],
            "mean, by the log": said.means.tolist(),
            "standard error": said.standard_errors.tolist(),
            "trust": self.trust.weights.tolist(),
            "users' worth": self.worth.tolist(),
        }
        headline = f"A policy that starts from a log of {self.audit.facts.n_rows:,} rows"
        return Display(headline, tuple(f"{each[:1].upper()}{each[1:]}." for each in self.reasons), columns)

    def _draw(self, axes: Any) -> None:
        self.summary.draw(axes, self.audit.facts.action_names)
        axes.set_xlabel(f"mean {self.audit.facts.outcome} by the log, before the first user, 95 % interval")

    def __repr__(self) -> str:
        return f"Started({self.oracle!r}, worth {self.worth.tolist()} users)"
