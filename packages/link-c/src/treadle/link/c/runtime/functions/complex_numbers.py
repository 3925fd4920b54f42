"""C text of functions of complex numbers as NumPy computes them, where C's own functions differ or are missing."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType

# C's own * and / treat infinite operands specially, which takes several times as long and differs from NumPy.
_FUNCTIONS = {
    "mul": """\
static inline $Type tr_mul_$short($Type a, $Type b) {
  const $Real ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
  return __builtin_complex(($Real)(ar * br - ai * bi), ($Real)(ar * bi + ai * br));
}
""",
    # Smith's algorithm (1962).
    "div": """\
static inline $Type tr_div_$short($Type a, $Type b) {
  const $Real ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
  const $Real size = fabs$suffix(br), other = fabs$suffix(bi);
  if (size >= other) {
    if (size == 0 && other == 0) return __builtin_complex(($Real)(ar / size), ($Real)(ai / size));
    const $Real ratio = bi / br, scale = 1 / (br + bi * ratio);
    return __builtin_complex(($Real)((ar + ai * ratio) * scale), ($Real)((ai - ar * ratio) * scale));
  }
  const $Real ratio = br / bi, scale = 1 / (bi + br * ratio);
  return __builtin_complex(($Real)((ar * ratio + ai) * scale), ($Real)((ai * ratio - ar) * scale));
}
""",
    "reciprocal": """\
static inline $Type tr_reciprocal_$short($Type a) {
  const $Real ar = __real__ a, ai = __imag__ a;
  if (fabs$suffix(ai) <= fabs$suffix(ar)) {
    const $Real ratio = ai / ar, size = ar + ai * ratio;
    return __builtin_complex(($Real)(1 / size), ($Real)(-ratio / size));
  }
  const $Real ratio = ar / ai, size = ar * ratio + ai;
  return __builtin_complex(($Real)(ratio / size), ($Real)(-1 / size));
}
""",
    # Whole exponents by squaring.
    "pow": """\
static $Type tr_pow_$short($Type a, $Type b) {
  const $Real br = __real__ b, bi = __imag__ b;
  if (br == 0 && bi == 0) return 1;
  if (__real__ a == 0 && __imag__ a == 0) return br > 0 ? 0 : __builtin_complex(($Real)NAN, ($Real)NAN);
  if (bi == 0 && br > -100 && br < 100 && br == (int)br) {
    int n = (int)br;
    $Type power = 1, factor = a;
    if (n == 1) return a;
    if (n == 2) return tr_mul_$short(a, a);
    if (n == 3) return tr_mul_$short(a, tr_mul_$short(a, a));
    if (n < 0) n = -n;
    for (;; factor = tr_mul_$short(factor, factor)) {
      if (n & 1) power = tr_mul_$short(power, factor);
      if (!(n >>= 1)) break;
    }
    return br < 0 ? tr_div_$short(1, power) : power;
  }
  return __builtin_cpow$suffix(a, b);
}
""",
    # Large and small numbers are scaled by a power of two, so that squares stay in range.
    "size": """\
static inline $Real tr_size_$short($Type a) {
  $Real x = fabs$suffix(__real__ a), y = fabs$suffix(__imag__ a), size = x > y ? x : y, scale = 1, back = 1;
  scale = size > $large ? $small : size < $small ? $large : 1;
  back = size > $large ? $large : size < $small ? $small : 1;
  x *= scale;
  y *= scale;
  size = sqrt$suffix(x * x + y * y) * back;
  return isinf(x) || isinf(y) ? ($Real)INFINITY : size;
}
""",
    "sign": """\
static inline $Type tr_sign_$short($Type a) {
  const $Real ar = __real__ a, ai = __imag__ a, size = hypot$suffix(ar, ai);
  if (size != size) return __builtin_complex(($Real)NAN, ($Real)NAN);
  if (isinf(size)) {
    if (isinf(ar) && isinf(ai)) return __builtin_complex(($Real)NAN, ($Real)NAN);
    return __builtin_complex(($Real)(isinf(ar) ? copysign$suffix(1, ar) : 0),
                             ($Real)(isinf(ai) ? copysign$suffix(1, ai) : 0));
  }
  if (size == 0) return 0;
  return __builtin_complex(($Real)(ar / size), ($Real)(ai / size));
}
""",
    "log1p": """\
static inline $Type tr_log1p_$short($Type a) {
  const $Real ar = __real__ a + 1, ai = __imag__ a;
  return __builtin_complex(log$suffix(hypot$suffix(ar, ai)), atan2$suffix(ai, ar));
}
""",
    "expm1": """\
static inline $Type tr_expm1_$short($Type a) {
  const $Real ar = __real__ a, ai = __imag__ a, half = sin$suffix(ai / 2);
  return __builtin_complex(($Real)(expm1$suffix(ar) * cos$suffix(ai) - 2 * half * half),
                           ($Real)(exp$suffix(ar) * sin$suffix(ai)));
}
""",
    "scaled": """\
static inline $Type tr_scaled_$short($Type a, $Real scale) {
  return __builtin_complex(($Real)(__real__ a * scale), ($Real)(__imag__ a * scale));
}
""",
    "rint": """\
static inline $Type tr_rint_$short($Type a) {
  return __builtin_complex(rint$suffix(__real__ a), rint$suffix(__imag__ a));
}
""",
    "neg": """\
static inline $Type tr_neg_$short($Type a) { return __builtin_complex(-__real__ a, -__imag__ a); }
""",
    # In the order of the real parts, then of the imaginary ones; nothing is larger than what has a NaN, nor smaller.
    "above": """\
static inline int tr_above_$short($Type a, $Type b) {
  const $Real ai = __imag__ a, bi = __imag__ b;
  return (__real__ a > __real__ b && ai == ai && bi == bi) || (__real__ a == __real__ b && ai > bi);
}
""",
    "reaches": """\
static inline int tr_reaches_$short($Type a, $Type b) {
  const $Real ai = __imag__ a, bi = __imag__ b;
  return (__real__ a > __real__ b && ai == ai && bi == bi) || (__real__ a == __real__ b && ai >= bi);
}
""",
    "larger": """\
static inline $Type tr_larger_$short($Type a, $Type b) { return a != a || tr_reaches_$short(a, b) ? a : b; }
""",
    "smaller": """\
static inline $Type tr_smaller_$short($Type a, $Type b) { return a != a || tr_reaches_$short(b, a) ? a : b; }
""",
}


def complex_functions(ctype: CType) -> dict[str, str]:
    """Return the text of every helper for complex numbers of a type, by name."""
    real = "float" if ctype.suffix else "double"
    limits = {"large": "0x1p60f", "small": "0x1p-60f"} if ctype.suffix else {"large": "0x1p500", "small": "0x1p-500"}
    words = {**limits, "Type": ctype.computed, "Real": real, "short": ctype.short, "suffix": ctype.suffix}
    return {f"tr_{name}_{ctype.short}": Template(text).substitute(words) for name, text in _FUNCTIONS.items()}
