"""QR factors and products of Householder reflections, by LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.blocks import copied
from treadle.kernels.language import OK, Number, Pointer, convert, int32, is_complex, lapack, real
from treadle.tensor.linalg.decompositions.qr import QR, HouseholderProduct
from treadle.tensor.linalg.lower.kernels.matrices import identity
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)


@kernel(inline=True)
def reflected(m: int, n: int, k: int, q: Pointer[T], ld_q: int, tau: Pointer[T], work: Pointer[T], n_work: int) -> int:
    """Replace Householder vectors by the first columns of their product."""
    if n == 0:
        return OK
    if is_complex(T):
        return lapack.ungqr(m, n, k, q, ld_q, tau, work, n_work)
    return lapack.orgqr(m, n, k, q, ld_q, tau, work, n_work)


@kernel(inline=True)
def factored(
    m: int, n: int, a: Pointer[T], ld_a: int, order: Pointer[int32], tau: Pointer[T], work: Pointer[T], n_work: int,
    rwork: Pointer[R], *, pivoting: bool,
) -> int:  # fmt: skip
    """Factor a matrix by columns; the order of columns is counted from 0."""
    if not pivoting:
        return lapack.geqrf(m, n, a, ld_a, tau, work, n_work)
    # Zeros allow any column to come first.
    for j in range(n if n_work > 0 else 0):
        order[j] = 0
    if is_complex(T):
        info = lapack.geqp3(m, n, a, ld_a, order, tau, work, n_work, rwork)
    else:
        info = lapack.geqp3(m, n, a, ld_a, order, tau, work, n_work)
    for j in range(n if n_work > 0 else 0):
        order[j] = order[j] - 1 if m > 0 else j
    return info


@kernel(inline=True)
def triangle_copied(rows: int, n: int, a: Pointer[T], ld_a: int, r: Pointer[T], ld_r: int) -> int:
    """Copy the upper triangle of a factored matrix, with zeros below it, by columns."""
    for j in range(n):
        for i in range(rows):
            r[j * ld_r + i] = a[j * ld_a + i] if i <= j else convert(T, 0)
    return OK


@kernel(inline=True)
def factors_found(
    m: int, n: int, a: Pointer[T], ld_a: int, q: Pointer[T], ld_q: int, r: Pointer[T], ld_r: int, order: Pointer[int32],
    tau: Pointer[T], work: Pointer[T], n_work: int, rwork: Pointer[R], *, pivoting: bool, full: bool,
) -> int:  # fmt: skip
    """Write Q, of which `full` wants all columns, and R."""
    k = min(m, n)
    info = factored(m, n, a, ld_a, order, tau, work, n_work, rwork, pivoting=pivoting)
    width = m if full else k
    if n_work < 0:
        best = work[0]
        reflected(m, width, k, q, ld_q, tau, work, -1)
        if real(work[0]) < real(best):
            work[0] = best
        return OK
    if info != 0:
        return info
    triangle_copied(width, n, a, ld_a, r, ld_r)
    if k == 0:
        return identity(q, width, ld_q)
    for j in range(k):
        copied(a + j * ld_a, q + j * ld_q, m)
    return reflected(m, width, k, q, ld_q, tau, work, n_work)


@kernel(inline=True)
def triangle_found(
    m: int, n: int, a: Pointer[T], ld_a: int, r: Pointer[T], ld_r: int, order: Pointer[int32], tau: Pointer[T],
    work: Pointer[T], n_work: int, rwork: Pointer[R], *, pivoting: bool, raw: bool,
) -> int:  # fmt: skip
    """Write R alone, with all rows unless the factored matrix is a result too."""
    info = factored(m, n, a, ld_a, order, tau, work, n_work, rwork, pivoting=pivoting)
    if n_work > 0:
        triangle_copied(min(m, n) if raw else m, n, a, ld_a, r, ld_r)
    return info


@TABLE.register(QR)
def qr(op: QR, node: TensorNode, site: Site) -> None:
    """Call geqrf or geqp3, take R from it, and call orgqr for Q."""
    raw, makes_q = op.mode == "raw", op.mode in {"full", "economic"}
    results = {"raw": ["a", "tau", "r"], "r": ["r"]}.get(op.mode, ["q", "r"])
    orders = {name: "rows" if name == "tau" else "columns" for name in results}
    if op.pivoting:
        orders["order"] = "rows"
    operands = {"x": Operand("columns", into="a")} if raw else {"a": Operand("columns", writes=True)}
    stack = Stack(op, node, site, operands, orders)
    n = stack.lengths["n"]
    is_complex_ = node.inputs[0].type.numpy_dtype.kind == "c"
    rooms = {"work": ("T", None), "rwork": ("R", n * 2 if is_complex_ and op.pivoting else 0)}
    if not raw:
        rooms["tau"] = ("T", stack.length("min(m,n)"))
    if not op.pivoting:
        rooms["order"] = ("int32", 0)
    if makes_q:
        stack.run(factors_found, rooms, finite=True, pivoting=op.pivoting, full=op.mode == "full")
    else:
        stack.run(triangle_found, rooms, finite=True, pivoting=op.pivoting, raw=raw)


@TABLE.register(HouseholderProduct)
def householder_product(op: HouseholderProduct, node: TensorNode, site: Site) -> None:
    """Multiply in the memory of the result."""
    stack = Stack(op, node, site, {"a": Operand("columns", into="q"), "tau": Operand()}, {"q": "columns"})
    site.stop_if(stack.lengths["k"] > stack.lengths["n"])
    site.stop_if(stack.lengths["n"] > stack.lengths["m"])
    stack.run(reflected, {"work": ("T", None)})
