"""Systems of banded and tridiagonal matrices, by LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import OK, Number, Pointer, convert, int32, lapack
from treadle.tensor.linalg.linear_systems import SolveBanded, SolveHermitianBanded
from treadle.tensor.linalg.lower.kernels.matrices import shortened
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.tridiagonal_systems import LUFactorTridiagonal, SolveLUFactorTridiagonal

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def inside_copied(
    m: int, rows: int, above: int, a: Pointer[T], by_row: int, by_column: int, o: Pointer[T], ld: int
) -> int:
    """Copy the elements of a band that are inside of the matrix, by columns; return how many are not finite."""
    count = 0
    for j in range(m):
        for k in range(rows):
            inside = j + k >= above and j + k - above < m
            v = a[k * by_row + j * by_column] if inside else convert(T, 0)
            o[j * ld + k] = v
            count += int(v - v != 0)
    return count


@kernel(inline=True)
def banded_system_solved(
    m: int, n: int, a: Pointer[T], ld_a: int, x: Pointer[T], ld_x: int, band: Pointer[T], pivots: Pointer[int32], *,
    low: int, up: int, checked: bool,
) -> int:  # fmt: skip
    """Solve in place, with extra rows on top of the band, which pivoting fills."""
    ld = 2 * low + up + 1
    bad = inside_copied(m, low + up + 1, up, a, ld_a, 1, band + low, ld)
    if checked and bad > 0:
        return 1
    if m == 0 or n == 0:
        return OK
    return lapack.gbsv(m, low, up, n, band, ld, pivots, x, ld_x)


@kernel(inline=True)
def hermitian_banded_system_solved(
    m: int, n: int, r: int, a: Pointer[T], ld_a: int, x: Pointer[T], ld_x: int, *, lower: bool, checked: bool
) -> int:
    """Solve in place."""
    bad = inside_copied(m, r, 0 if lower else r - 1, a, 1, ld_a, a, ld_a)
    if checked and bad > 0:
        return 1
    if m == 0 or n == 0:
        return OK
    return lapack.pbsv("L" if lower else "U", m, r - 1, n, a, ld_a, x, ld_x)


@TABLE.register(SolveBanded)
def solve_banded(op: SolveBanded, node: TensorNode, site: Site) -> None:
    """Call gbsv; only elements inside of the matrix are read."""
    operands = {"a": Operand(checked=False), "b": Operand("columns", into="x")}
    stack = Stack(op, node, site, operands, {"x": "columns"})
    m = stack.lengths["m"]
    rooms = {"band": ("T", m * (2 * op.lower + op.upper + 1)), "pivots": ("int32", m)}
    stack.run(banded_system_solved, rooms, low=op.lower, up=op.upper, checked=op.check_finite)


@TABLE.register(SolveHermitianBanded)
def solve_hermitian_banded(op: SolveHermitianBanded, node: TensorNode, site: Site) -> None:
    """Call pbsv."""
    operands = {"a": Operand("columns", writes=True, checked=False), "b": Operand("columns", into="x")}
    stack = Stack(op, node, site, operands, {"x": "columns"})
    stack.run(hermitian_banded_system_solved, lower=op.lower, checked=op.check_finite)


@kernel(inline=True)
def tridiagonal_factored(
    m: int, low: Pointer[T], up: Pointer[T], up1: Pointer[T], up2: Pointer[T], pivots: Pointer[int32]
) -> int:
    """Factor in place; singular matrices have factors too."""
    if m > 0:
        lapack.gttrf(m, low, up, up1, up2, pivots)
    return OK


@kernel(inline=True)
def factored_tridiagonal_solved(
    m: int, n: int, low: Pointer[T], up: Pointer[T], up1: Pointer[T], up2: Pointer[T], pivots: Pointer[int32],
    x: Pointer[T], ld_x: int, *, transposed: bool,
) -> int:  # fmt: skip
    """Solve in place where U has no zero on its diagonal and pivots are valid."""
    for i in range(m):
        exchanged = pivots[i] - i - 1
        if up[i] == 0 or exchanged < 0 or exchanged > int(i + 1 < m):
            return 1
    if m > 0 and n > 0:
        lapack.gttrs("T" if transposed else "N", m, n, low, up, up1, up2, pivots, x, ld_x)
    return OK


def _check_shorter(node: TensorNode, site: Site, at: int, less: int) -> None:
    """Write the check that a diagonal is shorter than the main one (the second input) by so much."""
    short, main = (site.array(x).shape[-1] for x in (node.inputs[at], node.inputs[1]))
    site.same(short, site.compute(shortened, main, less))


@TABLE.register(LUFactorTridiagonal)
def lu_factor_tridiagonal(op: LUFactorTridiagonal, node: TensorNode, site: Site) -> None:
    """Call gttrf."""
    _check_shorter(node, site, 0, 1)
    operands = {"below": Operand(into="low"), "diagonal": Operand(into="up"), "above": Operand(into="up1")}
    stack = Stack(op, node, site, operands, dict.fromkeys(("low", "up", "up1", "up2", "pivots"), "rows"))
    stack.run(tridiagonal_factored)


@TABLE.register(SolveLUFactorTridiagonal)
def solve_lu_factor_tridiagonal(op: SolveLUFactorTridiagonal, node: TensorNode, site: Site) -> None:
    """Call gttrs."""
    _check_shorter(node, site, 0, 1)
    _check_shorter(node, site, 3, 2)
    operands = {name: Operand() for name in ("low", "up", "up1", "up2", "pivots")}
    stack = Stack(op, node, site, {**operands, "b": Operand("columns", into="x")}, {"x": "columns"})
    stack.run(factored_tridiagonal_solved, transposed=op.transposed)
