"""C text around bodies that work on one matrix: the loop over a stack, packing, results, and failures."""

from __future__ import annotations

from string import Template

from treadle.link.c import HELPERS

MATRICES = {
    # Where an operand or result stands, how many of its last dimensions are a matrix's, and of how many bytes its
    # elements are. order: whether the body wants it by rows (0), by columns (1) or does not care (2); writes: the body
    # overwrites it; into: the result whose memory it is put in, or -1; half: 1 for a lower triangle, 2 for an upper
    # one, 4 more for one whose diagonal is not read, 0 for all. parts: bytes of the real numbers that elements consist
    # of, 0 for integers. pack: what copies a matrix; finite: what looks at its numbers, if they have to be finite.
    "tr_core": """\
typedef struct {
  int at, core, size, order, writes, into, half, parts;
  void (*pack)(char *, int64_t, const char *, int64_t, int64_t, int64_t, int64_t, int);
  int (*finite)(const char *, int64_t, int64_t, int64_t, int64_t, int64_t, int);
} tr_core;
""",
    # Copies a matrix of r rows and c columns; the side of a triangle that is not wanted becomes 0. Blocks of columns
    # and rows stay in the cache where the source lies the other way.
    **{
        f"tr_pack{size}": Template("""\
static void tr_pack$size(char *place, int64_t ld, const char *from, int64_t r, int64_t c, int64_t sr, int64_t sc,
                         int half) {
  $Type *const to = ($Type *)place;
  if (place != from) {
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
        for (int64_t i = ii; i < below; i++) {
          const char *p = from + i * sr;
          for (int64_t j = jj; j < right; j++) to[i * ld + j] = *(const $Type *)(p + j * sc);
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
        for size, kind in ((1, "uint8_t"), (2, "uint16_t"), (4, "uint32_t"), (8, "uint64_t"), (16, "tr_pair"))
    },
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
  return t->finite(p, r, c, sr, sc, t->size / t->parts, half);
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
    # and of each operand and result two lengths, the distance of rows or columns in elements, and whether it lies by
    # columns, then what it needs of scratch (s); called with 0, it says how much that is.
    "tr_matrices": """\
static int tr_matrices(tr_var *v, const tr_core *t, int nin, int nout, int nd, int needs, int scratch, uint64_t free,
                       int raises, tr_kernel body) {
  const int all = nin + nout;
  int64_t s[4 * all + 2 * needs + 1], packed[all], i[TR_ND] = {0}, total = 0, (*m)[4] = (int64_t (*)[4])s;
  struct { int64_t r, c, sr, sc; } x[all];
  char *at[all], *p[all + 1], *known[all];
  char small[1024] __attribute__((aligned(64))), *base = small;
  int status;
  if ((status = tr_stacks(v, t, nin, nout, nd, free))) return status;
  const int64_t *n = v[t[nin].at].n;
  for (int k = 0; k < all; k++) {
    tr_var *o = v + t[k].at;
    const int64_t r = x[k].r = t[k].core == 2 ? o->n[nd] : 1, c = x[k].c = t[k].core ? o->n[nd + t[k].core - 1] : 1;
    const int64_t sr = x[k].sr = t[k].core == 2 ? o->s[nd] : 0, sc = x[k].sc = t[k].core ? o->s[nd + t[k].core - 1] : 0;
    const int64_t size = t[k].size;
    const int by_columns = t[k].order == 2 ? r > 1 && c > 1 && sc > sr : t[k].order;
    const int64_t outer = by_columns ? c : r, inner = by_columns ? r : c, so = by_columns ? sc : sr;
    int there = (inner <= 1 || (by_columns ? sr : sc) == size) &&
                (outer <= 1 || (so >= inner * size && so % size == 0 && so / size <= INT32_MAX));
    if (r > INT32_MAX || c > INT32_MAX) return TR_TOO_LONG;
    if (k < nin && t[k].writes) {
      there = there && free >> k & 1 && o->own;
      for (int d = 0; d < nd; d++) there = there && o->n[d] == n[d];
    }
    m[k][0] = t[k].core == 1 ? c : r;
    m[k][1] = c;
    m[k][2] = inner > 1 ? inner : 1;
    m[k][3] = by_columns;
    at[k] = o->p;
    known[k] = 0;
    packed[k] = -1;
    if (t[k].into >= 0) continue;
    if (!there) {
      packed[k] = total;
      total += (r * c * size + 63) & ~(int64_t)63;
    } else if (outer > 1 && so > size) m[k][2] = so / size;
  }
  for (int k = 0; k < nin; k++) if (t[k].into >= 0) {
    packed[k] = packed[nin + t[k].into];
    m[k][2] = m[nin + t[k].into][2];
  }
  for (int d = 0; d < nd; d++) if (n[d] == 0) return 0;
  s[4 * all + 2 * needs] = 0;
  body(0, p, s);
  if (total + s[4 * all + 2 * needs] > (int64_t)sizeof small) {
    if ((status = tr_take(v + scratch, total + s[4 * all + 2 * needs]))) return status;
    base = v[scratch].p;
  }
  for (;;) {
    int d, bad = 0;
    for (int k = 0; k < all; k++)
      p[k] = packed[k] >= 0 ? base + packed[k] : k < nin && t[k].into >= 0 ? at[nin + t[k].into] : at[k];
    p[all] = base + total;
    for (int k = 0; k < nin; k++) {
      const int half = t[k].half & 3;
      if (t[k].finite && !bad && !tr_finite(t + k, at[k], x[k].r, x[k].c, x[k].sr, x[k].sc)) bad = 1;
      if (p[k] == at[k] ? !half || !t[k].writes : known[k] == at[k]) continue;
      if (!t[k].writes) known[k] = at[k];
      if (m[k][3]) t[k].pack(p[k], m[k][2], at[k], x[k].c, x[k].r, x[k].sc, x[k].sr, half ? 3 - half : 0);
      else t[k].pack(p[k], m[k][2], at[k], x[k].r, x[k].c, x[k].sr, x[k].sc, half);
    }
    if (!bad) bad = body(1, p, s) != 0;
    if (bad && raises) return TR_MATRIX;
    for (int k = nin; k < all; k++) {
      if (bad) tr_fail(t + k, at[k], x[k].r * x[k].c);
      else if (packed[k] >= 0)
        t[k].pack(at[k], x[k].c, p[k], x[k].r, x[k].c, t[k].size, m[k][2] * t[k].size, 0);
    }
    for (d = nd - 1; d >= 0; d--) {
      i[d]++;
      for (int k = 0; k < all; k++) at[k] += v[t[k].at].s[d];
      if (i[d] < n[d]) break;
      for (int k = 0; k < all; k++) at[k] -= v[t[k].at].s[d] * n[d];
      i[d] = 0;
    }
    if (d < 0) return 0;
  }
}
""",
    # Whether a stack is of small matrices, and of how many at least.
    "tr_is_small": """\
static int tr_is_small(const tr_var *v, const tr_core *t, int nin, int nout, int nd, int64_t most,
                       int64_t least) {
  int64_t count = 1;
  for (int d = 0; d < nd; d++) {
    int64_t n = 1;
    for (int k = 0; k < nin; k++) if (v[t[k].at].n[d] != 1) n = v[t[k].at].n[d];
    count *= n;
  }
  for (int k = 0; k < nin + nout; k++)
    for (int d = nd; d < nd + t[k].core; d++) if (v[t[k].at].n[d] > most) return 0;
  return count >= least;
}
""",
    # Eight matrices are woven into one: element after element, those of all eight together.
    **{
        f"tr_weave{size} tr_unweave{size} tr_four{size}": Template("""\
typedef $Type tr_four$size __attribute__((vector_size(4 * $size)));
#ifdef __clang__
#define TR_MIX$size(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define TR_MIX$size(a, b, i, j, k, l) __builtin_shuffle(a, b, (tr_four$size){i, j, k, l})
#endif
/* Turns four by four elements. */
static inline void tr_turn$size(tr_four$size *x) {
  const tr_four$size a = TR_MIX$size(x[0], x[1], 0, 4, 2, 6), b = TR_MIX$size(x[0], x[1], 1, 5, 3, 7);
  const tr_four$size c = TR_MIX$size(x[2], x[3], 0, 4, 2, 6), d = TR_MIX$size(x[2], x[3], 1, 5, 3, 7);
  x[0] = TR_MIX$size(a, c, 0, 1, 4, 5);
  x[1] = TR_MIX$size(b, d, 0, 1, 4, 5);
  x[2] = TR_MIX$size(a, c, 2, 3, 6, 7);
  x[3] = TR_MIX$size(b, d, 2, 3, 6, 7);
}
static void tr_weave$size($Type *to, char *const *from, int64_t r, int64_t c, int64_t sr, int64_t sc) {
  if ((sc == $size || c == 1) && (r == 1 || sr == c * $size)) { c *= r; r = 1; sc = $size; }
  for (int64_t i = 0; i < r; i++) {
    int64_t j = 0;
    for (; sc == $size && j + 4 <= c; j += 4, to += 32) for (int h = 0; h < 8; h += 4) {
      tr_four$size x[4];
      for (int l = 0; l < 4; l++) memcpy(x + l, from[h + l] + i * sr + j * $size, sizeof *x);
      tr_turn$size(x);
      for (int l = 0; l < 4; l++) memcpy(to + 8 * l + h, x + l, sizeof *x);
    }
    for (; j < c; j++, to += 8) for (int l = 0; l < 8; l++) to[l] = *(const $Type *)(from[l] + i * sr + j * sc);
  }
}
static void tr_unweave$size(const $Type *from, char *const *to, int64_t count) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4, from += 32) for (int h = 0; h < 8; h += 4) {
    tr_four$size x[4];
    for (int l = 0; l < 4; l++) memcpy(x + l, from + 8 * l + h, sizeof *x);
    tr_turn$size(x);
    for (int l = 0; l < 4; l++) memcpy(to[h + l] + j * $size, x + l, sizeof *x);
  }
  for (; j < count; j++, from += 8) for (int l = 0; l < 8; l++) *($Type *)(to[l] + j * $size) = from[l];
}
""").substitute(size=size, Type=kind)
        for size, kind in ((4, "uint32_t"), (8, "uint64_t"))
    },
    # Calls a body for eight woven matrices at a time; it returns a bit for each that has no result. What the last call
    # lacks are copies of the last matrix, whose results go where the last one's stand.
    "tr_lanes": """\
static int tr_lanes(tr_var *v, const tr_core *t, int nin, int nout, int nd, int scratch, uint64_t free, int raises,
                    tr_kernel body) {
  const int all = nin + nout;
  int64_t s[4 * all], (*m)[4] = (int64_t (*)[4])s, i[TR_ND] = {0}, place[all], total = 0;
  char *at[all], *p[all], *own[all][8];
  int status, ends = 0;
  if ((status = tr_stacks(v, t, nin, nout, nd, free))) return status;
  const int64_t *n = v[t[nin].at].n;
  for (int k = all; k-- > 0;) {
    const tr_var *x = v + t[k].at;
    m[k][0] = t[k].core ? x->n[nd] : 1;
    m[k][1] = m[k][2] = t[k].core ? x->n[nd + t[k].core - 1] : 1;
    m[k][3] = 0;
    at[k] = x->p;
    place[k] = t[k].into >= 0 ? place[nin + t[k].into] : total;
    if (t[k].into < 0) total += ((t[k].core == 2 ? m[k][0] : 1) * m[k][1] * t[k].size * 8 + 63) & ~(int64_t)63;
  }
  if ((status = tr_take(v + scratch, total + 64))) return status;
  for (int k = 0; k < all; k++)
    p[k] = (char *)(((uintptr_t)v[scratch].p + 63) & ~(uintptr_t)63) + place[k];
  while (!ends) {
    int lanes = 0, bad;
    for (int l = 0; l < 8; l++) {
      int d;
      if (ends) { for (int k = 0; k < all; k++) own[k][l] = own[k][l - 1]; continue; }
      for (int k = 0; k < all; k++) own[k][l] = at[k];
      lanes = l + 1;
      for (d = nd - 1; d >= 0; d--) {
        i[d]++;
        for (int k = 0; k < all; k++) at[k] += v[t[k].at].s[d];
        if (i[d] < n[d]) break;
        for (int k = 0; k < all; k++) at[k] -= v[t[k].at].s[d] * n[d];
        i[d] = 0;
      }
      ends = d < 0;
    }
    for (int k = 0; k < nin; k++) {
      const tr_var *x = v + t[k].at;
      const int64_t r = t[k].core == 2 ? m[k][0] : 1, c = m[k][1], sr = t[k].core == 2 ? x->s[nd] : 0;
      const int64_t sc = t[k].core ? x->s[nd + t[k].core - 1] : 0;
      if (t[k].size == 4) tr_weave4((uint32_t *)p[k], own[k], r, c, sr, sc);
      else tr_weave8((uint64_t *)p[k], own[k], r, c, sr, sc);
    }
    bad = body(1, p, s) & ((1 << lanes) - 1);
    if (bad && raises) return TR_MATRIX;
    for (int k = nin; k < all; k++) {
      const int64_t count = (t[k].core == 2 ? m[k][0] : 1) * m[k][1];
      if (t[k].size == 4) tr_unweave4((const uint32_t *)p[k], own[k], count);
      else tr_unweave8((const uint64_t *)p[k], own[k], count);
      for (int l = 0; l < lanes; l++) if (bad >> l & 1) tr_fail(t + k, own[k][l], count);
    }
  }
  return 0;
}
""",
    # Eight numbers, and what tells some of them from the others: -1 where it holds, else 0.
    **{
        f"tr_w_{short} tr_m_{short} tr_w_sqrt_{short} tr_w_abs_{short} tr_w_log_{short} tr_w_pick_{short} "
        f"tr_w_any_{short} tr_w_swap_{short}": Template("""\
typedef $Real tr_w_$short __attribute__((vector_size(8 * sizeof($Real))));
typedef $Whole tr_m_$short __attribute__((vector_size(8 * sizeof($Real))));
static inline void tr_w_sqrt_$short(tr_w_$short *x) {
  $Real y[8];
  memcpy(y, x, sizeof y);
#pragma omp simd
  for (int l = 0; l < 8; l++) y[l] = sqrt$suffix(y[l]);
  memcpy(x, y, sizeof y);
}
static inline void tr_w_log_$short(tr_w_$short *x) { for (int l = 0; l < 8; l++) (*x)[l] = log$suffix((*x)[l]); }
#define tr_w_abs_$short(x) ((tr_w_$short)((tr_m_$short)(x) & $most))
#define tr_w_swap_$short(m, x, y) \\
  { const tr_w_$short tr_x = x, tr_y = y; x = tr_w_pick_$short(m, tr_y, tr_x); y = tr_w_pick_$short(m, tr_x, tr_y); }
#define tr_w_pick_$short(m, x, y) ((tr_w_$short)(((tr_m_$short)(x) & (m)) | ((tr_m_$short)(y) & ~(m))))
static inline int tr_w_any_$short(const tr_m_$short *x) {
  int bits = 0;
  for (int l = 0; l < 8; l++) bits |= ((*x)[l] != 0) << l;
  return bits;
}
""").substitute(short=short, Real=kind, Whole=integer, suffix=suffix, most=most)
        for short, kind, integer, suffix, most in (
            ("f32", "float", "int32_t", "f", "INT32_MAX"),
            ("f64", "double", "int64_t", "", "INT64_MAX"),
        )
    },
    "tr_w_gt": "#define tr_w_gt(x, y) ((x) > (y))\n",
    "tr_w_eq": "#define tr_w_eq(x, y) ((x) == (y))\n",
    # The same for one number.
    "tr_one_gt": "#define tr_one_gt(x, y) (-(int64_t)((x) > (y)))\n",
    "tr_one_eq": "#define tr_one_eq(x, y) (-(int64_t)((x) == (y)))\n",
    "tr_one_any": "#define tr_one_any(x) (*(x))\n",
    "tr_one_pick": "#define tr_one_pick(m, x, y) ((m) ? (x) : (y))\n",
    **{
        f"tr_one_{name}_{short}": text.format(Real=kind, short=short, suffix=suffix)
        for name, text in (
            ("sqrt", "static inline void tr_one_sqrt_{short}({Real} *x) {{ *x = sqrt{suffix}(*x); }}\n"),
            ("log", "static inline void tr_one_log_{short}({Real} *x) {{ *x = log{suffix}(*x); }}\n"),
            ("swap", "#define tr_one_swap_{short}(m, x, y) {{ const {Real} tr_x = x; x = y; y = tr_x; }}\n"),
        )
        for short, kind, suffix in (("f32", "float", "f"), ("f64", "double", ""))
    },
}

HELPERS.add(MATRICES, {})
