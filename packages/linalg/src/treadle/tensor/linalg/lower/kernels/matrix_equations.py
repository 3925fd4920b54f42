"""Matrix equations, by LAPACK's Schur forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import OK, Number, Pointer, blas, convert, int32, is_complex, lapack, local, real_of
from treadle.tensor.linalg.functions.matrix_equations import Sylvester
from treadle.tensor.linalg.lower.kernels.matrices import larger
from treadle.tensor.linalg.lower.kernels.schur import schur_factored
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)


@kernel(inline=True)
def sylvester_solved(
    m: int, n: int, a: Pointer[T], ld_a: int, b: Pointer[T], ld_b: int, q: Pointer[T], ld_q: int, x: Pointer[T],
    ld_x: int, u: Pointer[T], v: Pointer[T], f: Pointer[T], g: Pointer[T], w: Pointer[T], wi: Pointer[T],
    rwork: Pointer[R], work: Pointer[T], n_work: int, found: Pointer[int32],
) -> int:  # fmt: skip
    """Reduce to a triangular equation by Schur forms, and solve that (Bartels and Stewart 1972).

    By columns, all matrices are the transposes: B' X' + X' A' = Q'.
    """
    if n_work < 0:
        most = max(m, n, 1)
        return schur_factored(most, a, most, u, most, work, -1, w, wi, rwork, found)
    if m == 0 or n == 0:
        return OK
    info = schur_factored(m, a, ld_a, u, m, work, n_work, w, wi, rwork, found)
    if info == 0:
        info = schur_factored(n, b, ld_b, v, n, work, n_work, w, wi, rwork, found)
    if info != 0:
        return info
    one = convert(T, 1)
    zero = convert(T, 0)
    scale = local(real_of(T), 1)
    blas.gemm("C" if is_complex(T) else "T", "N", n, m, n, one, v, n, q, ld_q, zero, f, n)
    blas.gemm("N", "N", n, m, m, one, f, n, u, m, zero, g, n)
    info = lapack.trsyl("N", "N", 1, n, m, b, ld_b, a, ld_a, g, n, scale)
    if scale[0] == 0:
        return 1
    blas.gemm("N", "N", n, m, n, convert(T, 1 / scale[0]), v, n, g, n, zero, f, n)
    blas.gemm("N", "C" if is_complex(T) else "T", n, m, m, one, f, n, u, m, zero, x, ld_x)
    return info


@TABLE.register(Sylvester)
def sylvester(op: Sylvester, node: TensorNode, site: Site) -> None:
    """Solve with copies of both matrices."""
    is_complex_ = node.inputs[0].type.numpy_dtype.kind == "c"
    operands = {"a": Operand(writes=True), "b": Operand(writes=True), "q": Operand()}
    stack = Stack(op, node, site, operands, {"x": "rows"})
    m, n = stack.lengths["m"], stack.lengths["n"]
    most = site.compute(larger, m, n)
    stack.run(
        sylvester_solved,
        {
            "u": ("T", m * m), "v": ("T", n * n), "f": ("T", m * n), "g": ("T", m * n), "w": ("T", most),
            "wi": ("T", 0 if is_complex_ else most), "rwork": ("R", most if is_complex_ else 0), "work": ("T", None),
            "found": ("int32", 1),
        },
    )  # fmt: skip
