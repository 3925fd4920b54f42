"""C text of Philox 4x32-10 on vectors, and of draws from it.

`treadle.tensor.random.generators.philox` defines both.

A vector holds a number of each of some blocks, in lanes of 64 bits whose upper halves may hold anything. A function
``tr_make_<sampler>_<type>(w, out)`` makes elements of the words of as many blocks as a vector has lanes: always two
vectors of elements, in order.
"""

from __future__ import annotations

from string import Template

from treadle.link.c import CType

# The number of elements in a step of a kernel.
STEP = 1024


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
"""

_STREAM = """\
#define TR_M0 UINT64_C(0xd2511f53)
#define TR_M1 UINT64_C(0xcd9e8d57)
/* A parameter, of 8 bytes an element, broadcast: as many lengths and strides as it takes, the last dimension first. */
typedef struct { const char *p; int nd; int64_t n[TR_ND], s[TR_ND]; } tr_parameter;
/* What a kernel's draws depend on; base: where the elements that are drawn begin; count: how many there are. */
typedef struct {
  tr_u64s keys[10][2]; uint64_t stream, position; char *base; int64_t count; tr_parameter given[TR_OPS];
} tr_stream;
static void tr_open(tr_stream *g, const tr_var *state, tr_var *o, int nd) {
  int64_t word[3];
  for (int k = 0; k < 3; k++) word[k] = *(const int64_t *)(state->p + k * state->s[0]);
  const uint32_t low = (uint32_t)word[0], high = (uint32_t)((uint64_t)word[0] >> 32);
  for (uint32_t k = 0; k < 10; k++) {
    g->keys[k][0] = TR_ALL((uint64_t)(low + k * UINT32_C(0x9e3779b9)));
    g->keys[k][1] = TR_ALL((uint64_t)(high + k * UINT32_C(0xbb67ae85)));
  }
  g->stream = (uint32_t)word[1];
  g->position = (uint64_t)word[2];
  g->base = o->p;
  g->count = tr_count(o, nd);
}
"""

_PHILOX = """\
TR_PART void tr_rounds(const tr_stream *g, int k, tr_u64s *w) {
#pragma GCC unroll 10
  for (; k < 10; k++) {
    const tr_u64s a = TR_TIMES(w[0], TR_ALL(TR_M0)), b = TR_TIMES(w[2], TR_ALL(TR_M1));
    w[0] = TR_XOR(b >> 32, w[1], g->keys[k][0]);
    w[1] = b;
    w[2] = TR_XOR(a >> 32, w[3], g->keys[k][1]);
    w[3] = a;
  }
}
/* The four numbers of blocks that follow each other, of one attempt. The upper halves of their positions are taken to
   be the same: what differs among them enters two rounds later than the rest. */
