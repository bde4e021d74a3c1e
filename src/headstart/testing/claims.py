"""Claims: a promise in words, and an AssertionError with these words if it is broken."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from headstart.arrays import Floats
from headstart.parts import Saved

FALSE_ALARM = 1e-6  # of each comparison of draws with chances, for a part that keeps its promises
_T = TypeVar("_T")


def claim(is_true: bool, promise: str) -> None:
    """Raise with the promise if it is broken."""
    if not is_true:
        raise AssertionError(f"broken promise: {promise}")


def claim_raises(attempt: Callable[[], object], promise: str) -> None:
    """Raise with the promise if the attempt is not refused."""
    try:
        attempt()
    except (ValueError, TypeError, IndexError):
        return
    raise AssertionError(f"broken promise: {promise}")


def claim_distribution(chances: Floats, n_actions: int) -> None:
    """Chances of all actions, not negative, that sum to 1."""
    claim(chances.shape == (n_actions,), f"probabilities has shape ({n_actions},), got {chances.shape}")
    claim(bool((chances >= 0.0).all()), f"probabilities are not negative, got {chances}")
    claim(abs(float(chances.sum()) - 1.0) < 1e-9, f"probabilities sum to 1, got {chances.sum()}")


def claim_frequencies(counts: Floats, chances: Floats) -> None:
    """Counts of plays are such as these chances give, by a chi-square test."""
    from scipy.stats import chi2

    claim(bool((counts[chances == 0.0] == 0).all()), "an action of chance 0 is never played")
    expected = counts.sum() * chances
    likely = expected >= 5.0
    rest = expected[~likely].sum()
    statistic = float(((counts[likely] - expected[likely]) ** 2 / expected[likely]).sum())
    cells = int(likely.sum())
    if rest >= 5.0:
        statistic += float((counts[~likely].sum() - rest) ** 2 / rest)
        cells += 1
    limit = chi2.isf(FALSE_ALARM, max(cells - 1, 1))
    claim(
        statistic <= limit,
        f"play follows probabilities (chi-square {statistic:.1f} over {limit:.1f}: {counts} of {chances})",
    )


def pickled(part: _T, *, can_be_saved: bool) -> _T | None:
    """A part through pickle and back; None for one that need not be pickled.

    That is one that cannot be saved either, and one that holds what has no name to be found by: a lambda, or a class
    or a function within a function.
    """
    try:
        written = pickle.dumps(part)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        is_nameless = "<lambda>" in str(error) or "<locals>" in str(error)
        claim(is_nameless or not can_be_saved, f"a part that can be saved can be pickled, got {error}")
        return None
    twin: _T = pickle.loads(written)
    return twin


def same_state(first: Saved, second: Saved) -> bool:
    """Whether two saved states hold the same arrays and plain values."""
    try:
        np.testing.assert_equal(first, second)
    except AssertionError:
        return False
    return True


def same_numbers(first: Floats, second: Floats) -> bool:
    """Equal but for the last digits, which a compiler may round differently."""
    return bool(np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True))
