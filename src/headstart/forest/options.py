"""Every setting of the forest, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headstart.errors import OptionError


@dataclass(frozen=True)
class ForestOptions:
    """How a forest is drawn, grown and averaged.

    Parameters
    ----------
    n_trees : int
        Trees in the forest; a multiple of `group_size`.
    sample_fraction : float
        Share of the rows that each tree sees, drawn without replacement.
    subsample_exponent : float, optional
        If given, each tree sees n ** subsample_exponent rows instead (Theorem 7's beta).
    honesty_fraction : float
        Share of a tree's rows that places its splits (the J half); the rest (the I half) estimates.
    min_leaf : int
        m: a leaf keeps at least so many rows of each action of the I half. Waived, tree by tree, for an
        action of which the whole I half has fewer than m.
    min_node : int
        A node with so many rows of the J half or fewer is not split (grf's min.node.size).
    alpha : float
        Regularity: every split leaves at least this share of its node on each side, in both halves.
    mtry : float, optional
        Features tried at a node: max(1, min(Poisson(mtry), d)) of them, so that each has a chance at
        every node. None means min(d, ceil(sqrt(d) + 20)), which is grf's choice.
    group_size : int
        Trees that share one half of the rows; the variance estimate compares such groups. With 1 there
        is no variance and a tree may see more than half of the rows.
    n_bins : int
        Quantile bins per feature, at most 256, for nodes too large to be sorted.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> hs.ForestOptions(n_trees=100).n_trees
    100
    """

    n_trees: int = 500
    sample_fraction: float = 0.5
    subsample_exponent: float | None = None
    honesty_fraction: float = 0.5
    min_leaf: int = 1
    min_node: int = 5
    alpha: float = 0.05
    mtry: float | None = None
    group_size: int = 2
    n_bins: int = 256

    def __post_init__(self) -> None:
        counts = {
            "n_trees": self.n_trees,
            "min_leaf": self.min_leaf,
            "min_node": self.min_node,
            "group_size": self.group_size,
        }
        for name, value in counts.items():
            if value != int(value) or value < 1:
                raise OptionError(f"{name} must be a whole number of at least 1, got {value}")
        if self.n_trees % self.group_size:
            raise OptionError(f"n_trees must be a multiple of group_size ({self.group_size}), got {self.n_trees}")
        most = 0.5 if self.group_size > 1 else 1.0
        if not 0.0 < self.sample_fraction <= most:
            raise OptionError(
                f"sample_fraction must be in (0, {most}] with group_size {self.group_size}, "
                f"got {self.sample_fraction}"
            )
        if self.subsample_exponent is not None and not 0.0 < self.subsample_exponent <= 1.0:
            raise OptionError(f"subsample_exponent must be in (0, 1], got {self.subsample_exponent}")
        if not 0.0 < self.honesty_fraction < 1.0:
            raise OptionError(f"honesty_fraction must be in (0, 1), got {self.honesty_fraction}")
        if not 0.0 <= self.alpha <= 0.2:
            raise OptionError(f"alpha must be in [0, 0.2], got {self.alpha}")
        if self.mtry is not None and not 0.0 < self.mtry < math.inf:
            raise OptionError(f"mtry must be positive, got {self.mtry}")
        if not 2 <= self.n_bins <= 256:
            raise OptionError(f"n_bins must be in 2..256, got {self.n_bins}")
