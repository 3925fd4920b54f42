"""C text of scalar functions that C does not have, or defines differently from NumPy."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CTYPES

# Blocks of float16, eight numbers at once where the processor converts them (F16C). The bits are the same elsewhere.
_BLOCK = """\
static void $name(int64_t n, const $From *x, $To *o) {
  int64_t j = 0;
#if defined(__F16C__)
  for (; j + 8 <= n; j += 8) {
    short __attribute__((vector_size(16))) h;
    float __attribute__((vector_size(32))) f;
    $steps
  }
#else
#pragma omp simd
#endif
  for (int64_t k = j; k < n; k++) o[k] = $one(x[k]);
}
"""
_READ_HALVES, _READ_FLOATS, _WRITE_HALVES, _WRITE_FLOATS = (
    f"memcpy({places});"
    for places in ("&h, x + j, sizeof h", "&f, x + j, sizeof f", "o + j, &h, sizeof h", "o + j, &f, sizeof f")
)
_WIDEN = "f = __builtin_ia32_vcvtph2ps256(h);"
_NARROW = "h = __builtin_ia32_vcvtps2ph256(f, 0);"


def _block(name: str, source: str, target: str, one: str, *steps: str) -> str:
    return Template(_BLOCK).substitute(name=name, From=source, To=target, one=one, steps="\n    ".join(steps))


HALF = {
    "tr_widened": _block("tr_widened", "uint16_t", "float", "tr_f16_to_f32", _READ_HALVES, _WIDEN, _WRITE_FLOATS),
    "tr_narrowed": _block("tr_narrowed", "float", "uint16_t", "tr_f32_to_f16", _READ_FLOATS, _NARROW, _WRITE_HALVES),
    "tr_v_half_f16": _block(
        "tr_v_half_f16", "float", "float", "tr_f32_round_f16", _READ_FLOATS, _NARROW, _WIDEN, _WRITE_FLOATS
    ),
    # As `tr_block2`, of at most 512 elements, as floats.
    "tr_block_half": """\
static const void *tr_block_half(const char *p, int64_t s, int64_t i, int64_t m, void *buffer) {
  uint16_t gathered[512];
  if (s || !i) tr_widened(m, tr_block2(p, s, s ? i : 0, m, gathered), buffer);
  return buffer;
}
""",
    "tr_f64_to_f16": """\
static inline uint16_t tr_f64_to_f16(double d) { return tr_f32_to_f16(tr_f64_to_odd(d)); }
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
}

