"""Linear systems and inverses: elimination for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.blocks import copied
from treadle.kernels.language import OK, Number, Pointer, blas, convert, int32, lapack, local
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.lower.kernels.cholesky import cholesky_factored, cholesky_solved
from treadle.tensor.linalg.lower.kernels.eights import (
    eights_inverted,
    positive_systems_of_eights_solved,
    systems_of_eights_solved,
)
from treadle.tensor.linalg.lower.kernels.lu import eliminated, rows_exchanged
from treadle.tensor.linalg.lower.kernels.matrices import SMALL, identity
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Eights
from treadle.tensor.linalg.lower.kernels.triangular import substituted_in_order

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def small_system_solved(m: int, n: int, a: Pointer[T], ld_a: int, x: Pointer[T], ld_x: int) -> int:
    """Solve by elimination."""
    if eliminated(m, a, ld_a, n, x, ld_x) < 0:
        return 1
    return substituted_in_order(m, n, a, ld_a, 1, x, ld_x, forward=False, unit=False, conjugate=False)


@kernel(inline=True)
def system_solved(
    m: int, n: int, a: Pointer[T], ld_a: int, t_a: int, x: Pointer[T], ld_x: int, pivots: Pointer[int32]
) -> int:
    """Factor A as it lies, in whichever order: A' = P L U, so that A = U' L' P'."""
    if m <= SMALL and t_a == 0:
        return small_system_solved(m, n, a, ld_a, x, ld_x)
    info = lapack.getrf(m, m, a, ld_a, pivots)
    if info != 0 or m == 0 or n == 0:
        return info
    one = convert(T, 1)
    if n == 1:
        if t_a == 1:
            lapack.getrs("N", m, n, a, ld_a, pivots, x, m)
        else:
            lapack.getrs("T", m, n, a, ld_a, pivots, x, m)
    elif t_a == 1:
        rows_exchanged(x, ld_x, n, pivots, m, first=1, back=False)
        blas.trsm("R", "L", "T", "U", n, m, one, a, ld_a, x, ld_x)
        blas.trsm("R", "U", "T", "N", n, m, one, a, ld_a, x, ld_x)
    else:
        blas.trsm("R", "U", "N", "N", n, m, one, a, ld_a, x, ld_x)
        blas.trsm("R", "L", "N", "U", n, m, one, a, ld_a, x, ld_x)
        rows_exchanged(x, ld_x, n, pivots, m, first=1, back=True)
    return OK


@kernel(inline=True)
def positive_system_solved(m: int, n: int, a: Pointer[T], ld_a: int, x: Pointer[T], ld_x: int, *, lower: bool) -> int:
    """Solve with the Cholesky factor."""
    if cholesky_factored(m, a, ld_a, lower=lower) != OK:
        return 1
    return cholesky_solved(m, n, a, ld_a, x, ld_x, lower=lower)


@kernel(inline=True)
def symmetric_system_solved(
    m: int, n: int, a: Pointer[T], ld_a: int, x: Pointer[T], ld_x: int, pivots: Pointer[int32], work: Pointer[T],
    n_work: int, *, lower: bool, hermitian: bool,
) -> int:  # fmt: skip
    """Solve by the factors of a symmetric or Hermitian matrix."""
    if hermitian:
        return lapack.hesv("L" if lower else "U", m, n, a, ld_a, pivots, x, ld_x, work, n_work)
    return lapack.sysv("L" if lower else "U", m, n, a, ld_a, pivots, x, ld_x, work, n_work)


@kernel(inline=True)
def symmetric_system_solved_as_it_lies(
    m: int, n: int, a: Pointer[T], ld_a: int, t_a: int, x: Pointer[T], ld_x: int, pivots: Pointer[int32],
    work: Pointer[T], n_work: int, *, lower: bool,
) -> int:  # fmt: skip
    """Solve with a symmetric matrix by columns, or by rows, where its triangle is the other one of the transpose."""
    if t_a == 1:
        return symmetric_system_solved(m, n, a, ld_a, x, ld_x, pivots, work, n_work, lower=lower, hermitian=False)
    return symmetric_system_solved(m, n, a, ld_a, x, ld_x, pivots, work, n_work, lower=not lower, hermitian=False)


@TABLE.register(Solve)
def solve(op: Solve, node: TensorNode, site: Site) -> None:
    """Factor as the assumed structure of the matrix allows, and substitute in place."""
    half = "lower" if op.lower else "upper"
    right = Operand(into="x")
    if op.assume_a == "gen":
        stack = Stack(op, node, site, {"a": Operand("either", writes=True), "b": right}, {"x": "rows"})
        eights = Eights(systems_of_eights_solved, into={"b": "x"})
        stack.run(system_solved, {"pivots": ("int32", stack.lengths["m"])}, eights=eights)
    elif op.assume_a == "pos":
        stack = Stack(op, node, site, {"a": Operand(writes=True, half=half), "b": right}, {"x": "rows"})
        eights = Eights(positive_systems_of_eights_solved, {"lower": op.lower}, {"b": "x"})
        stack.run(positive_system_solved, eights=eights, lower=op.lower)
    else:
        hermitian = op.assume_a == "her" and node.inputs[0].type.numpy_dtype.kind == "c"
        a = Operand("columns" if hermitian else "either", writes=True, half=half)
        stack = Stack(op, node, site, {"a": a, "b": Operand("columns", into="x")}, {"x": "columns"})
        rooms = {"pivots": ("int32", stack.lengths["m"]), "work": ("T", None)}
        if hermitian:
            stack.run(symmetric_system_solved, rooms, lower=op.lower, hermitian=True)
        else:
            stack.run(symmetric_system_solved_as_it_lies, rooms, lower=op.lower)


@kernel(inline=True)
def inverted(m: int, x: Pointer[T], ld_x: int, pivots: Pointer[int32], work: Pointer[T], n_work: int) -> int:
    """Solve for the identity, or by the factors; the inverse of the transpose is the transpose of the inverse."""
    if m <= SMALL:
        if n_work < 0:
            return OK
        a = local(T, SMALL * SMALL)
        for i in range(m):
            copied(x + i * ld_x, a + i * m, m)
        identity(x, m, ld_x)
        return small_system_solved(m, m, a, m, x, ld_x)
    if n_work > 0:
        info = lapack.getrf(m, m, x, ld_x, pivots)
        if info != 0:
            return info
    return lapack.getri(m, x, ld_x, pivots, work, n_work)


@TABLE.register(MatrixInverse)
def matrix_inverse(op: MatrixInverse, node: TensorNode, site: Site) -> None:
    """Invert in the memory of the result."""
    stack = Stack(op, node, site, {"a": Operand(into="x")}, {"x": "rows"})
    rooms = {"pivots": ("int32", stack.lengths["m"]), "work": ("T", None)}
    stack.run(inverted, rooms, eights=Eights(eights_inverted))
