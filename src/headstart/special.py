"""SciPy's special functions without the rest of `scipy.special`: 40 milliseconds to import instead of 400.

`from headstart.special import stdtrit` in the function that needs it: whoever imports this module imports SciPy. What
takes the time is SciPy's support of other array libraries, of which nothing here makes use: the functions are those
of its compiled module, the same ones.
"""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from types import ModuleType

_PACKAGE, _COMPILED = "scipy.special", "scipy.special._ufuncs"


def _functions() -> ModuleType:
    """The compiled module, where this process has one thread and nobody has imported the package; else the package.

    The package's name has to stand for nothing but its folder while the module is imported, which another thread
    might import meanwhile.
    """
    if _PACKAGE not in sys.modules and threading.active_count() == 1:
        try:
            return _import_alone()
        except (ImportError, AttributeError, TypeError):  # a SciPy that is made in another way
            pass
    return importlib.import_module(_PACKAGE)


def _import_alone() -> ModuleType:
    import scipy

    folder = ModuleType(_PACKAGE)
    folder.__path__ = [str(Path(scipy.__file__).parent / "special")]
    sys.modules[_PACKAGE] = folder
    try:
        return importlib.import_module(_COMPILED)
    finally:
        del sys.modules[_PACKAGE]


_FOUND = _functions()
bdtr, bdtrik, fdtrc = _FOUND.bdtr, _FOUND.bdtrik, _FOUND.fdtrc
betainc, betaincinv, betaln = _FOUND.betainc, _FOUND.betaincinv, _FOUND.betaln
chdtrc, chdtri = _FOUND.chdtrc, _FOUND.chdtri
erfc, ndtri, stdtrit = _FOUND.erfc, _FOUND.ndtri, _FOUND.stdtrit
gammainc, gammaincc = _FOUND.gammainc, _FOUND.gammaincc
