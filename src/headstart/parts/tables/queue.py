"""A batch is not a stream: n users are decided before any outcome, so what is worth trying is not tried n times.

A user of a batch stands nowhere in a queue: the order of a table means nothing. So a user's chances are the average
over the places that he might have had: P(a | x) = (1/n) sum over t of p_t(a | x), where p_t are the policy's chances
when t users are decided whose outcomes are still to come. What is in flight at place t is found by letting a stated
sample of the users go through the queue, with the expected number of each action (`expect`). Places are 0, 1, 2, ...
and from the eighth on each an eighth further than the one before. Once nobody in the sample is tried on, the queue
stays as it is.

The chances are exact for the rule by which actions are drawn: they are what is drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.kernels import compiled
from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import Oracle
from headstart.parts.tables.chances import Foresight, chances_of, foresee
from headstart.parts.tables.flight import expect_rows, weighs_flight

_FINENESS = 8  # a place is 1/8 further in the queue than the one before
_AT_A_PLACE = 32  # users of the sample that stand for all who are decided at one place
_QUIET = 16  # times as many users as before the last one who was tried on: then the queue is taken to stay as it is
_FEWEST = 64  # users who are looked at in any case, as if one of them had been
_MOST_TOLD = 200_000  # decisions in flight that a policy is told of
_AT_ONCE = 1 << 14  # users whose forecasts are in memory
_MOST_KNOWN = 4096  # sets of available actions whose chances are kept


@dataclass(frozen=True)
class Queue:
    """The policy at some places of the queue, and the share of the users that each stands for."""

    places: Sequence[Oracle]
    shares: Floats  # (L,), which sum to 1
    starts: tuple[int, ...]  # (L,) users decided before
    is_blind: bool = False  # the policy does not weigh what is in flight
    n_before_rest: int = 0  # users decided after whom nobody in the sample is tried on any more
    _known: dict[bytes, Floats] = field(default_factory=dict, compare=False, repr=False)  # by mask, without contexts

    def chances_by_mask(self, masks: Bools) -> Floats:
        """P(a) of users of whom nothing is known but the actions that they may get, (m, K), asked for once."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        for mask in masks:
            if mask.tobytes() not in self._known:
                self._known[mask.tobytes()] = self.chances(np.empty((1, 0)), mask[None])[0]
        return np.array([self._known[mask.tobytes()] for mask in masks]).reshape(masks.shape)

    def chances(self, contexts: Floats, available: Bools | None) -> Floats:
        """P(a | x) of each row, (n, K)."""
        if not contexts.shape[1]:  # few rows: every place is asked
            asked = (chances_of(place, contexts, available) for place in self.places)
            total = np.zeros((len(contexts), self.places[0].n_actions))
            for share, found in zip(self.shares, asked, strict=True):
                total += share * found
            return total
        if len(self.places) == 1:
            return chances_of(self.places[0], contexts, available)
        total = np.empty((len(contexts), self.places[0].n_actions))
        for start in range(0, len(contexts), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            self._average_all(contexts[some], None if available is None else available[some], total[some])
        return total

    def _average_all(self, contexts: Floats, available: Bools | None, out: Floats) -> None:
        """The shares of all places times their chances, into `out`."""
        ask = foresee(self.places[0], contexts, available)
        first, last = ask(self.places[0], slice(None)), ask(self.places[-1], slice(None))
        self._average(0, len(self.places) - 1, first, last, ask, np.arange(len(contexts)), out)

    def _average(
        self, low: int, high: int, first: Floats, last: Floats, ask: Foresight, users: Integers, out: Floats
    ) -> None:
        """The shares of places low..high times their chances, into `out`; the chances at both ends are known.

        Where they are the same, those in between are taken to be: mostly, what is in flight takes reasons to explore
        away and brings none back. Where it does, the chances are still those that are drawn from.
        """
        if high - low < 2:
            out[:] = first * self.shares[low] + last * self.shares[high]
            return
        rows = np.empty(len(first), dtype=np.int64)
        n_different = compiled(_take_as_same)(first, last, float(self.shares[low : high + 1].sum()), out, rows)
        if not n_different:
            return
        rows = rows[:n_different]
        middle = (low + high) // 2
        between = ask(self.places[middle], users[rows])
        left, right = np.empty_like(between), np.empty_like(between)
        self._average(low, middle, first[rows], between, ask, users[rows], left)
        self._average(middle, high, between, last[rows], ask, users[rows], right)
        out[rows] = left + right - between * self.shares[middle]  # it stands in both halves


def _take_as_same(first: Floats, last: Floats, share: float, out: Floats, rows: Integers) -> int:
    """The share times the chances at the first place, into `out`; `rows` where the last differs, and how many."""
    n = 0
    for i in range(first.shape[0]):
        is_same = True
        for a in range(first.shape[1]):
            out[i, a] = first[i, a] * share
            is_same = is_same and first[i, a] == last[i, a]
        if not is_same:
            rows[n] = i
            n += 1
    return n


def line_up(policy: Oracle, n_users: int, contexts: Floats, available: Bools | None) -> Queue:
    """The queue of so many users, of whom `contexts` and `available` are a sample, (m, d) and (m, K)."""
    is_blind = not weighs_flight(policy)
    if is_blind or n_users < 2 or not len(contexts):
        return Queue([policy], np.ones(1), (0,), is_blind)
    moving, places, starts = OracleAbilities(policy).copy(), [policy], [0]
    carried, told, rest, t, turn = np.zeros(policy.n_actions), 0, 0, 0, 0
    while t < min(n_users, _QUIET * max(rest, _FEWEST)) and told < _MOST_TOLD:
        block = min(max(1, t // _FINENESS), n_users - t)
        if t:
            places.append(OracleAbilities(moving).copy())
            starts.append(t)
        rows = (turn + np.arange(min(block, _AT_A_PLACE, len(contexts)))) % len(contexts)
        turn += rows.size
        mask = None if available is None else available[rows]
        chances = chances_of(moving, contexts[rows], mask)
        if not (chances.max(axis=1) == 1.0).all():
            rest = t + block
        expected = carried + np.cumsum(chances * (block / rows.size), axis=0)
        whole = np.diff(np.floor(expected), axis=0, prepend=0.0)
        carried = expected[-1] - np.floor(expected[-1])
        told += int(whole.sum())
        _tell(moving, contexts[rows], whole)
        t += block
    ends = np.array([*starts[1:], n_users], dtype=np.float64)
    return Queue(places, (ends - np.array(starts)) / n_users, tuple(starts), n_before_rest=rest)


def _tell(policy: Oracle, contexts: Floats, times: Floats) -> None:
    """Tell the policy so many decisions of each action for such users, (n, K); at most as many as it is ever told."""
    most = np.minimum(times, float(_MOST_TOLD)).astype(np.int64).ravel()
    users, actions = np.divmod(np.repeat(np.arange(most.size), most), times.shape[1])
    expect_rows(policy, contexts[users], actions)
