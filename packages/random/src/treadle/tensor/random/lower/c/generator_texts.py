"""C text of NumPy's generators: their states as NumPy's samplers read them, and loops over draws."""

from __future__ import annotations

from treadle.link.c import CORE

GENERATORS = {
    # The start is NumPy's bitgen_t. What follows the state serves samplers: room for what binomials keep between draws
    # of equal parameters, the length of vectors, the last parameter of Dirichlet's and whether its numbers are small.
    "tr_generator": """\
typedef struct { int has; uint32_t kept; } tr_half;
typedef struct {
  void *state;
  void *next[4];
  union {
    struct { void *numbers; tr_half half; } pcg64;
    struct { uint64_t numbers[4]; tr_half half; } sfc64;
    struct { void *counter, *key; int position; uint64_t buffer[4]; tr_half half; } philox;
    struct { uint32_t key[624]; int position; } mt19937;
  } as;
  uint64_t numbers[6] __attribute__((aligned(16)));
  uint64_t kind, binomial[32];
  int64_t core;
  const double *alpha;
  int small;
} tr_generator;
""",
    # Makes the state of words, which start with the generator's kind. functions: four for each kind.
    "tr_open_generator": """\
static int tr_open_generator(tr_generator *g, const tr_var *words, void *const *functions) {
  static const int64_t lengths[] = {6, 6, 6, 13, 314};
  uint64_t w[314], half;
  const int64_t n = words->n[0];
  if (!n || (g->kind = *(const uint64_t *)words->p) > 4 || n != lengths[g->kind]) return TR_SHAPE;
  for (int64_t i = 0; i < n; i++) w[i] = *(const uint64_t *)(words->p + i * words->s[0]);
  for (int k = 0; k < 4; k++) g->next[k] = functions[4 * g->kind + (uint64_t)k];
  memset(g->binomial, 0, sizeof g->binomial);
  g->alpha = 0;
  half = w[n - 1];
  const tr_half kept = {(int)(half & 1), (uint32_t)(half >> 32)};
  g->state = &g->as;
  if (g->kind == 4) {
    memcpy(g->as.mt19937.key, w + 1, sizeof g->as.mt19937.key);
    g->as.mt19937.position = (int)half;
  } else if (g->kind == 3) {
    memcpy(g->numbers, w + 1, 48);
    memcpy(g->as.philox.buffer, w + 7, 32);
    g->as.philox.counter = g->numbers;
    g->as.philox.key = g->numbers + 4;
    g->as.philox.position = (int)w[11];
    g->as.philox.half = kept;
  } else if (g->kind == 2) {
    memcpy(g->as.sfc64.numbers, w + 1, 32);
    g->as.sfc64.half = kept;
  } else {
    memcpy(g->numbers, w + 1, 32);
    g->as.pcg64.numbers = g->numbers;
    g->as.pcg64.half = kept;
  }
  return 0;
}
""",
    "tr_close_generator": """\
static int tr_close_generator(const tr_generator *g, tr_var *words, int64_t n) {
  int status;
  uint64_t *w;
  tr_half half = g->as.pcg64.half;
  words->n[0] = n;
  if ((status = tr_alloc(words, 1, 8))) return status;
  w = (uint64_t *)words->p;
  w[0] = g->kind;
  if (g->kind == 4) {
    memcpy(w + 1, g->as.mt19937.key, sizeof g->as.mt19937.key);
    w[n - 1] = (uint64_t)g->as.mt19937.position;
    return 0;
  }
  if (g->kind == 3) {
    memcpy(w + 1, g->numbers, 48);
    memcpy(w + 7, g->as.philox.buffer, 32);
    w[11] = (uint64_t)g->as.philox.position;
    half = g->as.philox.half;
  } else if (g->kind == 2) {
    memcpy(w + 1, g->as.sfc64.numbers, 32);
    half = g->as.sfc64.half;
  } else {
    memcpy(w + 1, g->numbers, 32);
  }
  w[n - 1] = (uint64_t)(half.has != 0) | (uint64_t)half.kept << 32;
  return 0;
}
""",
    # Elements one after the other, where other loops are shared among threads.
    "tr_in_order": CORE["tr_iterate"].replace("tr_iterate(", "tr_in_order("),
    # Runs a kernel of a generator and operands, each of its own rank, over the given lengths.
    "tr_draws": """\
static int tr_draws(tr_generator *g, tr_var *v, const int *ix, const int *rank, int ops, int nd, const int64_t *n,
                    tr_kernel k) {
  int64_t st[TR_ND][TR_OPS];
  char *p[TR_OPS];
  p[0] = (char *)g;
  for (int d = 0; d < nd; d++) st[d][0] = 0;
  for (int o = 0; o < ops; o++) {
    const tr_var *x = v + ix[o];
    p[o + 1] = x->p;
    for (int d = 0; d < nd; d++) {
      const int e = d - (nd - rank[o]);
      if (e >= 0 && x->n[e] != 1 && x->n[e] != n[d]) return TR_SHAPE;
      st[d][o + 1] = e < 0 ? 0 : x->s[e];
    }
  }
  return tr_in_order(ops + 1, nd, n, p, st, k);
}
""",
    # Runs it over the lengths that the operands broadcast to.
    "tr_check_draws": """\
static int tr_check_draws(tr_generator *g, tr_var *v, const int *ix, const int *rank, int ops, tr_kernel k) {
  int64_t n[TR_ND];
  int nd = 0;
  for (int o = 0; o < ops; o++) if (rank[o] > nd) nd = rank[o];
  for (int d = 0; d < nd; d++) {
    n[d] = 1;
    for (int o = 0; o < ops; o++) {
      const int e = d - (nd - rank[o]);
      if (e >= 0 && v[ix[o]].n[e] != 1) n[d] = v[ix[o]].n[e];
    }
  }
  return tr_draws(g, v, ix, rank, ops, nd, n, k);
}
""",
    "tr_not_negative": """\
static inline int tr_not_negative(double x) { return isnan(x) || !signbit(x); }
""",
    "tr_not_zero_or_less": """\
static inline int tr_not_zero_or_less(double x) { return !(x <= 0); }
""",
    "tr_not_greater": """\
static inline int tr_not_greater(double x, double y) { return !(x > y); }
""",
    "tr_is_finite": """\
static inline int tr_is_finite(double x) { return isfinite(x); }
""",
    # Sums of vectors as NumPy takes them, to compare with its bounds.
    "tr_is_multinomial": """\
static int tr_is_multinomial(const double *p, int64_t n) {
  double sum, rest = 0;
  if (!n) return 0;
  for (int64_t i = 0; i < n; i++) if (!(p[i] >= 0 && p[i] <= 1)) return 0;
  sum = n > 1 ? p[0] : 0;
  for (int64_t i = 1; i < n - 1; i++) {
    const double y = p[i] - rest, t = sum + y;
    rest = t - sum - y;
    sum = t;
  }
  return !(sum > 1.0 + 1e-12);
}
""",
    "tr_total": """\
/* -1: too many, or fewer than none. */
static int64_t tr_total(const int64_t *x, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) if (x[i] < 0 || (sum += x[i]) >= 1000000000 || x[i] >= 1000000000) return -1;
  return sum;
}
""",
    "tr_not_below_zero": """\
static int tr_not_below_zero(const double *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) if (x[i] < 0) return 0;
  return 1;
}
""",
    # Gamma draws over their sum, or where all parameters are small, pieces broken from a stick (as NumPy chooses).
    "tr_dirichlet": """\
static void tr_dirichlet(tr_generator *g, const double *alpha, double *y, int64_t n,
                         double (*gamma)(tr_generator *, double), double (*beta)(tr_generator *, double, double)) {
  double sum = 0;
  if (g->alpha != alpha) {
    g->alpha = alpha;
    g->small = n > 0;
    for (int64_t j = 0; j < n; j++) g->small &= alpha[j] < 0.1;
  }
  if (!g->small) {
    for (int64_t j = 0; j < n; j++) sum += y[j] = gamma(g, alpha[j]);
    const double factor = 1 / sum;
    for (int64_t j = 0; j < n; j++) y[j] *= factor;
    return;
  }
  /* y[j] holds the sum of the parameters from j on until piece j is drawn. */
  for (int64_t j = n - 1; j >= 0; j--) y[j] = sum += alpha[j];
  double left = 1;
  for (int64_t j = 0; j < n - 1; j++) {
    const double rest = y[j + 1], part = sum > 0 ? beta(g, alpha[j], rest) : 0;
    y[j] = left * part;
    left *= 1 - part;
    if (!(sum > 0) || rest == 0) { memset(y + j + 1, 0, (size_t)(n - j - 1) * sizeof *y); break; }
  }
  y[n - 1] = sum > 0 ? left : 0;
}
""",
    "tr_permute": """\
static void tr_permute(tr_generator *g, int64_t *y, int64_t n, uint64_t (*interval)(tr_generator *, uint64_t)) {
  for (int64_t i = n - 1; i > 0; i--) {
    const int64_t j = (int64_t)interval(g, (uint64_t)i), held = y[j];
    y[j] = y[i];
    y[i] = held;
  }
}
""",
}