TR_PART void tr_philox(const tr_stream *g, uint64_t offset, uint64_t attempt, tr_u64s *w) {
  const uint64_t at = g->position + offset, b = TR_M1 * g->stream, c0 = (b >> 32) ^ (at >> 32) ^ g->keys[0][0][0];
  const uint64_t next = TR_M0 * c0;
  w[3] = TR_TIMES((tr_u64s){TR_LANES} + at, TR_ALL(TR_M0));
  w[1] = TR_TIMES(w[3] >> 32 ^ (attempt ^ g->keys[0][1][0]), TR_ALL(TR_M1));
  w[0] = w[1] >> 32 ^ ((uint32_t)b ^ g->keys[1][0][0]);
  w[2] = w[3] ^ (next >> 32 ^ g->keys[1][1][0]);
  w[3] = TR_ALL(next);
  tr_rounds(g, 2, w);
}
/* The same for twice as many blocks: the steps of both halves take turns, as each waits for the last. */
TR_PART void tr_philox_pair(const tr_stream *g, uint64_t offset, uint64_t attempt, tr_u64s w[2][4]) {
  const uint64_t at = g->position + offset, b = TR_M1 * g->stream, c0 = (b >> 32) ^ (at >> 32) ^ g->keys[0][0][0];
  const uint64_t next = TR_M0 * c0;
#pragma GCC unroll 2
  for (int i = 0; i < 2; i++) {
    w[i][3] = TR_TIMES((tr_u64s){TR_LANES} + (at + (uint64_t)(i * TR_BYTES / 8)), TR_ALL(TR_M0));
    w[i][1] = TR_TIMES(w[i][3] >> 32 ^ (attempt ^ g->keys[0][1][0]), TR_ALL(TR_M1));
    w[i][0] = w[i][1] >> 32 ^ ((uint32_t)b ^ g->keys[1][0][0]);
    w[i][2] = w[i][3] ^ (next >> 32 ^ g->keys[1][1][0]);
    w[i][3] = TR_ALL(next);
  }
#pragma GCC unroll 10
  for (int k = 2; k < 10; k++) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
      const tr_u64s a = TR_TIMES(w[i][0], TR_ALL(TR_M0)), c = TR_TIMES(w[i][2], TR_ALL(TR_M1));
      w[i][0] = TR_XOR(c >> 32, w[i][1], g->keys[k][0]);
      w[i][1] = c;
      w[i][2] = TR_XOR(a >> 32, w[i][3], g->keys[k][1]);
      w[i][3] = a;
    }
  }
}
/* The same of blocks and attempts that differ by lane. */
TR_PART void tr_philox_any(const tr_stream *g, tr_u64s offset, tr_u64s attempt, tr_u64s *w) {
  w[0] = offset + g->position;
  w[1] = w[0] >> 32;
  w[2] = TR_ALL(g->stream);
  w[3] = attempt;
  tr_rounds(g, 0, w);
}
/* How many blocks from an offset on, of so many at most, have the same upper half of their positions. */
static inline int64_t tr_together(const tr_stream *g, uint64_t offset, int64_t blocks) {
  const int64_t room = (int64_t)(UINT64_C(0x100000000) - (uint32_t)(g->position + offset));
  return blocks < room ? blocks : room;
}
"""

# Numbers of 64 bits, two of each block: of lanes' first words and of their last, or one after the other.
_PAIRS = """\
TR_PART tr_u64s tr_joined(tr_u64s low, tr_u64s high) { return TR_MIXED(low, high << 32); }
TR_PART tr_two tr_halves(const tr_u64s *w) {
  return (tr_two){tr_joined(w[0], w[1]), tr_joined(w[2], w[3])};
}
TR_PART tr_two tr_woven(tr_u64s x, tr_u64s y) {
  return (tr_two){TR_SHUFFLE(tr_u64s, x, y, TR_LOW8), TR_SHUFFLE(tr_u64s, x, y, TR_HIGH8)};
}
"""

_MAKE_BITS = """\
TR_PART void tr_make_bits_$short(const tr_u64s *w, tr_two *out) {
  const tr_two b = tr_halves(w);
  *out = tr_woven(b.low, b.high);
}
"""

# An integer of 52 bits in the mantissa of a double, added to a power of two.
_FRACTIONS = {
    "tr_fraction_f64": """\
TR_PART tr_f64s tr_fraction_f64(tr_u64s x) {
#if defined(__AVX512DQ__)
  return __builtin_convertvector(x >> 11, tr_f64s) * 0x1p-53;
#else
  const tr_f64s high = (tr_f64s)(x >> 43 | UINT64_C(0x4530000000000000));
  const tr_f64s low = (tr_f64s)TR_MIXED(x >> 11, TR_ALL(UINT64_C(0x4330000000000000)));
  return ((high - 0x1.00000001p84) + low) * 0x1p-53;
#endif
}
""",
    "tr_fraction_f32": """\
TR_PART tr_f32s tr_fraction_f32(tr_u64s x) {
  return __builtin_convertvector((tr_i32s)((tr_u32s)x >> 8), tr_f32s) * 0x1p-24f;
}
""",
}

_MAKE_RANDOM = """\
TR_PART void tr_make_random_$short(const tr_u64s *w, tr_two *out) {
  const tr_two b = tr_halves(w), x = tr_woven(b.low, b.high);
  *out = (tr_two){(tr_u64s)tr_fraction_$short(x.low), (tr_u64s)tr_fraction_$short(x.high)};
}
"""

_MAKE_EXPONENTIAL = """\
TR_PART void tr_make_standard_exponential_$short(const tr_u64s *w, tr_two *out) {
  const tr_two b = tr_halves(w), x = tr_woven(b.low, b.high);
  out->low = (tr_u64s)-tr_log_$short(1 - tr_fraction_$short(x.low));
  out->high = (tr_u64s)-tr_log_$short(1 - tr_fraction_$short(x.high));
}
"""

_MAKE_NORMAL = {
    "f64": """\
