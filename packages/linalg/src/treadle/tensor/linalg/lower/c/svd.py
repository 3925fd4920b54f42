"""Singular values in C, by LAPACK."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# LAPACK does not write the vectors of an empty matrix: any orthogonal ones will do.
_OF_NOTHING = """\
if (!m || !n) {
    for (int64_t j = 0; j < m; j++) for (int64_t i = 0; i < m; i++) u[j * ld_u + i] = i == j;
    for (int64_t j = 0; j < n; j++) for (int64_t i = 0; i < n; i++) vh[j * ld_vh + i] = i == j;
    return 0;
  }
  """


@TABLE.register(SVD)
def svd(op: SVD, node: TensorNode, unit: Unit) -> None:
    """Write calls of gesdd, the divide-and-conquer routine."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    job = "N" if not op.compute_uv else "A" if op.full_matrices else "S"
    scratch = {"work": "T (int)$re(best)", "iwork": "int 8 * least"}
    real = ""
    if is_complex:
        real = ", rwork"
        scratch["rwork"] = "R 7 * least" if job == "N" else "R least * (5 * least + 7 + 2 * most)"
    vectors = "u, &ld_u, vh, &ld_vh" if op.compute_uv else "a, &one, a, &one"
    asked = "&best, &ld_u, &best, &ld_vh" if op.compute_uv else "&best, &one, &best, &one"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", writes=True)],
        results=[MatrixResult("u", "columns"), MatrixResult("s"), MatrixResult("vh", "columns")]
        if op.compute_uv
        else [MatrixResult("s")],
        routines={"gesdd": "ciixirxixixirii" if is_complex else "ciixirxixixiii"},
        query=f"""\
const int64_t least = m < n ? m : n, most = m < n ? n : m;
    int ask = -1, one = 1, whole = 1;
    $T best = 1;
    $R real = 1;
    (void)one, (void)real, (void)most;
    $gesdd("{job}", &m, &n, &best, &ld_a, &real, {asked}, &best, &ask{real and ", &real"}, &whole, &info);""",
        scratch=scratch,
        text=(_OF_NOTHING if job == "A" else "int one = 1;\n  (void)one;\n  if (!m || !n) return 0;\n  ")
        + f'$gesdd("{job}", &m, &n, a, &ld_a, s, {vectors}, work, &n_work{real}, iwork, &info);',
    )
    write_matrices(op, node, unit, body)
