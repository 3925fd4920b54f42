"""C text of the portable draws that may be rejected, on vectors.

`treadle.tensor.random.generators.rejection` defines them.

For each sampler, there are three functions, of numbers in the lanes of vectors:

- ``tr_prepare_<sampler>(p, q)`` computes from parameters what all attempts need: once if they are single numbers;
- ``tr_attempt_<sampler>(w, q, made, out)`` makes draws of four words of Philox; `out` is not 0 where one is rejected;
- ``tr_finish_<sampler>(g, offset, p, made)`` changes accepted draws, of elements that follow each other.

The first attempt is made for a batch of elements in order, and others for those of them that are left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from string import Template
from typing import NamedTuple

from treadle.link.c import HELPERS, TABLE, CType
from treadle.tensor.random.generators.sampler_table import SamplerTable
from treadle.tensor.random.lower.c.portable_texts import STEP, polynomial

# The number of elements that are drawn together: attempts after the first fill vectors with the rejected ones.
BATCH = 512

_MATH = """\
/* log(1 + x), from the logarithm of the sum as it is rounded, and from what rounding took. */
TR_PART tr_f64s tr_log1p(tr_f64s x) {
  const tr_f64s u = 1 + x;
  return tr_log_f64(u) + (x - (u - 1)) / u;
}
/* exp(x) of x below 709: a polynomial in what is left of the nearest multiple of log 2. */
TR_PART tr_f64s tr_exp(tr_f64s x) {
  const tr_f64s least = (tr_f64s){0} - 800;
  const tr_f64s y = tr_pick(x < least, least, x), k = y * 0x1.71547652b82fep+0 + 0x1.8p52, n = k - 0x1.8p52;
  const tr_f64s r = (y - n * 0x1.62e42fefa2p-1) - n * 0x1.9ef35793c7673p-41;
  const tr_u64s power = (tr_u64s)k - UINT64_C(0x4338000000000000), half = ((power + 4096) >> 1) - 2048;
  const tr_f64s e = 1 + (r + r * r * $exp);
  return e * (tr_f64s)((half + 1023) << 52) * (tr_f64s)((power - half + 1023) << 52);
}
/* What Stirling's formula lacks to the logarithm of the gamma function of z >= 1. */
TR_PART tr_f64s tr_stirling(tr_f64s x) {
  const tr_f64s z = 1 / x;
  return z * $above / $below;
}
TR_PART tr_f64s tr_gamma_shift(tr_f64s z, tr_f64s d) {
  return (z + d - 0.5) * tr_log1p(d / z) - d + (tr_stirling(z + d) - tr_stirling(z));
}
"""
_EXP = (
    "0x1.0000000000001p-1 0x1.5555555555556p-3 0x1.5555555553d37p-5 0x1.11111111109a6p-7 0x1.6c16c1789d1d7p-10 "
    "0x1.a01a01a7cebcdp-13 0x1.a019b8ca26fcfp-16 0x1.71de0d85293b8p-19 0x1.2891d4ffbb0f9p-22 0x1.af390ba7e6f47p-26"
)
_ABOVE = (
    "0.083333333333626923 0.20956358390379048 0.30942812713265615 0.20627001145065293 0.064665274454646071 "
    "0.0011341159307551370"
)
_BELOW = "1.0 2.5147630082335210 3.7464707694399467 2.5590678267768793 0.89131225194177403 0.075193744990632432"

_LANES = """\
/* x where m is all ones, y where it is 0. */
#define tr_pick(m, x, y) ((tr_f64s)(((tr_u64s)(m) & (tr_u64s)(x)) | (~(tr_u64s)(m) & (tr_u64s)(y))))
/* The highest bits of lanes. */
TR_PART int tr_bits(tr_u64s x) {
#if TR_BYTES == 64 && defined(__AVX512DQ__)
  typedef long long v8di __attribute__((vector_size(64)));
  return __builtin_ia32_cvtq2mask512((v8di)x);
#elif TR_BYTES == 32
  return __builtin_ia32_movmskpd256((tr_f64s)x);
#else
  int bits = 0;
  for (int l = 0; l < TR_BYTES / 8; l++) bits |= (int)(x[l] >> 63) << l;
  return bits;
#endif
}
TR_PART tr_f64s tr_number(tr_u64s word) {
  return (tr_f64s)((word & UINT64_C(0xffffffff)) | UINT64_C(0x4330000000000000)) - 0x1p52;
}
TR_PART void tr_round_down(tr_f64s *x) {
  double y[TR_BYTES / 8];
  memcpy(y, x, sizeof y);
#pragma omp simd
  for (int l = 0; l < TR_BYTES / 8; l++) y[l] = floor(y[l]);
  memcpy(x, y, sizeof y);
}
#define TR_EACH(f, x) for (int l = 0; l < TR_BYTES / 8; l++) x[l] = f(x[l])
"""


class SamplerText(NamedTuple):
    """The text of a sampler: the bodies of the three functions.

    Attributes
    ----------
    parameters
        Its number of parameters; `p` has their bits.
    prepared
        How many vectors `prepare` computes.
    prepare, attempt, finish
        The bodies; an empty one does nothing.
    kind
        The type of what `prepare` computes.
    """

    parameters: int
    prepared: int
    prepare: str
    attempt: str
    finish: str = ""
    kind: str = "tr_f64s"


def _searched(p: str, ratio: str) -> str:
    """Return the statements that draw by search in the lanes of `few`, and return if those are all lanes.

    A draw is the first k at which the probabilities of 0 to k sum to more than `whole`, or at which that of k is
    negligible. The probability of 0 is `p`, and that of k + 1 is `ratio` times that of k.
    """
    return f"""\
  tr_u64s found = {{0}};
  if (tr_bits(few)) {{
    tr_f64s p = {p}, total = p;
    for (double k = 0;; k++) {{
      const tr_u64s later = few & (tr_u64s)(whole >= total) & (tr_u64s)(p > 0x1p-60);
      if (!tr_bits(later)) break;
      found -= later;
      p *= {ratio};
      total += p;
    }}
    if (!tr_bits(~few)) {{
      *made = found;
      *out = (tr_u64s){{0}};
      return;
    }}
  }}
