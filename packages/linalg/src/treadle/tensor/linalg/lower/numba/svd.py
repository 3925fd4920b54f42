"""Singular values and vectors, by LAPACK."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(SVD)
def lower_svd(op: SVD, node: TensorNode, writer: GraphWriter) -> None:
    """Call gesdd, the divide-and-conquer routine; the square factors of an empty matrix are arbitrary."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    job = "N" if not op.compute_uv else "A" if op.full_matrices else "S"
    call = f'$lapack_gesdd("{job}", m, n'
    ldm, ldv = "max(m, 1)", "max(n, 1)" if op.full_matrices else "max(k, 1)"
    more = ["real"] if is_complex else []
    query = ", ".join([call, "best", ldm, "real", "best", ldm, "best", ldv, "best", "-1", *more, "whole"])
    u, vh = ("u", "vh") if op.compute_uv else ("a", "a")
    arguments = ["a", ldm, "s", u, ldm, vh, ldv, "work", "n_work", *(["rwork"] if is_complex else []), "iwork"]
    text = f"info = {call}, {', '.join(arguments)})"
    if op.full_matrices:
        text = f"""
if k == 0:
    for i in range(m * m):
        u[i] = $T(1) if i % (m + 1) == 0 else $T(0)
    for i in range(n * n):
        vh[i] = $T(1) if i % (n + 1) == 0 else $T(0)
else:
    {text}
"""
    else:
        text = f"if k > 0:\n    {text}"
    scratch = {"work": "T n_work", "iwork": "int 8 * k"}
    if is_complex:
        scratch["rwork"] = "R k * max(5 * k + 7, 2 * max(m, n) + 2 * k + 1)"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", writes=True)],
        results=[MatrixResult("u", "columns"), MatrixResult("s"), MatrixResult("vh", "columns")]
        if op.compute_uv
        else [MatrixResult("s")],
        finite=True,
        query=f"k = min(m, n)\n{query})\nn_work = max(i8($re(best[0])), 1)",
        scratch=scratch,
        text=text,
    )
    write_matrices(op, node, writer, body)
