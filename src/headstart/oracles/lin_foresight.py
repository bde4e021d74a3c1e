"""Many users at once, with more and more in flight: what does not depend on that is computed once a user."""

from __future__ import annotations

from typing import cast

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.kernels import call, kernel
from headstart.kernels.choice import fill_uniform
from headstart.kernels.states import copy_state
from headstart.oracles.lin_worth import LinearLearning, mix_chances
from headstart.oracles.linear_beliefs import Forecast, fill_deviations, glance, new_forecast, noise_of
from headstart.parts import Oracle, OracleAbilities


@kernel
def _row(foreseen: Forecast, i: int) -> Forecast:
    return Forecast(
        foreseen.centres[i], foreseen.squares[i], foreseen.scales[i], foreseen.values[i], foreseen.is_close[i]
    )


def _glance_rows(state: LinearLearning, contexts: Floats, available: Bools, foreseen: Forecast) -> None:
    fill_deviations(state.belief, state.tally, noise_of(state.belief, state.tally), state.deviations)
    for i in range(contexts.shape[0]):
        glance(state.belief, contexts[i], available[i], state.deviations, _row(foreseen, i))


def _fill_rows(
    state: LinearLearning, contexts: Floats, available: Bools, foreseen: Forecast, rows: Integers, out: Floats
) -> None:
    knows_nothing = noise_of(state.belief, state.tally) == 0.0
    for place in range(rows.size):
        i = rows[place]
        if knows_nothing:
            fill_uniform(available[i], out[place])
        else:
            mix_chances(state, contexts[i], available[i], _row(foreseen, i), out[place])


class LinearForesight:
    """Users who have been glanced at, to be asked about with whatever is in flight: that moves no belief."""

    def __init__(self, state: LinearLearning, contexts: Floats, available: Bools | None) -> None:
        self._state = copy_state(state)  # threads do not share room to work in
        n_actions, n_models = state.belief.chances.shape
        everything = np.ones((len(contexts), n_actions), dtype=np.bool_)
        self._contexts = np.ascontiguousarray(contexts)
        self._available = everything if available is None else np.ascontiguousarray(available)
        self._foreseen = new_forecast(len(contexts), n_actions, n_models)
        given = (self._state, self._contexts, self._available, self._foreseen)
        call(_glance_rows, *given)

    def __call__(self, oracle: Oracle, rows: Integers | slice) -> Floats:
        """The chances of these users, (n, K), by an oracle of the same belief."""
        in_flight = cast(LinearLearning, OracleAbilities(oracle).kernel_state).pending
        state = self._state._replace(pending=in_flight)  # type: ignore[attr-defined]
        chosen = np.arange(len(self._contexts))[rows]
        out = np.empty((chosen.size, self._available.shape[1]))
        given = (state, self._contexts, self._available, self._foreseen, chosen, out)
        call(_fill_rows, *given)
        return out
