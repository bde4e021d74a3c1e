"""How an explanation is gathered: from what a policy's layers know, each by its own abilities."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.checks import check_available
from headstart.errors import ActionError
from headstart.logs.any_log import OUTCOME
from headstart.logs.validation import listed
from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import ContextLike, Oracle
from headstart.parts.explanation import ActionCase, Explanation
from headstart.parts.identity import identity_of
from headstart.parts.names import Names, as_user, has_text
from headstart.parts.tables.decisions import settle_policy, words_of
from headstart.parts.wrapper import Wrapper, layers


def explain_user(policy: Oracle, user: object, available: object, action: Hashable) -> Explanation:
    """Why the policy gives this user an action, in its log's words where it has some. It is left as it is."""
    identity = identity_of(policy)
    names = words_of(policy, identity)
    columns = as_user(user)
    if columns is None and user is not None:
        context: ContextLike = np.asarray(user, dtype=np.float64).reshape(-1)
    else:
        context = names.context(columns or {}) if names.asked.columns else None
    labels = names.labels
    if identity is None:  # an index needs a word, or a sentence has two numbers in a row
        labels, action = tuple(f"action {a}" for a in labels), None if action is None else f"action {action}"
    return explain_context(
        policy,
        context,
        _mask(available, names),
        labels=labels,
        user=_looked_at(names, columns, context),
        outcome=identity.outcome if identity is not None and identity.outcome is not None else OUTCOME,
        action=action,
    )


def explain_context(
    policy: Oracle,
    context: ContextLike,
    available: Bools | None,
    *,
    labels: Iterable[Hashable],
    user: Mapping[str, object],
    outcome: str = OUTCOME,
    action: Hashable = None,
) -> Explanation:
    """The same of a context as the policy takes it, in the words of whoever asks."""
    settle_policy(policy)
    names = [str(label) for label in labels]
    chances = np.asarray(policy.probabilities(context, available), dtype=np.float64)
    inner, seen = _innermost(policy, context)
    abilities = OracleAbilities(policy)
    expected, errors, worths = _expect(policy, inner, context, seen, available)
    nothing = np.full(policy.n_actions, np.nan)
    log_means, log_errors = abilities.log_says(context) or (nothing, nothing)
    trust = OracleAbilities(inner).trust
    heard = abilities.heard()
    counts, means = (nothing, nothing) if heard is None else heard
    columns = [chances, log_means, log_errors, nothing if trust is None else trust]
    columns += [counts, means, expected, errors, worths]
    cases = tuple(
        ActionCase(name, *row)
        for name, row in zip(names, np.stack(columns, axis=1).astype(float).tolist(), strict=True)
    )
    likeliest = max(cases, key=lambda case: (case.chance, -math.inf if math.isnan(case.expected) else case.expected))
    asked = likeliest.name if action is None else str(action)
    if asked not in names:
        raise ActionError(f"unknown action {action!r}; known: {listed(names)}")
    return Explanation(asked, cases, user, outcome, type(inner).__name__)


def _innermost(policy: Oracle, context: ContextLike) -> tuple[Oracle, ContextLike]:
    """The oracle inside, and what it sees of a context."""
    for layer in layers(policy):
        if not isinstance(layer, Wrapper):
            return layer, context
        context = layer.seen(context)
    raise AssertionError("unreachable: layers end at what wraps nothing")


def _expect(
    policy: Oracle, inner: Oracle, context: ContextLike, seen: ContextLike, available: Bools | None
) -> tuple[Floats, Floats, Floats]:
    """What is expected of each action for this user, its standard error, and the worth of a trial, (K,) each."""
    nothing = np.full(policy.n_actions, np.nan)
    looks = seen is not None and bool(OracleAbilities(inner).n_features)
    found = OracleAbilities(inner).expected_outcomes(np.asarray(seen if looks else [], dtype=np.float64)[None, :])
    if found is not None:
        means, errors = found[0][0], found[1][0]
    else:  # of one that looks at users, an average over all of them is not what is expected of this one
        means, errors = nothing if looks else OracleAbilities(policy).readings().means, nothing
    weighing = OracleAbilities(policy).weigh(context, available)
    if weighing is None:
        return means, errors, nothing
    return np.where(np.isnan(weighing.means), means, weighing.means), errors, weighing.worths


def _mask(available: object, names: Names) -> Bools | None:
    if available is None:
        return None
    if has_text(available):
        return names.available(available)  # type: ignore[arg-type]
    return check_available(available, len(names.labels))


def _looked_at(names: Names, columns: Mapping[str, object] | None, context: ContextLike) -> dict[str, object]:
    """What the policy looks at in the user, by name."""
    asked = names.asked.columns
    if columns is not None:
        return {name: columns[name] for name in asked}
    if context is None or not asked:
        return {}
    encoded = names.of_encoded()
    values = np.asarray(context, dtype=np.float64)
    places = {name: j for j, name in enumerate(names.context_names)}
    return {name: float(values[places[name]]) for name in encoded.asked.columns if places[name] < values.size}
