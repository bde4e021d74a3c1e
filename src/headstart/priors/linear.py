"""What a log says as linear models of each action: one that believes it and three that doubt more and more of it.

Levels and slopes are hierarchical: y = level_a + x'(common + own_a) + noise, common ~ N(0, sigma^2 / c), own_a ~
N(0, sigma^2 / c_own). c and c_own are d (1 - s) / s, s the share of variance that such slopes explain, its log-odds
averaged over a grid by their posterior (restricted likelihood: levels and noise integrated out). Levels vary between
actions by a variance that the log's other levels tell.

Models of what users will do with action a, each a normal distribution of theta = (level, slopes):

- LOGGED: the posterior given all rows.
- SHIFTED: the same, but the action's logged outcomes are off by a constant ~ N(0, v), v the outcomes' variance
  within actions.
- FADED: their level says nothing and their slopes as little as those of d + 1 rows.
- FRESH: they say nothing; what is known is what the rows of the other actions tell. It is the model of an action
  without rows and of one whose log is withdrawn; given a chance besides FADED it was measured to gain nothing, and
  where no line fits (digits) it wins where an action is played and is then wrong everywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats
from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.products import Interactions as Interactions
from headstart.estimates.products import no_interactions as no_interactions
from headstart.estimates.products import propose_products
from headstart.estimates.ridge import CentredSums, centre_rows, pool, tell_common
from headstart.estimates.summary import Summary
from headstart.priors.components import Axes, Components, label_sets
from headstart.priors.options import LinearPriorOptions, ProductOptions

LOGGED, SHIFTED, FADED, FRESH = range(4)
N_MODELS = 4
MODEL_LABELS = ("the log", "shifted", "faded", "without its rows")


@dataclass(frozen=True, eq=False)
class LinearPrior:
    """J models of each action: theta ~ N(centre, sigma^2 inverse), and the chance of each before any user.

    theta is the level and the slopes of columns in standard units, then of their products; at the average user all of
    these are 0.
    """

    centres: Floats  # (K, J, m)
    inverses: Floats  # (K, J, m, m)
    chances: Floats  # (K, J)
    variance: float  # sigma^2; 0: not known
    freedoms: Floats  # (K,) outcomes that it is worth
    evidence: float  # the logarithm of the rows' likelihood, to compare columns by
    interactions: Interactions = field(default_factory=no_interactions)  # the last of the m columns
    action_names: tuple[object, ...] = ()  # of the actions, if they have other names than their indices
    believed: Bools | None = None  # (K, L, S) of several logs: which each of the first L models believes

    @property
    def n_actions(self) -> int:
        return len(self.chances)

    @property
    def n_columns(self) -> int:
        """Columns of a context, the constant among them."""
        return self.centres.shape[2] - len(self.interactions.pairs)

    @property
    def worth(self) -> Floats:
        """Users who would tell as much of each action's mean for the average user, as far as it is believed, (K,)."""
        return np.array((self.chances / self.inverses[:, :, 0, 0])[:, : self.n_logged].sum(axis=1))

    @property
    def n_logged(self) -> int:
        """Models that believe the log: 1; of several logs, the sets of them."""
        return 1 if self.believed is None else self.believed.shape[1]

    @property
    def components(self) -> Components:
        """What each model says of the average user."""
        errors = np.sqrt(self.variance * self.inverses[:, :, 0, 0])
        doubts = MODEL_LABELS[1 : 1 + self.chances.shape[1] - self.n_logged]
        labels = tuple((*logged, *doubts) for logged in label_sets(self.believed, self.n_actions))
        return Components(labels, self.chances, self.centres[:, :, 0], errors)

    def log_says(self, context: Floats) -> tuple[Floats, Floats]:
        """The outcome that the log alone expects of each action for a user, and its standard error, (K,) each.

        The user is the constant 1 and columns in standard units. NaN for an action of which the log is not believed.
        """
        phi = self.interactions.expand(context[None, :])[0]
        chances = self.chances[:, : self.n_logged]
        with np.errstate(invalid="ignore"):
            shares = chances / chances.sum(axis=1, keepdims=True)
        centres = self.centres[:, : self.n_logged] @ phi
        squares = np.einsum("m,kjml,l->kj", phi, self.inverses[:, : self.n_logged], phi)
        means = (shares * centres).sum(axis=1)
        spread = (shares * (self.variance * squares + (centres - means[:, None]) ** 2)).sum(axis=1)
        return means, np.sqrt(spread)

    def weakened(self, share: ArrayLike) -> LinearPrior:
        """The same prior with the rows behind the believing model counted `share` times, one number or one per
        action: its spread grows by 1 / share."""
        return self.counted(np.array([check_number("share", each, 1e-9, 1.0) for each in np.atleast_1d(share)]))

    def counted(self, shares: Floats) -> LinearPrior:
        """The same for shares, (K,) or (1,), that were checked where they were made."""
        inverses = self.inverses.copy()
        inverses[:, : self.n_logged] /= shares[:, None, None, None]
        return replace(self, inverses=inverses)

    def plot(self, axes: Axes) -> None:
        """Draw the components of each action's mean for the average user on matplotlib axes."""
        self.components.plot(axes, self.action_names or range(self.n_actions))

    def __str__(self) -> str:
        text = self.components.describe(self.action_names or range(self.n_actions), self.worth)
        moved_by = f"{self.n_columns - 1} columns and {len(self.interactions.pairs)} products"
        return f"{text}\nmeans are for the average user; {moved_by} move them"