"""


_GAMMA = SamplerText(
    1,
    3,
    """\
  const tr_f64s a = (tr_f64s)p[0], d = tr_pick(a < 1, a + 1, a) - 1.0 / 3.0;
  tr_f64s root = 9 * d;
  tr_root_f64(&root);
  q[0] = d;
  q[1] = root;
  q[2] = $base;
""",
    """\
  const tr_f64s d = q[0];
  tr_f64s x = -2 * tr_log_f64(1 - tr_fraction_f64(tr_joined(w[0], w[1]))), sine, cosine;
  tr_root_f64(&x);
  tr_turn_f64(0x1.921fb54442d18p+2 * (tr_number(w[2]) * 0x1p-32), &sine, &cosine);
  x *= cosine;
  const tr_f64s t = x / q[1], cube = 3 * tr_log1p(t), v = t * (3 + t * (3 + t));
  const tr_f64s most = tr_log_f64((tr_number(w[3]) + 0.5) * 0x1p-32);
  *made = (tr_u64s)($made);
  *out = (tr_u64s)(t <= -1) | (tr_u64s)(most > 0.5 * x * x + d * (cube - v));
""",
    """\
  const tr_f64s a = (tr_f64s)p[0];
  tr_u64s w[4];
  if (!tr_bits((tr_u64s)(a < 1))) return;
  tr_philox(g, offset, 0, w);
  const tr_f64s most = (tr_f64s)TR_ALL(UINT64_C(0x7fefffffffffffff));
  const tr_f64s far = -tr_log_f64(1 - tr_fraction_f64(tr_joined(w[0], w[1]))) / a;
  const tr_f64s boost = tr_pick(far > most, most, far), x = (tr_f64s)*made;
  *made = (tr_u64s)tr_pick(a < 1, tr_pick(a == 0, $none, $boosted), x);
""",
)


def _gamma(**values: str) -> SamplerText:
    texts = (Template(text).substitute(values) for text in _GAMMA[2:])
    return SamplerText(_GAMMA.parameters, _GAMMA.prepared, *texts)


_OWN = {
    "integers": SamplerText(
        2,
        2,
        """\
  q[0] = p[0];
  q[1] = p[1] - p[0] - 1;
