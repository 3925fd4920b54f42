"""C text by hand for kernels of portable draws: Philox, and single precision, on explicit vectors.

A text takes the place of the kernel of its name (`treadle.tensor.random.lower.kernels`) and gives the same numbers, but
for last digits of exponentials and normals of single precision, for which kernels call the C library.
"""

from __future__ import annotations

from treadle.link.c import HELPERS
from treadle.tensor.random.lower.kernels.philox import TILE


def _order(start: int, lanes: int) -> str:
    """Return the positions, in the concatenation of two vectors, that interleave halves of them."""
    return ", ".join(f"{start + k}, {start + lanes + k}" for k in range(lanes // 2))


def _shuffles() -> str:
    """Return the macros that interleave vectors, for each length of vectors."""
    lines = []
    for bytes_ in (64, 32, 16):
        lines.append(f"{'#if' if bytes_ == 64 else '#elif'} TR_BYTES == {bytes_}")
        for size in (4, 8):
            lanes = bytes_ // size
            lines += [f"#define TR_LOW{size} {_order(0, lanes)}", f"#define TR_HIGH{size} {_order(lanes // 2, lanes)}"]
        lanes = bytes_ // 4
        mixed = ", ".join(str(k + k % 2 * lanes) for k in range(lanes))
        lines.append(f"#define TR_LANES {', '.join(map(str, range(bytes_ // 8)))}\n#define TR_HALVES {mixed}")
    return "\n".join([*lines, "#endif\n"])


_WIDE = f"""\
typedef uint64_t tr_u64s __attribute__((vector_size(TR_BYTES)));
typedef uint32_t tr_u32s __attribute__((vector_size(TR_BYTES)));
typedef int32_t tr_i32s __attribute__((vector_size(TR_BYTES)));
typedef int64_t tr_i64s __attribute__((vector_size(TR_BYTES)));
typedef struct {{ tr_u64s low, high; }} tr_two;
{_shuffles()}\
#ifdef __clang__
#define TR_SHUFFLE(mask, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define TR_SHUFFLE(mask, x, y, ...) __builtin_shuffle(x, y, (mask){{__VA_ARGS__}})
#endif
/* The lower halves of x's lanes, and the upper ones of y's. */
#define TR_MIXED(x, y) ((tr_u64s)TR_SHUFFLE(tr_u32s, (tr_u32s)(x), (tr_u32s)(y), TR_HALVES))
#define TR_PART static inline __attribute__((always_inline))
/* Products of the lower halves of lanes. */
#if defined(__clang__) || !defined(__x86_64__)
#define TR_TIMES(x, y) (((x) & UINT64_C(0xffffffff)) * ((y) & UINT64_C(0xffffffff)))
#elif TR_BYTES == 64
#define TR_XOR(x, y, z) ((tr_u64s)__builtin_ia32_pternlogq512_mask((tr_v8di)(x), (tr_v8di)(y), (tr_v8di)(z), 150, 255))
typedef int tr_v16si __attribute__((vector_size(64)));
typedef long long tr_v8di __attribute__((vector_size(64)));
#define TR_TIMES(x, y) \\
  ((tr_u64s)__builtin_ia32_pmuludq512_mask((tr_v16si)(x), (tr_v16si)(y), (tr_v8di){{0}}, 255))
#elif TR_BYTES == 32
typedef int tr_v8si __attribute__((vector_size(32)));
#define TR_TIMES(x, y) ((tr_u64s)__builtin_ia32_pmuludq256((tr_v8si)(x), (tr_v8si)(y)))
#else
typedef int tr_v4si __attribute__((vector_size(16)));
#define TR_TIMES(x, y) ((tr_u64s)__builtin_ia32_pmuludq128((tr_v4si)(x), (tr_v4si)(y)))
#endif
#ifndef TR_XOR
#define TR_XOR(x, y, z) ((x) ^ (y) ^ (z))
#endif
#define TR_ALL(x) ((tr_u64s){{0}} + (x))
#define TR_M0 UINT64_C(0xd2511f53)
#define TR_M1 UINT64_C(0xcd9e8d57)
"""

_PHILOX = f"""\
/* The first two of four words of blocks, and the others: rounds from one on, of two vectors of blocks in turn, as each
   waits for the last. */
TR_PART void tr_philox_rounds(int64_t key, uint32_t from, tr_u64s w[2][4], uint64_t *x, uint64_t *y) {{
#pragma GCC unroll 10
  for (uint32_t k = from; k < 10; k++) {{
    const uint64_t k0 = (uint32_t)key + k * UINT32_C(0x9e3779b9);
    const uint64_t k1 = (uint32_t)((uint64_t)key >> 32) + k * UINT32_C(0xbb67ae85);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {{
      const tr_u64s a = TR_TIMES(w[i][0], TR_ALL(TR_M0)), b = TR_TIMES(w[i][2], TR_ALL(TR_M1));
      w[i][0] = TR_XOR(b >> 32, w[i][1], TR_ALL((uint64_t)(uint32_t)k0));
      w[i][1] = b;
      w[i][2] = TR_XOR(a >> 32, w[i][3], TR_ALL((uint64_t)(uint32_t)k1));
      w[i][3] = a;
    }}
  }}
#pragma GCC unroll 2
  for (int i = 0; i < 2; i++) {{
    const tr_u64s p = TR_MIXED(w[i][0], w[i][1] << 32), q = TR_MIXED(w[i][2], w[i][3] << 32);
    memcpy(x + i * TR_BYTES / 8, &p, sizeof p);
    memcpy(y + i * TR_BYTES / 8, &q, sizeof q);
  }}
}}
static void __attribute__((noinline)) tr_philox_any(int64_t key, int64_t stream, int64_t at, const int64_t *places,
                                                    int64_t attempt, uint64_t *x, uint64_t *y) {{
  for (int e = 0; e < {TILE}; e += TR_BYTES / 4) {{
    tr_u64s w[2][4];
    memcpy(w[0], places + e, TR_BYTES);
    memcpy(w[1], places + e + TR_BYTES / 8, TR_BYTES);
    for (int i = 0; i < 2; i++) {{
      w[i][0] += (uint64_t)at;
      w[i][1] = w[i][0] >> 32;
      w[i][2] = TR_ALL((uint64_t)stream);
      w[i][3] = TR_ALL((uint64_t)attempt);
    }}
    tr_philox_rounds(key, 0, w, x + e, y + e);
  }}
}}
"""

# Instead of `blocks` and `blocks_at`, 0.4 of their time: compilers do not see that upper halves of factors are 0.
_AT = f"""\
static int64_t __attribute__((noinline)) tr_k_blocks_at_i64(int64_t key, int64_t stream, int64_t at, int64_t *places,
                                                            int64_t attempt, uint64_t *x, uint64_t *y) {{
  /* Places ascend, but for those that fill up a tile, which are the first again. */
  if (places[{TILE - 1}] - places[0] == {TILE - 1})
    return tr_k_blocks_together_i64(key, stream, at + places[0], places, attempt, x, y);
  tr_philox_any(key, stream, at, places, attempt, x, y);
  return 0;
}}
"""
_TOGETHER = f"""\
/* Where the upper halves of positions are the same, what differs enters two rounds later than the rest. */
TR_PART int64_t tr_k_blocks_together_i64(int64_t key, int64_t stream, int64_t at, int64_t *none, int64_t attempt,
                                         uint64_t *x, uint64_t *y) {{
  (void)none;
  if ((uint32_t)at > UINT32_MAX - {TILE}) {{
    int64_t places[{TILE}];
    for (int e = 0; e < {TILE}; e++) places[e] = e;
    tr_philox_any(key, stream, at, places, attempt, x, y);
    return 0;
  }}
  const uint32_t low = (uint32_t)key, high = (uint32_t)((uint64_t)key >> 32);
  const uint64_t b = TR_M1 * (uint32_t)stream, c0 = (b >> 32) ^ ((uint64_t)at >> 32) ^ low, next = TR_M0 * c0;
  for (int e = 0; e < {TILE}; e += TR_BYTES / 4) {{
    tr_u64s w[2][4];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {{
      w[i][3] = TR_TIMES((tr_u64s){{TR_LANES}} + (uint64_t)(at + e + i * TR_BYTES / 8), TR_ALL(TR_M0));
      w[i][1] = TR_TIMES(w[i][3] >> 32 ^ ((uint64_t)attempt ^ high), TR_ALL(TR_M1));
      w[i][0] = w[i][1] >> 32 ^ (uint64_t)((uint32_t)b ^ (low + UINT32_C(0x9e3779b9)));
      w[i][2] = w[i][3] ^ (next >> 32 ^ (high + UINT32_C(0xbb67ae85)));
      w[i][3] = TR_ALL(next);
    }}
    tr_philox_rounds(key, 2, w, x + e, y + e);
  }}
  return 0;
}}
"""

# Single precision, of which a vector holds twice as many: the functions of the kernels of double precision, to 1e-9 of
# 1, and how draws are made of the words of a vector of blocks, x and y.
_SINGLE = """\
TR_PART tr_f32s tr_log_f32(tr_f32s x) {
  const tr_u32s bits = (tr_u32s)x - UINT32_C(0x3504f3);
  const tr_f32s k = (tr_f32s)(bits >> 23 | UINT32_C(0x4b000000)) - (0x1p23f + 126);
  const tr_f32s f = (tr_f32s)((bits & UINT32_C(0x7fffff)) + UINT32_C(0x3f3504f3)) - 1;
  const tr_f32s s = f / (2 + f), z = s * s, half = f * f * 0.5f;
  const tr_f32s rest = 0x1.55555cp-1f + z * (0x1.997c22p-2f + z * 0x1.2ee8c8p-2f);
  return k * 0x1.62e4p-1f - ((half - (s * (half + z * rest) + k * 0x1.7f7d1cp-20f)) - f);
}
TR_PART void tr_turn_f32(tr_f32s x, tr_f32s *sine, tr_f32s *cosine) {
  const tr_f32s q = x * 0x1.45f306p-1f + 0x1.8p23f, n = q - 0x1.8p23f;
  const tr_f32s y = (x - n * 0x1.921f8p+0f) - n * 0x1.aa2216p-19f, z = y * y;
  const tr_u32s s = (tr_u32s)(y + y * z * (-0x1.555552p-3f + z * (0x1.110c26p-7f + z * -0x1.9ac856p-13f)));
  const tr_f32s rest = 0x1.555554p-5f + z * (-0x1.6c12d0p-10f + z * 0x1.9bd786p-16f);
  const tr_u32s c = (tr_u32s)(1 - (z * 0.5f - z * z * rest));
  const tr_u32s odd = -((tr_u32s)q & 1), below = (tr_u32s)q << 30, minus = (tr_u32s){0} + ((uint32_t)1 << 31);
  *sine = (tr_f32s)(((s & ~odd) | (c & odd)) ^ (below & minus));
  *cosine = (tr_f32s)(((c & ~odd) | (s & odd)) ^ ((below ^ odd << 31) & minus));
}
TR_PART void tr_root_f32(tr_f32s *x) {
  enum { W = TR_BYTES / sizeof(float) };
  float y[W];
  memcpy(y, x, sizeof y);
#pragma omp simd
  for (int l = 0; l < W; l++) y[l] = sqrtf(y[l]);
  memcpy(x, y, sizeof y);
}
TR_PART tr_two tr_woven(tr_u64s x, tr_u64s y) {
  return (tr_two){TR_SHUFFLE(tr_u64s, x, y, TR_LOW8), TR_SHUFFLE(tr_u64s, x, y, TR_HIGH8)};
}
TR_PART tr_f32s tr_fraction_f32(tr_u64s x) {
  return __builtin_convertvector((tr_i32s)((tr_u32s)x >> 8), tr_f32s) * 0x1p-24f;
}
/* Numbers of 32 bits are rounded once: both halves are exact, and so is the upper one's place. */
TR_PART tr_f32s tr_rounded(tr_u64s x, int more) {
  const tr_i32s high = (tr_i32s)((tr_u32s)x >> 16), low = (tr_i32s)((tr_u32s)x & 0xffff) + more;
  return (__builtin_convertvector(high, tr_f32s) * 0x1p16f + __builtin_convertvector(low, tr_f32s)) * 0x1p-32f;
}
TR_PART tr_two tr_bits_u32(tr_u64s x, tr_u64s y) { return tr_woven(x, y); }
TR_PART tr_two tr_uniform_f32(tr_u64s x, tr_u64s y) {
  const tr_two b = tr_woven(x, y);
  return (tr_two){(tr_u64s)tr_fraction_f32(b.low), (tr_u64s)tr_fraction_f32(b.high)};
}
TR_PART tr_two tr_exponential_f32(tr_u64s x, tr_u64s y) {
  const tr_two b = tr_woven(x, y);
  return (tr_two){
    (tr_u64s)-tr_log_f32(1 - tr_fraction_f32(b.low)), (tr_u64s)-tr_log_f32(1 - tr_fraction_f32(b.high))
  };
}
TR_PART tr_two tr_normal_f32(tr_u64s x, tr_u64s y) {
  tr_f32s r = -2 * tr_log_f32(tr_rounded(TR_MIXED(x, y << 32), 1)), sine, cosine;
  tr_root_f32(&r);
  tr_turn_f32(0x1.921fb6p+2f * tr_rounded(TR_MIXED(x >> 32, y), 0), &sine, &cosine);
  sine *= r;
  cosine *= r;
  return (tr_two){
    (tr_u64s)TR_SHUFFLE(tr_u32s, cosine, sine, TR_LOW4), (tr_u64s)TR_SHUFFLE(tr_u32s, cosine, sine, TR_HIGH4)
  };
}
"""


def _tile(kernel: str, element: str, make: str) -> str:
    """Return the text of a kernel that makes the elements of a tile."""
    return f"""\
static int64_t {kernel}(uint64_t *x, uint64_t *y, {element} *o) {{
  for (int e = 0; e < {TILE}; e += TR_BYTES / 8) {{
    tr_u64s a, b;
    memcpy(&a, x + e, sizeof a);
    memcpy(&b, y + e, sizeof b);
    const tr_two made = {make}(a, b);
    memcpy(o + 4 * e, &made, sizeof made);
  }}
  return 0;
}}
"""


TEXTS = {
    "tr_u64s tr_u32s tr_i32s tr_two": f"/* tr_f64s */\n{_WIDE}",
    "tr_philox_rounds tr_philox_any": f"/* tr_u64s */\n{_PHILOX}",
    "tr_k_blocks_together_i64": _TOGETHER,
    "tr_k_blocks_at_i64": _AT,
    "tr_log_f32 tr_bits_u32 tr_uniform_f32 tr_exponential_f32 tr_normal_f32": f"/* tr_u64s */\n{_SINGLE}",
    # Their time to that of the kernels, on vectors of 64 bytes: bits 0.9, uniform numbers 0.65, exponentials 0.16,
    # normals 0.05.
    **{
        f"tr_k_short_{name}_of_i64": _tile(f"tr_k_short_{name}_of_i64", element, make)
        for name, element, make in (
            ("bits", "uint32_t", "tr_bits_u32"),
            ("uniform", "float", "tr_uniform_f32"),
            ("exponential", "float", "tr_exponential_f32"),
            ("normal", "float", "tr_normal_f32"),
        )
    },
}

HELPERS.add(TEXTS, {})
