"""The chosen numbers of the priors, checked once. docs/reference.md says what each does and how it was chosen."""

from __future__ import annotations

from dataclasses import dataclass

from headstart.checks import check_kind, check_number, check_whole
from headstart.errors import OptionError


@dataclass(frozen=True)
class LevelOptions:
    """How far the level of all actions may be from the log's (`kernels.levels`), in the spread S of outcomes."""

    still: float = 0.5  # the chance that it is the log's
    step: float = 0.15  # of the grid
    reach: float = 3.0  # its ends
    off: float = 1.0  # how far off it may be: the standard deviation

    def __post_init__(self) -> None:
        check_number("still", self.still, 0.0, 1.0)
        check_number("step", self.step, low=1e-3)
        check_number("reach", self.reach, low=self.step)
        check_number("off", self.off, low=1e-6)


STILL = LevelOptions(still=1.0)  # the level is the log's, and nothing else is thought of


@dataclass(frozen=True)
class LoggedPriorOptions:
    """What a log is as a prior of each action's mean (`priors.logged`)."""

    trust: float = 0.9  # the chance that a log of two actions is right, if it can be adjusted
    unadjusted_trust: float = 0.6  # the same if it has neither propensities nor contexts
    confounded: float = 0.5  # of the doubt: what logged propensities rule out if they pass where they would be seen
    rival_share: float = 1.0  # of the distrust; the rest is vague
    rival_width: float = 0.6  # of the spread S: how far from the best action's mean a rival's may be
    pooling: float = 8.0  # outcomes' worth of the pooled variance in each action's own
    most_freedom: float = 30.0  # outcomes' worth of the log's variance at most: users correct a wrong one soon
    levels: LevelOptions = LevelOptions()

    def __post_init__(self) -> None:
        check_kind("levels", self.levels, LevelOptions)
        for name in ("trust", "unadjusted_trust", "confounded", "rival_share"):
            check_number(name, vars(self)[name], 0.0, 1.0)
        check_number("rival_width", self.rival_width, 1e-6, 1e6)  # it is squared
        check_number("pooling", self.pooling, low=1e-6)
        check_number("most_freedom", self.most_freedom, low=self.pooling)


@dataclass(frozen=True)
class SourceOptions:
    """How several logs are believed beside each other (`priors.sources`)."""

    shared: float = 0.8  # of the doubt in logs of one kind, as an exponent: what they may be wrong about together
    observed: float = 0.5  # what the odds of a log with estimated propensities are times beside one with logged ones
    most_sets: int = 7  # of logs that are right together, per action: those of the largest chance are kept
    least_chance: float = 1e-4  # of a set that is kept

    def __post_init__(self) -> None:
        check_number("shared", self.shared, 0.0, 1.0)
        check_number("observed", self.observed, 1e-6, 1.0)
        check_whole("most_sets", self.most_sets)
        check_number("least_chance", self.least_chance, 0.0, 0.1)


@dataclass(frozen=True)
class ProductOptions:
    """Squares and products of columns that a linear prior may add (`priors.linear`)."""

    most_squared: int = 150  # columns at most: with many, products are a great many chances to be misled
    most_crossed: int = 6
    bound: float = (
        2.0  # standard units: a column is cut there before it is multiplied, so that no product goes astray
    )
    scale: float = 0.3  # a product's standard deviation, where a column's is 1: its slope is expected to be smaller
    margin: float = 3.0  # by how much the rows' log-likelihood must be larger with products

    def __post_init__(self) -> None:
        check_whole("most_squared", self.most_squared)
        check_whole("most_crossed", self.most_crossed)
        check_number("bound", self.bound, low=1e-6)
        check_number("scale", self.scale, low=1e-6)
        check_number("margin", self.margin, low=0.0)


@dataclass(frozen=True)
class LinearPriorOptions:
    """What a log is as linear models of each action (`priors.linear`)."""

    shifted_share: float = 0.5  # of the chance that the log is wrong about an action: all its outcomes are shifted
    faded_share: float = 0.5  # ... its level says nothing and its slopes little; the rest: it says nothing at all
    shift: float = 1.0  # the variance of a shift, of the outcomes' variance within actions
    levels: float = 0.25  # the levels' prior variance, of the outcomes'
    levels_worth: float = 2.0  # levels that this guess is worth
    least_freedom: float = 8.0  # outcomes' worth of the log's noise at least ...
    most_freedom: float = 30.0  # ... and at most: users correct a wrong one soon
    explained: tuple[float, ...] = (  # shares of variance that slopes may explain: the grid of their penalties
        *(0.0001, 0.001, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99),
    )
    products: ProductOptions = ProductOptions()

    def __post_init__(self) -> None:
        for name in ("shifted_share", "faded_share"):
            check_number(name, vars(self)[name], 0.0, 1.0)
        if self.shifted_share + self.faded_share > 1.0:
            raise OptionError("shifted_share and faded_share must add up to at most 1")
        for name in ("shift", "levels", "levels_worth", "least_freedom"):
            check_number(name, vars(self)[name], low=1e-6)
        check_number("most_freedom", self.most_freedom, low=self.least_freedom)
        for share in self.explained:
            check_number("explained", share, 1e-9, 1.0 - 1e-9)
        if len(self.explained) < 2:
            raise OptionError(f"explained must be at least two shares, got {self.explained}")
        check_kind("products", self.products, ProductOptions)
