"""Cholesky factors, and solving with them."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskyPullback, CholeskySolve
from treadle.tensor.linalg.lower.c.writing import small_matrices
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.c.writing.substitution import ROUTINES, substituted

# The rules take complex numbers too.
TAKES_COMPLEX = True

# The number of rows in a block of the backward pass.
_BLOCK = 32
_BACK = """\
static void @_back(const $T *a, int64_t la, $T *g, int64_t lg, int m) {
  for (int j = m - 1; j >= 0; j--) {
    const $T *const own = a + j * la;
    $T *const by_own = g + j * lg, inverse = 1 / own[j], y = by_own[j];
    for (int i = j + 1; i < m; i++) {
      const $T *const next = a + i * la;
      $T *const by_next = g + i * lg, x = by_next[j] * inverse;
      by_next[j] = x;
      y -= next[j] * x;
#pragma omp simd
      for (int k = 0; k < j; k++) {
        by_own[k] -= x * next[k];
        by_next[k] -= x * own[k];
      }
    }
    y *= inverse;
    for (int k = 0; k < j; k++) by_own[k] -= y * own[k];
    by_own[j] = y / 2;
  }
}
"""
# BLAS sees a matrix as its transpose. In rows j to k, D is the factor's block on the diagonal, R the block left of it;
# C lies below D, and B below R.
_BACK_BY_BLOCKS = f"""\
for (int k = m; k > 0; k -= {_BLOCK}) {{
    $T one = 1, minus = -1, both[{_BLOCK} * {_BLOCK}];
    int j = k > {_BLOCK} ? k - {_BLOCK} : 0, rows = k - j, below = m - k;
    $T *const r = l + (int64_t)j * ld_l, *const d = r + j, *const b = l + (int64_t)k * ld_l, *const c = b + j;
    $T *const by_r = g + (int64_t)j * ld_g, *const by_d = by_r + j;
    $T *const by_b = g + (int64_t)k * ld_g, *const by_c = by_b + j;
    if (below) {{
      $trsm("L", "U", "N", "N", &rows, &below, &one, d, &ld_l, by_c, &ld_g);
      $gemm("N", "T", &rows, &rows, &below, &minus, c, &ld_l, by_c, &ld_g, &one, by_d, &ld_g);
      for (int i = 0; i < rows; i++) for (int n = i + 1; n < rows; n++) by_d[(int64_t)i * ld_g + n] = 0;
      if (j) {{
        $gemm("N", "N", &j, &below, &rows, &minus, r, &ld_l, by_c, &ld_g, &one, by_b, &ld_g);
        $gemm("N", "T", &j, &rows, &below, &minus, b, &ld_l, by_c, &ld_g, &one, by_r, &ld_g);
      }}
    }}
    @_back(d, ld_l, by_d, ld_g, rows);
    if (j) {{
      for (int i = 0; i < rows; i++) for (int n = 0; n < rows; n++)
        both[i * rows + n] = by_d[(int64_t)i * ld_g + n] + by_d[(int64_t)n * ld_g + i];
      $gemm("N", "N", &j, &rows, &rows, &minus, r, &ld_l, both, &rows, &one, by_r, &ld_g);
    }}
  }}"""


@TABLE.register(Cholesky)
def cholesky(op: Cholesky, node: TensorNode, unit: Unit) -> None:
    """Write the call of potrf, in the memory of the result."""
    body = MatrixBody(
        operands=[MatrixOperand("a", into=0, half="lower" if op.lower else "upper")],
        results=[MatrixResult("l")],
        routines={"potrf": "cixii"},
        text=f'$potrf("{"U" if op.lower else "L"}", &m, l, &ld_l, &info);',
        small=small_matrices.factored("l", op.lower) + small_matrices.cleared("l", op.lower),
        alone="m <= 24",
    )
    write_matrices(op, node, unit, body)


@TABLE.register(CholeskyPullback)
def cholesky_pullback(op: CholeskyPullback, node: TensorNode, unit: Unit) -> None:
    """Write the backward pass, by blocks; an upper triangle is read by columns, as if it were a lower one."""
    half, order = ("lower", "rows") if op.lower else ("upper", "columns")
    body = MatrixBody(
        operands=[MatrixOperand("l", order, half=half), MatrixOperand("ct", order, into=0, half=half)],
        results=[MatrixResult("g", order)],
        routines={"blas:trsm": "cccciixxixi", "blas:gemm": "cciiixxixixxi"},
        before=_BACK,
        text=_BACK_BY_BLOCKS,
        small=small_matrices.pulled_back("l", "g", op.lower) + small_matrices.cleared("g", op.lower),
    )
    write_matrices(op, node, unit, body)


@TABLE.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode, unit: Unit) -> None:
    """Write the two substitutions: with L and L^H, or with U^H and U."""
    body = MatrixBody(
        operands=[MatrixOperand("a", half="lower" if op.lower else "upper"), MatrixOperand("b", into=0)],
        results=[MatrixResult("x")],
        routines=ROUTINES,
        text="if (m) {{\n  {}\n  {}\n  }}".format(
            *(substituted("a", "x", lower=op.lower, adjoint=adjoint) for adjoint in (not op.lower, op.lower))
        ),
        small=small_matrices.solved("a", "x", op.lower),
    )
    write_matrices(op, node, unit, body)
