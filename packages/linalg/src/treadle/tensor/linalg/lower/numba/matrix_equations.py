"""Matrix equations, by LAPACK's Schur forms."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter
from treadle.tensor import TensorNode
from treadle.tensor.linalg.functions.matrix_equations import Sylvester
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(Sylvester)
def lower_sylvester(op: Sylvester, node: TensorNode, writer: GraphWriter) -> None:
    """Reduce to a triangular equation by Schur forms, and solve that (Bartels and Stewart 1972).

    By columns, all matrices are the transposes: B' X' + X' A' = Q'.
    """
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    # LAPACK returns eigenvalues as one complex array, or as two real ones.
    values, last = ("w", ", real_work, 0") if is_complex else ("w, v", ", 0")

    def schur(of: str, length: str, vectors: str) -> str:
        names = f"{of}, {length}, found, {values}, {vectors}, {length}"
        return f'$lapack_gees("V", "N", 0, {length}, {names}, work, n_work{last})'

    ask = f"real{last.removeprefix(', real_work')}" if is_complex else "0"
    numbers = "best" if is_complex else "best, best"
    adjoint = "C" if is_complex else "T"
    body = MatrixBody(
        operands=[MatrixOperand("a", writes=True), MatrixOperand("b", writes=True), MatrixOperand("q")],
        results=[MatrixResult("x")],
        query=f"""
size = max(m, n, 1)
$lapack_gees("V", "N", 0, size, best, size, whole, {numbers}, best, size, best, -1, {ask})
n_work = max(i8($re(best[0])), 1)
""",
        scratch={
            "u": "T m * m", "s": "T n * n", "f": "T m * n", "g": "T m * n", "w": "T m + n", "v": "T m + n",
            "real_work": "R m + n", "work": "T n_work", "found": "int 1", "scale": "R 1",
        },
        text=f"""
if m > 0 and n > 0:
    info = {schur("a", "m", "u")}
    if info == 0:
        info = {schur("b", "n", "s")}
    if info == 0:
        $blas_gemm("{adjoint}", "N", n, m, n, $T(1), s, n, q, n, $T(0), f, n)
        $blas_gemm("N", "N", n, m, m, $T(1), f, n, u, m, $T(0), g, n)
        info = $lapack_trsyl("N", "N", 1, n, m, b, n, a, m, g, n, scale)
        if scale[0] == 0:
            info = 1
        $blas_gemm("N", "N", n, m, n, $T($R(1) / scale[0]), s, n, g, n, $T(0), f, n)
        $blas_gemm("N", "{adjoint}", n, m, m, $T(1), f, n, u, m, $T(0), x, n)
""",
    )  # fmt: skip
    write_matrices(op, node, writer, body)
