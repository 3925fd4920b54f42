"""C texts of conversions between numbers: float16, which is computed as float32, and unsigned integers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CONVERSIONS: Mapping[str, str] = MappingProxyType(
    {
        "tr_f16_to_f32": """\
static inline float tr_f16_to_f32(uint16_t h) {
#if defined(__F16C__)
  return __builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16)))){(short)h})[0];
#else
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t rest = (uint32_t)(h & 0x7fffu) << 13;
  union { uint32_t u; float f; } x, scale;
  x.u = rest;
  scale.u = 0x77800000u; /* 2^112 moves the exponent, subnormal numbers included */
  x.f *= scale.f;
  x.u |= (rest > 0x0f800000u ? 0x7fc00000u : rest == 0x0f800000u ? 0x7f800000u : 0u) | sign;
  return x.f;
#endif
}
""",
        # Round to nearest, ties to even; without jumps, so that loops can become loops of vectors.
        "tr_f32_to_f16": """\
static inline uint16_t tr_f32_to_f16(float f) {
#if defined(__F16C__)
  return (uint16_t)__builtin_ia32_vcvtps2ph((float __attribute__((vector_size(16)))){f}, 0)[0];
#else
  union { float f; uint32_t u; } x, y;
  uint32_t sign, rest, h;
  x.f = f;
  sign = (x.u >> 16) & 0x8000u;
  rest = x.u & 0x7fffffffu;
  y.u = rest;
  y.f += 0.5f; /* leaves the bits of a subnormal half, rounded, at the end */
  h = ((rest + 0x0fffu + ((rest >> 13) & 1u)) >> 13) - 0x1c000u;
  h = rest < 0x38800000u ? y.u - 0x3f000000u : h;
  h = rest >= 0x477ff000u ? 0x7c00u : h;
  h = rest > 0x7f800000u ? 0x7e00u | ((rest >> 13) & 0x1ffu) : h;
  return (uint16_t)(sign | h);
#endif
}
""",
        # A float whose last bit is set if anything was cut off: rounding twice is then rounding once.
        "tr_f64_to_odd": """\
static inline float tr_f64_to_odd(double d) {
  union { float f; uint32_t u; } x;
  const double size = d < 0 ? -d : d;
  x.f = (float)d;
  const uint32_t cut = ((double)x.f != d) & ((x.u & 0x7f800000u) != 0x7f800000u);
  x.u -= cut & ((x.f < 0 ? -(double)x.f : (double)x.f) > size);
  x.u |= cut;
  return x.f;
}
""",
        "tr_f64_to_u64": """\
static inline uint64_t tr_f64_to_u64(double d) { return d < 0 ? (uint64_t)(int64_t)d : (uint64_t)d; }
""",
        "tr_f32_round_f16": """\
static inline float tr_f32_round_f16(float f) {
#if defined(__F16C__)
  return __builtin_ia32_vcvtph2ps(__builtin_ia32_vcvtps2ph((float __attribute__((vector_size(16)))){f}, 0))[0];
#else
  return tr_f16_to_f32(tr_f32_to_f16(f));
#endif
}
""",
        "tr_f64_round_f16": """\
static inline float tr_f64_round_f16(double d) { return tr_f32_round_f16(tr_f64_to_odd(d)); }
""",
    }
)
