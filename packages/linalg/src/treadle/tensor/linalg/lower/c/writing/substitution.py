"""C text that solves triangular systems with matrices in C order by BLAS, without transposing them."""

from __future__ import annotations

from types import MappingProxyType

ROUTINES = MappingProxyType({"blas:trsm": "cccciixxixi", "blas:trsv": "cccixixi"})

EXCHANGE = """\
/* Exchanges rows for those of the numbers given, from first to last or back. */
static void @_exchange($T *x, int64_t ld, int n, const int *pivots, int first, int m, int back) {
  for (int k = 0; k < m; k++) {
    const int i = back ? m - 1 - k : k, j = pivots[i] - first;
    if (i != j) for (int c = 0; c < n; c++) {
      const $T y = x[i * ld + c];
      x[i * ld + c] = x[j * ld + c];
      x[j * ld + c] = y;
    }
  }
}
"""


def substituted(a: str, x: str, *, lower: bool, adjoint: bool = False, unit: bool = False, either: bool = False) -> str:
    """Return the statement that solves A X = B or A^H X = B in place, for m by n matrices X.

    BLAS sees X as its transpose, so that A has to be on the right side. It sees A as its transpose too, unless A
    lies by columns, which it may do with `either`. `unit` takes its diagonal to be 1.
    """
    diagonal = '"U"' if unit else '"N"'
    by_rows, by_columns = ('"U"', '"L"') if lower else ('"L"', '"U"')
    # For a real number, the adjoint is the transpose.
    one_by_rows, one_by_columns = ('"N"', '"T"') if adjoint else ('"T"', '"N"')
    all_by_rows, all_by_columns = ('"C"', '"N"') if adjoint else ('"N"', '"T"')

    def chosen(rows: str, columns: str) -> str:
        return f"(t_{a} ? {columns} : {rows})" if either else rows

    uplo = chosen(by_rows, by_columns)
    vector = f"$trsv({uplo}, {chosen(one_by_rows, one_by_columns)}, {diagonal}, &m, {a}, &ld_{a}, {x}, &ld_{x});"
    matrix = (
        f'$trsm("R", {uplo}, {chosen(all_by_rows, all_by_columns)}, {diagonal}, &n, &m, &one, {a}, &ld_{a}, '
        f"{x}, &ld_{x});"
    )
    return f"{{ $T one = 1; if (n == 1{' && !$complex' if adjoint else ''}) {vector}\n    else if (n) {matrix} }}"
