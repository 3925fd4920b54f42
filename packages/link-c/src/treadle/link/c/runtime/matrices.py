"""C text around bodies that work on one matrix: the loop over a stack, packing, results, what failure leaves."""

from __future__ import annotations

from string import Template

MATRICES = {
    # Where an operand or result stands, how many of its last dimensions are a matrix's, and of how many bytes its
    # elements are. by_columns: the body wants it so; writes: the body overwrites it; into: the result whose memory it
    # is put in, or -1; half: 1 for a lower triangle, 2 for an upper one, 4 more for one whose diagonal is not read, 0
    # for all. parts: bytes of the real numbers that are looked at where all have to be finite, 0 for integers.
    "tr_core": "typedef struct { int at, core, size, by_columns, writes, into, half, parts; } tr_core;\n",
    # Copies a matrix of r rows and c columns; the side of a triangle that is not wanted becomes 0. Blocks of columns
    # and rows stay in the cache where the source lies the other way.
    **{
        f"tr_pack{size}": Template("""\
static void tr_pack$size($Type *to, int64_t ld, const char *from, int64_t r, int64_t c, int64_t sr, int64_t sc,
                         int half) {
  if ((const char *)to != from) {
    const int across = sc != $size && c > 1;
    const int64_t rows = across ? 16 : r, columns = across ? 64 : c;
    for (int64_t jj = 0; jj < c; jj += columns) for (int64_t ii = 0; ii < r; ii += rows) {
      const int64_t right = c - jj < columns ? c : jj + columns, below = r - ii < rows ? r : ii + rows;
      if (!across) {
        for (int64_t i = ii; i < below; i++) {
          const int64_t first = half == 2 ? (i < c ? i : c) : 0, last = half == 1 ? (i + 1 < c ? i + 1 : c) : c;
          memcpy(to + i * ld + first, from + i * sr + first * $size, (size_t)(last - first) * $size);
        }
      } else {
        for (int64_t j = jj; j < right; j++) {
          const char *p = from + j * sc;
          for (int64_t i = ii; i < below; i++) to[i * ld + j] = *(const $Type *)(p + i * sr);
        }
      }
    }
  }
  if (half) for (int64_t i = 0; i < r; i++) {
    const int64_t first = half == 2 ? 0 : (i + 1 < c ? i + 1 : c), last = half == 2 ? (i < c ? i : c) : c;
    memset(to + i * ld + first, 0, (size_t)(last - first) * $size);
  }
}
""").substitute(size=size, Type=kind)
        for size, kind in ((4, "uint32_t"), (8, "uint64_t"), (16, "tr_pair"))
    },
    "tr_pack": """\
static void tr_pack(int size, char *to, int64_t ld, const char *from, int64_t r, int64_t c, int64_t sr, int64_t sc,
                    int half) {
  if (size == 4) tr_pack4((uint32_t *)to, ld, from, r, c, sr, sc, half);
  else if (size == 8) tr_pack8((uint64_t *)to, ld, from, r, c, sr, sc, half);
  else tr_pack16((tr_pair *)to, ld, from, r, c, sr, sc, half);
}
""",
    **{
        f"tr_finite_{short}": Template("""\
/* Whether all numbers of rows are finite, or those of a triangle: 0 times any other is NaN. */
static int tr_finite_$short(const char *p, int64_t r, int64_t c, int64_t sr, int64_t sc, int64_t each, int half) {
  $Real sum = 0;
  const int dense = c <= 1 || sc == each * (int64_t)sizeof($Real);
  for (int64_t i = 0; i < r; i++) {
    const int64_t on = half & 4 ? 0 : 1, below = i + on < c ? i + on : c, after = i + 1 - on < c ? i + 1 - on : c;
    const int64_t first = half & 2 ? after : 0, last = half & 1 ? below : c;
    const char *row = p + i * sr;
    const $Real *x = (const $Real *)row;
    if (dense) {
#pragma omp simd reduction(+ : sum)
      for (int64_t j = first * each; j < last * each; j++) sum += x[j] * 0;
    } else {
      for (int64_t j = first; j < last; j++) for (int64_t k = 0; k < each; k++)
        sum += ((const $Real *)(row + j * sc))[k] * 0;
    }
  }
  return sum == 0;
}
""").substitute(short=short, Real=kind)
        for short, kind in (("f32", "float"), ("f64", "double"))
    },
    "tr_finite": """\
static int tr_finite(const tr_core *t, const char *p, int64_t r, int64_t c, int64_t sr, int64_t sc) {
  int half = t->half;
  if (sr < sc && c > 1) {
    const int64_t n = r, s = sr;
    r = c, c = n, sr = sc, sc = s;
    if (half) half ^= 3;
  }
  if (t->parts == 4) return tr_finite_f32(p, r, c, sr, sc, t->size / 4, half);
  return t->parts == 0 || tr_finite_f64(p, r, c, sr, sc, t->size / 8, half);
}
""",
    # What a matrix without a result has in its place: NaN, and 0 in integers.
    "tr_fail": """\
static void tr_fail(const tr_core *t, char *p, int64_t count) {
  memset(p, 0, (size_t)(count * t->size));
  if (t->parts == 4) for (int64_t i = 0; i < count; i++) *(float *)(p + i * t->size) = NAN;
  if (t->parts == 8) for (int64_t i = 0; i < count; i++) *(double *)(p + i * t->size) = NAN;
}
""",
    # The lengths that the stacks broadcast to, and memory for the results: that of an operand which nothing needs
    # after where it is told so (free).
    "tr_stacks": """\
static int tr_stacks(tr_var *v, const tr_core *t, int nin, int nout, int nd, uint64_t free) {
  int status;
  for (int k = nin; k < nin + nout; k++) {
    tr_var *o = v + t[k].at;
    int done = 0;
    for (int d = 0; d < nd; d++) {
      o->n[d] = 1;
      for (int i = 0; i < nin; i++) {
        const int64_t n = v[t[i].at].n[d];
        if (n == 1) continue;
        if (o->n[d] != 1 && o->n[d] != n) return TR_SHAPE;
        o->n[d] = n;
      }
    }
    for (int i = 0; i < nin && !done; i++)
      if (t[i].into == k - nin && free >> i & 1) done = tr_overwrite(o, v + t[i].at, nd + t[k].core, t[k].size);
    if (!done && (status = tr_alloc(o, nd + t[k].core, t[k].size))) return status;
  }
  return 0;
}
""",
    # Calls a body for each matrix of a stack. It gets pointers to its operands, its results and its scratch memory (p),
    # and for each operand and result two lengths and the distance of rows or columns in elements, then what it needs
    # of scratch (s); called with 0, it says how much that is.
    "tr_matrices": """\
static int tr_matrices(tr_var *v, const tr_core *t, int nin, int nout, int nd, int needs, int scratch, uint64_t free,
                       int raises, int finite, tr_kernel body) {
  const int all = nin + nout;
  int64_t s[3 * all + 2 * needs + 1], packed[all], i[TR_ND] = {0}, total = 0;
  char *at[all], *p[all + 1], *known[all];
  char small[1024] __attribute__((aligned(64))), *base = small;
  int status;
  if ((status = tr_stacks(v, t, nin, nout, nd, free))) return status;
  for (int k = 0; k < all; k++) {
    const tr_var *x = v + t[k].at;
    const int64_t r = t[k].core == 2 ? x->n[nd] : 1, c = t[k].core ? x->n[nd + t[k].core - 1] : 1;
    const int64_t sr = t[k].core == 2 ? x->s[nd] : 0, sc = t[k].core ? x->s[nd + t[k].core - 1] : 0;
    const int64_t size = t[k].size, outer = t[k].by_columns ? c : r, inner = t[k].by_columns ? r : c;
    const int64_t so = t[k].by_columns ? sc : sr, si = t[k].by_columns ? sr : sc;
    if (r > INT32_MAX || c > INT32_MAX) return TR_TOO_LONG;
    s[3 * k] = t[k].core == 1 ? c : r;
    s[3 * k + 1] = c;
    s[3 * k + 2] = inner > 1 ? inner : 1;
    at[k] = x->p;
    known[k] = 0;
    packed[k] = -1;
    if (t[k].into >= 0) continue;
    if (!(k < nin && t[k].writes) && (inner <= 1 || si == size) &&
        (outer <= 1 || (so >= inner * size && so % size == 0 && so / size <= INT32_MAX))) {
      if (outer > 1) s[3 * k + 2] = so / size > 1 ? so / size : 1;
    } else {
      packed[k] = total;
      total += (r * c * size + 63) & ~(int64_t)63;
    }
  }
  for (int k = 0; k < nin; k++) if (t[k].into >= 0) {
    packed[k] = packed[nin + t[k].into];
    s[3 * k + 2] = s[3 * (nin + t[k].into) + 2];
  }
  for (int d = 0; d < nd; d++) if (v[t[nin].at].n[d] == 0) return 0;
  s[3 * all + 2 * needs] = 0;
  body(0, p, s);
  if (total + s[3 * all + 2 * needs] > (int64_t)sizeof small) {
    if ((status = tr_take(v + scratch, total + s[3 * all + 2 * needs]))) return status;
    base = v[scratch].p;
  }
  for (;;) {
    int d, bad = 0;
    for (int k = 0; k < all; k++)
      p[k] = packed[k] >= 0 ? base + packed[k] : k < nin && t[k].into >= 0 ? at[nin + t[k].into] : at[k];
    p[all] = base + total;
    for (int k = 0; k < nin; k++) {
      const tr_var *x = v + t[k].at;
      const int64_t r = t[k].core == 2 ? x->n[nd] : 1, c = t[k].core ? x->n[nd + t[k].core - 1] : 1;
      const int64_t sr = t[k].core == 2 ? x->s[nd] : 0, sc = t[k].core ? x->s[nd + t[k].core - 1] : 0;
      if (finite && !bad && !tr_finite(t + k, at[k], r, c, sr, sc)) bad = 1;
      if (p[k] == at[k] ? !t[k].half || !t[k].writes : known[k] == at[k]) continue;
      if (!t[k].writes) known[k] = at[k];
      if (t[k].by_columns)
        tr_pack(t[k].size, p[k], s[3 * k + 2], at[k], c, r, sc, sr, t[k].half ? 3 - (t[k].half & 3) : 0);
      else tr_pack(t[k].size, p[k], s[3 * k + 2], at[k], r, c, sr, sc, t[k].half & 3);
    }
    if (!bad) bad = body(1, p, s) != 0;
    if (bad && raises) return TR_MATRIX;
    for (int k = nin; k < all; k++) {
      const int64_t r = t[k].core == 2 ? s[3 * k] : 1, c = s[3 * k + 1];
      if (bad) tr_fail(t + k, at[k], r * c);
      else if (packed[k] >= 0) tr_pack(t[k].size, at[k], c, p[k], r, c, t[k].size, s[3 * k + 2] * t[k].size, 0);
    }
    for (d = nd - 1; d >= 0; d--) {
      const int64_t n = v[t[nin].at].n[d];
      i[d]++;
      for (int k = 0; k < all; k++) at[k] += v[t[k].at].s[d];
      if (i[d] < n) break;
      for (int k = 0; k < all; k++) at[k] -= v[t[k].at].s[d] * n;
      i[d] = 0;
    }
    if (d < 0) return 0;
  }
}
""",
}