def prior_of_scale(
    outcomes: Floats, n_columns: int, n_actions: int, options: LinearPriorOptions = LinearPriorOptions()
) -> LinearPrior:
    """What is known of a log that is not to be used: where outcomes lie and how far they spread, of no action more.

    Levels are N(mean, v), v the outcomes' variance, and all slopes of columns in standard units together explain as
    much again: N(0, v / d) each.
    """
    d = max(n_columns - 1, 1)
    centre, about = np.zeros(n_columns), np.diag(np.r_[1.0, np.full(n_columns - 1, 1.0 / d)])
    centre[0] = float(outcomes.mean())
    shape = (n_actions, N_MODELS)
    chances = np.zeros(shape)
    chances[:, FRESH] = 1.0
    freedoms = np.full(n_actions, float(options.least_freedom))
    centres, inverses = np.broadcast_to(centre, (*shape, n_columns)), np.broadcast_to(about, (*shape, *about.shape))
    return LinearPrior(centres.copy(), inverses.copy(), chances, float(outcomes.var()), freedoms, 0.0)


class _Penalties(NamedTuple):
    """Some of the grid, (P,) each."""

    c: Floats
    c_own: Floats
    chances: Floats


class _Hierarchy(NamedTuple):
    c: float
    c_own: float
    variance: float
    evidence: float
    likely: _Penalties  # the fewest of the grid that have 99 % of the chance


def models_of_rows(
    contexts: ArrayLike,
    actions: ArrayLike,
    outcomes: ArrayLike,
    n_actions: int,
    trust: Floats,
    weights: ArrayLike | None = None,
    options: LinearPriorOptions = LinearPriorOptions(),
    levels: Summary | None = None,
) -> LinearPrior:
    """The models of a log's rows.

    The first column of the contexts is the constant 1, the others are in standard units. `trust` (K,) is the chance
    of LOGGED; `weights` say how often a row counts. `levels`: `models_of_sums`.
    """
    x, taken = np.asarray(contexts, dtype=np.float64), np.asarray(actions, dtype=np.int64)
    y = np.asarray(outcomes, dtype=np.float64)
    if x.ndim != 2 or not x.size or not (x[:, 0] == 1.0).all() or not np.isfinite(x).all():
        raise OptionError("contexts must be a finite matrix of at least one row whose first column is 1")
    if taken.shape != (len(x),) or y.shape != (len(x),) or not np.isfinite(y).all():
        raise OptionError(f"actions and finite outcomes must be one for each of the {len(x)} contexts")
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    return models_of_sums(centre_rows(x[:, 1:], taken, y, w, n_actions), trust, options, levels)


def models_of_sums(
    sums: CentredSums,
    trust: Floats,
    options: LinearPriorOptions,
    levels: Summary | None = None,
    *,
    is_averaged: bool = False,
) -> LinearPrior:
    """The models of a log's sums per action.

    `levels` are what is known of the actions' means over all rows, where that is better known than from the columns
    decided on: levels are then those, with their errors, and the rows tell slopes alone. Averaged: what is not known
    of the penalties is part of the models' spread; else they are the likely ones. Slopes of few columns tell little
    of their penalty, and shrunk by one that is too large they would be too sure.
    """
    hierarchy = _choose_hierarchy(sums, np.array(options.explained))
    return _models_of(hierarchy, sums, trust, options, levels, is_averaged=is_averaged)


