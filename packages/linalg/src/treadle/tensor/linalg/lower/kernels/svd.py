"""Singular values and vectors, by LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import OK, Number, Pointer, int32, is_complex, lapack
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.lower.kernels.matrices import identity
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)


@kernel(inline=True)
def decomposed(
    m: int, n: int, a: Pointer[T], ld_a: int, u: Pointer[T], ld_u: int, s: Pointer[R], vh: Pointer[T], ld_vh: int,
    work: Pointer[T], n_work: int, rwork: Pointer[R], iwork: Pointer[int32], *, job: str,
) -> int:  # fmt: skip
    """Write singular values, and vectors unless the job is N; those of an empty matrix are arbitrary."""
    if n_work > 0 and (m == 0 or n == 0):
        if job == "A":
            identity(u, m, ld_u)
            identity(vh, n, ld_vh)
        return OK
    if is_complex(T):
        return lapack.gesdd(job, m, n, a, ld_a, s, u, ld_u, vh, ld_vh, work, n_work, rwork, iwork)
    return lapack.gesdd(job, m, n, a, ld_a, s, u, ld_u, vh, ld_vh, work, n_work, iwork)


@kernel(inline=True)
def singular_values_found(
    m: int, n: int, a: Pointer[T], ld_a: int, s: Pointer[R], work: Pointer[T], n_work: int, rwork: Pointer[R],
    iwork: Pointer[int32], *, job: str,
) -> int:  # fmt: skip
    """Write singular values alone."""
    return decomposed(m, n, a, ld_a, a, 1, s, a, 1, work, n_work, rwork, iwork, job=job)


@kernel
def svd_reals(m: int, n: int, *, job: str) -> int:
    """Return the number of real numbers that it works with for complex matrices."""
    least = min(m, n)
    return 7 * least if job == "N" else least * (5 * least + 7 + 2 * max(m, n))


@TABLE.register(SVD)
def svd(op: SVD, node: TensorNode, site: Site) -> None:
    """Call gesdd, the divide-and-conquer routine."""
    job = "N" if not op.compute_uv else "A" if op.full_matrices else "S"
    results = {"u": "columns", "s": "rows", "vh": "columns"} if op.compute_uv else {"s": "rows"}
    stack = Stack(op, node, site, {"a": Operand("columns", writes=True)}, results)
    m, n = stack.lengths["m"], stack.lengths["n"]
    is_complex_ = node.inputs[0].type.numpy_dtype.kind == "c"
    rooms = {"work": ("T", None), "rwork": ("R", site.compute(svd_reals, m, n, job=job) if is_complex_ else 0)}
    rooms["iwork"] = ("int32", stack.length("min(m,n)") * 8)
    stack.run(decomposed if op.compute_uv else singular_values_found, rooms, finite=True, job=job)
