"""C text of log Γ and digamma on blocks of numbers, in double, as loops that compilers vectorize.

From 6 on both are Stirling's series (DLMF 5.11.1 and 5.11.2), its tail fitted in 1 / x². Numbers below are moved to
[1, 3] by the recurrence, where a factor that is exact at the function's zeros (1 and 2; 1.4616...) is split off and the
rest is fitted; numbers between 0 and 1 take one step up. Below 0 the reflection follows, one number at a time.

The polynomials interpolate at Chebyshev's nodes; they were computed with 220 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from treadle.link.c.conventions.dtypes import CType

# log Γ(t + 2) / (t (t + 1)) on [-1, 1], from the constant coefficient on, as all of these.
_LOG_GAMMA = (
    0.42278433509846713, -0.10031730167435421, 0.03296500062115597, -0.012384192193336403, 0.00499864116468036,
    -0.0021081308352055112, 0.0009153769228592748, -0.0004057073767183402, 0.00018255262896164608,
    -8.30953205143401e-05, 3.816898383928977e-05, -1.7660549436859962e-05, 8.221641184688299e-06,
    -3.851628024568635e-06, 1.8101965374589628e-06, -8.417878185566207e-07, 3.982919861909783e-07,
    -2.1160209415295267e-07, 1.0090082501517637e-07, -1.9155798912805917e-08, 8.980752930432223e-09,
    -2.9689377236178223e-08, 1.4354602538691462e-08, 7.546982106044216e-09, -3.670778197486026e-09,
    -3.045083104616406e-09, 1.4756784498205599e-09,
)  # fmt: skip
# ψ(t + 2) / (t + 2 - z) on [-1, 1], with ψ(z) = 0.
_DIGAMMA = (
    0.7853075386041053, -0.2607389546830014, 0.10899991701762841, -0.04955103291766767, 0.023447309597562315,
    -0.011338432553553088, 0.005552254176163854, -0.002739572878878444, 0.001358142115660262, -0.0006753134172771423,
    0.00033643307392409804, -0.00016781485745549608, 8.377541533754836e-05, -4.1847758637407615e-05,
    2.090944279433702e-05, -1.043615113408139e-05, 5.216485445131201e-06, -2.6450069563210817e-06,
    1.322327646207658e-06, -5.878282013270488e-07, 2.938946209899294e-07, -2.5162239592946485e-07,
    1.258090299216334e-07, 4.46741085718643e-08, -2.2337287908168016e-08, -6.628736705562654e-08,
    3.314365249205256e-08, 2.0501183895194647e-08, -1.0250592958849892e-08, -5.4669888399440215e-09,
    2.7334936115473567e-09,
)  # fmt: skip
# x (log Γ(x) - (x - 1/2) log x + x - log(2π) / 2) of 1 / x², for x from 6 on.
_LOG_GAMMA_TAIL = (
    0.08333333333333333, -0.0027777777777734623, 0.0007936507903643918, -0.0005952371351851134, 0.0008416117568838229,
    -0.0019064051561223957, 0.0059015492970323855, -0.016450184918542523,
)  # fmt: skip
# x² (log x - 1 / (2x) - ψ(x)) of 1 / x², for x from 6 on.
_DIGAMMA_TAIL = (
    0.08333333333333333, -0.008333333333329406, 0.0039682539644546435, -0.0041666652417935435, 0.007575487397643495,
    -0.021063611862127792, 0.0814363050587353, -0.3678576332158468, 1.2391679863993024,
)  # fmt: skip
# (2 artanh(s) / s - 2) / s² of s².
_LOG = (
    0.666666666666667, 0.39999999999899505, 0.28571428625975487, 0.2222221113479508, 0.18182889125261723,
    0.15331721600555998, 0.1461644968504386,
)  # fmt: skip


def polynomial(name: str, coefficients: Sequence[float]) -> str:
    """Return the text of ``name(x)``, whose coefficients begin with the constant one."""
    *higher, last = coefficients
    steps = "".join(f"  r = tr_fma(r, x, {c!r});\n" for c in reversed(higher))
    return f"TR_INLINE double {name}(double x) {{\n  double r = {last!r};\n{steps}  return r;\n}}\n"


GAMMA_FUNCTIONS = {
    # The number of elements in a block, so that loops over a block stay in the processor's cache.
    "tr_fma": """\