def _models_of(
    hierarchy: _Hierarchy,
    sums: CentredSums,
    trust: Floats,
    options: LinearPriorOptions,
    levels: Summary | None,
    *,
    is_averaged: bool,
) -> LinearPrior:
    n_actions = sums.n.size
    whole = float(sums.total.sum() / sums.n.sum())
    variance = max(hierarchy.variance, 1e-9 * whole)
    if levels is not None:
        sums = with_levels(sums, levels, variance or 1.0)
    penalties = hierarchy.likely if is_averaged else _only(hierarchy.c, hierarchy.c_own)
    centres, inverses = _average(sums, penalties, variance or 1.0, whole, options)
    is_shown = sums.n > 0.0
    chances = np.zeros((n_actions, N_MODELS))
    chances[:, LOGGED] = np.where(is_shown, trust, 0.0)
    doubts = [options.shifted_share, options.faded_share, 1.0 - options.shifted_share - options.faded_share]
    chances[:, SHIFTED:] = np.where(is_shown[:, None], np.outer(1.0 - trust, doubts), [0.0, 0.0, 1.0])
    freedom = float(np.clip(sums.n.sum() - is_shown.sum(), options.least_freedom, options.most_freedom))
    return LinearPrior(centres, inverses, chances, variance, np.full(n_actions, freedom), hierarchy.evidence)


def with_levels(sums: CentredSums, levels: Summary, variance: float) -> CentredSums:
    """The same sums, with levels known at the average user, where all columns are 0: as if variance / s.e.^2 rows had
    been seen there."""
    is_known = (sums.n > 0.0) & np.isfinite(levels.means) & np.isfinite(levels.standard_errors)
    with np.errstate(divide="ignore"):
        worth = np.clip(variance / levels.standard_errors**2, 1e-9, 1e15)
    return sums._replace(
        n=np.where(is_known, worth, sums.n),
        centres=np.where(is_known[:, None], 0.0, sums.centres),
        levels=np.where(is_known, levels.means, sums.levels),
    )


def propose_interactions(contexts: Floats, options: ProductOptions = ProductOptions()) -> list[Interactions]:
    """None; all squares; all products. The first column is the constant; what does not vary is left out."""
    return propose_products(contexts, 1, options.most_squared, options.most_crossed, options.bound, options.scale)


SumUp = Callable[[Floats], CentredSums]
"""(contexts with their products, (n, m)) -> what the rows say of each action."""


def choose_prior(
    plain: Floats,
    sum_up: SumUp,
    trust: Floats,
    options: LinearPriorOptions,
    levels: Summary | None = None,
    *,
    is_averaged: bool = False,
) -> tuple[LinearPrior, Floats]:
    """The prior of contexts (1, x), x in standard units; of squares of the columns or all their products too, if the
    rows are likelier with them by a margin. And the contexts with the products, (n, m)."""
    best: _Proposed | None = None
    for added in propose_interactions(plain, options.products):
        other = _propose(added, plain, sum_up, options)
        best = other if best is None or other.likely > best.likely else best
    assert best is not None
    found = _models_of(best.hierarchy, best.sums, trust, options, levels, is_averaged=is_averaged)
    return replace(found, evidence=best.likely, interactions=best.added), best.seen


class _Proposed(NamedTuple):
    """Products that may be added, and how likely the rows are with them."""

    added: Interactions
    seen: Floats  # (n, m) the contexts with the products
    sums: CentredSums
    hierarchy: _Hierarchy
    likely: float  # the logarithm, less the margin


def _propose(added: Interactions, plain: Floats, sum_up: SumUp, options: LinearPriorOptions) -> _Proposed:
    seen = added.expand(plain)
    sums = sum_up(seen)
    hierarchy = _choose_hierarchy(sums, np.array(options.explained))
    likely = hierarchy.evidence - (options.products.margin if len(added.pairs) else 0.0)
    return _Proposed(added, seen, sums, hierarchy, likely)


def check_models(models: LinearPrior) -> tuple[int, int, int]:
    """K, J and m of models that can be meant."""
    k, n_models, m = np.shape(models.centres)
    shapes = {"inverses": (k, n_models, m, m), "chances": (k, n_models), "freedoms": (k,)}
    values: dict[str, Floats] = {
        "inverses": models.inverses,
        "chances": models.chances,
        "freedoms": models.freedoms,
    }
    for name, shape in shapes.items():
        if np.shape(values[name]) != shape:
            raise OptionError(f"models.{name} must have shape {shape}, got {np.shape(values[name])}")
    if (np.asarray(models.chances) < 0.0).any() or np.abs(np.sum(models.chances, axis=1) - 1.0).max() > 1e-9:
        raise OptionError("models.chances must be at least 0 and add up to 1 for each action")
    if not (math.isfinite(models.variance) and all(np.isfinite(v).all() for v in (models.centres, *values.values()))):
        raise OptionError("models must be finite")
    if models.n_columns < 1:
        raise OptionError(f"models must have columns without interactions, got {m} in all")
    return k, n_models, m


