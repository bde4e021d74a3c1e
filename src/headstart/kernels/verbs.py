"""The verbs that compiled parts share: what an oracle, an evaluator, a source of contexts and a world can do.

A part's state is a NamedTuple of arrays. Its file says what each verb does to that state:

    @implements(play, UCBState)
    def _play(state: UCBState, context: Floats, available: Bools) -> int: ...

A kernel that calls `play(state, ...)` is compiled with the implementation that the state's class chose, so
any oracle, any evaluator and any world become one loop. Called from Python, a verb runs interpreted.
Awkward cases are settled here once: "no answer" is NaN inside kernels and None outside (a log's outcomes
are finite, so NaN cannot be one); `available` is always a boolean mask with at least one True; a
context-free part is handed an empty context. An implementation fills arrays it is given and allocates none.
"""

from __future__ import annotations

from headstart.arrays import Bools, Floats
from headstart.kernels.dispatch import State, verb


@verb()
def play(state: State, context: Floats, available: Bools) -> int:
    """The action chosen for this context among those available."""
    raise NotImplementedError


@verb()
def update(state: State, context: Floats, action: int, outcome: float) -> None:
    """Learn that `action` under `context` had `outcome`."""
    raise NotImplementedError


@verb(has_default=True)
def absorb(state: State, context: Floats, action: int, outcome: float, variance: float) -> None:
    """Learn a virtual outcome that is an average of outcomes with this variance.

    An oracle that estimates variances implements it; to any other a virtual outcome is an outcome.
    """
    update(state, context, action, outcome)


@verb(has_default=True)
def expect(state: State, context: Floats, action: int) -> None:
    """A decision for `action` under `context` has been made, and its outcome is still to come.

    To an oracle that weighs what is worth learning, what is in flight has been bought already. To any other it is
    nothing.
    """
    return


@verb(has_default=True)
def release(state: State, context: Floats, action: int) -> None:
    """A decision that was expected is in flight no more: its outcome has come, `update` is next, or never will."""
    return


@verb()
def withdraw(state: State, action: int) -> None:
    """Forget what the log said of `action`; what users did stays."""
    raise NotImplementedError


@verb()
def take_action(state: State, other: State, action: int) -> None:
    """Replace all that `state` knows of `action` by what `other`, a state of the same class, knows of it."""
    raise NotImplementedError


@verb(allocates=True)
def probabilities(state: State, context: Floats, available: Bools, out: Floats) -> None:
    """Write into `out` the exact chance of each action in `play`."""
    raise NotImplementedError


@verb()
def get_outcome(state: State, context: Floats, action: int) -> float:
    """What would have happened, from the log; NaN if it has no answer."""
    raise NotImplementedError


@verb(has_default=True)
def get_variance(state: State, context: Floats, action: int) -> float:
    """How much outcomes vary around the answer of `get_outcome`; 0 for an evaluator that answers with outcomes."""
    return 0.0


@verb()
def is_exhausted(state: State) -> bool:
    """True once the evaluator will never answer again, whatever is asked."""
    raise NotImplementedError


@verb()
def fill_propensities(state: State, context: Floats, out: Floats) -> None:
    """Write into `out` the chance that the logging policy gave to each action under `context`."""
    raise NotImplementedError


@verb()
def draw_context(state: State, out: Floats) -> None:
    """Write into `out` the context of a user such as will come (Algorithm 1, context_generator)."""
    raise NotImplementedError


@verb(has_default=True)
def record_context(state: State, context: Floats) -> None:
    """Tell a source of contexts that this user came; one that does not learn from users need not say anything."""
    return


@verb()
def draw_user(state: State, out: Floats) -> None:
    """Let the world's next user come and write the context that can be seen of them into `out`."""
    raise NotImplementedError


@verb()
def draw_outcome(state: State, action: int) -> float:
    """What the world's present user does when shown `action`."""
    raise NotImplementedError


@verb()
def expected_outcomes(state: State, out: Floats) -> None:
    """Write into `out` the mean outcome of each action that regret is measured against."""
    raise NotImplementedError
