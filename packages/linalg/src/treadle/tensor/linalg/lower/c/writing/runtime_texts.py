"""C text around bodies that work on one matrix: the loop over a stack, packing, results, and failures."""

from __future__ import annotations

from string import Template

from treadle.link.c import HELPERS

MATRICES = {
    # Where an operand or result stands, how many of its last dimensions are a matrix's, of how many bytes its elements
    # are, and the result whose memory it is put in, or -1.
    "tr_core": "typedef struct { int at, core, size, into; } tr_core;\n",
    # What a matrix without a result has in its place: NaN.
    "tr_fail": """\
static void tr_fail(const tr_core *t, char *p, int64_t count) {
  if (t->size == 4) for (int64_t i = 0; i < count; i++) ((float *)p)[i] = NAN;
  else for (int64_t i = 0; i < count; i++) ((double *)p)[i] = NAN;
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
    # Whether a stack is of small matrices, and of how many at least.
    "tr_is_small": """\
static int tr_is_small(const tr_var *v, const tr_core *t, int nin, int nd, int64_t most, int64_t least) {
  int64_t count = 1;
  for (int d = 0; d < nd; d++) {
    int64_t n = 1;
    for (int k = 0; k < nin; k++) if (v[t[k].at].n[d] != 1) n = v[t[k].at].n[d];
    count *= n;
  }
  for (int k = 0; k < nin; k++)
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
        f"tr_w_{short} tr_m_{short} tr_w_sqrt_{short} tr_w_abs_{short} tr_w_pick_{short} "
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
}

HELPERS.add(MATRICES, {})
