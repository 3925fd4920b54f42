"""Triangular systems: substitution for small matrices, BLAS for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import OK, Number, Pointer, blas, conj, convert, independent, is_complex
from treadle.tensor.linalg.lower.kernels.eights import triangles_of_eights_solved
from treadle.tensor.linalg.lower.kernels.matrices import SMALL
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Eights
from treadle.tensor.linalg.triangular_systems import SolveTriangular

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def substituted_in_order(
    m: int, n: int, a: Pointer[T], by_row: int, by_column: int, x: Pointer[T], ld: int, *, forward: bool, unit: bool,
    conjugate: bool,
) -> int:  # fmt: skip
    """Solve a triangular system in place, from the first row on if `forward`, otherwise from the last one.

    `unit` takes the diagonal to be 1, `conjugate` the conjugates of the elements.
    """
    for p in range(m):
        i = p if forward else m - 1 - p
        row = a + i * by_row
        first = 0 if forward else i + 1
        last = p if forward else m
        to = x + i * ld
        pivot = conj(row[i * by_column]) if conjugate else row[i * by_column]
        if n == 1:
            # A sum in a variable, without a store for each term.
            total = to[0]
            for k in range(first, last):
                factor = conj(row[k * by_column]) if conjugate else row[k * by_column]
                total -= factor * x[k * ld]
            to[0] = total if unit else total / pivot
        else:
            for k in range(first, last):
                factor = conj(row[k * by_column]) if conjugate else row[k * by_column]
                other = x + k * ld
                for j in independent(range(n)):
                    to[j] -= factor * other[j]
            if not unit:
                for j in independent(range(n)):
                    to[j] = to[j] / pivot
    return OK


@kernel(inline=True)
def substituted(
    m: int, n: int, a: Pointer[T], ld_a: int, x: Pointer[T], ld_x: int, *, lower: bool, adjoint: bool, unit: bool,
    by_columns: bool, small: int,
) -> int:  # fmt: skip
    """Solve A X = B or A^H X = B in place; `small` is the largest matrix without BLAS.

    BLAS sees X as its transpose, so that A has to be on the right side. It sees A as its transpose too, unless A lies
    by columns, which is not for adjoints.
    """
    if m <= small:
        by_row = ld_a if by_columns == adjoint else 1
        by_column = 1 if by_columns == adjoint else ld_a
        substituted_in_order(
            m, n, a, by_row, by_column, x, ld_x, forward=lower != adjoint, unit=unit,
            conjugate=adjoint and is_complex(T),
        )  # fmt: skip
    elif n == 1 and not (adjoint and is_complex(T)):
        blas.trsv(
            "U" if lower != by_columns else "L", "N" if by_columns != adjoint else "T", "U" if unit else "N", m, a,
            ld_a, x, ld_x,
        )  # fmt: skip
    elif n > 0:
        blas.trsm(
            "R", "U" if lower != by_columns else "L", "C" if adjoint else "T" if by_columns else "N",
            "U" if unit else "N", n, m, convert(T, 1), a, ld_a, x, ld_x,
        )  # fmt: skip
    return OK


@kernel(inline=True)
def triangular_solved(
    m: int, n: int, a: Pointer[T], ld_a: int, t_a: int, x: Pointer[T], ld_x: int, *, lower: bool, unit: bool
) -> int:
    """Solve with a triangle that has no 0 on its diagonal."""
    if not unit:
        for i in range(m):
            if a[i * (ld_a + 1)] == 0:
                return 1
    if t_a == 1:
        substituted(m, n, a, ld_a, x, ld_x, lower=lower, adjoint=False, unit=unit, by_columns=True, small=SMALL)
    else:
        substituted(m, n, a, ld_a, x, ld_x, lower=lower, adjoint=False, unit=unit, by_columns=False, small=SMALL)
    return OK


@TABLE.register(SolveTriangular)
def solve_triangular(op: SolveTriangular, node: TensorNode, site: Site) -> None:
    """Solve in place."""
    a = Operand("either", half="lower" if op.lower else "upper", strict=op.unit_diagonal)
    stack = Stack(op, node, site, {"a": a, "b": Operand(into="x")}, {"x": "rows"})
    lower, unit = op.lower, op.unit_diagonal
    eights = Eights(triangles_of_eights_solved, {"lower": lower, "unit": unit}, {"b": "x"}, most=16)
    stack.run(triangular_solved, eights=eights, lower=lower, unit=unit)
