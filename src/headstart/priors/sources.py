"""Several logs beside each other: which of them are right about an action, by trust and by whether they agree.

A log s is right about the action's parameters theta with chance w_s; then what it says is theta and noise. If it is
wrong, it says something else: parameters of their own, drawn from the base prior like theta, and noise. So a set T of
logs that are right has, beside logs that say each its own, the odds

    A(T) = ev(T) / product of ev({s}) over s in T,    ev(T) the chance of what T says if all of it is of one theta.

It is large where they agree by more than chance, small where they contradict each other, and 1 for one log alone: its
chance is then its trust. Logs of one kind (whose chances are logged, or estimated, or neither) may be wrong for one
reason, a hidden cause of both, say, and agree all the same. Of the doubt in them a part is common: with chance c =
1 - W^shared, W the largest of their trusts, what they have in common is not theta; each is right in its own way with
chance w_s / (1 - c). Users re-weigh the sets of each action by what they predicted (Finan and Pouzo 2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers


class Posteriors(NamedTuple):
    """Of each set of sources, if they are right: 2^S of them, by `list_sets`."""

    evidences: Floats  # (T,) logarithms of ev(T), up to what each source adds to every set that it is in
    centres: Floats  # (T, m) of theta
    inverses: Floats  # (T, m, m) its covariances


def list_sets(n_sources: int) -> Bools:
    """Every set of sources, (2^S, S): set t has source s if bit s of t is 1."""
    return (np.arange(1 << n_sources)[:, None] >> np.arange(n_sources)) & 1 == 1


def weigh_sets(trust: Floats, kinds: Integers, evidences: Floats, shared: float) -> Floats:
    """The chance of each set, (2^S,), to be those that are right about an action; of none of them: the first.

    `trust` and `kinds`, (S,): the chance that a source is right, 0 where it does not show the action, and its kind.
    """
    sets = list_sets(trust.size)
    agreements = evidences - sets @ evidences[1 << np.arange(trust.size)]
    found = np.unique(kinds)
    common = np.array([1.0 - trust[kinds == kind].max() ** shared for kind in found])
    alone = np.zeros(trust.size)
    np.divide(trust, 1.0 - common[np.searchsorted(found, kinds)], out=alone, where=trust > 0.0)
    alone = np.minimum(alone, 1.0)  # rounding
    bits = np.array([int((1 << np.flatnonzero(kinds == kind)).sum()) for kind in found])
    each = np.where(sets, alone, 1.0 - alone).prod(axis=1)
    numbers, chances = np.arange(len(sets)), np.full(len(sets), -np.inf)
    for failed in list_sets(found.size):
        prior = each * np.where(failed, common, 1.0 - common).prod()
        wrong = int(bits[failed].sum())
        odds = agreements[numbers & ~wrong] + sum(agreements[numbers & bit] for bit in bits[failed])
        with np.errstate(divide="ignore"):
            np.logaddexp.at(chances, numbers & ~wrong, np.log(prior) + odds)
    likely = np.exp(chances - chances.max())
    return np.asarray(likely / likely.sum())


def pool_normal(precisions: Floats, informations: Floats, centre: Floats, base: Floats) -> Posteriors:
    """Every set's posterior of theta ~ N(centre, base^-1), where source s says N(theta_s, P_s^-1).

    `precisions` P_s, (S, m, m), may be singular: a source says nothing along what it does not know. `informations`
    are P_s theta_s, (S, m).
    """
    sets = list_sets(len(precisions)).astype(np.float64)
    whole = base + np.einsum("ts,sij->tij", sets, precisions)
    apart = np.einsum("ts,si->ti", sets, informations - precisions @ centre)
    inverses = np.linalg.inv(whole)
    moved = (inverses @ apart[..., None])[..., 0]
    evidences = 0.5 * (np.linalg.slogdet(base)[1] - np.linalg.slogdet(whole)[1] + (apart * moved).sum(axis=1))
    return Posteriors(evidences, centre + moved, inverses)


def pool_binary(successes: Floats, failures: Floats, first: float, second: float) -> Floats:
    """The evidence, (2^S,), of each set of sources for one chance ~ Beta(first, second) of a success, (S,) counts."""
    from headstart.special import betaln

    sets = list_sets(successes.size).astype(np.float64)
    found: Floats = betaln(first + sets @ successes, second + sets @ failures) - betaln(first, second)
    return found


def choose_sets(chances: Floats, worth: Floats, most: int, least: float) -> list[Integers]:
    """Of each action, (K, 2^S), the sets that are kept, likeliest first; none where no source shows it.

    Logs of one kind and trust are as likely each by itself, whatever they say: of such, what is `worth` more, (K,
    2^S), stands first.
    """
    kept = []
    for each, plays in zip(chances, worth, strict=True):
        with np.errstate(divide="ignore"):
            likely = np.round(np.log(each[1:]), 9)
        order = 1 + np.lexsort((-plays[1:], -likely))[:most]
        kept.append(order[each[order] >= max(least, 1e-300)])
    return kept


def keep_chances(chances: Floats, kept: Integers) -> Floats:
    """The chances of the sets that are kept, those of the others dealt among them: none is less often right."""
    total = float(chances[kept].sum())
    return chances[kept] * ((1.0 - chances[0]) / total) if total > 0.0 else np.zeros(kept.size)


def weigh_sources(chances: Floats, believed: Bools | None) -> Floats:
    """The chance that each log is right about each action, (S, K), by the chances of components, (K, J), of which the
    first L believe these logs, (K, L, S); None: the first believes the only one."""
    if believed is None:
        return chances[:, :1].T.copy()
    return np.asarray(np.einsum("kl,kls->sk", chances[:, : believed.shape[1]], believed))