# By hand, though there are kernels: loading the language for them takes as long as such a program's first call.
# NumPy's quotient is the exact one rounded down, within the limits of fmod; over zero it is C's quotient.
_FLOAT = {
    # fmod: below 2^$mantissa, a rounded quotient that is cut is at most 1 too far from 0, and what it leaves is exact.
    "rest": """\
static inline $Type tr_rest_$short($Type a, $Type b) {
#ifdef FP_FAST_FMA
  const $Type whole = trunc$suffix(a / b), rest = fma$suffix(-whole, b, a);
  if (whole == 0) return a;
  if (fabs$suffix(whole) < 0x1p$mantissa) return rest && (rest < 0) != (a < 0) ? rest + copysign$suffix(b, a) : rest;
#endif
  return fmod$suffix(a, b);
}
""",
    "floor_div": """\
static inline $Type tr_floor_div_$short($Type a, $Type b) {
  $Type mod, div, whole;
  if (b == 0) return a / b;
  mod = tr_rest_$short(a, b);
  div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return copysign$suffix(0, a / b);
  whole = floor$suffix(div);
  return div - whole > ($Type)0.5 ? whole + 1 : whole;
}
""",
    "mod": """\
static inline $Type tr_mod_$short($Type a, $Type b) {
  const $Type mod = tr_rest_$short(a, b);
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
  if (b == 0) return 0;
  if (b == -1) return ($Type)(0 - ($Unsigned)a);
  return ($Type)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
""",
    "mod": """\
static inline $Type tr_mod_$short($Type a, $Type b) {
  const $Type r = b == 0 || b == -1 ? 0 : a % b;
  return ($Type)(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}
""",
    "right_shift": """\
static inline $Type tr_right_shift_$short($Type a, $Type b) {
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
    "right_shift": """\
static inline $Type tr_right_shift_$short($Type a, $Type b) { return b < $bits ? ($Type)(a >> b) : 0; }
""",
}

# For loops, where compilers have vectors of floats and none of integers' quotients. With half of 1 / b added and a half
# taken away, a quotient is never near the middle of two integers, and the nearest one is what it is rounded down; with
# 1.5 times a large power of two added, this is the last bits of the float.
_MANY = """\
static inline $Type tr_floor_div_many_$short($Type a, $Type b) {
  union { $Real f; $Bits n; } x;
  const $Real inverse = (b != 0) / (($Real)b + (b == 0)), half = ($Real)fabs(inverse) / 2 - ($Real)0.5;
  x.f = ($Real)a * inverse + half + $shift;
  return ($Type)x.n;
}
"""
# A quotient of 63 bits is the sum of two, the second one of what the first one leaves, where int64 has conversions.
_MANY_LONG = """\
static inline int64_t tr_floor_div_many_i64(int64_t a, int64_t b) {
#ifndef __AVX512DQ__
  return tr_floor_div_i64(a, b);
#endif
  const int64_t d = (uint64_t)b + 1 <= 2 ? 2 : b;
  const double inverse = 1 / (double)d;
  const int64_t q = (int64_t)((double)a * inverse), r = a - q * d;
  const int64_t p = (int64_t)((double)r * inverse + 0x1.8p52 - 0x1.8p52), s = r - p * d;
  return d != b ? a * b : q + p - ((s != 0) & ((s ^ d) < 0));
}
"""
_MANY_MOD = """\
static inline $Type tr_mod_many_$short($Type a, $Type b) {
  return ($Type)((a - tr_floor_div_many_$short(a, b) * b) & -($Type)(b != 0));
}
"""

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
    "left_shift": """\
static inline $Type tr_left_shift_$short($Type a, $Type b) {
  return ($Unsigned)b < $bits ? ($Type)((uint64_t)a << b) : 0;
}
""",
}

# C's own functions differ from NumPy's, or are missing.
_COMPLEX = {
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

# NumPy converts 1.0 / 0 to the integer type; this is what x86-64 makes of it.
# Absolute values, of the least integer too.
_SIZE = {"i": "({1})({0} < 0 ? 0 - ({1}){0} : ({1}){0})", "u": "{0}", "f": "", "c": ""}


def scalar_helpers() -> dict[str, str]:
    """Return the text of every scalar helper by name, for every dtype."""
    helpers = dict(HALF)
    for ctype in CTYPES.values():
        if ctype.kind == "b" or ctype.short == "f16":
            continue
        integers = {"i": {**_SIGNED, **_INTEGER}, "u": {**_UNSIGNED, **_INTEGER}}
        families = {"f": _FLOAT, "c": _COMPLEX, **integers}[ctype.kind]
        limit = "60f" if ctype.suffix else "500"
        words = {
            "Type": ctype.computed,
            "Real": "float" if ctype.suffix else "double",
            "large": f"0x1p{limit}",
            "small": f"0x1p-{limit}",
            "Unsigned": f"uint{ctype.size * 8}_t",
            "short": ctype.short,
            "suffix": ctype.suffix,
            "bits": ctype.size * 8,
            "mantissa": 52 if ctype.size == 8 else 23,
            "bias": 1023 if ctype.size == 8 else 127,
            **{v: _SIZE[ctype.kind].format(w, f"uint{ctype.size * 8}_t") for v, w in (("x", "a"), ("y", "b"))},
        }
        if ctype.kind in "iu" and ctype.short != "u64":
            wide = {"Real": "double", "Bits": "int64_t", "shift": "0x1.8p52"}
            words.update(wide if ctype.size > 2 else {"Real": "float", "Bits": "int32_t", "shift": "0x1.8p23f"})
            families = {**families, "floor_div_many": _MANY_LONG if ctype.size > 4 else _MANY, "mod_many": _MANY_MOD}
        for family, text in families.items():
            helpers[f"tr_{family}_{ctype.short}"] = Template(text).substitute(words)
    return helpers
