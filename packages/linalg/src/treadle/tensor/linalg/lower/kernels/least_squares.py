"""Least squares, by LAPACK; pseudo-inverses are computed from singular vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.blocks import copied
from treadle.kernels.language import OK, Number, Pointer, conj, convert, int32, is_complex, lapack, real, real_of
from treadle.tensor.linalg.least_squares import Lstsq
from treadle.tensor.linalg.lower.kernels.matrices import larger
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)


@kernel(inline=True)
def squares_minimised(
    m: int, n: int, k: int, a: Pointer[T], ld_a: int, b: Pointer[T], ld_b: int, size: Pointer[T], x: Pointer[T],
    ld_x: int, residuals: Pointer[R], rank: Pointer[int32], s: Pointer[R], factor: Pointer[T], both: Pointer[T],
    work: Pointer[T], n_work: int, rwork: Pointer[R], iwork: Pointer[int32],
) -> int:  # fmt: skip
    """Solve by singular values, divide and conquer; the rank counts those above `size` times the largest one.

    Where the rank is full, LAPACK leaves the components of b outside of the span of a below the solution.
    """
    rows = max(m, n)
    ld = max(rows, 1)
    rank[0] = 0
    for j in range(n if n_work > 0 else 0):
        copied(a + j * ld_a, factor + j * m, m)
    for j in range(k if n_work > 0 else 0):
        for i in range(rows):
            both[j * rows + i] = b[j * ld_b + i] if m > 0 and n > 0 and i < m else convert(T, 0)
    if m > 0 and n > 0:
        # Singular values are wanted even if there are no right sides.
        if is_complex(T):
            info = lapack.gelsd(
                m, n, max(k, 1), factor, m, both, ld, s, real(size[0]), rank, work, n_work, rwork, iwork
            )
        else:
            info = lapack.gelsd(m, n, max(k, 1), factor, m, both, ld, s, real(size[0]), rank, work, n_work, iwork)
        if info != 0 or n_work < 0:
            return info
    full = rank[0] == n and n > 0
    for j in range(k):
        copied(both + j * rows, x + j * ld_x, n)
        total = convert(real_of(T), 0)
        for i in range(n if full else 0, m):
            rest = both[j * rows + i]
            if not full:
                rest = b[j * ld_b + i]
                for c in range(n):
                    rest -= a[c * ld_a + i] * x[j * ld_x + c]
            total += real(rest * conj(rest))
        residuals[j] = total
    return OK


@TABLE.register(Lstsq)
def lstsq(op: Lstsq, node: TensorNode, site: Site) -> None:
    """Call gelsd."""
    operands = {"a": Operand("columns"), "b": Operand("columns"), "size": Operand(checked=False)}
    results = {"x": "columns", "residuals": "rows", "rank": "rows", "s": "rows"}
    stack = Stack(op, node, site, operands, results)
    m, n, k = (stack.lengths[name] for name in "mnk")
    both = site.compute(larger, m, n) * site.compute(larger, k, 1)
    rooms = {"factor": ("T", m * n), "both": ("T", both), "work": ("T", None)}
    stack.run(squares_minimised, {**rooms, "rwork": ("R", None), "iwork": ("int32", None)})
