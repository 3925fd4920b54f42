"""Least squares in C, by LAPACK; pseudo-inverses are computed from singular vectors."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.least_squares import Lstsq
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# Where the rank is full, LAPACK leaves the components of b outside of the span of a below the solution.
_TEXT = """\
const int rows = m > n ? m : n;
  $R least = $re(*size);
  *rank = 0;
  for (int64_t j = 0; j < n; j++) memcpy(factor + j * m, a + j * ld_a, (size_t)m * sizeof *a);
  for (int64_t j = 0; j < k; j++) for (int64_t i = 0; i < rows; i++)
    both[j * rows + i] = m && n && i < m ? b[j * ld_b + i] : 0;
  if (m && n && k) {{
    {call}
    if (info) return info;
  }} else if (m && n) {{
    int one = 1;
    {call_one}
    if (info) return info;
  }}
  for (int64_t j = 0; j < k; j++) {{
    $R sum = 0;
    memcpy(x + j * ld_x, both + j * rows, (size_t)n * sizeof *x);
    for (int64_t i = *rank == n && n ? n : 0; i < m; i++) {{
      $T rest = both[j * rows + i];
      if (*rank != n || !n) {{
        rest = b[j * ld_b + i];
        for (int64_t l = 0; l < n; l++) rest -= a[l * ld_a + i] * x[j * ld_x + l];
      }}
      sum += $re(rest * $conj(rest));
    }}
    residuals[j] = sum;
  }}"""


@TABLE.register(Lstsq)
def lstsq(op: Lstsq, node: TensorNode, unit: Unit) -> None:
    """Write calls of gelsd, the divide-and-conquer routine."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    real = ", rwork" if is_complex else ""
    call = (
        "$gelsd(&m, &n, &{}, factor, &m, both, &rows, s, &least, rank, work, &n_work" + real + ", iwork, &info);"
    ).format
    scratch = {
        "factor": "T (int64_t)m * n",
        "both": "T (int64_t)rows * (k ? k : 1)",
        "work": "T (int)$re(best)",
        "iwork": "int whole",
    }
    if is_complex:
        scratch["rwork"] = "R (int)real"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns"), MatrixOperand("b", "columns"), MatrixOperand("size", checked=False)],
        results=[MatrixResult("x", "columns"), MatrixResult("residuals"), MatrixResult("rank"), MatrixResult("s")],
        routines={"gelsd": "iiixixirrixirii" if is_complex else "iiixixirrixiii"},
        query=f"""\
int ask = -1, whole = 1, rows = m > n ? m : n, one = k ? k : 1, known = 0, ld = m ? m : 1, both = rows ? rows : 1;
    $T best = 1;
    $R real = 1, least = -1;
    if (m && n) $gelsd(&m, &n, &one, &best, &ld, &best, &both, &real, &least, &known, &best, &ask{
            ", &real" if is_complex else ""
        }, &whole, &info);""",
        scratch=scratch,
        text=_TEXT.format(call=call("k"), call_one=call("one")),
    )
    write_matrices(op, node, unit, body)
