"""C text for small matrices, eight at once, with a vector of eight numbers in place of each number.

An element of A is ``a[i * r_a + j * c_a]``. ``$V`` is the type of eight numbers; ``$M`` that of a mask: comparisons are
-1 where they hold, otherwise 0. There is no result where ``bad`` is not 0.
"""

from __future__ import annotations

# Jacobi's method is the fastest one for symmetric matrices of up to this many rows.
JACOBI = 8


def factored(a: str, lower: bool) -> str:
    """Return the statements that replace A by its Cholesky factor, row by row of a lower triangle."""
    row, column = (f"r_{a}", f"c_{a}") if lower else (f"c_{a}", f"r_{a}")
    return f"""\
for (int j = 0; j < m; j++) {{
    $V *const own = {a} + j * {row}, d = own[j * {column}];
    for (int k = 0; k < j; k++) d -= own[k * {column}] * own[k * {column}];
    bad |= ~(d > 0);
    $sqrt(&d);
    own[j * {column}] = d;
    d = 1 / d;
    for (int i = j + 1; i < m; i++) {{
      $V *const next = {a} + i * {row}, y = next[j * {column}];
      for (int k = 0; k < j; k++) y -= next[k * {column}] * own[k * {column}];
      next[j * {column}] = y * d;
    }}
  }}"""


def cleared(a: str, lower: bool) -> str:
    """Return the statement that writes zeros into the other triangle."""
    where = f"i * r_{a} + j * c_{a}" if lower else f"j * r_{a} + i * c_{a}"
    return f"\n  for (int i = 0; i < m; i++) for (int j = i + 1; j < m; j++) {a}[{where}] = ($V){{0}};"


def solved(a: str, x: str, lower: bool) -> str:
    """Return the statements that solve A X = B in place with the Cholesky factor of A."""
    return "\n  ".join(f"{{ {substituted(a, x, lower=lower, transposed=turned)} }}" for turned in (not lower, lower))


def pulled_back(a: str, g: str, lower: bool) -> str:
    """Return the statements that replace the gradient by a Cholesky factor A by that by the matrix.

    They run the steps of the factorisation backwards (I. Murray, Differentiation of the Cholesky decomposition, 2016).
    """
    row, column = (f"r_{a}", f"c_{a}") if lower else (f"c_{a}", f"r_{a}")
    grow, gcolumn = (f"r_{g}", f"c_{g}") if lower else (f"c_{g}", f"r_{g}")
    return f"""\
for (int j = m - 1; j >= 0; j--) {{
    const $V *const own = {a} + j * {row};
    $V *const by_own = {g} + j * {grow}, inverse = 1 / own[j * {column}], y = by_own[j * {gcolumn}];
    for (int i = j + 1; i < m; i++) {{
      const $V *const next = {a} + i * {row};
      $V *const by_next = {g} + i * {grow}, x = by_next[j * {gcolumn}] * inverse;
      by_next[j * {gcolumn}] = x;
      y -= next[j * {column}] * x;
      for (int k = 0; k < j; k++) {{
        by_own[k * {gcolumn}] -= x * next[k * {column}];
        by_next[k * {gcolumn}] -= x * own[k * {column}];
      }}
    }}
    y *= inverse;
    for (int k = 0; k < j; k++) by_own[k * {gcolumn}] -= y * own[k * {column}];
    by_own[j * {gcolumn}] = y / 2;
  }}"""


def substituted(
    a: str, x: str, *, lower: bool, transposed: bool = False, unit: bool = False, checked: bool = False
) -> str:
    """Return the statements that solve A X = B or A^T X = B in place, for m by n matrices X.

    If `checked`, there is no result where the diagonal has a 0.
    """
    row, column = (f"c_{a}", f"r_{a}") if transposed else (f"r_{a}", f"c_{a}")
    forward = lower != transposed
    order = "i = 0; i < m; i++" if forward else "i = m - 1; i >= 0; i--"
    before = "k = 0; k < i; k++" if forward else "k = i + 1; k < m; k++"
    divisor = "" if unit else f" / {a}[i * ({row} + {column})]"
    check = f"for (int i = 0; i < m; i++) bad |= ({a}[i * (r_{a} + c_{a})] == 0);\n  " if checked and not unit else ""
    # Four columns of X at a time, so that each element of A is read once for all four.
    names = [f"y{k}" for k in range(4)]
    reads = ", ".join(f"{y} = own[{k} * c_{x}]" for k, y in enumerate(names))
    works = " ".join(f"{y} -= f * other[{k} * c_{x}];" for k, y in enumerate(names))
    keeps = " ".join(f"own[{k} * c_{x}] = {y}{divisor};" for k, y in enumerate(names))
    return f"""\
{check}int left = 0;
  for (; left + 4 <= n; left += 4) for (int {order}) {{
    $V *const own = {x} + i * r_{x} + left * c_{x};
    $V {reads};
    for (int {before}) {{
      const $V f = {a}[i * {row} + k * {column}];
      const $V *const other = {x} + k * r_{x} + left * c_{x};
      {works}
    }}
    {keeps}
  }}
  for (int j = left; j < n; j++) for (int {order}) {{
    $V y = {x}[i * r_{x} + j * c_{x}];
    for (int {before}) y -= {a}[i * {row} + k * {column}] * {x}[k * r_{x} + j * c_{x}];
    {x}[i * r_{x} + j * c_{x}] = y{divisor};
  }}"""


