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
    "scaled": """\
static inline $Type tr_scaled_$short($Type a, $Real scale) {
  return __builtin_complex(($Real)(__real__ a * scale), ($Real)(__imag__ a * scale));
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