""",
        """\
  const tr_u64s m = q[1], ones = TR_ALL(UINT64_C(0xffffffff)), narrow = (tr_u64s)(m < UINT64_C(0x80000000));
  const tr_u64s width = (m & narrow) + 1, a = TR_TIMES(w[0], width), b = TR_TIMES(w[1], width) + (a >> 32);
  tr_u64s rejected = narrow & (tr_u64s)((b & ones) == 0);
  if (tr_bits(rejected))
    for (int l = 0; l < TR_BYTES / 8; l++)
      if (rejected[l]) rejected[l] = -(uint64_t)((a[l] & ones[l]) < -width[l] % width[l]);
  if (!tr_bits(~narrow)) {
    *made = q[0] + (b >> 32);
    *out = rejected;
    return;
  }
  tr_u64s mask = m;
  for (int k = 1; k < 64; k *= 2) mask |= mask >> k;
  mask &= tr_joined(w[0], w[1]);
  *made = q[0] + ((b >> 32 & narrow) | (mask & ~narrow));
  *out = rejected | (~narrow & (tr_u64s)(mask > m));
""",
        kind="tr_u64s",
    ),
    "standard_gamma": _gamma(base="(tr_f64s){0}", made="d * (1 + v)", none="0 * a", boosted="x * tr_exp(-boost)"),
    "log_standard_gamma": _gamma(
        base="tr_pick(d <= 0x1.fffffffffffffp+1023, tr_log_f64(d), d)", made="q[2] + cube", none="-1 / (a * a)",
        boosted="x - boost",
    ),
    "poisson": SamplerText(
        1,
        6,
        """\
  const tr_f64s lam = (tr_f64s)p[0];
  tr_f64s b = lam;
  tr_root_f64(&b);
  b = 0.931 + 2.53 * b;
  q[0] = lam;
  q[1] = b;
  q[2] = -0.059 + 0.02483 * b;
  q[3] = 0.9277 - 3.6224 / (b - 2);
  q[4] = 1.1239 + 1.1328 / (b - 3.4);
  q[5] = tr_exp(-lam);
""",
        """\
  const tr_f64s lam = q[0], whole = tr_fraction_f64(tr_joined(w[0], w[1]));
  const tr_u64s few = (tr_u64s)(lam < 10);
$search\
  const tr_f64s u = whole - 0.5, v = tr_fraction_f64(tr_joined(w[2], w[3])), b = q[1], a = q[2];
  const tr_f64s s = 0.5 - tr_pick(u < 0, -u, u);
  tr_f64s k = (2 * a / s + b) * u + lam + 0.43;
  tr_round_down(&k);
  *made = (found & few) | (~few & (tr_u64s)__builtin_convertvector(k, tr_i64s));
  const tr_u64s slow = ~few & (tr_u64s)(v > 0) & ~((tr_u64s)(s >= 0.07) & (tr_u64s)(v <= q[3]));
  const tr_u64s under = ~few & (tr_u64s)(k < 0);
  *out = under;
  if (!tr_bits(slow & ~under)) return;
  const tr_f64s y = (k + 1 - lam) / lam, log = tr_log1p(y);
  const tr_f64s density = -lam * ((1 + y) * log - y) + log - 0.5 * tr_log_f64(0x1.921fb54442d18p+2 * (k + 1)) -
                          tr_stirling(k + 1);
  *out |= slow & (tr_u64s)(tr_log_f64(v * q[4] / (a / (s * s) + b)) > density);
""".replace("$search", _searched("q[5]", "lam / (k + 1)")),
    ),
    "binomial": SamplerText(
        2,
        10,
        """\
  const tr_f64s n = __builtin_convertvector((tr_i64s)p[0], tr_f64s), given = (tr_f64s)p[1];
  const tr_f64s r = tr_pick(given > 0.5, 1 - given, given);
  tr_f64s root = n * r * (1 - r), m = (n + 1) * r;
  tr_root_f64(&root);
  tr_round_down(&m);
  const tr_f64s b = 1.15 + 2.53 * root;
  q[0] = n;
  q[1] = n * r;
  q[2] = b;
  q[3] = -0.0873 + 0.0248 * b + 0.01 * r;
  q[4] = 0.92 - 4.2 / b;
  q[5] = (2.83 + 5.1 / b) * root;
  q[6] = m;
  q[7] = tr_log_f64(r / (1 - r) * ((n - m + 1) / (m + 1)));
  q[8] = r / (1 - r);
  q[9] = tr_exp(n * tr_log1p(-r));
""",
        """\
  const tr_f64s n = q[0], whole = tr_fraction_f64(tr_joined(w[0], w[1]));
  const tr_u64s few = ~(tr_u64s)(q[1] >= 10);
