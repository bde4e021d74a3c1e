"""LinKnowledgeGradient: deciding by context from a log that may be wrong, exploring as far as users to come gain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Scratch, Words
from headstart.checks import Available, check_action, check_available, check_number, check_saved, check_whole
from headstart.errors import ContextError
from headstart.kernels import expect, implements, kernel, play, probabilities, release, update, withdraw
from headstart.kernels.choice import draw_available, fill_uniform
from headstart.kernels.random import draw_uniform
from headstart.kernels.remaining import NOT_TOLD
from headstart.kernels.ridge import N_SCRATCH, padded
from headstart.kernels.states import SavedArrays
from headstart.kernels.tally import Tally, update_tally
from headstart.oracles.lin_foresight import LinearForesight
from headstart.oracles.lin_worth import choose, mix_chances, weigh_trials
from headstart.oracles.linear import ContextOracle
from headstart.oracles.linear_beliefs import (
    Forecast,
    LinearBelief,
    fill_deviations,
    forget_log,
    glance,
    learn_user,
    new_forecast,
    noise_of,
    weigh_models,
)
from headstart.parts import UserOutcomes, Weighing
from headstart.priors.linear import LOGGED, Interactions, LinearPrior, check_models, find_roots, models_of_rows
from headstart.priors.logged import check_trust
from headstart.randomness import RNG, as_words


@dataclass(frozen=True)
class LinKnowledgeGradientOptions:
    """How far what is not known yet is explored (docs/reference.md)."""

    reach: float = 0.2  # of the users to come: those to whom what is learnt here is worth what it is to the average
    exploring: float = 0.5  # the chance of exploring where that is worth its price
    last: float = 0.05  # of the horizon, or of the users so far: those to come at least, for a stream that goes on

    def __post_init__(self) -> None:
        for name in ("reach", "exploring", "last"):
            check_number(name, vars(self)[name], 0.0, 1.0)


class LinKnowledgeGradientState(NamedTuple):
    tally: Tally  # users' plays
    pending: Floats  # (K,) plays in flight, whose outcomes are still to come
    belief: LinearBelief
    horizon: float  # NOT_TOLD: nobody named it
    reach: float
    exploring: float
    last: float
    forecast: Forecast
    deviations: Scratch  # (K, J)
    rng: Words  # (4,)


@kernel
def _look_at(state: LinKnowledgeGradientState, context: Floats, available: Bools, noise: float) -> None:
    """Glance at a user who comes alone."""
    fill_deviations(state.belief, state.tally, noise, state.deviations)
    glance(state.belief, context, available, state.deviations, state.forecast)


@implements(play, LinKnowledgeGradientState)
def _play(state: LinKnowledgeGradientState, context: Floats, available: Bools) -> int:
    noise = noise_of(state.belief, state.tally)
    if noise == 0.0:  # no outcome, or none that was not foreseen: nothing tells the actions apart
        return draw_available(draw_uniform(state.rng), available)
    _look_at(state, context, available, noise)
    greedy, chosen = choose(state, context, available, state.forecast)
    return chosen if draw_uniform(state.rng) < state.exploring else greedy


@implements(probabilities, LinKnowledgeGradientState, allocates=False)
def _probabilities(state: LinKnowledgeGradientState, context: Floats, available: Bools, out: Floats) -> None:
    noise = noise_of(state.belief, state.tally)
    if noise == 0.0:
        fill_uniform(available, out)
        return
    _look_at(state, context, available, noise)
    mix_chances(state, context, available, state.forecast, out)


@kernel
def _weigh(
    state: LinKnowledgeGradientState, context: Floats, available: Bools, means: Floats, worths: Floats
) -> None:
    _look_at(state, context, available, noise_of(state.belief, state.tally))
    weigh_trials(state, context, available, state.forecast, means, worths)


@implements(update, LinKnowledgeGradientState)
def _update(state: LinKnowledgeGradientState, context: Floats, action: int, outcome: float) -> None:
    learn_user(state.belief, context, action, outcome)
    update_tally(state, context, action, outcome)
    weigh_models(state.belief, state.tally, action)


@implements(expect, LinKnowledgeGradientState)
def _expect(state: LinKnowledgeGradientState, context: Floats, action: int) -> None:
    state.pending[action] += 1.0


@implements(release, LinKnowledgeGradientState)
def _release(state: LinKnowledgeGradientState, context: Floats, action: int) -> None:
    state.pending[action] = max(state.pending[action] - 1.0, 0.0)


@implements(withdraw, LinKnowledgeGradientState)
def _withdraw(state: LinKnowledgeGradientState, action: int) -> None:
    forget_log(state.belief, action)


class LinKnowledgeGradient(ContextOracle[LinKnowledgeGradientState]):
    """Several Bayesian linear models per action, from one that believes the log to one that does not, weighed by
    evidence; the average decides, and what is worth learning is tried.

    Each outcome updates every model of its action and re-weighs them by their marginal likelihood, the noise's
    variance unknown: a log in conflict with users fades by itself, as far as it is wrong (`priors.linear`). A user
    gets the action of the largest expected outcome or, with chance 1/2 where it is another, the one of the largest
    expected outcome + users x gain: what a few plays of it would be worth to the average user (the knowledge gradient
    per play, as in KnowledgeGradient), counted for a fifth of the users to come. Plays in flight (`expect`) have been
    bought: with q of them, m more gain G(q + m) - G(q). Users differ and so explore by themselves: Thompson sampling
    was measured to explore too much here.

    `probabilities` are exact by construction: 1, or 1/2 and 1/2. Cost: O(J m^2) an action.

    Parameters
    ----------
    models
        What is known before any user. The last model is the one that does without the log.
    horizon
        Users to come; once they have come, a twentieth of those so far. None: it is not known, and as many are taken
        to be to come as have come, at least 300.
    options
        How far to explore.
    rng
        A numpy Generator or a seed; None draws a new one.

    See also `from_rows`. The first column of a context is the constant 1; the others should be in standard units.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> policy = hs.start(log, decide_on=[0, 1], rng=1)
    >>> type(policy.oracle).__name__
    'LinKnowledgeGradient'
    """

    def __init__(
        self,
        models: LinearPrior,
        *,
        horizon: int | None = None,
        options: LinKnowledgeGradientOptions = LinKnowledgeGradientOptions(),
        rng: RNG = None,
    ) -> None:
        belief = _new_belief(models)
        shape = belief.chances.shape
        state = LinKnowledgeGradientState(
            Tally(*np.zeros((len(Tally._fields), shape[0]))),
            np.zeros(shape[0]),
            belief,
            NOT_TOLD if horizon is None else float(check_whole("horizon", horizon)),
            options.reach,
            options.exploring,
            options.last,
            new_forecast(*shape),
            np.zeros(shape),
            as_words(rng),
        )
        super().__init__(shape[0], state, models.n_columns)

    @classmethod
    def from_rows(
        cls,
        contexts: ArrayLike,
        actions: ArrayLike,
        outcomes: ArrayLike,
        n_actions: int,
        *,
        trust: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        interactions: Interactions | None = None,
        horizon: int | None = None,
        rng: RNG = None,
    ) -> Self:
        """From a log's rows in memory.

        Parameters
        ----------
        contexts
            (n, d + 1): a constant 1, then columns in standard units.
        trust
            The chance that the log is right about an action: one number in [0, 1], or one per action; 1 - 0.2 / K by
            default.
        weights
            How often each row counts; once by default.
        interactions
            Products of columns to add to them.
        """
        x = np.asarray(contexts, dtype=np.float64)
        seen = x if interactions is None else interactions.expand(x)
        models = models_of_rows(seen, actions, outcomes, n_actions, check_trust(trust, n_actions), weights)
        if interactions is not None:
            models = replace(models, interactions=interactions)
        return cls(models, horizon=horizon, rng=rng)

    @property
    def trust(self) -> Floats:
        """The chance, by now, that the log is right about each action, (K,)."""
        return np.array(self._state.belief.chances[:, LOGGED])

    @property
    def chances(self) -> Floats:
        """The chance of each model of each action by now, (K, J)."""
        return np.array(self._state.belief.chances)

    @property
    def theta(self) -> Floats:
        """The models' average of the parameters, (K, m + q)."""
        m = self._length
        return np.array(np.einsum("kj,kjm->km", self._state.belief.chances, self._state.belief.theta[..., :m]))

    @property
    def inverses(self) -> Floats:
        """V^-1 of each model, (K, J, m + q, m + q)."""
        factors = self._state.belief.factors[..., : self._length, : self._length]
        return np.array(factors @ factors.transpose(0, 1, 3, 2))

    def predict(self, contexts: ArrayLike) -> tuple[Floats, Floats]:
        """Per context and action, (n, K) each: the expected outcome and its standard deviation, models averaged."""
        rows = np.ascontiguousarray(contexts, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features or not np.isfinite(rows).all():
            raise ContextError(f"contexts must be a finite matrix of {self.n_features} columns, got {rows.shape}")
        belief, counts = self._state.belief, self._state.tally.counts
        phi = belief.products.expand(rows)
        centres = np.einsum("nm,kjm->nkj", phi, belief.theta[..., : self._length])
        squares = np.einsum("nm,kjml,nl->nkj", phi, self.inverses, phi, optimize=True)
        noise = noise_of(belief, self._state.tally)
        variances = (belief.freedoms[:, None] * noise + belief.squares) / (belief.freedoms + counts)[:, None]
        means = (belief.chances * centres).sum(axis=2)
        spread = (belief.chances * (variances * squares + (centres - means[..., None]) ** 2)).sum(axis=2)
        return means, np.sqrt(spread)

    def expected_outcomes(self, contexts: Floats) -> tuple[Floats, Floats]:
        """What is expected of each action for many users, and how sure that is, (n, K) each."""
        return self.predict(contexts)

    def heard(self) -> UserOutcomes:
        """What users said of each action, apart from what the log did."""
        counts, means = self._state.tally.counts, self._state.tally.means
        return UserOutcomes(counts.copy(), np.where(counts > 0.0, means, np.nan))

    def weigh(self, context: ArrayLike | None, available: Available = None) -> Weighing | None:
        """What it weighs when it decides for this user; None while nothing tells the actions apart."""
        if noise_of(self._state.belief, self._state.tally) == 0.0:
            return None
        mask = self._all if available is None else check_available(available, self.n_actions)
        weighing = Weighing(*np.empty((2, self.n_actions)))
        _weigh(self._state, self._as_vector(context), mask, *weighing)
        return weighing

    def foresee(self, contexts: Floats, available: Bools | None) -> LinearForesight:
        """These users, to be asked about with whatever is in flight."""
        return LinearForesight(self._state, contexts, available)

    def batch_probabilities(self, contexts: Floats, available: Bools | None) -> Floats:
        """`probabilities` of many users at once, (n, K)."""
        return self.foresee(contexts, available)(self, slice(None))

    def withdraw(self, action: int) -> None:
        """Forget what the log said of an action; what users did stays."""
        _withdraw(self._state, check_action(action, self.n_actions))

    def set_state(self, saved: SavedArrays) -> None:
        """Take up a state from `get_state`; one from before plays in flight were counted has none."""
        check_saved(saved)
        super().set_state({"pending": np.zeros(self.n_actions), **saved})

    @property
    def _length(self) -> int:
        return self.n_features + len(self._state.belief.products.pairs)


def _new_belief(models: LinearPrior) -> LinearBelief:
    """The models before any user."""
    k, n_models, m = check_models(models)
    products = models.interactions
    p = padded(m)
    theta, factors = np.zeros((k, n_models, p)), np.zeros((k, n_models, p, p))
    theta[..., :m], factors[..., :m, :m] = models.centres, find_roots(models)
    with np.errstate(divide="ignore"):
        log_priors = np.log(np.array(models.chances, dtype=np.float64))
    return LinearBelief(
        theta,
        factors,
        squares=np.zeros((k, n_models)),
        volumes=np.zeros((k, n_models)),
        log_priors=log_priors,
        chances=np.exp(log_priors),
        variance=float(models.variance),
        freedoms=np.array(models.freedoms, dtype=np.float64),
        products=Interactions(
            np.array(products.pairs, dtype=np.int64),
            np.array(products.centres, dtype=np.float64),
            np.array(products.scales, dtype=np.float64),
            float(products.bound),
        ),
        scratch=np.zeros((N_SCRATCH, p)),
    )
