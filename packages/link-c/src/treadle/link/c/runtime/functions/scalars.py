"""C text of scalar functions that C does not have, or defines differently from NumPy."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.runtime.functions.complex_numbers import complex_functions

HALF = {
    "tr_f16_to_f32": """\
static inline float tr_f16_to_f32(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t rest = (uint32_t)(h & 0x7fffu) << 13;
  union { uint32_t u; float f; } x, scale;
  x.u = rest;
  scale.u = 0x77800000u; /* 2^112 moves the exponent, subnormal numbers included */
  x.f *= scale.f;
  if (rest >= 0x0f800000u) x.u |= 0x7f800000u;
  x.u |= sign;
  return x.f;
}
""",
    # Round to nearest, ties to even.
    "tr_f32_to_f16": """\
static inline uint16_t tr_f32_to_f16(float f) {
  union { float f; uint32_t u; } x, y;
  uint32_t sign, rest;
  x.f = f;
  sign = (x.u >> 16) & 0x8000u;
  rest = x.u & 0x7fffffffu;
  if (rest > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((rest >> 13) & 0x1ffu));
  if (rest >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (rest < 0x38800000u) {
    x.u = rest;
    y.u = 0x3f000000u; /* adding 0.5 leaves the bits of a subnormal half, rounded, at the end */
    x.f += y.f;
    return (uint16_t)(sign | (x.u - y.u));
  }
  rest += 0x0fffu + ((rest >> 13) & 1u);
  return (uint16_t)(sign | ((rest - 0x38000000u) >> 13));
}
""",
    # By way of a float whose last bit is set if anything was cut off: rounding twice is then rounding once.
    "tr_f64_to_f16": """\
static inline uint16_t tr_f64_to_f16(double d) {
  union { float f; uint32_t u; } x;
  x.f = (float)d;
  if ((double)x.f != d && d == d && (x.u & 0x7f800000u) != 0x7f800000u) {
    const double size = d < 0 ? -d : d, near = x.f < 0 ? -(double)x.f : (double)x.f;
    if (near > size) x.u -= 1u;
    x.u |= 1u;
  }
  return tr_f32_to_f16(x.f);
}
""",
    "tr_f64_to_u64": """\
static inline uint64_t tr_f64_to_u64(double d) { return d < 0 ? (uint64_t)(int64_t)d : (uint64_t)d; }
""",
    **{
        f"tr_{short}_to_{integer}": f"""\
static inline {integer_type} tr_{short}_to_{integer}({real} x) {{
  const {integer_type} n = ({integer_type})x;
#if defined(__clang__) || __GNUC__ < 12
  return n;
#else
  /* Else gcc makes trunc(x) of (double)({integer_type})x, which has negative zeros, NaN, and numbers out of range. */
  return __builtin_assoc_barrier(n);
#endif
}}
"""
        for short, real in (("f32", "float"), ("f64", "double"))
        for integer, integer_type in (("i32", "int32_t"), ("i64", "int64_t"))
    },
    "tr_f32_round_f16": """\
static inline float tr_f32_round_f16(float f) { return tr_f16_to_f32(tr_f32_to_f16(f)); }
""",
    "tr_f64_round_f16": """\
static inline float tr_f64_round_f16(double d) { return tr_f16_to_f32(tr_f64_to_f16(d)); }
""",
}

# By hand, though there are kernels: loading the language for them takes as long as such a program's first call.
# NumPy's quotient is the exact one rounded down, within the limits of fmod; over zero it is C's quotient.
_FLOAT = {
    "floor_div": """\
static inline $Type tr_floor_div_$short($Type a, $Type b) {
  $Type mod, div, whole;
  if (b == 0) return a / b;
  mod = fmod$suffix(a, b);
  div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return copysign$suffix(0, a / b);
  whole = floor$suffix(div);
  return div - whole > ($Type)0.5 ? whole + 1 : whole;
}
""",
    "mod": """\
static inline $Type tr_mod_$short($Type a, $Type b) {
  const $Type mod = fmod$suffix(a, b);
  if (b == 0) return mod;
  if (mod == 0) return copysign$suffix(0, b);
  return (b < 0) != (mod < 0) ? mod + b : mod;
}
""",
    "mantissa": """\
static inline $Type tr_mantissa_$short($Type a) {
  union { $Type f; $Unsigned u; } x;
  int exponent = 0;
  x.f = a;
  const int stored = (int)(x.u >> $mantissa & (2 * $bias + 1));
  if (!stored || stored > 2 * $bias) return isfinite(a) ? frexp$suffix(a, &exponent) : a;
  x.u = (x.u & ~(($Unsigned)(2 * $bias + 1) << $mantissa)) | ($Unsigned)($bias - 1) << $mantissa;
  return x.f;
}
""",
    # The distance to the number with the next bits.
    "spacing": """\
static inline $Type tr_spacing_$short($Type a) {
  union { $Type f; $Unsigned u; } x;
  x.f = a == 0 ? 0 : a;
  x.u++;
  return isfinite(a) ? x.f - a : ($Type)NAN;
}
""",
}

_SIGNED = {
    "floor_div": """\
static inline $Type tr_floor_div_$short($Type a, $Type b) {
  $Type q;
  if (b == 0) return 0;
  if (b == -1) return ($Type)(0 - ($Unsigned)a);
  q = a / b;
  return ($Type)(q - (a % b != 0 && (a < 0) != (b < 0)));
}
""",
    "mod": """\
static inline $Type tr_mod_$short($Type a, $Type b) {
  $Type r;
  if (b == 0 || b == -1) return 0;
  r = a % b;
  return ($Type)(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}
""",
    "shr": """\
static inline $Type tr_shr_$short($Type a, $Type b) {
  return ($Unsigned)b < $bits ? ($Type)(a >> b) : ($Type)(a < 0 ? -1 : 0);
}
""",
}

_UNSIGNED = {
    "floor_div": """\
static inline $Type tr_floor_div_$short($Type a, $Type b) { return b == 0 ? 0 : a / b; }
""",
    "mod": """\
static inline $Type tr_mod_$short($Type a, $Type b) { return b == 0 ? 0 : a % b; }
""",
    "shr": """\
static inline $Type tr_shr_$short($Type a, $Type b) { return b < $bits ? ($Type)(a >> b) : 0; }
""",
}

_INTEGER = {
    "pow": """\
static inline $Type tr_pow_$short($Type a, $Type b) {
  $Unsigned result = 1, base = ($Unsigned)a, left = ($Unsigned)b;
  for (; left; left >>= 1, base = ($Unsigned)(base * (uint64_t)base))
    if (left & 1) result = ($Unsigned)(result * (uint64_t)base);
  return ($Type)result;
}
""",
    "gcd": """\
static inline $Type tr_gcd_$short($Type a, $Type b) {
  $Unsigned x = $x, y = $y;
  while (y) {
    const $Unsigned rest = ($Unsigned)(x % y);
    x = y;
    y = rest;
  }
  return ($Type)x;
}
""",
    "shl": """\
static inline $Type tr_shl_$short($Type a, $Type b) { return ($Unsigned)b < $bits ? ($Type)((uint64_t)a << b) : 0; }
""",
}

# NumPy converts 1.0 / 0 to the integer type; this is what x86-64 makes of it.
# Absolute values, of the least integer too.
_SIZE = {"i": "({1})({0} < 0 ? 0 - ({1}){0} : ({1}){0})", "u": "{0}", "f": ""}


def scalar_helpers() -> dict[str, str]:
    """Return the text of every scalar helper by name, for every dtype."""
    helpers = dict(HALF)
    for ctype in CTYPES.values():
        if ctype.kind == "c":
            helpers.update(complex_functions(ctype))
        if ctype.kind in "bc" or ctype.short == "f16":
            continue
        families = {"f": _FLOAT, "i": {**_SIGNED, **_INTEGER}, "u": {**_UNSIGNED, **_INTEGER}}[ctype.kind]
        words = {
            "Type": ctype.computed,
            "Unsigned": f"uint{ctype.size * 8}_t",
            "short": ctype.short,
            "suffix": ctype.suffix,
            "bits": ctype.size * 8,
            "mantissa": 52 if ctype.size == 8 else 23,
            "bias": 1023 if ctype.size == 8 else 127,
            **{v: _SIZE[ctype.kind].format(w, f"uint{ctype.size * 8}_t") for v, w in (("x", "a"), ("y", "b"))},
        }
        for family, text in families.items():
            helpers[f"tr_{family}_{ctype.short}"] = Template(text).substitute(words)
    return helpers