$search\
  const tr_f64s u = whole - 0.5, v = tr_fraction_f64(tr_joined(w[2], w[3])), b = q[2], a = q[3], m = q[6];
  const tr_f64s s = 0.5 - tr_pick(u < 0, -u, u);
  tr_f64s k = (2 * a / s + b) * u + q[1] + 0.5;
  tr_round_down(&k);
  *made = (found & few) | (~few & (tr_u64s)__builtin_convertvector(k, tr_i64s));
  const tr_u64s slow = ~few & (tr_u64s)(v > 0) & ~((tr_u64s)(s >= 0.07) & (tr_u64s)(v <= q[4]));
  const tr_u64s outside = ~few & ((tr_u64s)(k < 0) | (tr_u64s)(k > n));
  *out = outside;
  if (!tr_bits(slow & ~outside)) return;
  const tr_f64s d = k - m;
  const tr_f64s ratio = d * q[7] - tr_gamma_shift(m + 1, d) - tr_gamma_shift(n - m + 1, -d);
  *out |= slow & (tr_u64s)(tr_log_f64(v * q[5] / (a / (s * s) + b)) > ratio);
""".replace("$search", _searched("q[9]", "(n - k) / (k + 1) * q[8]")),
        """\
  const tr_u64s flipped = (tr_u64s)((tr_f64s)p[1] > 0.5), n = p[0];
  const tr_u64s more = (tr_u64s)((tr_i64s)*made > (tr_i64s)n), x = (more & n) | (~more & *made);
  (void)g;
  (void)offset;
  *made = (flipped & (n - x)) | (~flipped & x);
""",
    ),
    "hypergeometric": SamplerText(
        3,
        9,
        """\
  const tr_i64s good = (tr_i64s)p[0], bad = (tr_i64s)p[1], rest = good + bad - (tr_i64s)p[2];
  const tr_u64s less = (tr_u64s)(good < bad), small = (tr_u64s)((tr_i64s)p[2] < rest);
  const tr_f64s first = __builtin_convertvector(good, tr_f64s), second = __builtin_convertvector(bad, tr_f64s);
  const tr_f64s g = tr_pick(less, first, second), h = tr_pick(less, second, first), total = g + h;
  const tr_i64s count = (tr_i64s)((p[2] & small) | ((tr_u64s)rest & ~small));
  const tr_f64s c = __builtin_convertvector(count, tr_f64s);
  const tr_f64s w = h - c, x = tr_pick(g < c, g, c), y = tr_pick(g < c, c, g), z = total + 1;
  tr_f64s spread = (total - c) * c / total * (g / total) * (h / (total - 1)) + 0.5;
  tr_f64s m = (c + 1) * ((g + 1) / (total + 2));
  tr_root_f64(&spread);
  tr_round_down(&m);
  q[0] = c * (g / tr_pick(total < 1, (tr_f64s){0} + 1, total));
  q[1] = x;
  q[2] = y;
  q[3] = w;
  q[4] = tr_exp(x * tr_log1p(-y / z) + tr_gamma_shift(z, -x) - tr_gamma_shift(z - y, -x));
  q[5] = 1.7155277699214135 * spread + 0.8989161620588988;
  q[6] = c * (g / total) + 0.5;
  q[7] = m;
  q[8] = tr_log_f64((g - m + 1) / (m + 1) * ((c - m + 1) / (w + m + 1)));
""",
        """\
  const tr_f64s whole = tr_fraction_f64(tr_joined(w[0], w[1])), x = q[1], y = q[2], free = q[3], m = q[7];
  const tr_u64s few = ~(tr_u64s)(q[0] >= 10);
$search\
  const tr_f64s u = 1 - whole, v = tr_fraction_f64(tr_joined(w[2], w[3]));
  tr_f64s k = q[6] + q[5] * (v - 0.5) / u;
  tr_round_down(&k);
  *made = (found & few) | (~few & (tr_u64s)__builtin_convertvector(k, tr_i64s));
  const tr_u64s outside = (tr_u64s)(k < 0) | (tr_u64s)(k > x);
  const tr_f64s d = k - m;
  const tr_f64s ratio = d * q[8] - tr_gamma_shift(m + 1, d) - tr_gamma_shift(x - m + 1, -d) -
                        tr_gamma_shift(y - m + 1, -d) - tr_gamma_shift(free + m + 1, d);
  *out = ~few & (outside | (tr_u64s)(2 * tr_log_f64(u) > ratio));