def find_roots(models: LinearPrior) -> Floats:
    """Lower triangular S with S S' = V^-1 of each model, (K, J, m, m)."""
    try:
        roots: Floats = np.linalg.cholesky(np.asarray(models.inverses, dtype=np.float64))
        return roots
    except np.linalg.LinAlgError as error:
        raise OptionError("models.inverses must be positive definite") from error


def _average(
    sums: CentredSums, penalties: _Penalties, variance: float, whole: float, options: LinearPriorOptions
) -> tuple[Floats, Floats]:
    """Every model's centre and inverse over these penalties: means, and spreads that count how centres differ."""
    found, about = _build(sums, penalties, variance, whole, options)
    if len(found) == 1:
        return found[0], about[0]
    centres, inverses = np.tensordot(penalties.chances, found, 1), np.tensordot(penalties.chances, about, 1)
    for chance, centre in zip(penalties.chances, found, strict=True):
        apart = centre - centres
        inverses += chance / variance * apart[..., :, None] * apart[..., None, :]
    return centres, inverses


def _build(
    sums: CentredSums, penalties: _Penalties, variance: float, whole: float, options: LinearPriorOptions
) -> tuple[Floats, Floats]:
    """With each of the penalties every model's centre, (P, K, J, d + 1), and inverse, (P, K, J, d + 1, d + 1)."""
    p, (k, d) = penalties.c.size, sums.moment.shape
    one, c_own = np.eye(d), penalties.c_own[:, None, None]
    inverse = np.asarray(np.linalg.inv(sums.spread + c_own[..., None] * one), dtype=np.float64)
    own, kept, informs, pulls, common, shared = pool(sums, inverse, penalties.c, penalties.c_own[:, None])
    centres, inverses = np.zeros((p, k, N_MODELS, d + 1)), np.zeros((p, k, N_MODELS, d + 1, d + 1))
    shown = np.flatnonzero(sums.n)
    for b in shown.tolist():
        slopes = _apply(kept[:, b], shared) + own[:, b] @ sums.moment[b]
        about = own[:, b] + kept[:, b] @ common @ kept[:, b].transpose(0, 2, 1)
        centres[:, b, LOGGED], inverses[:, b, LOGGED] = _at_zero(sums, b, slopes, about)
    levels, errors = centres[:, :, LOGGED, 0].copy(), inverses[:, :, LOGGED, 0, 0].copy()
    spread = max(whole / variance, 1.0)
    for a in range(k):
        others = shown[shown != a]
        tell, pull, level_of, error_of = (each.take(others, axis=1) for each in (informs, pulls, levels, errors))
        rest, told = tell_common(tell, pull, penalties.c)
        level, between = _level_prior(level_of, error_of, options.levels * spread, variance, options)
        if not others.size:
            level = np.full(p, sums.levels[a])
        centres[:, a, FADED:, 0], centres[:, a, FRESH, 1:] = level[:, None], told
        inverses[:, a, FRESH, 0, 0], inverses[:, a, FRESH, 1:, 1:] = between, rest + one / c_own
        if not sums.n[a]:  # LOGGED, SHIFTED and FADED have no chance, but are definite
            centres[:, a], inverses[:, a] = centres[:, a, FRESH, None], inverses[:, a, FRESH, None]
            continue
        # The levels' prior is one more outcome, seen at x = 0 with their variance for noise.
        gain = inverses[:, a, LOGGED, :, 0] / (errors[:, a] + between)[:, None]
        centres[:, a, LOGGED] += gain * (level - levels[:, a])[:, None]
        inverses[:, a, LOGGED] -= gain[:, :, None] * inverses[:, a, LOGGED, None, 0]
        centres[:, a, SHIFTED], inverses[:, a, SHIFTED] = centres[:, a, LOGGED], inverses[:, a, LOGGED]
        inverses[:, a, SHIFTED, 0, 0] += options.shift * spread
        counted = min(1.0, (d + 1.0) / sums.n[a])
        faded = np.linalg.inv(counted * sums.spread[a] + c_own * one)
        keeps = c_own * faded
        centres[:, a, FADED, 1:] = _apply(keeps, told) + faded @ (counted * sums.moment[a])
        inverses[:, a, FADED, 0, 0] = between
        inverses[:, a, FADED, 1:, 1:] = faded + keeps @ rest @ keeps.transpose(0, 2, 1)
    return centres, inverses


def _apply(matrices: Floats, vectors: Floats) -> Floats:
    """Each matrix, (P, d, d), times its vector, (P, d)."""
    applied: Floats = (matrices @ vectors[..., None])[..., 0]
    return applied


