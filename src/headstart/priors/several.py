"""What several logs say of each action, as one prior: a component for each set of them that may be right.

By a set of logs that are right about an action: N(m, v / n), n the plays that they are worth together, m their mean
by plays (0 and 1: their counts together, on top of the base). The chances of the sets are by trust and agreement
(`priors.sources`), theta the action's mean with the base N(centre, S^2) of `priors.logged`. The likeliest set of an
action stands first and is what is capped (KnowledgeGradient); a rival is around the best mean that the logs leave
likely. With one log it is `LoggedPrior.of_summary`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.summary import Summary
from headstart.priors.logged import (
    RIVAL,
    VAGUE,
    LoggedPrior,
    Made,
    check_known,
    make_binary,
    make_normal,
)
from headstart.priors.options import LoggedPriorOptions, SourceOptions
from headstart.priors.sources import choose_sets, keep_chances, list_sets, pool_binary, pool_normal, weigh_sets


def pool_summaries(summaries: Sequence[Summary]) -> Summary:
    """What they say together if all of them are right: means and variances by the plays that each is worth."""
    k = summaries[0].n_actions
    known = [check_known(summary, k) for summary in summaries]
    means, sizes, variances = (np.array([each[i] for each in known]) for i in range(3))  # (S, K) each
    total = sizes.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, variance = (sizes * means).sum(axis=0) / total, (sizes * variances).sum(axis=0) / total
        errors = np.sqrt(variance / total)
    tails = max(summary.tails for summary in summaries)
    return Summary(mean, np.where(total > 0.0, errors, np.inf), variance, tails=tails)


def prior_of_sources(
    summaries: Sequence[Summary],
    trust: Floats,
    kinds: Integers,
    options: LoggedPriorOptions = LoggedPriorOptions(),
    sources: SourceOptions = SourceOptions(),
    action_names: Sequence[object] | None = None,
    *,
    is_binary: bool = False,
) -> LoggedPrior:
    """The prior that several logs' summaries are; `trust`, (S, K), how far each is believed, `kinds`, (S,)."""
    k = trust.shape[1]
    known = [check_known(summary, k) for summary in summaries]
    means, sizes = np.array([each.means for each in known]), np.array([each.sizes for each in known])
    base = (make_binary if is_binary else make_normal)(check_known(pool_summaries(summaries), k), options)
    shown = np.where(sizes > 0.0, trust, 0.0)
    evidences = np.array([_weigh_action(means[:, a], sizes[:, a], base, a, is_binary) for a in range(k)])
    chances = np.array([weigh_sets(shown[:, a], kinds, evidences[a], sources.shared) for a in range(k)])
    made = _make_sets(means, sizes, chances, base, sources, is_binary)
    n_sets, share = made.likely.shape[1], options.rival_share
    wrong, top = 1.0 - made.likely.sum(axis=1), _find_top(made.likely, made.centres, base)
    rival = np.full(k, 1.0 / min(top, 1.0 - top)) if is_binary else base.sizes[:, RIVAL]
    return LoggedPrior(
        chances=np.column_stack([made.likely, wrong * share, wrong * (1.0 - share)]),
        centres=np.column_stack([made.centres, np.full(k, top), base.centres[:, VAGUE]]),
        sizes=np.column_stack([made.sizes, rival, base.sizes[:, VAGUE]]),
        others=np.array([0.0] * n_sets + [share, 1.0 - share]),
        variances=base.variances,
        freedoms=base.freedoms,
        spread=base.spread,
        is_binary=is_binary,
        levels=options.levels,
        action_names=tuple(range(k) if action_names is None else action_names),
        believed=made.believed,
    )


class _Sets(NamedTuple):
    """The components of sets of logs, (K, L) each."""

    likely: Floats  # their chances
    centres: Floats
    sizes: Floats
    believed: Bools  # (K, L, S)


def _make_sets(
    means: Floats, sizes: Floats, chances: Floats, base: Made, sources: SourceOptions, is_binary: bool
) -> _Sets:
    """The likeliest sets of each action; one without a chance stands where an action does before any log."""
    s, k = sizes.shape
    members = list_sets(s)
    kept = choose_sets(chances, (members @ sizes).T, sources.most_sets, sources.least_chance)
    n_sets = max(1, *(each.size for each in kept))
    made = _Sets(
        np.zeros((k, n_sets)),
        np.repeat(base.centres[:, [VAGUE]], n_sets, axis=1),
        np.repeat(base.sizes[:, [VAGUE]], n_sets, axis=1),
        np.zeros((k, n_sets, s), dtype=np.bool_),
    )
    for a, sets in enumerate(kept):
        n, total = members[sets] @ sizes[:, a], members[sets] @ (sizes[:, a] * means[:, a])
        made.centres[a, : sets.size], made.sizes[a, : sets.size] = _mix(base, a, n, total, is_binary)
        made.likely[a, : sets.size], made.believed[a, : sets.size] = keep_chances(chances[a], sets), members[sets]
    return made


def _weigh_action(means: Floats, sizes: Floats, base: Made, a: int, is_binary: bool) -> Floats:
    """The evidence of each set of logs about action a, (2^S,)."""
    if is_binary:
        seen = np.clip(means, 0.0, 1.0)
        middle, vague = base.centres[a, VAGUE], base.sizes[a, VAGUE]
        return pool_binary(sizes * seen, sizes * (1.0 - seen), middle * vague, (1.0 - middle) * vague)
    if base.spread == 0.0 or base.variances[a] == 0.0:  # nothing tells agreement from chance
        return np.zeros(1 << means.size)
    precisions = sizes / base.variances[a]
    around, width = np.array([base.centres[a, VAGUE]]), np.array([[1.0 / base.spread**2]])
    return pool_normal(precisions[:, None, None], (precisions * means)[:, None], around, width).evidences


def _mix(base: Made, a: int, n: Floats, total: Floats, is_binary: bool) -> tuple[Floats, Floats]:
    """Centre and size of components from plays and the sums of their outcomes."""
    if is_binary:
        middle, vague = base.centres[a, VAGUE], base.sizes[a, VAGUE]
        return (np.clip(total, 0.0, n) + vague * middle) / (n + vague), n + vague
    return total / n, n


def _find_top(chances: Floats, centres: Floats, base: Made) -> float:
    """The largest mean that is expected of an action if a log is right about it; the average of all without logs."""
    whole = chances.sum(axis=1)
    is_known = whole > 0.0
    if not is_known.any():
        return float(base.centres[0, RIVAL])
    means: Floats = (chances * centres).sum(axis=1)[is_known] / whole[is_known]
    return float(means.max())