#define TR_HELD 64
#define TR_INLINE static inline __attribute__((always_inline))
TR_INLINE double tr_fma(double a, double b, double c) {
#ifdef __FP_FAST_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
""",
    # log x as a sum of two, for x above 0: the first has an exact difference to 1 where x is 6 or more.
    "tr_log_parts": "/* tr_fma */\n"
    + polynomial("tr_log_rest", _LOG)
    + """\
TR_INLINE void tr_log_parts(double x, double *high, double *low) {
  const double small = x < 2.2250738585072014e-308, scaled = small != 0 ? x * 18014398509481984. : x;
  uint64_t bits, whole;
  double e, f, s, z, square, top;
  memcpy(&bits, &scaled, 8);
  bits += UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd);
  /* The exponent as a double, by way of the last bits of 2**52. */
  whole = bits >> 52 | UINT64_C(0x4330000000000000);
  memcpy(&e, &whole, 8);
  e = e - 4503599627371519. - 54 * small;
  bits = (bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);
  memcpy(&f, &bits, 8);
  f -= 1;
  s = f / (2 + f);
  z = s * s;
  square = 0.5 * f * f;
  /* The first has zeros at its end: products with exponents are exact. */
  top = e * 0.6931471803691238;
  *high = top + f;
  *low = (top - *high + f) + (e * 1.9082149292705877e-10 - (square - s * (square + z * tr_log_rest(z))));
}
""",
    # The reflection (DLMF 5.5.3) where its terms do not cancel. SciPy takes -inf to -inf.
    "tr_below_gammaln": """\
#define tr_moved_gammaln(x) ((x) < 0 ? -(x) : (x))
static double tr_below_gammaln(double x, double above) {
  const double pi = 3.14159265358979323846, part = x - rint(x);
  double value;
  int sign;
  if (x == -INFINITY) return x;
  if (x > -1e-17) return above;
  if (part == 0) return INFINITY;
  value = log(pi / fabs(x * sin(pi * part))) - above;
  return fabs(value) < 0.5 + 0.5 * above ? lgamma_r(x, &sign) : value;
}
""",
    "tr_above_gammaln": "/* tr_log_parts */\n"
    + polynomial("tr_gammaln_near", _LOG_GAMMA)
    + polynomial("tr_gammaln_tail", _LOG_GAMMA_TAIL)
    + """\
static void tr_above_gammaln(int64_t n, const double *x, double *o) {
  double near[TR_HELD], high[TR_HELD], low[TR_HELD];
  int some_near = 0, some_far = 0;
#pragma omp simd reduction(| : some_near, some_far)
  for (int64_t i = 0; i < n; i++) {
    some_near |= !(x[i] >= 6);
    some_far |= x[i] >= 6;
  }
  if (some_near) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      const double v = x[i], v1 = v - 1, v2 = v - 2, v3 = v - 3;
      double y = v, product = 1, t;
      product = v >= 3 ? v1 : product;
      y = v >= 3 ? v1 : y;
      product = v >= 4 ? product * v2 : product;
      y = v >= 4 ? v2 : y;
      product = v >= 5 ? product * v3 : product;
      y = v >= 5 ? v3 : y;
      t = v < 1 ? v1 : y - 2;
      near[i] = (v < 1 ? v : y - 1) * t * tr_gammaln_near(t);
      high[i] = v >= 6 ? v : v < 1 ? v : product;
    }
  } else
    memcpy(high, x, (size_t)n * sizeof *x);
#pragma omp simd
  for (int64_t i = 0; i < n; i++) tr_log_parts(high[i], &high[i], &low[i]);
  if (some_near) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      const double side = x[i] < 1 ? -1 : 1, value = near[i] + side * low[i] + side * high[i];
      o[i] = x[i] == 0 ? INFINITY : value;
    }
  }
  if (some_far) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      /* Half of it: the whole may overflow on the way. */
      const double half = 0.5 * x[i], r = 1 / x[i];
      const double rest = 0.45946926660233636 - 0.25 * (high[i] + low[i]) + 0.5 * r * tr_gammaln_tail(r * r);
      const double value = half * (high[i] - 1) + (half * low[i] + rest);
      o[i] = x[i] >= 6 ? value + value : o[i];
    }
  }
}
""",
    # The reflection (DLMF 5.5.4); the cotangent has period 1.
    "tr_below_digamma": """\
