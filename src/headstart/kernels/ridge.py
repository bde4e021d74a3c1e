"""Ridge regression one row at a time: the inverse of V = ridge I + sum of phi phi', kept as a factor.

V^-1 = S S' with S lower triangular. The squared confidence width phi'V^-1 phi is the squared length of S'phi,
half the work of the full matrix and never negative; S times standard normals has covariance V^-1. Adding a
row is Carlson's update of a triangular square root (Carlson 1973), whose rounding errors shrink with S itself
instead of piling up, so nothing is ever refreshed: a test compares with a fresh solve after a million rows.

In a Ridge, m is the length of phi, and p is m rounded up to a multiple of four,
padded with zeros, so that loops go four rows at a time without a remainder. Group g(a) is action a's own
(disjoint) or 0 (shared). Sums are written out in a fixed order: every composition gives the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Floats, Integers, Scratch
from headstart.kernels.compile import kernel
from headstart.kernels.tally import Tally, update_tally

PHI, WHITENED, GAIN, ALPHA, BETA = range(5)  # the rows of `scratch`
N_SCRATCH = 5


class Ridge(NamedTuple):
    """Models and how they see a context: phi is a column of x, or the constant 1, times a weight, for each entry."""

    theta: Floats  # (G, p)
    factors: Floats  # (G, p, p) S, lower triangular, with V^-1 = S S'
    groups: Integers  # (K,) which theta and S an action has
    columns: Integers  # (K or 1, m) phi's columns of x
    weights: Floats  # (K or 1, m)
    scratch: Scratch  # (N_SCRATCH, p)


class Regressing(Protocol):
    """A state that keeps a regression beside its tally."""

    @property
    def tally(self) -> Tally: ...
    @property
    def ridge(self) -> Ridge: ...


class FeatureMap(Protocol):
    """What phi is made by, and room for it: a Ridge, or a state that has the same three fields."""

    @property
    def columns(self) -> Integers: ...
    @property
    def weights(self) -> Floats: ...
    @property
    def scratch(self) -> Floats: ...


def padded(length: int) -> int:
    """`length` rounded up to a multiple of four."""
    return -(-length // 4) * 4


def new_factors(n_groups: int, length: int, ridge: float) -> Floats:
    """The factors, (G, p, p), of models that have seen nothing: V = ridge I."""
    factors = np.zeros((n_groups, padded(length), padded(length)))
    factors[:, range(length), range(length)] = 1.0 / math.sqrt(ridge)
    return factors


def factors_of(grams: Floats) -> Floats:
    """The factors, (G, p, p), of the inverses of these V, (G, m, m); numpy's LinAlgError if one is not definite.

    From a Cholesky factor of V with its order reversed, so that no inverse of V is ever formed.
    """
    n_groups, length, _ = grams.shape
    factors = np.zeros((n_groups, padded(length), padded(length)))
    uppers = np.linalg.cholesky(grams[:, ::-1, ::-1])[:, ::-1, ::-1]  # V = upper upper'
    # Elimination of a triangular matrix is substitution. scipy's own waits milliseconds for its threads.
    factors[:, :length, :length] = np.tril(np.linalg.inv(uppers).transpose(0, 2, 1))
    return factors


@kernel
def is_finite(values: Floats) -> bool:
    """Whether no value is infinite or NaN: only those are not 0 when multiplied by 0."""
    total = 0.0
    for i in range(values.size):
        total += 0.0 * values[i]
    return total == 0.0


@kernel
def fill_features(ridge: FeatureMap, context: Floats, action: int) -> None:
    """phi(x, a) into the scratch: weight times a column of x; the column after the last one is the constant 1."""
    phi = ridge.scratch[PHI]
    row = action if ridge.columns.shape[0] > 1 else 0
    columns, weights = ridge.columns[row], ridge.weights[row]
    for j in range(columns.size):
        column = columns[j]
        phi[j] = weights[j] * context[column] if column < context.size else weights[j]


@kernel
def fill_shared(ridge: Ridge, context: Floats) -> None:
    """phi of all actions, where it does not depend on the action."""
    if ridge.columns.shape[0] == 1:
        fill_features(ridge, context, 0)


@kernel
def fill_own(ridge: Ridge, context: Floats, action: int) -> None:
    """phi of an action, where `fill_shared` has not written it."""
    if ridge.columns.shape[0] > 1:
        fill_features(ridge, context, action)


@kernel
def dot(left: Floats, right: Floats) -> float:
    """The inner product of two padded vectors."""
    t0 = t1 = t2 = t3 = 0.0
    for b in range(left.size // 4):
        j = 4 * b
        t0 += left[j] * right[j]
        t1 += left[j + 1] * right[j + 1]
        t2 += left[j + 2] * right[j + 2]
        t3 += left[j + 3] * right[j + 3]
    return (t0 + t1) + (t2 + t3)


@kernel
def whiten(factor: Floats, phi: Floats, out: Floats) -> float:
    """out = S'phi; returns its squared length, phi'V^-1 phi."""
    for j in range(out.size):
        out[j] = 0.0
    for b in range(phi.size // 4):
        i = 4 * b
        x0, x1, x2, x3 = phi[i], phi[i + 1], phi[i + 2], phi[i + 3]
        row0, row1, row2, row3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        for j in range(i + 4):
            out[j] += (row0[j] * x0 + row1[j] * x1) + (row2[j] * x2 + row3[j] * x3)
    return dot(out, out)


@kernel
def whiten_first(factor: Floats, phi: Floats) -> float:
    """The first entry of S'phi, to the bits of `whiten`."""
    first = 0.0
    for b in range(phi.size // 4):
        i = 4 * b
        first += (factor[i, 0] * phi[i] + factor[i + 1, 0] * phi[i + 1]) + (
            factor[i + 2, 0] * phi[i + 2] + factor[i + 3, 0] * phi[i + 3]
        )
    return first


@kernel
def mean_and_width(ridge: Ridge, context: Floats, action: int) -> tuple[float, float]:
    """phi'theta and sqrt(phi'V^-1 phi), after `fill_shared`; leaves S'phi in the scratch."""
    fill_own(ridge, context, action)
    phi, group = ridge.scratch[PHI], ridge.groups[action]
    width = math.sqrt(whiten(ridge.factors[group], phi, ridge.scratch[WHITENED]))
    return dot(phi, ridge.theta[group]), width


@kernel
def add_row(factor: Floats, scratch: Floats) -> None:
    """V <- V + phi phi', with S'phi in the scratch; leaves V^-1 phi, of the V before, in it.

    S <- S C with C C' = I - u u' / (1 + u'u), u = S'phi, C lower triangular, column by column from the last.
    """
    u, gain, alpha, beta = scratch[WHITENED], scratch[GAIN], scratch[ALPHA], scratch[BETA]
    before = 1.0
    for j in range(u.size - 1, -1, -1):
        after = before + u[j] * u[j]
        alpha[j] = math.sqrt(before / after)
        beta[j] = u[j] / math.sqrt(before * after)
        before = after
    for b in range(u.size // 4):
        i = 4 * b
        row0, row1, row2, row3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        e0 = e1 = e2 = e3 = 0.0  # sum of S_ik u_k over the columns already done
        for j in range(i + 3, -1, -1):
            s0, s1, s2, s3 = row0[j], row1[j], row2[j], row3[j]
            row0[j] = alpha[j] * s0 - beta[j] * e0
            row1[j] = alpha[j] * s1 - beta[j] * e1
            row2[j] = alpha[j] * s2 - beta[j] * e2
            row3[j] = alpha[j] * s3 - beta[j] * e3
            e0 += s0 * u[j]
            e1 += s1 * u[j]
            e2 += s2 * u[j]
            e3 += s3 * u[j]
        gain[i], gain[i + 1], gain[i + 2], gain[i + 3] = e0, e1, e2, e3


@kernel
def learn_row(theta: Floats, factor: Floats, scratch: Floats, outcome: float) -> tuple[float, float]:
    """One more row for one model, phi in the scratch; the error of its prediction, and s = 1 + phi'V^-1 phi before.

    theta moves by V^-1 phi error / s, then V by phi phi'.
    """
    phi, gain = scratch[PHI], scratch[GAIN]
    spread = 1.0 + whiten(factor, phi, scratch[WHITENED])
    add_row(factor, scratch)
    error = outcome - dot(phi, theta)
    step = error / spread
    for j in range(theta.size):
        theta[j] += gain[j] * step
    return error, spread


@kernel
def learn(ridge: Ridge, context: Floats, action: int, outcome: float) -> None:
    """One more row of an action."""
    group = ridge.groups[action]
    fill_features(ridge, context, action)
    learn_row(ridge.theta[group], ridge.factors[group], ridge.scratch, outcome)


@kernel
def learn_and_count(state: Regressing, context: Floats, action: int, outcome: float) -> None:
    """One more row for the regression and for the action's tally."""
    learn(state.ridge, context, action, outcome)
    update_tally(state, context, action, outcome)


@kernel
def correlate(factor: Floats, normals: Floats, out: Floats) -> None:
    """out = S normals: standard normals become a draw with covariance V^-1."""
    for b in range(out.size // 4):
        i = 4 * b
        row0, row1, row2, row3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        t0 = t1 = t2 = t3 = 0.0
        for j in range(i + 4):
            t0 += row0[j] * normals[j]
            t1 += row1[j] * normals[j]
            t2 += row2[j] * normals[j]
            t3 += row3[j] * normals[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = t0, t1, t2, t3
