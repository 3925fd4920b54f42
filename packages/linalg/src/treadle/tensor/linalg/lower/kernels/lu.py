"""LU factors, and solving with them: elimination for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    convert,
    epsilon,
    imag,
    independent,
    int32,
    int64,
    is_complex,
    lapack,
    real,
)
from treadle.tensor.linalg.decompositions.lu import LUFactor, LUSolve, PivotToPermutations
from treadle.tensor.linalg.lower.kernels.matrices import SMALL
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.lower.kernels.triangular import substituted

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
# Pivots, which a user may pass as integers of any size.
P = TypeVar("P", bound=Number)


@kernel(inline=True)
def rows_swapped(x: Pointer[T], first: int, second: int, n: int) -> int:
    """Exchange two rows, which begin at elements."""
    for j in range(n):
        held = x[first + j]
        x[first + j] = x[second + j]
        x[second + j] = held
    return OK


@kernel(inline=True)
def eliminated(m: int, a: Pointer[T], ld_a: int, n: int, x: Pointer[T], ld_x: int) -> int:
    """Replace A by its LU factors, with partial pivoting, and X by L^-1 X.

    It goes column by column, by sums of products as in OpenBLAS, so that most singular matrices get the same pivot
    of 0. Returned is 1 if rows were exchanged an odd number of times, otherwise 0; -1 if a pivot is 0.
    """
    odd = 0
    for j in range(m):
        for i in range(1, m if j > 0 else 1):
            row = a + i * ld_a
            total = convert(T, 0)
            for k in range(min(i, j)):
                total += row[k] * a[k * ld_a + j]
            row[j] -= total
        p = j
        most = abs(real(a[j * ld_a + j]))
        if is_complex(T):
            most += abs(imag(a[j * ld_a + j]))
        for i in range(j + 1, m):
            size = abs(real(a[i * ld_a + j]))
            if is_complex(T):
                size += abs(imag(a[i * ld_a + j]))
            if size > most:
                most = size
                p = i
        if most == 0:
            return -1
        if p != j:
            odd = 1 - odd
            rows_swapped(a, j * ld_a, p * ld_a, m)
            rows_swapped(x, j * ld_x, p * ld_x, n)
        pivot = a[j * ld_a + j]
        scale = 1 / pivot
        for i in range(j + 1, m):
            # As in LAPACK, multiply by the reciprocal of the pivot where it can be represented.
            factor = a[i * ld_a + j]
            a[i * ld_a + j] = factor * scale if most > (1e-37 if epsilon(T) > 1e-10 else 1e-307) else factor / pivot
    for i in range(m):
        to = x + i * ld_x
        for k in range(i):
            factor = a[i * ld_a + k]
            other = x + k * ld_x
            for c in range(n):
                to[c] -= factor * other[c]
    return odd


@kernel
def rows_exchanged(x: Pointer[T], ld: int, n: int, pivots: Pointer[P], m: int, *, first: int, back: bool) -> int:
    """Exchange rows for those that pivots say, which are counted from `first`; from the last one on if `back`."""
    for k in range(m):
        i = m - 1 - k if back else k
        p = int(pivots[i]) - first
        if p != i:
            row = x + i * ld
            other = x + p * ld
            for j in independent(range(n)):
                held = row[j]
                row[j] = other[j]
                other[j] = held
    return OK


@kernel(inline=True)
def lu_factored(m: int, n: int, lu: Pointer[T], ld_lu: int, pivots: Pointer[int32]) -> int:
    """Factor by columns, since the transpose has other factors; a pivot of 0 is no failure. Pivots count from 0."""
    if m > 0 and n > 0:
        lapack.getrf(m, n, lu, ld_lu, pivots)
    for i in range(min(m, n)):
        pivots[i] = pivots[i] - 1
    return OK


@kernel(inline=True)
def pivots_checked(m: int, pivots: Pointer[P]) -> int:
    """Refuse pivots out of range, which a user may pass."""
    for i in range(m):
        if int(pivots[i]) < 0 or int(pivots[i]) >= m:
            return 1
    return OK


@kernel(inline=True)
def lu_solved(
    m: int, n: int, a: Pointer[T], ld_a: int, pivots: Pointer[P], x: Pointer[T], ld_x: int, *, adjoint: bool
) -> int:
    """Exchange rows and solve with both triangles, in reverse order for the adjoint."""
    if pivots_checked(m, pivots) != OK:
        return 1
    for i in range(m):
        if a[i * (ld_a + 1)] == 0:
            return 1
    if adjoint:
        substituted(m, n, a, ld_a, x, ld_x, lower=False, adjoint=True, unit=False, by_columns=False, small=SMALL)
        substituted(m, n, a, ld_a, x, ld_x, lower=True, adjoint=True, unit=True, by_columns=False, small=SMALL)
        rows_exchanged(x, ld_x, n, pivots, m, first=0, back=True)
    else:
        rows_exchanged(x, ld_x, n, pivots, m, first=0, back=False)
        substituted(m, n, a, ld_a, x, ld_x, lower=True, adjoint=False, unit=True, by_columns=False, small=SMALL)
        substituted(m, n, a, ld_a, x, ld_x, lower=False, adjoint=False, unit=False, by_columns=False, small=SMALL)
    return OK


@kernel(inline=True)
def permuted(m: int, pivots: Pointer[P], order: Pointer[int64]) -> int:
    """Apply the exchanges to the numbers 0, 1, 2 ..., one after the other."""
    if pivots_checked(m, pivots) != OK:
        return 1
    for i in range(m):
        order[i] = i
    for k in range(m):
        p = int(pivots[k])
        held = order[k]
        order[k] = order[p]
        order[p] = held
    return OK


@kernel(inline=True)
def permuted_back(m: int, pivots: Pointer[P], order: Pointer[int64], work: Pointer[int64]) -> int:
    """Write the inverse of that permutation."""
    if permuted(m, pivots, work) != OK:
        return 1
    for i in range(m):
        order[work[i]] = i
    return OK


@TABLE.register(LUFactor)
def lu_factor(op: LUFactor, node: TensorNode, site: Site) -> None:
    """Factor in the memory of the result."""
    Stack(op, node, site, {"a": Operand("columns", into="lu")}, {"lu": "columns", "pivots": "rows"}).run(lu_factored)


@TABLE.register(LUSolve)
def lu_solve(op: LUSolve, node: TensorNode, site: Site) -> None:
    """Solve in place."""
    operands = {"a": Operand(), "pivots": Operand(), "b": Operand(into="x")}
    Stack(op, node, site, operands, {"x": "rows"}).run(lu_solved, adjoint=op.adjoint)


@TABLE.register(PivotToPermutations)
def pivot_to_permutations(op: PivotToPermutations, node: TensorNode, site: Site) -> None:
    """Apply the exchanges."""
    stack = Stack(op, node, site, {"pivots": Operand()}, {"order": "rows"})
    if op.inverse:
        stack.run(permuted)
    else:
        stack.run(permuted_back, {"work": ("int64", stack.lengths["m"])})
