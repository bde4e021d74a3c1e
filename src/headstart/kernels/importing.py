"""numba's mathematics of arrays, imported without SciPy's linear algebra, which no kernel of ours uses.

When it is imported it asks whether there is a BLAS, by importing `scipy.linalg`: a quarter of the time that a process
needs to its first decision. That SciPy is installed can be told without it. Whoever's kernel does use it makes numba
import it then.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec


@cache
def import_array_math() -> None:
    """Once, before anything is compiled or loaded; where somebody has imported it already there is nothing to do."""
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules or find_spec("scipy") is None:
        return
    from numba.np import linalg

    before = getattr(linalg, "ensure_blas", None)
    if before is None:  # a numba that asks in another way
        return
    linalg.ensure_blas = lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = before