TR_PART void tr_make_standard_normal_f64(const tr_u64s *w, tr_two *out) {
  const tr_two b = tr_halves(w);
  tr_f64s r = -2 * tr_log_f64(1 - tr_fraction_f64(b.low)), sine, cosine;
  tr_root_f64(&r);
  tr_turn_f64(0x1.921fb54442d18p+2 * tr_fraction_f64(b.high), &sine, &cosine);
  *out = tr_woven((tr_u64s)(r * cosine), (tr_u64s)(r * sine));
}
""",
    # Numbers of 32 bits are rounded once: both halves are exact, and so is the upper one's place.
    "f32": """\
TR_PART tr_f32s tr_rounded(tr_u64s x, int more) {
  const tr_i32s high = (tr_i32s)((tr_u32s)x >> 16), low = (tr_i32s)((tr_u32s)x & 0xffff) + more;
  return (__builtin_convertvector(high, tr_f32s) * 0x1p16f + __builtin_convertvector(low, tr_f32s)) * 0x1p-32f;
}
TR_PART void tr_make_standard_normal_f32(const tr_u64s *w, tr_two *out) {
  tr_f32s r = -2 * tr_log_f32(tr_rounded(tr_joined(w[0], w[2]), 1)), sine, cosine;
  tr_root_f32(&r);
  tr_turn_f32(0x1.921fb6p+2f * tr_rounded(tr_joined(w[1], w[3]), 0), &sine, &cosine);
  sine *= r;
  cosine *= r;
  out->low = (tr_u64s)TR_SHUFFLE(tr_u32s, cosine, sine, TR_LOW4);
  out->high = (tr_u64s)TR_SHUFFLE(tr_u32s, cosine, sine, TR_HIGH4);
}
""",
}

# log(1 + f) = 2 artanh(s), s = f / (2 + f), where 1 + f is x over the power of two that brings it nearest to 1; sin
# and cos of what is left of the nearest multiple of pi / 2, taken off in two parts, of which the first has so few bits
# that its multiples up to 4 are exact. The polynomials are Chebyshev approximations of
# (2 artanh(s) - 2 s) / s**3, (sin(x) - x) / x**3 and (cos(x) - 1 + x**2 / 2) / x**4 in squares, to 2e-18 (1e-9) of 1.
# x is normal and at most 1, and from 0 to 2 pi for sin and cos.
_MATH = """\
TR_PART tr_${short}s tr_log_$short(tr_${short}s x) {
  const $U bits = ($U)x - $start;
  const tr_${short}s k = (tr_${short}s)(bits >> $digits | $whole) - $offset;
  const tr_${short}s f = (tr_${short}s)((bits & $fraction) + $root) - 1;
  const tr_${short}s s = f / (2 + f), z = s * s, half = f * f * ($T)0.5;
  return k * $ln2 - ((half - (s * (half + z * $log) + k * $ln2_rest)) - f);
}
TR_PART void tr_turn_$short(tr_${short}s x, tr_${short}s *sine, tr_${short}s *cosine) {
  const tr_${short}s q = x * $quarters + $magic, n = q - $magic;
  const tr_${short}s y = (x - n * $quarter) - n * $quarter_rest, z = y * y;
  const $U s = ($U)(y + y * z * $sin), c = ($U)(1 - (z * ($T)0.5 - z * z * $cos));
  const $U odd = -(($U)q & 1), below = ($U)q << ($top - 1), minus = ($U){0} + (($Bits)1 << $top);
  *sine = (tr_${short}s)(((s & ~odd) | (c & odd)) ^ (below & minus));
  *cosine = (tr_${short}s)(((c & ~odd) | (s & odd)) ^ ((below ^ odd << $top) & minus));
}
TR_PART void tr_root_$short(tr_${short}s *x) {
  enum { W = TR_BYTES / sizeof($T) };
  $T y[W];
  memcpy(y, x, sizeof y);
#pragma omp simd
  for (int l = 0; l < W; l++) y[l] = sqrt$suffix(y[l]);
  memcpy(x, y, sizeof y);
}
"""


def polynomial(x: str, coefficients: str, suffix: str = "") -> str:
    """Return the expression of a polynomial in x; the coefficients are ascending."""
    first, *lower = coefficients.split()
    return f"({first}{suffix} + {x} * {polynomial(x, ' '.join(lower), suffix)})" if lower else first + suffix


def _math(**values: str) -> str:
    """Return the text of logarithm, sine and cosine, and square root."""
    for name in ("log", "sin", "cos"):
        values[name] = polynomial("z", values[name], values["suffix"])
    return Template(_MATH).substitute(values)


_FUNCTIONS = {
    "f64": _math(
        short="f64", T="double", U="tr_u64s", Bits="uint64_t", suffix="", top="63", digits="52",
        start="UINT64_C(0x6a09e667f3bcd)", root="UINT64_C(0x3fe6a09e667f3bcd)", fraction="UINT64_C(0xfffffffffffff)",
        whole="UINT64_C(0x4330000000000000)", offset="(0x1p52 + 1022)", ln2="0x1.62e42fefa2p-1",
        ln2_rest="0x1.9ef35793c7673p-41", quarters="0x1.45f306dc9c883p-1", magic="0x1.8p52",
        quarter="0x1.921fb54442d18p+0", quarter_rest="0x1.1a62633145c07p-54",
        log="0x1.5555555555558p-1 0x1.9999999995273p-2 0x1.2492492dfd86cp-2 0x1.c71c62d5e53e0p-3 0x1.7462b91b8df65p-3 "
        "0x1.39fdcceb4bb45p-3 0x1.2b5f68a50d903p-3",
        sin="-0x1.5555555555555p-3 0x1.1111111110babp-7 -0x1.a01a019e820aep-13 0x1.71de37946ed6dp-19 "
        "-0x1.ae6008d114485p-26 0x1.5e0a4fc16be59p-33",
        cos="0x1.5555555555555p-5 -0x1.6c16c16c16963p-10 0x1.a01a019f4ddfdp-16 -0x1.27e4fa16cc2d1p-22 "
        "0x1.1eeb67d026ec6p-29 -0x1.907cd8ff5ede7p-37",
    ),
    "f32": _math(
        short="f32", T="float", U="tr_u32s", Bits="uint32_t", suffix="f", top="31", digits="23",
        start="UINT32_C(0x3504f3)", root="UINT32_C(0x3f3504f3)", fraction="UINT32_C(0x7fffff)",
        whole="UINT32_C(0x4b000000)", offset="(0x1p23f + 126)", ln2="0x1.62e4p-1f", ln2_rest="0x1.7f7d1cp-20f",
        quarters="0x1.45f306p-1f", magic="0x1.8p23f", quarter="0x1.921f8p+0f", quarter_rest="0x1.aa2216p-19f",
        log="0x1.55555cp-1 0x1.997c22p-2 0x1.2ee8c8p-2", sin="-0x1.555552p-3 0x1.110c26p-7 -0x1.9ac856p-13",
        cos="0x1.555554p-5 -0x1.6c12d0p-10 0x1.9bd786p-16",
    ),
}  # fmt: skip

# A step of a kernel is STEP elements: the last one may be shorter.
_KERNEL = """\
static void __attribute__((noinline)) ${name}_run(const tr_stream *g, uint64_t offset, int64_t left, char *o) {
  enum { SIZE = 4 * TR_BYTES };
  char rest[SIZE];
  for (; left > 0; left -= SIZE, o += SIZE, offset += TR_BYTES / 4) {
    tr_u64s w[2][4];
    tr_two made[2];
    tr_philox_pair(g, offset, 0, w);
    $make(w[0], made);
    $make(w[1], made + 1);
    memcpy(left < SIZE ? rest : o, made, SIZE);
  }
  if (left) memcpy(o - SIZE, rest, (size_t)(left + SIZE));
}
static int $name(int64_t n, char *const *p, const int64_t *s) {
  const tr_stream *g = (const tr_stream *)p[1];
  char *o = p[0], *end = g->base + g->count * (int64_t)sizeof($Type);
  (void)s;
  if (end - o > n * $step) end = o + n * $step;
  while (o < end) {
    const uint64_t offset = (uint64_t)(o - g->base) / 16;
    const int64_t bytes = 16 * tr_together(g, offset, (end - o + 15) / 16);
    ${name}_run(g, offset, bytes < end - o ? bytes : end - o, o);
    o += bytes;
  }
  return 0;
}
"""

_MAKERS = {
    "bits": {"u32": _MAKE_BITS, "u64": _MAKE_BITS, "i64": _MAKE_BITS},
    "random": {"f32": _MAKE_RANDOM, "f64": _MAKE_RANDOM},
    "standard_exponential": {"f32": _MAKE_EXPONENTIAL, "f64": _MAKE_EXPONENTIAL},
    "standard_normal": _MAKE_NORMAL,
}

PLAIN_SAMPLERS = tuple(_MAKERS)

PORTABLE_DRAWS = {
    "tr_u64s tr_u32s tr_i32s tr_i64s tr_two": f"/* tr_f64s */\n{_WIDE}",
    "tr_stream tr_open": _STREAM,
    "tr_philox tr_philox_pair tr_philox_any tr_rounds tr_together": f"/* tr_u64s */\n{_PHILOX}",
    "tr_joined tr_halves tr_woven": _PAIRS,
    "tr_rounded tr_make_standard_normal_f32": _MAKE_NORMAL["f32"],
    **_FRACTIONS,
    **{f"tr_log_{short} tr_turn_{short} tr_root_{short}": text for short, text in _FUNCTIONS.items()},
    **{
        f"tr_make_{sampler}_{short}": Template(text).substitute(short=short)
        for sampler, texts in _MAKERS.items()
        for short, text in texts.items()
        if "tr_rounded" not in text
    },
    "tr_draw": f"""\
