"""Functions of matrices in C."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.functions.matrix_sign import MatrixSign
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# For complex numbers |re| + |im| replaces the absolute value, which makes norms larger by a factor of 1.4 at most.
_BEFORE = """\
static double abs_@($T x) { return __builtin_fabs((double)__real__ x) + __builtin_fabs((double)__imag__ x); }
static double norm_@(int n, const $T *x) {
  double most = 0;
  for (int j = 0; j < n; j++) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += abs_@(x[(size_t)j * n + i]);
    if (!(sum <= most)) most = sum;
  }
  return most;
}
/* The one-norm of |x|**27. */
static double power_norm_@(int n, const $T *x, double *u, double *w) {
  double most = 0;
  for (int i = 0; i < n; i++) u[i] = 1;
  for (int step = 0; step < 27; step++) {
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int i = 0; i < n; i++) sum += u[i] * abs_@(x[(size_t)j * n + i]);
      w[j] = sum;
    }
    for (int i = 0; i < n; i++) u[i] = w[i];
  }
  for (int i = 0; i < n; i++) if (u[i] > most) most = u[i];
  return most;
}"""

# Read by columns, a matrix in C order is its transpose, and f(A') = f(A)'.
_EXPM = """\
static const double limits[4] = {1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068};
  static const double pade[5][14] = {
    {120, 60, 12, 1}, {30240, 15120, 3360, 420, 30, 1}, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1},
    {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1},
    {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
     670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}};
  const size_t all = (size_t)n * n;
  $T one = 1, zero = 0;
  int diagonal = 1;
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    const $T value = a[(size_t)i * ld_a + j];
    x[(size_t)i * n + j] = value;
    if (i != j && value != 0) diagonal = 0;
  }
  if (diagonal) {
    for (size_t i = 0; i < all; i++) v[i] = i % (n + 1) ? 0 : EXP(x[i]);
  } else {
    const double size = norm_@(n, x);
    int which = 0, s = 0;
    while (which < 4 && size > limits[which]) which++;
    if (which == 4) {
      /* A matrix of norm 1 at most, of which powers do not overflow. */
      int k;
      __builtin_frexp(size, &k);
      const $R down = ($R)__builtin_ldexp(1, -k / 2), rest = ($R)__builtin_ldexp(1, -k + k / 2);
      for (size_t i = 0; i < all; i++) x[i] = x[i] * down * rest;
      $gemm("N", "N", &n, &n, &n, &one, x, &n, x, &n, &zero, x2, &n);
      $gemm("N", "N", &n, &n, &n, &one, x2, &n, x2, &n, &zero, x4, &n);
      $gemm("N", "N", &n, &n, &n, &one, x2, &n, x4, &n, &zero, x6, &n);
      $gemm("N", "N", &n, &n, &n, &one, x4, &n, x4, &n, &zero, u, &n);
      $gemm("N", "N", &n, &n, &n, &one, x4, &n, x6, &n, &zero, v, &n);
      const double by6 = __builtin_pow(norm_@(n, x6), 1.0 / 6), by8 = __builtin_pow(norm_@(n, u), 1.0 / 8);
      const double by10 = __builtin_pow(norm_@(n, v), 1.0 / 10), low = by6 > by8 ? by6 : by8;
      const double high = by8 > by10 ? by8 : by10, least = low < high ? low : high;
      double halvings = least > 0 ? __builtin_ceil(__builtin_log2(least / 4.25) + k) : 0;
      if (halvings < 0) halvings = 0;
      /* More of them where the first neglected term would not be small enough. */
      const double total = power_norm_@(n, x, sums, sums + n);
      if (total > 0) {
        const double term = total / norm_@(n, x) / 113250775606021113483283660800000000.0 / (EPSILON / 2);
        const double more = __builtin_ceil(__builtin_log2(term) / 26 + (k - halvings));
        if (more > 0) halvings += more;
      }
      s = (int)halvings;
      $R scale = ($R)__builtin_ldexp(1, k - s), squared = scale * scale;
      for (size_t i = 0; i < all; i++) {
        x[i] *= scale;
        x2[i] *= squared;
        x4[i] *= squared * squared;
        x6[i] *= squared * squared * squared;
      }
    } else {
      $gemm("N", "N", &n, &n, &n, &one, x, &n, x, &n, &zero, x2, &n);
      if (which > 0) $gemm("N", "N", &n, &n, &n, &one, x2, &n, x2, &n, &zero, x4, &n);
      if (which > 1) $gemm("N", "N", &n, &n, &n, &one, x2, &n, x4, &n, &zero, x6, &n);
    }
    $R c[14];
    for (int i = 0; i < 14; i++) c[i] = ($R)(pade[which][i] / pade[which][0]);
    /* The even powers in v, the odd ones over x in w. */
    if (which < 2) for (size_t i = 0; i < all; i++) x6[i] = 0;
    if (which < 1) for (size_t i = 0; i < all; i++) x4[i] = 0;
    for (size_t i = 0; i < all; i++) {
      const $R unit = i % (n + 1) ? 0 : 1;
      w[i] = c[1] * unit + c[3] * x2[i] + c[5] * x4[i] + c[7] * x6[i];
      v[i] = c[0] * unit + c[2] * x2[i] + c[4] * x4[i] + c[6] * x6[i];
    }
    if (which == 3) {
      $gemm("N", "N", &n, &n, &n, &one, x2, &n, x6, &n, &zero, u, &n);
      for (size_t i = 0; i < all; i++) {
        w[i] += c[9] * u[i];
        v[i] += c[8] * u[i];
      }
    } else if (which == 4) {
      for (size_t i = 0; i < all; i++) u[i] = c[13] * x6[i] + c[11] * x4[i] + c[9] * x2[i];
      $gemm("N", "N", &n, &n, &n, &one, x6, &n, u, &n, &one, w, &n);
      for (size_t i = 0; i < all; i++) u[i] = c[12] * x6[i] + c[10] * x4[i] + c[8] * x2[i];
      $gemm("N", "N", &n, &n, &n, &one, x6, &n, u, &n, &one, v, &n);
    }
    $gemm("N", "N", &n, &n, &n, &one, x, &n, w, &n, &zero, u, &n);
    for (size_t i = 0; i < all; i++) {
      const $T odd = u[i];
      u[i] = v[i] - odd;
      v[i] += odd;
    }
    if (n) $gesv(&n, &n, u, &n, pivots, v, &n, &info);
    for (int step = 0; step < s; step++) {
      $gemm("N", "N", &n, &n, &n, &one, v, &n, v, &n, &zero, u, &n);
      $T *swapped = u;
      u = v;
      v = swapped;
    }
  }
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) e[(size_t)i * ld_e + j] = v[(size_t)i * n + j];"""


@TABLE.register(Expm)
def expm(op: Expm, node: TensorNode, unit: Unit) -> None:
    """Write scaling and squaring, by Higham (2005) and Al-Mohy and Higham (2009)."""
    dtype = node.inputs[0].type.dtype
    exponential = {"float32": "expf", "float64": "exp", "complex64": "cexpf", "complex128": "cexp"}[dtype]
    epsilon = "__FLT_EPSILON__" if dtype in {"float32", "complex64"} else "__DBL_EPSILON__"
    work = dict.fromkeys(("x", "x2", "x4", "x6", "w", "first", "second"), "T n * n")
    body = MatrixBody(
        operands=[MatrixOperand("a")],
        results=[MatrixResult("e")],
        routines={"blas:gemm": "cciiixxixixxi", "gesv": "iixiixii"},
        scratch={**work, "sums": "double 2 * n", "pivots": "int n"},
        before=_BEFORE,
        text="$T *u = first, *v = second;\n  "
        + _EXPM.replace("EXP(", f"__builtin_{exponential}(").replace("EPSILON", epsilon),
    )
    write_matrices(op, node, unit, body)


_SIGN = """\
const size_t all = (size_t)m * m;
  for (int i = 0; i < m; i++) memcpy(z + (size_t)i * m, a + (size_t)i * ld_a, m * sizeof($T));
  int close = !all, done = close;
  for (int step = 0; step < STEPS && !info && !done; step++) {
    memcpy(inverse, z, all * sizeof($T));
    $getrf(&m, &m, inverse, &m, pivots, &info);
    if (!info) $getri(&m, inverse, &m, pivots, work, &n_work, &info);
    if (info) break;
    const double ratio = length_@(all, inverse) / length_@(all, z);
    const $R c = ($R)__builtin_sqrt(ratio) / 2, d = 1 / (4 * c);
    double size = 0, change = 0;
    for (size_t i = 0; i < all; i++) {
      const $T new = c * z[i] + d * inverse[i];
      change += square_@(new - z[i]);
      size += square_@(new);
      z[i] = new;
    }
    done = close;
    if (!(size <= __DBL_MAX__)) info = 1;
    if (change <= EPSILON * size) close = 1;
  }
  if (!done) info = 1;
  for (int i = 0; i < m; i++) memcpy(s + (size_t)i * ld_s, z + (size_t)i * m, m * sizeof($T));"""


@TABLE.register(MatrixSign)
def matrix_sign(op: MatrixSign, node: TensorNode, unit: Unit) -> None:
    """Write Newton's iteration; the sign of a transpose is the transpose of the sign."""
    dtype = node.inputs[0].type.dtype
    epsilon = "__FLT_EPSILON__" if dtype in {"float32", "complex64"} else "__DBL_EPSILON__"
    body = MatrixBody(
        operands=[MatrixOperand("a")],
        results=[MatrixResult("s")],
        routines={"getrf": "iixiii", "getri": "ixiixii"},
        query="""int ask = -1;
      $T best, *inverse = 0;
      int *pivots = 0, ld = m < 1 ? 1 : m;
      $getri(&m, inverse, &ld, pivots, &best, &ask, &info);""",
        scratch={"z": "T m * m", "inverse": "T m * m", "pivots": "int m", "work": "T (int)$re best"},
        before="""\
static double square_@($T x) {
  return (double)__real__ x * (double)__real__ x + (double)__imag__ x * (double)__imag__ x;
}
static double length_@(size_t count, const $T *x) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += square_@(x[i]);
  return __builtin_sqrt(sum);
}
""",
        text=_SIGN.replace("STEPS", str(op.steps)).replace("EPSILON", epsilon),
    )
    write_matrices(op, node, unit, body)