def _only(c: float, c_own: float) -> _Penalties:
    return _Penalties(np.array([c]), np.array([c_own]), np.ones(1))


def _choose_hierarchy(sums: CentredSums, shares: Floats) -> _Hierarchy:
    """c and c_own by the average log-odds of their shares, the noise's variance by its average."""
    d, total = sums.moment.shape[1], float(sums.total.sum())
    freedom = float(np.maximum(sums.n - 1.0, 0.0).sum())
    if d == 0 or freedom < 2.0 or total <= 0.0:
        c = float(max(d, 1))
        return _Hierarchy(c, c, total / max(freedom, 1.0), 0.0, _only(c, c))
    log_odds = np.log(shares) - np.log1p(-shares)
    grid = d * np.exp(-log_odds)
    values, vectors = np.linalg.eigh(sums.spread)
    values = np.maximum(values, 0.0)
    along = (vectors.transpose(0, 2, 1) @ sums.moment[..., None])[..., 0]
    evidence, left = np.zeros((grid.size, grid.size)), np.zeros((grid.size, grid.size))  # c_own down, c across
    for i, c_own in enumerate(grid):
        shrunk = values + c_own
        keep = c_own / shrunk
        informs = ((vectors * (keep * values)[:, None, :]) @ vectors.transpose(0, 2, 1)).sum(axis=0)
        pulls = (vectors @ (keep * along)[..., None])[..., 0].sum(axis=0)
        common, axes = np.linalg.eigh(informs)
        penalised = np.maximum(common, 0.0) + grid[:, None]
        left[i] = total - (along**2 / shrunk).sum() - ((axes.T @ pulls) ** 2 / penalised).sum(axis=1)
        evidence[i] = -0.5 * (np.log(shrunk / c_own).sum() + np.log(penalised / grid[:, None]).sum(axis=1))
    left = np.maximum(left, 1e-12 * total)
    evidence -= 0.5 * freedom * np.log(left)
    top = float(evidence.max())
    chances = np.exp(evidence - top)
    known = top + float(np.log(chances.mean()))
    chances /= chances.sum()
    c_own, c = (d * float(np.exp(-(chances.sum(axis=axis) @ log_odds))) for axis in (1, 0))
    likely = _keep_likely(chances, grid)
    return _Hierarchy(c, c_own, float((chances * left).sum()) / freedom, known, likely)


def _keep_likely(chances: Floats, grid: Floats) -> _Penalties:
    """The fewest penalties, c_own down and c across, that have 99 % of the chance."""
    order = np.argsort(-chances, axis=None, kind="stable")
    kept = order[: int(np.searchsorted(np.cumsum(chances.flat[order]), 0.99)) + 1]
    shares = chances.flat[kept] / chances.flat[kept].sum()
    own, common = (grid[each] for each in np.unravel_index(kept, chances.shape))
    return _Penalties(common, own, shares)


def _at_zero(sums: CentredSums, a: int, slopes: Floats, about: Floats) -> tuple[Floats, Floats]:
    """theta and its covariance at x = 0, from the slopes, (P, d), and the level at the rows' mean: those are
    independent."""
    centre = sums.centres[a]
    p, d = slopes.shape
    inverse = np.empty((p, d + 1, d + 1))
    inverse[:, 1:, 1:] = about
    inverse[:, 0, 1:] = inverse[:, 1:, 0] = -about @ centre
    inverse[:, 0, 0] = 1.0 / sums.n[a] + _dot(centre @ about, centre)
    return np.column_stack([sums.levels[a] - _dot(slopes, centre), slopes]), inverse


def _dot(rows: Floats, others: Floats) -> Floats:
    """Each row, (P, d), times its vector, or all times one."""
    products: Floats = (rows[:, None, :] @ others[..., None])[:, 0, 0]
    return products


def _level_prior(
    levels: Floats, errors: Floats, guess: float, variance: float, options: LinearPriorOptions
) -> tuple[Floats, Floats]:
    """Mean of an action's level, and its variance in units of `variance`, by the others' levels, (P,) each."""
    p, n = levels.shape
    if n == 0:
        return np.zeros(p), np.full(p, 5.0 * guess)
    weights = 1.0 / (errors + guess)
    mean = _dot(weights, levels) / weights.sum(axis=1)
    apart = ((levels - mean[:, None]) ** 2).sum(axis=1) / variance - errors.sum(axis=1) * (1.0 - 1.0 / n)
    worth = options.levels_worth
    between = (np.maximum(apart, 0.0) + worth * guess) / (n - 1.0 + worth)
    return mean, between + 1.0 / weights.sum(axis=1)
