"""Small positive definite systems, solved in one thread.

A library of linear algebra hands even a matrix of a hundred rows to several threads, which on a busy machine wait for
each other a hundred times as long as the arithmetic takes.
"""

from __future__ import annotations

import math

from headstart.arrays import Floats


def factor_cholesky(matrix: Floats) -> bool:
    """The lower triangle becomes L with matrix = L L'; False if the matrix is not positive definite."""
    n = matrix.shape[0]
    for i in range(n):
        row = matrix[i]
        for j in range(i):
            other = matrix[j]
            t0 = t1 = t2 = t3 = 0.0
            k = 0
            while k + 4 <= j:
                t0 += row[k] * other[k]
                t1 += row[k + 1] * other[k + 1]
                t2 += row[k + 2] * other[k + 2]
                t3 += row[k + 3] * other[k + 3]
                k += 4
            while k < j:
                t0 += row[k] * other[k]
                k += 1
            row[j] = (row[j] - ((t0 + t1) + (t2 + t3))) / other[j]
        rest = row[i]
        for k in range(i):
            rest -= row[k] * row[k]
        if not rest > 0.0:
            return False
        row[i] = math.sqrt(rest)
    return True


def solve_cholesky(factor: Floats, vector: Floats) -> None:
    """`vector` becomes the solution x of L L'x = vector."""
    n = vector.size
    for i in range(n):
        rest = vector[i]
        for k in range(i):
            rest -= factor[i, k] * vector[k]
        vector[i] = rest / factor[i, i]
    for i in range(n - 1, -1, -1):
        vector[i] /= factor[i, i]
        for k in range(i):
            vector[k] -= factor[i, k] * vector[i]