""".replace("$search", _searched("q[4]", "(x - k) / (k + 1) * ((y - k) / (free + k + 1))")),
        """\
  const tr_i64s good = (tr_i64s)p[0], bad = (tr_i64s)p[1], sample = (tr_i64s)p[2], rest = good + bad - sample;
  const tr_i64s small = sample < rest, c = (sample & small) | (rest & ~small), less = good < bad;
  const tr_i64s fewer = (good & less) | (bad & ~less), x = (tr_i64s)*made;
  (void)g;
  (void)offset;
  const tr_i64s below = c < fewer, most = (c & below) | (fewer & ~below), above = x > most;
  const tr_i64s k = (most & above) | (x & ~above);
  const tr_i64s flipped = good > bad, own = ((c - k) & flipped) | (k & ~flipped), turned = sample > c;
  *made = (tr_u64s)(((good - own) & turned) | (own & ~turned));
""",
    ),
    "vonmises": SamplerText(
        1,
        4,
        """\
  const tr_f64s kappa = (tr_f64s)p[0];
  tr_f64s b = 1 + 4 * kappa * kappa;
  tr_root_f64(&b);
  b = 1 / (b + 2 * kappa);
  const tr_f64s e = 2 * b / (1 + b);
  tr_root_f64(&b);
  q[0] = kappa;
  q[1] = b;
  q[2] = e;
  q[3] = e * (2 - e);
""",
        """\
  const tr_f64s e = q[2], v = tr_fraction_f64(tr_joined(w[2], w[3]));
  tr_f64s sine, cosine;
  tr_turn_f64(0x1.921fb54442d18p+1 * (tr_fraction_f64(tr_joined(w[0], w[1])) - 0.5), &sine, &cosine);
  const tr_f64s t = q[1] * (sine / cosine), c = 2 - 2 / (1 + t * t);
  *made = (tr_u64s)t;
  *out = (tr_u64s)(v > 0) & (tr_u64s)(tr_log_f64(v) > q[0] * (e - c) + tr_log_f64((e + (1 - e) * c) / q[3]));
""",
        """\
  tr_f64s x = (tr_f64s)*made;
  (void)g; (void)offset; (void)p;
  TR_EACH(atan, x);
  *made = (tr_u64s)(2 * x);
""",
    ),
    "zipf": SamplerText(
        1,
        3,
        """\
  tr_f64s b = (tr_f64s)p[0] - 1, least = -63 * 0x1.62e42fefa39efp-1 * b, scale = b * 0x1.62e42fefa39efp-1;
  TR_EACH(expm1, least);
  TR_EACH(expm1, scale);
  q[0] = b;
  q[1] = least;
  q[2] = scale;
""",
        """\
  const tr_f64s b = q[0], u = tr_fraction_f64(tr_joined(w[0], w[1])), v = tr_fraction_f64(tr_joined(w[2], w[3]));
  tr_f64s k = tr_exp(-tr_log1p(u * q[1]) / b);
  tr_round_down(&k);
  const tr_f64s x = tr_log1p(1 / k);
  tr_f64s y = b * x;
  TR_EACH(expm1, y);
  const tr_u64s slow = (tr_u64s)(v * k * (y / q[2]) > tr_exp(b * (x - 0x1.62e42fefa39efp-1)));
  *made = (tr_u64s)__builtin_convertvector(k, tr_i64s);
  *out = (tr_u64s)(k >= 0x1p63) | ((tr_u64s)(k > 1) & slow);
