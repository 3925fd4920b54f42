"""Eigenvalues and eigenvectors, by LAPACK."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.eigenvalues import Eig, Eigvals
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(Eigh, Eigvalsh)
def lower_of_hermitian(op: Eigh | Eigvalsh, node: TensorNode, writer: GraphWriter) -> None:
    """Call syevd or heevd, the divide-and-conquer routines."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    vectors = isinstance(op, Eigh)
    call = f'$lapack_{"he" if is_complex else "sy"}evd("{"V" if vectors else "N"}", "{op.uplo}", m'
    sizes = ["best", "real", "whole"] if is_complex else ["best", "whole"]
    names = {"best": "work", "real": "rwork", "whole": "iwork"}
    query = f"{call}, best, max(m, 1), real, {', '.join(f'{x}, -1' for x in sizes)})\nn_work = i8($re(best[0]))"
    scratch = {"work": "T max(n_work, 1)", "iwork": "int max(i8(whole[0]), 1)"}
    arguments = [f"{names[x]}, {f'i8({x}[0])' if x != 'best' else 'n_work'}" for x in sizes]
    if is_complex:
        scratch["rwork"] = "R max(i8(real[0]), 1)"
    a = "v" if vectors else "a"
    body = MatrixBody(
        operands=[
            MatrixOperand(
                "a", "columns", into=1 if vectors else None, writes=not vectors, half="lower" if op.lower else "upper"
            )
        ],
        results=[MatrixResult("w"), MatrixResult("v", "columns")] if vectors else [MatrixResult("w")],
        finite=True,
        query=query,
        scratch=scratch,
        text=f"info = {call}, {a}, max(m, 1), w, {', '.join(arguments)})",
    )
    write_matrices(op, node, writer, body)


# For real matrices LAPACK returns real and imaginary parts; the vectors of a conjugate pair share two columns.
_VALUES = """
for j in range(m):
    w[j] = compose_$R(wr[j], wi[j])
"""
_VECTORS = """
j = 0
while j < m:
    pair = 0
    if wi[j] != 0 and j + 1 < m:
        pair = 1
    for i in range(m):
        im = $R(0)
        if pair == 1:
            im = vr[(j + 1) * m + i]
            v[(j + 1) * m + i] = compose_$R(vr[j * m + i], -im)
        v[j * m + i] = compose_$R(vr[j * m + i], im)
    j = j + 1 + pair
"""


@TABLE.register(Eig, Eigvals)
def lower_of_square(op: Eig | Eigvals, node: TensorNode, writer: GraphWriter) -> None:
    """Call geev."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    vectors = isinstance(op, Eig)
    call = f'$lapack_geev("N", "{"V" if vectors else "N"}", m'
    ld = "max(m, 1)"
    values = ["best"] if is_complex else ["best", "best"]
    left, right = "best, 1", f"best, {ld}"
    query = ", ".join([call, "best", ld, *values, left, right, "best", "-1", *(["real"] if is_complex else [])])
    scratch = {"work": "T n_work"}
    if is_complex:
        scratch["rwork"] = "R 2 * m"
        into = f"v, {ld}" if vectors else "w, 1"
        text = f"info = {call}, a, {ld}, w, w, 1, {into}, work, n_work, rwork)"
    else:
        scratch |= {"wr": "T m", "wi": "T m"}
        if vectors:
            scratch["vr"] = "T m * m"
        into = f"vr, {ld}" if vectors else "wr, 1"
        text = f"info = {call}, a, {ld}, wr, wi, wr, 1, {into}, work, n_work)\n{_VALUES}{_VECTORS if vectors else ''}"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", writes=True)],
        results=[MatrixResult("w"), MatrixResult("v", "columns")] if vectors else [MatrixResult("w")],
        query=f"{query})\nn_work = max(i8($re(best[0])), 1)",
        scratch=scratch,
        text=text,
    )
    write_matrices(op, node, writer, body)
