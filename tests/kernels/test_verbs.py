"""Verbs: a state's class says what each does to it, compiled and interpreted alike."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tools.programs import run_script

import headstart as hs
from headstart.kernels import absorb, get_variance, implements, is_implemented, play, update

ORACLE = """
from typing import NamedTuple

from headstart.arrays import Bools, Floats, Words
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.random import draw_uniform
from headstart.kernels.tally import Tally, least_played, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.randomness import RNG, as_words


class TurnState(NamedTuple):
    tally: Tally
    luck: Words  # (4,)


@implements(play, TurnState)
def _play(state: TurnState, context: Floats, available: Bools) -> int:
    draw_uniform(state.luck)
    return least_played(state.tally.counts, available)


@implements(probabilities, TurnState)
def _probabilities(state: TurnState, context: Floats, available: Bools, out: Floats) -> None:
    out[:] = 0.0
    out[least_played(state.tally.counts, available)] = 1.0


implements(update, TurnState)(update_tally)


class Turns(CompiledOracle[TurnState]):
    def __init__(self, n_actions: int, rng: RNG = None) -> None:
        super().__init__(n_actions, TurnState(new_tally(n_actions), as_words(rng)))


oracle = Turns(2, rng=1)
for _ in range(3):
    oracle.update(None, oracle.play(), 1.0)
print(oracle.readings().counts.tolist(), oracle.probabilities().tolist())
"""


@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_an_oracle_of_one_s_own_is_typed_and_compiles(head: str, tmp_path: Path):
    """The form that ARCHITECTURE.md shows, in a user's file, with annotations as values and as text."""
    (tmp_path / "turns.py").write_text(head + ORACLE)
    paths = {"PYTHONPATH": str(Path(hs.__file__).parents[1]), "NUMBA_CACHE_DIR": str(tmp_path)}
    told = run_script(tmp_path / "turns.py", environment={**os.environ, **paths})
    assert told.strip() == "[2.0, 1.0] [0.0, 1.0]"


class Silent(NamedTuple):
    values: np.ndarray


def test_a_verb_that_a_state_does_not_know_says_so():
    nothing, everything = np.zeros(0), np.ones(2, dtype=np.bool_)
    with pytest.raises(NotImplementedError, match=r"Silent does not say what play does to it$"):
        play(Silent(nothing), nothing, everything)


def test_a_worker_that_does_not_know_the_program_s_state_says_what_to_do(monkeypatch):
    """Processes and clusters are sent the class, and not what its program said of it."""
    monkeypatch.setattr(Silent, "__module__", "__main__")
    with pytest.raises(NotImplementedError, match="Put it into a file of its own and import that"):
        play(Silent(np.zeros(0)), np.zeros(0), np.ones(2, dtype=np.bool_))


class Adding(NamedTuple):
    sums: np.ndarray


def test_a_default_serves_states_that_say_nothing():
    @implements(update, Adding)
    def _update(state: Adding, context: np.ndarray, action: int, outcome: float) -> None:
        state.sums[action] += outcome

    state = Adding(np.zeros(2))
    absorb(state, np.zeros(0), 1, 3.0, 0.5)
    assert state.sums.tolist() == [0.0, 3.0]
    assert get_variance(state, np.zeros(0), 0) == 0.0
    assert not is_implemented(absorb, Adding)
