"""Cholesky factors, and solving with them: loops for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import OK, Number, Pointer, blas, conj, convert, independent, lapack, local, real, sqrt
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskyPullback, CholeskySolve
from treadle.tensor.linalg.lower.kernels.eights import (
    cleared_beside_eights,
    eights_factored,
    eights_solved,
    eights_turned,
)
from treadle.tensor.linalg.lower.kernels.matrices import SMALL
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Eights
from treadle.tensor.linalg.lower.kernels.triangular import substituted

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
# The number of rows in a block of the backward pass.
BLOCK = 32


@kernel(inline=True)
def cholesky_factored(m: int, a: Pointer[T], ld_a: int, *, lower: bool) -> int:
    """Replace the triangle that is read by the factor."""
    if m > SMALL:
        return lapack.potrf("U" if lower else "L", m, a, ld_a)
    # Element (i, k) of L, for an upper factor the conjugate of one of U.
    by_row = ld_a if lower else 1
    by_column = 1 if lower else ld_a
    for j in range(m):
        own = a + j * by_row
        d = real(own[j * by_column])
        for k in range(j):
            v = own[k * by_column]
            d -= real(v * conj(v))
        if not d > 0:
            return 1
        d = sqrt(d)
        own[j * by_column] = convert(T, d)
        d = 1 / d
        for i in range(j + 1, m):
            other = a + i * by_row
            total = other[j * by_column]
            for k in range(j):
                total -= other[k * by_column] * conj(own[k * by_column])
            other[j * by_column] = total * d
    return OK


@kernel(inline=True)
def cholesky_stepped_back(a: Pointer[T], la: int, g: Pointer[T], lg: int, m: int) -> int:
    """Replace the gradient by a factor by that by the matrix.

    It runs the steps of the factorisation backwards (I. Murray, Differentiation of the Cholesky decomposition, 2016).
    """
    for j in range(m - 1, -1, -1):
        own = a + j * la
        by_own = g + j * lg
        inverse = 1 / own[j]
        y = by_own[j]
        for i in range(j + 1, m):
            other = a + i * la
            by_other = g + i * lg
            x = by_other[j] * inverse
            by_other[j] = x
            y -= other[j] * x
            for k in independent(range(j)):
                by_own[k] -= x * other[k]
                by_other[k] -= x * own[k]
        y = y * inverse
        for k in independent(range(j)):
            by_own[k] -= y * own[k]
        by_own[j] = y / 2
    return OK


@kernel(inline=True)
def cholesky_pulled_back(m: int, a: Pointer[T], ld_a: int, g: Pointer[T], ld_g: int) -> int:
    """Run the factorisation backwards, by blocks from the last rows to the first.

    BLAS sees a matrix as its transpose. In rows j to k, D is the factor's block on the diagonal, R the block left of
    it; C lies below D, and B below R.
    """
    if m <= BLOCK:
        return cholesky_stepped_back(a, ld_a, g, ld_g, m)
    both = local(T, BLOCK * BLOCK)
    one = convert(T, 1)
    minus = convert(T, -1)
    k = m
    while k > 0:
        j = max(k - BLOCK, 0)
        rows = k - j
        below = m - k
        r = a + j * ld_a
        d = r + j
        b = a + k * ld_a
        c = b + j
        by_r = g + j * ld_g
        by_d = by_r + j
        by_b = g + k * ld_g
        by_c = by_b + j
        if below > 0:
            blas.trsm("L", "U", "N", "N", rows, below, one, d, ld_a, by_c, ld_g)
            blas.gemm("N", "T", rows, rows, below, minus, c, ld_a, by_c, ld_g, one, by_d, ld_g)
            for i in range(rows):
                for n in range(i + 1, rows):
                    by_d[i * ld_g + n] = 0
            if j > 0:
                blas.gemm("N", "N", j, below, rows, minus, r, ld_a, by_c, ld_g, one, by_b, ld_g)
                blas.gemm("N", "T", j, rows, below, minus, b, ld_a, by_c, ld_g, one, by_r, ld_g)
        cholesky_stepped_back(d, ld_a, by_d, ld_g, rows)
        if j > 0:
            for i in range(rows):
                for n in range(rows):
                    both[i * rows + n] = by_d[i * ld_g + n] + by_d[n * ld_g + i]
            blas.gemm("N", "N", j, rows, rows, minus, r, ld_a, both, rows, one, by_r, ld_g)
        k = j
    return OK


@kernel(inline=True)
def cholesky_solved(m: int, n: int, a: Pointer[T], ld_a: int, x: Pointer[T], ld_x: int, *, lower: bool) -> int:
    """Solve with L and L^H, or with U^H and U."""
    if lower:
        substituted(m, n, a, ld_a, x, ld_x, lower=True, adjoint=False, unit=False, by_columns=False, small=SMALL)
        substituted(m, n, a, ld_a, x, ld_x, lower=True, adjoint=True, unit=False, by_columns=False, small=SMALL)
    else:
        substituted(m, n, a, ld_a, x, ld_x, lower=False, adjoint=True, unit=False, by_columns=False, small=SMALL)
        substituted(m, n, a, ld_a, x, ld_x, lower=False, adjoint=False, unit=False, by_columns=False, small=SMALL)
    return OK


@kernel(inline=True)
def cholesky_of_eights(m: int, a: Pointer[T], *, lower: bool) -> int:
    """Factor eight at once, with zeros on the other side."""
    bad = eights_factored(m, a, lower=lower)
    cleared_beside_eights(a, m, lower=lower)
    return bad


@kernel(inline=True)
def cholesky_of_eights_pulled_back(m: int, a: Pointer[T], g: Pointer[T], *, lower: bool) -> int:
    """Run eight factorisations backwards at once."""
    if not lower:
        eights_turned(a, m)
        eights_turned(g, m)
    cholesky_stepped_back(a, m, g, m, m)
    cleared_beside_eights(g, m, lower=True)
    if not lower:
        eights_turned(g, m)
    return 0


@TABLE.register(Cholesky)
def cholesky(op: Cholesky, node: TensorNode, site: Site) -> None:
    """Factor in the memory of the result."""
    x = Operand(into="a", half="lower" if op.lower else "upper")
    eights = Eights(cholesky_of_eights, {"lower": op.lower}, {"x": "a"})
    Stack(op, node, site, {"x": x}, {"a": "rows"}).run(cholesky_factored, eights=eights, lower=op.lower)


@TABLE.register(CholeskyPullback)
def cholesky_pullback(op: CholeskyPullback, node: TensorNode, site: Site) -> None:
    """Run the factorisation backwards in place; an upper triangle is read by columns, as if it were a lower one."""
    half, order = ("lower", "rows") if op.lower else ("upper", "columns")
    operands = {"a": Operand(order, half=half), "ct": Operand(order, into="g", half=half)}
    eights = Eights(cholesky_of_eights_pulled_back, {"lower": op.lower}, {"ct": "g"})
    Stack(op, node, site, operands, {"g": order}).run(cholesky_pulled_back, eights=eights)


@TABLE.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode, site: Site) -> None:
    """Solve with both triangles in place."""
    operands = {"a": Operand(half="lower" if op.lower else "upper"), "b": Operand(into="x")}
    eights = Eights(eights_solved, {"lower": op.lower}, {"b": "x"})
    Stack(op, node, site, operands, {"x": "rows"}).run(cholesky_solved, eights=eights, lower=op.lower)
