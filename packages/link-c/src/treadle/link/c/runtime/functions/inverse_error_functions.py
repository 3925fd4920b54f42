"""C text of the inverses of erf, erfc and the normal distribution on blocks of numbers, in double, as loops.

Of w = -log(1 - y²), erfinv(y) / y is smooth (Giles, "Approximating the erfinv function", 2010): up to 6.25 it is a
polynomial in w, beyond, where |y| is above 0.998, one in √w, or √w times one in 1 / √w. What is taken is
q = 1 - |y|, which is exact next to 1 or is the number given: 1 - y² is q (2 - q).

The polynomials interpolate at Chebyshev's nodes; they were computed with 220 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from treadle.link.c.conventions.dtypes import CType
from treadle.link.c.runtime.functions.gamma_functions import polynomial

# erfinv(y) / y of w / 3.125 - 1 on [-1, 1], from the constant coefficient on, as all of these.
_NEAR = (
    1.6536545626831027, 0.7504943200799635, -0.0589225671037876, -0.022604447453444733, 0.0178083618187569,
    -0.004137314377547895, -0.0012716922769885114, 0.0012324855702994214, -0.00026439358646646055,
    -0.0001168888508125076, 9.336692787624058e-05, -1.5027665773117194e-05, -1.1255653983969421e-05,
    7.12993974314695e-06, -6.87655180725494e-07, -1.0591188098187532e-06, 5.456420572209782e-07,
    -1.0412692841159635e-08, -1.0514990713371436e-07, 3.931511157646558e-08, 9.07207594789291e-09,
    -8.627191009014394e-09, -8.577966939639941e-11, 7.801712199036253e-10,
)  # fmt: skip
# The same of (√w - 3.25) / 0.75, for √w from 2.5 to 4.
_MIDDLE = (
    3.0838856104922208, 0.7539442257706239, 0.00302113943638407, -0.0015825410894034398, 0.0007883078509981353,
    -0.0004006356984211825, 0.00016966502592018017, -4.739182677882865e-05, 2.4058391918338327e-06,
    5.127314470348767e-06, -2.6646983082852556e-06, 5.264680305425013e-07, 9.267642775523117e-08,
    -9.46984593753811e-08, 2.6703991718481456e-08, -3.6086983146965074e-10, -2.7195823537882847e-09,
    9.85047133124713e-10, 3.929056598182976e-12, -6.385846404875191e-11,
)  # fmt: skip
# The same of (√w - 5.125) / 1.125, for √w from 4 to 6.25.
_UPPER = (
    4.9761913900163, 1.136538310487248, -0.00026907124687057467, -0.00025620231248083295, 0.0001036220854358061,
    -2.989552717856327e-05, 7.597413160639545e-06, -1.816001959002361e-06, 4.345350698959379e-07,
    -1.198554126555917e-07, 4.699179286968535e-08, -2.5718269668830446e-08, 1.5051990482103263e-08,
    -7.803498646610852e-09, 3.731842200065345e-09, -1.7881742952614478e-09, 5.040789403663011e-10,
    1.0848391448369056e-10, -8.248809479767542e-11,
)  # fmt: skip
# erfinv(y) / (y √w) of 1 / √w, moved to [-1, 1], for √w from 6.25 to 12.
_FAR = (
    0.9852489499855984, -0.006980256993031923, -0.00037287712006222267, 7.527368072436773e-05,
    -6.240906417708069e-06, 7.376896687412513e-07, -1.196983753926849e-07, 2.181038505435958e-08,
    -4.293747384215488e-09, 9.01980338341889e-10, -1.988828681296016e-10, 4.4383323690895e-11,
    -1.0461351777842221e-11, 3.317715373662009e-12, -8.278896130465287e-13,
)  # fmt: skip
# The same for √w from 12 to 28: as far as there are numbers.
_END = (
    0.9952096581411035, -0.003126421412533367, -0.0003434464250385767, 3.7404640124849716e-05, -3.7678527914843e-06,
    6.024802645572246e-07, -1.2117293836662364e-07, 2.769840724427794e-08, -6.921341134254224e-09,
    1.8441858824552564e-09, -5.162003094575041e-10, 1.5183387370217414e-10, -4.560261344570468e-11,
    1.2208944064642772e-11, -3.800756827054761e-12, 2.2559611111509595e-12, -7.421765366980785e-13,
)  # fmt: skip


def _in_two_chains(name: str, coefficients: Sequence[float]) -> str:
    """Return the text of ``name(x)`` as even part and odd part: each step waits for the last, and these do not."""
    last = len(coefficients) - 1
    steps = "".join(f"  r{k % 2} = tr_fma(r{k % 2}, square, {coefficients[k]!r});\n" for k in range(last - 2, -1, -1))
    ends = ", ".join(f"r{k % 2} = {coefficients[k]!r}" for k in (last, last - 1))
    return (
        f"TR_INLINE double {name}(double x) {{\n  const double square = x * x;\n  double {ends};\n{steps}"
        "  return tr_fma(r1, x, r0);\n}\n"
    )


INVERSE_ERROR_FUNCTIONS = {
    # o[i] = y[i] times the quotient for q[i] = 1 - |y[i]|; infinite at 0, NaN below.
    "tr_erfinv_by": "/* tr_fma tr_v_log_f64 */\n"
    + _in_two_chains("tr_erfinv_near", _NEAR)
    + polynomial("tr_erfinv_middle", _MIDDLE)
    + polynomial("tr_erfinv_upper", _UPPER)
    + polynomial("tr_erfinv_far", _FAR)
    + polynomial("tr_erfinv_end", _END)
    + """\
