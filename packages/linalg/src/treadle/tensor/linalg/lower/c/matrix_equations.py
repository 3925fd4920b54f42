"""Matrix equations in C, by LAPACK's Schur forms."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.functions.matrix_equations import Sylvester
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(Sylvester)
def sylvester(op: Sylvester, node: TensorNode, unit: Unit) -> None:
    """Write the reduction to a triangular equation by Schur forms, and its solution (Bartels and Stewart 1972).

    By columns, all matrices are the transposes: B' X' + X' A' = Q'.
    """
    is_complex = node.inputs[0].type.dtype.startswith("complex")
    # LAPACK returns eigenvalues as one complex array, or as two real ones.
    values, last = ("w", "real, ") if is_complex else ("w, w + {0}", "")

    def schur(of: str, length: str, vectors: str, ld: str, work: str, size: str) -> str:
        return (
            f'$gees("V", "N", 0, &{length}, {of}, &ld_{of}, &found, {values.format(length)}, {vectors}, &{ld}, {work}, '
            f"&{size}, {last}0, &info);"
        )

    body = MatrixBody(
        operands=[MatrixOperand("a", writes=True), MatrixOperand("b", writes=True), MatrixOperand("q")],
        results=[MatrixResult("x")],
        routines={
            "gees": "cc1ixiixxixirii" if is_complex else "cc2ixiixxxixiii",
            "trsyl": "cciiixixixiri",
            "blas:gemm": "cciiixxixixxi",
        },
        query=f"""int ask = -1, found, size = m > n ? m : n, ld_a = size < 1 ? 1 : size;
      $T best, *a = 0, *u = 0, *w = 0;
      $R *real = 0;
      {schur("a", "size", "u", "ld_a", "&best", "ask")}""",
        scratch={
            "u": "T m * m", "v": "T n * n", "f": "T m * n", "g": "T m * n", "w": "T 2 * (m + n)",
            "real": "R m + n", "work": "T (int)$re best",
        },
        text=f"""\
const char *const adjoint = "{"C" if is_complex else "T"}";
  $T one = 1, zero = 0;
  $R scale = 1;
  int found, sign = 1;
  if (m && n) {{
    {schur("a", "m", "u", "m", "work", "n_work")}
    if (!info) {schur("b", "n", "v", "n", "work", "n_work")}
    if (!info) {{
      $gemm((char *)adjoint, "N", &n, &m, &n, &one, v, &n, q, &ld_q, &zero, f, &n);
      $gemm("N", "N", &n, &m, &m, &one, f, &n, u, &m, &zero, g, &n);
      $trsyl("N", "N", &sign, &n, &m, b, &ld_b, a, &ld_a, g, &n, &scale, &info);
      if (scale == 0) info = 1;
      one = 1 / scale;
      $gemm("N", "N", &n, &m, &n, &one, v, &n, g, &n, &zero, f, &n);
      one = 1;
      $gemm("N", (char *)adjoint, &n, &m, &m, &one, f, &n, u, &m, &zero, x, &ld_x);
    }}
  }}""",
    )  # fmt: skip
    write_matrices(op, node, unit, body)
