"""C text of functions of complex numbers as NumPy computes them, where C's own functions differ or are missing."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType

# C's own * and / treat infinite operands specially, which takes several times as long and differs from NumPy.
_FUNCTIONS = {
    "mul": """\
static inline $Type tr_mul_$short($Type a, $Type b) {
  const $Real ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
  return __builtin_complex(($Real)(tr_k_alone(ar * br) - ai * bi), ($Real)(tr_k_alone(ar * bi) + ai * br));
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
}


def complex_functions(ctype: CType) -> dict[str, str]:
    """Return the text of every helper for complex numbers of a type, by name."""
    real = "float" if ctype.suffix else "double"
    limits = {"large": "0x1p60f", "small": "0x1p-60f"} if ctype.suffix else {"large": "0x1p500", "small": "0x1p-500"}
    words = {**limits, "Type": ctype.computed, "Real": real, "short": ctype.short, "suffix": ctype.suffix}
    return {f"tr_{name}_{ctype.short}": Template(text).substitute(words) for name, text in _FUNCTIONS.items()}
