"""numba without SciPy's linear algebra, until somebody uses it."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import numpy as np
import headstart as hs
hs.UCB(2).play()
assert "numba.np.arraymath" in sys.modules
assert "scipy.linalg" not in sys.modules, "imported for nothing"

import numba

@numba.njit
def product(a, b):
    return np.dot(a, b)[0, 0] + np.linalg.det(a)

print(product(2.0 * np.eye(2), np.ones((2, 2))))
assert "scipy.linalg" in sys.modules
"""


def test_it_is_imported_when_a_kernel_uses_it():
    """2 + 4: the product's corner and the determinant."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 6.0