""",
    ),
}  # fmt: skip
# The texts of samplers; others may register theirs.
SAMPLER_TEXTS: SamplerTable[SamplerText] = SamplerTable(TABLE, _OWN)

# A batch ends where the upper half of positions changes.
_KERNEL = """\
TR_PART void tr_prepare_$name(const tr_u64s *p, $Q *q) {
$prepare}
TR_PART void tr_attempt_$name(const tr_u64s *w, const $Q *q, tr_u64s *made, tr_u64s *out) {
$attempt}
${finish}static void __attribute__((noinline)) ${name}_run(const tr_stream *g, int64_t at, int64_t m, $Type *o) {
  enum { W = TR_BYTES / 8 };
  uint64_t given[$parameters + 1][$batch], made[$batch];
  int index[$batch + W], left = 0, kept;
  tr_u64s p[$parameters + 1], pair[2][4], w[4], x, rejected, offset;
  $Q q[$prepared + 1];
  int fixed = 1;
  for (int k = 0; k < $parameters; k++) fixed &= tr_fill(g, k, at, m, (m + W - 1) / W * W, given[k]);
  for (int64_t j = 0; j < m; j += W) {
    const int turn = j / W & 1;
    if (j == 0 || !fixed) {
      for (int k = 0; k < $parameters; k++) memcpy(p + k, given[k] + j, sizeof *p);
      tr_prepare_$name(p, q);
    }
    if (!turn) tr_philox_pair(g, (uint64_t)(at + j), 1, pair);
    tr_attempt_$name(pair[turn], q, &x, &rejected);
    memcpy(made + j, &x, sizeof x);
    for (int bits = tr_bits(rejected); bits; bits &= bits - 1) {
      index[left] = (int)j + __builtin_ctz(bits);
      left += index[left] < m;
    }
  }
  for (int attempt = 2; left && attempt <= 128; attempt++, left = kept) {
    kept = 0;
    for (int j = 0; j < left; j += W) {
      const int n = left - j < W ? left - j : W;
      int own[W];
      for (int l = 0; l < W; l++) {
        own[l] = index[j + (l < n ? l : 0)];
        offset[l] = (uint64_t)(at + own[l]);
        if (!fixed) for (int k = 0; k < $parameters; k++) p[k][l] = given[k][own[l]];
      }
      if (!fixed) tr_prepare_$name(p, q);
      tr_philox_any(g, offset, TR_ALL((uint64_t)attempt), w);
      tr_attempt_$name(w, q, &x, &rejected);
      const int bits = tr_bits(rejected);
      for (int l = 0; l < n; l++) {
        made[own[l]] = x[l];
        index[kept] = own[l];
        kept += bits >> l & 1;
      }
    }
  }
${finished}${stored}}
static int $name(int64_t n, char *const *p, const int64_t *s) {
  const tr_stream *g = (const tr_stream *)p[1];
  $Type *const o = ($Type *)g->base;
  int64_t at = ($Type *)p[0] - o, end = g->count - at < n * $step ? g->count : at + n * $step;
  (void)s;
  while (at < end) {
    const int64_t m = tr_together(g, (uint64_t)at, end - at < $batch ? end - at : $batch);
    ${name}_run(g, at, m, o + at);
    at += m;
  }
  return 0;
}
"""

_FINISH = """\
TR_PART void tr_finish_$name(const tr_stream *g, uint64_t offset, const tr_u64s *p, tr_u64s *made) {
$finish}
"""
_FINISHED = """\
  for (int64_t j = 0; j < m; j += W) {
    for (int k = 0; k < $parameters; k++) memcpy(p + k, given[k] + j, sizeof *p);
    memcpy(&x, made + j, sizeof x);
    tr_finish_$name(g, (uint64_t)(at + j), p, &x);
    memcpy(made + j, &x, sizeof x);
  }
"""
_STORED = "  memcpy(o, made, (size_t)m * 8);\n"
_ROUNDED = """\
#pragma omp simd
  for (int64_t j = 0; j < m; j++) o[j] = (float)((const double *)made)[j];
"""

PORTABLE_REJECTION = {
    "tr_pick tr_bits tr_number tr_round_down": _LANES,
    "tr_log1p tr_exp tr_stirling tr_gamma_shift": Template(_MATH).substitute(
        exp=polynomial("r", _EXP), above=polynomial("z", _ABOVE), below=polynomial("z", _BELOW)
    ),
}


def rejection_kernel(sampler: str, text: SamplerText, ctype: CType) -> str:
    """Return the text of the kernel of a sampler that may reject."""
    values = {
        "name": f"tr_draw_{sampler}_{ctype.short}", "Type": ctype.stored, "parameters": str(text.parameters),
        "Q": text.kind, "prepared": str(text.prepared),
        "prepare": text.prepare, "attempt": text.attempt, "batch": str(BATCH), "step": str(STEP),
        "stored": _ROUNDED if ctype.size == 4 else _STORED,
    }  # fmt: skip
    for part, whole in (("finish", _FINISH), ("finished", _FINISHED)):
        inner = Template(whole).safe_substitute(finish=text.finish) if text.finish else ""
        values[part] = Template(inner).substitute(values)
    return Template(_KERNEL).substitute(values)


def _kernel_of(stem: str) -> Callable[[CType], str] | None:
    text = SAMPLER_TEXTS.find(stem.removeprefix("tr_draw_")) if stem.startswith("tr_draw_") else None
    return None if text is None else partial(rejection_kernel, stem.removeprefix("tr_draw_"), text)


HELPERS.add_finder(_kernel_of)
