"""Looking at an experiment without waiting for it: pages and monitors are answered while it is folded anew."""

from __future__ import annotations

import time

from headstart.serve.engine.ledger import Ledger
from headstart.serve.engine.state import Sight
from headstart.serve.errors import StoreUnavailable

_STEP_SECONDS = 0.002


def look_at(ledger: Ledger, patience: float) -> Sight:
    """The present state, or after so many seconds what was last seen, with a word why.

    An experiment that was never opened has none: StoreUnavailable.
    """
    end = time.monotonic() + patience
    while ledger.broken is None:
        if ledger.lock.acquire(timeout=max(0.0, end - time.monotonic())):
            try:
                if ledger.broken is None and ledger.fold.is_settled:
                    return ledger.see()
            finally:
                ledger.lock.release()
        if time.monotonic() >= end:
            break
        time.sleep(_STEP_SECONDS)
    if ledger.seen is None:
        ledger.check_whole()
        raise StoreUnavailable(f"experiment {ledger.name!r} is busy, and nobody has seen it yet")
    state, config = ledger.seen
    return Sight({**state, "behind": _tell_why(ledger)}, config)


def _tell_why(ledger: Ledger) -> str:
    if ledger.broken is not None:
        return f"it cannot be folded: {ledger.broken}"
    return "it is busy" if ledger.fold.is_settled else "it is being folded anew"