#define tr_moved_digamma(x) ((x) < 0 ? 1 - (x) : (x))
static double tr_below_digamma(double x, double above) {
  const double pi = 3.14159265358979323846, part = x - rint(x), size = fabs(part);
  const double cotangent = size > 0.25 ? tan(pi * (0.5 - size)) : 1 / tan(pi * size);
  return part != 0 ? above - copysign(pi * cotangent, part) : NAN;
}
""",
    "tr_above_digamma": "/* tr_log_parts */\n"
    + polynomial("tr_digamma_near", _DIGAMMA)
    + polynomial("tr_digamma_tail", _DIGAMMA_TAIL)
    + """\
static void tr_above_digamma(int64_t n, const double *x, double *o) {
  int some_near = 0, some_far = 0;
#pragma omp simd reduction(| : some_near, some_far)
  for (int64_t i = 0; i < n; i++) {
    some_near |= !(x[i] >= 6);
    some_far |= x[i] >= 6;
  }
  if (some_near) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      const double v = x[i], v1 = v - 1, v2 = v - 2, v3 = v - 3;
      /* The sum of reciprocals that the recurrence adds, as one quotient. */
      double y = v, above = 0, below = 1, t, factor;
      above = v >= 3 ? 1 : above;
      below = v >= 3 ? v1 : below;
      y = v >= 3 ? v1 : y;
      above = v >= 4 ? v1 + v2 : above;
      below = v >= 4 ? v1 * v2 : below;
      y = v >= 4 ? v2 : y;
      above = v >= 5 ? above * v3 + below : above;
      below = v >= 5 ? below * v3 : below;
      y = v >= 5 ? v3 : y;
      above = v < 1 ? -1 : above;
      below = v < 1 ? v : below;
      t = v < 1 ? v1 : y - 2;
      /* Less the zero, in two parts. */
      factor = v < 1 ? (v - 0.46163214496836236) + 1.5522348162858677e-17
                     : (y - 1.4616321449683622) - 9.549995429965697e-17;
      o[i] = factor * tr_digamma_near(t) + above / below;
    }
  }
  if (some_far) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      const double r = 1 / x[i], square = r * r;
      double high, low, value;
      tr_log_parts(x[i], &high, &low);
      value = high + (low - (0.5 * r + square * tr_digamma_tail(square)));
      value = x[i] > 1.7976931348623157e308 ? x[i] : value;
      o[i] = x[i] >= 6 ? value : o[i];
    }
  }
}
""",
}

GAMMA_BLOCKS = ("digamma", "gammaln")
# Numbers are copied first: results may go to the place of the operand.
_BLOCK = """\
/* tr_above_$function tr_below_$function */
static void tr_v_${function}_$short(int64_t n, const $Type *x, $Type *o) {
  double given[TR_HELD], moved[TR_HELD], found[TR_HELD];
  for (int64_t i = 0; i < n; i += TR_HELD) {
    const int64_t m = n - i < TR_HELD ? n - i : TR_HELD;
    int below = 0;
#pragma omp simd reduction(| : below)
    for (int64_t k = 0; k < m; k++) {
      const double v = x[i + k];
      given[k] = v;
      moved[k] = tr_moved_$function(v);
      below |= v < 0;
    }
    tr_above_$function(m, moved, found);
    if (below)
      for (int64_t k = 0; k < m; k++)
        if (given[k] < 0) found[k] = tr_below_$function(given[k], found[k]);
#pragma omp simd
    for (int64_t k = 0; k < m; k++) o[i + k] = ($Type)found[k];
  }
}
"""


def gamma_block(function: str, ctype: CType) -> str:
    """Return the text of ``tr_v_<function>_<short>(n, x, o)``, for ``gammaln`` or ``digamma``."""
    return Template(_BLOCK).substitute(function=function, short=ctype.short, Type=ctype.computed)