static int tr_draw(tr_var *v, int at, int nd, int64_t size, int state, const int *given, int count, tr_kernel k) {{
  tr_var *o = v + at;
  tr_stream g;
  tr_open(&g, v + state, o, nd);
  for (int i = 0; i < count; i++) {{
    const tr_var *x = v + given[2 * i];
    const int more = nd - given[2 * i + 1];
    tr_parameter *to = g.given + i;
    to->p = x->p;
    to->nd = 0;
    for (int d = nd - 1; d >= 0; d--) {{
      const int64_t n = d < more ? 1 : x->n[d - more], s = d < more ? 0 : x->s[d - more];
      if (n != 1 && n != o->n[d]) return TR_SHAPE;
      if (o->n[d] == 1) continue;
      if (to->nd && s == to->s[to->nd - 1] * to->n[to->nd - 1]) {{ to->n[to->nd - 1] *= o->n[d]; continue; }}
      to->n[to->nd] = o->n[d];
      to->s[to->nd++] = s;
    }}
  }}
  const int64_t steps = (g.count + {STEP - 1}) / {STEP};
  char *p[TR_OPS] = {{o->p, (char *)&g}};
  int64_t st[1][TR_OPS] = {{{{size * {STEP}}}}};
  return tr_iterate(2, 1, &steps, p, st, k);
}}
""",
    # Writes m elements of a parameter, from one of the batch on, and fills up with the last; says if they are all one.
    "tr_fill": """\