static void tr_erfinv_by(int64_t n, const double *y, const double *q, double *o) {
  double w[TR_HELD];
  int some_tails = 0, some_far = 0;
#pragma omp simd
  for (int64_t i = 0; i < n; i++) w[i] = q[i] * (2 - q[i]);
  tr_v_log_f64(n, w, w);
#pragma omp simd reduction(| : some_tails, some_far)
  for (int64_t i = 0; i < n; i++) {
    w[i] = -w[i];
    o[i] = y[i] * tr_erfinv_near(w[i] * 0.32 - 1);
    some_tails |= !(w[i] <= 6.25);
    some_far |= !(w[i] <= 39.0625);
  }
  if (some_tails) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      const double s = sqrt(w[i]), upper = tr_erfinv_upper((s - 5.125) * (1 / 1.125));
      const double found = y[i] * (s < 4 ? tr_erfinv_middle((s - 3.25) * (1 / 0.75)) : upper);
      o[i] = w[i] > 6.25 ? found : o[i];
    }
  }
  if (some_far) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      const double s = sqrt(w[i]), r = 1 / s, end = tr_erfinv_end((r - 0.05952380952380952) * 42.0);
      double found = y[i] * s * (s < 12 ? tr_erfinv_far((r - 0.12166666666666667) * 26.08695652173913) : end);
      found = q[i] > 0 ? found : q[i] == 0 ? copysign(INFINITY, y[i]) : NAN;
      o[i] = w[i] <= 39.0625 ? o[i] : found;
    }
  }
}
""",
}

# By function: y and q of the number v that is given, and what the result is of erfinv(y). Zeros are signed as SciPy's.
_ARGUMENTS = {
    "erfcinv": ("-(v - 1)", "v <= 1 ? v : 2 - v", "found"),
    "erfinv": ("v", "1 - fabs(v)", "found + 0.0"),
    "ndtri": ("2 * v - 1", "2 * (v <= 0.5 ? v : 1 - v)", "1.4142135623730951 * found"),
}
INVERSE_ERROR_BLOCKS = tuple(_ARGUMENTS)
_BLOCK = """\
/* tr_erfinv_by */
static void tr_v_${function}_$short(int64_t n, const $Type *x, $Type *o) {
  double y[TR_HELD], q[TR_HELD], r[TR_HELD];
  for (int64_t i = 0; i < n; i += TR_HELD) {
    const int64_t m = n - i < TR_HELD ? n - i : TR_HELD;
#pragma omp simd
    for (int64_t k = 0; k < m; k++) {
      const double v = x[i + k];
      y[k] = $y;
      q[k] = $q;
    }
    tr_erfinv_by(m, y, q, r);
#pragma omp simd
    for (int64_t k = 0; k < m; k++) {
      const double found = r[k];
      o[i + k] = ($Type)($result);
    }
  }
}
"""


def inverse_error_block(function: str, ctype: CType) -> str:
    """Return the text of ``tr_v_<function>_<short>(n, x, o)``, for ``erfinv``, ``erfcinv`` or ``ndtri``."""
    y, q, result = _ARGUMENTS[function]
    return Template(_BLOCK).substitute(
        function=function, short=ctype.short, Type=ctype.computed, y=y, q=q, result=result
    )