def eliminated(a: str, *, x: str = "", swapped: str = "") -> str:
    """Return the statements that replace A by its LU factors, with partial pivoting, and X by L^-1 X.

    They go column by column, by sums of products as in OpenBLAS, so that most singular matrices get the same pivot of
    0. Then there is no result if there are right sides. `swapped` is a statement about rows that were exchanged where
    ``here`` is not 0.
    """
    return f"""\
for (int j = 0; j < m; j++) {{
    for (int i = 1; i < m; i++) {{
      const int terms = i < j ? i : j;
      $V sum = {{0}};
      for (int k = 0; k < terms; k++) sum += {a}[i * r_{a} + k * c_{a}] * {a}[k * r_{a} + j * c_{a}];
      {a}[i * r_{a} + j * c_{a}] -= sum;
    }}
    $V best = $abs({a}[j * (r_{a} + c_{a})]), inverse;
    $M row = (bad & 0) + j;
    for (int i = j + 1; i < m; i++) {{
      const $V size = $abs({a}[i * r_{a} + j * c_{a}]);
      const $M more = (size > best);
      best = $pick(more, size, best);
      row = (row & ~more) | (more & i);
    }}
    {"bad |= (best == 0);" if x else ""}
    for (int i = j + 1; i < m; i++) {{
      const $M here = (row == i);
      if (m > 6 && !$any(&here)) continue;
      {_swapped(a, "m")}
      {_swapped(x, "n") if x else ""}
      {swapped}
    }}
    inverse = $pick((best == 0), 0 * best, 1 / {a}[j * (r_{a} + c_{a})]);
    for (int i = j + 1; i < m; i++) {a}[i * r_{a} + j * c_{a}] *= inverse;
  }}
  {f"{{ {substituted(a, x, lower=True, unit=True)} }}" if x else ""}
  """


def _swapped(x: str, n: str) -> str:
    return f"for (int k = 0; k < {n}; k++) $swap(here, {x}[j * r_{x} + k * c_{x}], {x}[i * r_{x} + k * c_{x}])"


def diagonalised(a: str, w: str, v: str, lower: bool) -> str:
    """Return the statements for the eigenvalues of symmetric A in ascending order, and for the eigenvectors, if any.

    Jacobi's method, for one pair of rows after another (G. H. Golub and C. F. van Loan, Matrix Computations, section
    8.5), until all elements off the diagonal are rounding errors of the largest one. `v` names the matrix of the
    eigenvectors, which may be A itself; "" if they are not wanted.
    """
    place = f"i * r_{a} + j * c_{a}" if lower else f"j * r_{a} + i * c_{a}"
    turned = (
        "for (int i = 0; i < m; i++) { const $V x = q[i][k], y = q[i][l]; "
        "q[i][k] = x - s * (y + tau * x); q[i][l] = y + s * (x - tau * y); }"
    )
    sorted_too = "for (int k = 0; k < m; k++) $swap(here, q[k][i], q[k][j])"
    store_vectors = f"for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) {v}[i * r_{v} + j * c_{v}] = q[i][j];"
    return f"""\
$V u[{JACOBI}][{JACOBI}], q[{JACOBI}][{JACOBI}], least = {{0}}, sum = {{0}};
    int turns = 1;
    for (int i = 0; i < m; i++) for (int j = 0; j <= i; j++) {{
      const $V x = {a}[{place}], size = $abs(x);
      const $M more = (size > least);
      sum += 0 * x;
      least = $pick(more, size, least);
      u[j][i] = x;
      q[i][j] = q[j][i] = ($V){{0}} + ($T)(i == j);
    }}
    bad |= ~(sum == 0);
    least = least * $epsilon / 8;
    for (int sweep = 0; turns && sweep < 30; sweep++) {{
      turns = 0;
      for (int k = 0; k < m; k++) for (int l = k + 1; l < m; l++) {{
        const $V beside = u[k][l], size = $abs(beside);
        const $M here = (size > least);
        if (!$any(&here)) continue;
        turns = 1;
        const $V theta = (u[l][l] - u[k][k]) / (2 * beside), flat = $abs(theta);
        $V root = theta * theta + 1, t, c, s, tau;
        $sqrt(&root);
        t = 1 / (flat + root);
        t = $pick((0 * theta > theta), -t, t);
        t = $pick(here, t, 0 * least);
        c = t * t + 1;
        $sqrt(&c);
        c = 1 / c;
        s = t * c;
        tau = s / (1 + c);
        u[k][k] -= t * beside;
        u[l][l] += t * beside;
        u[k][l] = $pick(here, 0 * least, beside);
        for (int i = 0; i < m; i++) if (i != k && i != l) {{
          $V *const one = i < k ? &u[i][k] : &u[k][i], *const other = i < l ? &u[i][l] : &u[l][i];
          const $V x = *one, y = *other;
          *one = x - s * (y + tau * x);
          *other = y + s * (x - tau * y);
        }}
        {turned if v else ""}
      }}
    }}
    for (int i = 0; i < m; i++) for (int j = i + 1; j < m; j++) {{
      const $M here = (u[i][i] > u[j][j]);
      $swap(here, u[i][i], u[j][j])
      {sorted_too if v else ""}
    }}
    for (int i = 0; i < m; i++) {w}[i] = u[i][i];
    {store_vectors if v else ""}"""