static int tr_fill(const tr_stream *g, int k, int64_t at, int64_t m, int64_t room, uint64_t *to) {
  const tr_parameter *x = g->given + k;
  const int fixed = x->nd == 0 || (x->nd == 1 && x->s[0] == 0);
  const char *p = x->p;
  int64_t i[TR_ND], j = 0;
  if (fixed) m = 1;
  else for (int d = 0; d < x->nd; d++) {
    i[d] = at % x->n[d];
    at /= x->n[d];
    p += i[d] * x->s[d];
  }
  if (fixed) to[j++] = *(const uint64_t *)p;
  while (j < m) {
    const int64_t run = x->n[0] - i[0] < m - j ? x->n[0] - i[0] : m - j, s = x->s[0];
    for (int64_t e = 0; e < run; e++, p += s) to[j + e] = *(const uint64_t *)p;
    j += run;
    i[0] += run;
    for (int d = 0; d < x->nd && i[d] == x->n[d]; d++) {
      p -= i[d] * x->s[d];
      i[d] = 0;
      if (d + 1 < x->nd) { i[d + 1]++; p += x->s[d + 1]; }
    }
  }
  for (; j < room; j++) to[j] = to[m - 1];
  return fixed;
}
""",
}


def portable_kernel(sampler: str, ctype: CType) -> str:
    """Return the text of the kernel of a sampler that has no parameters."""
    return Template(_KERNEL).substitute(
        name=f"tr_draw_{sampler}_{ctype.short}",
        make=f"tr_make_{sampler}_{ctype.short}",
        Type=ctype.stored,
        step=STEP * ctype.size,
    )
