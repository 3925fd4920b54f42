"""C text of fused reductions: a kernel runs over tiles, and each tile is combined while it is in cache."""

from __future__ import annotations

FUSED = {
    # The loops over kept dimensions are numbered 0, those over reduced ones 1; in each, the innermost comes first.
    "tr_loops tr_add_loop": """\
typedef struct {
  int ops, count[2], inner;
  int64_t n[2][TR_ND], s[2][TR_ND][TR_OPS], i[2][TR_ND], total[2];
  char *p[TR_OPS], *q[TR_OPS];
} tr_loops;
static void tr_add_loop(tr_loops *t, int c, int64_t n, const int64_t *s) {
  const int m = t->count[c];
  int o = 0;
  if (m) {
    while (o < t->ops && s[o] == t->s[c][m - 1][o] * t->n[c][m - 1]) o++;
    if (o == t->ops) { t->n[c][m - 1] *= n; return; }
  }
  if (t->inner < 0) t->inner = c;
  for (o = 0; o < t->ops; o++) t->s[c][m][o] = s[o];
  t->n[c][m] = n;
  t->count[c]++;
}
""",
    # How a tile is cut: j walks over kept elements, i over reduced ones, jt and it at a time; the loops beyond these
    # begin at first[0] and first[1].
    "tr_plan tr_make_plan": """\
typedef struct { int64_t jn, jt, in, it, joined; int first[2]; } tr_plan;
static void tr_make_plan(const tr_loops *t, int nin, const tr_reducer *const *red, int64_t tile, int64_t most,
                         tr_plan *l) {
  const int c = t->inner;
  const int64_t run = t->n[c][0];
  int o = 0;
  /* Short runs that follow each other evenly are computed together; rows of more than 16 are each reduced after. */
  if (run <= (c ? most : tile / 4) && run <= tile / 2)
    while (o < t->ops && ((o >= nin && red[o - nin]) || t->s[!c][0][o] == run * t->s[c][0][o])) o++;
  l->joined = o == t->ops ? run : 0;
  l->jn = c && !l->joined ? 1 : t->n[0][0];
  l->in = !c == !l->joined ? 1 : t->n[1][0];
  l->jt = c ? (l->joined ? tile / run : 1) : (l->joined ? run : tile);
  l->it = c ? (l->joined ? 1 : tile) : (l->joined ? tile / run : 1);
  l->first[0] = !c || l->joined;
  l->first[1] = c || l->joined;
}
""",
    "tr_combine": """\
/* Combine what the kernel made of a tile into the accumulators of the elements that are kept. */
static void tr_combine(const tr_reducer *r, const tr_plan *l, int c, int64_t kept, int64_t reduced, int64_t size,
                       const char *p, char *acc) {
  if (l->joined > 16 && c) r->each(kept, l->joined * size, l->joined, p, size, acc);
  else if (l->joined && c) r->rows(l->joined, size, kept, p, l->joined * size, acc);
  else if (c) r->row(reduced, p, size, acc);
  else r->rows(reduced, l->joined * size, kept, p, size, acc);
}
""",
    # size: bytes of an element of each of the kernel's results; red: how each is reduced, or 0 where it is stored.
    "tr_fused": """\
static int tr_fused(tr_var *v, const int *ix, int nin, int nout, int nd, uint64_t mask, const unsigned char *size,
                    const uint64_t *free, tr_kernel k, const tr_reducer *const *red, tr_row_sums sums) {
  double buffer[4096] __attribute__((aligned(64)));
  int64_t n[TR_ND], acc[4096] __attribute__((aligned(64))), tile = 2048;
  tr_loops t;
  tr_plan l;
  int o, d, at, status, order[TR_ND], reduced = 0, words = 1, each = 1;
  t.ops = nin + nout;
  t.inner = -1;
  for (int c = 0; c < 2; c++) {
    t.count[c] = 0;
    t.total[c] = 1;
    for (d = 0; d < TR_ND; d++) t.i[c][d] = 0;
  }
  if ((status = tr_broadcast(v, ix, nin, nd, n))) return status;
  for (o = 0; o < t.ops; o++) {
    tr_var *x = v + ix[o];
    if (o >= nin) {
      const tr_reducer *r = red[o - nin];
      int e = 0;
      for (d = 0; d < nd; d++) if (!r || !(mask >> d & 1)) x->n[e++] = n[d];
      if ((status = tr_result(v, ix, x, e, r ? r->out_size : size[o - nin], free ? free[o - nin] : 0))) return status;
      reduced += r != 0;
      each = each && (!r || r->each(0, 0, 0, 0, size[o - nin], 0));
      if (r && (size[o - nin] > 8 || r->size > 8)) words = 2;
    }
    t.p[o] = x->p;
  }
  int64_t st[TR_ND][TR_OPS], step = 1;
  for (d = nd - 1; d >= 0; d--) {
    const int kept = !(mask >> d & 1);
    for (o = 0; o < t.ops; o++) {
      const tr_reducer *r = o < nin ? 0 : red[o - nin];
      st[d][o] = r ? kept * step * r->out_size : v[ix[o]].s[d];
    }
    if (kept) step *= n[d];
    t.total[!kept] *= n[d];
  }
  if (t.total[1] == 0) {
    for (o = nin; o < t.ops && !status; o++)
      if (red[o - nin]) status = tr_reduce_none(red[o - nin], t.total[0], t.p[o]);
    return status;
  }
  if (t.total[0] == 0) return 0;
  const int dims = tr_inner_first(reduced == nout ? nin : t.ops, nd, n, st[0], TR_OPS, order);
  for (d = 0; d < dims; d++) tr_add_loop(&t, mask >> order[d] & 1, n[order[d]], st[order[d]]);
  for (int c = 0; c < 2; c++) {
    if (t.count[c]) continue;
    t.n[c][0] = t.count[c] = 1;
    for (o = 0; o < t.ops; o++) t.s[c][0][o] = 0;
  }
  if (t.inner < 0) t.inner = 1;
  /* Rows of a tile at most are added up one after another, longer ones tile by tile. */
  const int added = sums && t.inner && t.n[1][0] * red[0]->size >= 64 && sums(0, 0, t.p, t.s[0][0], t.s[1][0], acc);
  const int by_rows = added && (t.count[0] > 1 || t.n[0][0] > 1) && t.count[1] == 1 && t.n[1][0] <= tile;
  /* Long tiles: of kept elements, so that rows are run through in long pieces. They fit a first-level cache. */
  while (tile * words * reduced > 4096) tile /= 2;
  tr_make_plan(&t, nin, red, tile, each && t.count[1] == 1 ? tile / 2 : 16, &l);
  /* Few elements make one: kept ones, which are more, are run through instead. Stored results need their order. */
  if (t.inner && !l.joined && reduced == nout && t.n[1][0] <= 16 && t.n[0][0] > t.n[1][0]) {
    t.inner = 0;
    tr_make_plan(&t, nin, red, tile, 16, &l);
  }
  if (by_rows) l = (tr_plan){t.n[0][0], tile, 1, 1, 0, {1, 1}};
  const int c = by_rows ? 0 : t.inner, tiled = added && c && !l.joined;
  const int64_t span = tile * words;
  do {
    for (int64_t j = 0; j < l.jn; j += l.jt) {
      const int64_t kept = l.jn - j < l.jt ? l.jn - j : l.jt;
      for (o = nin, at = 0; o < t.ops && !by_rows; o++) {
        if (!red[o - nin]) continue;
        acc[at * span] = acc[at * span + 1] = 0;
        red[o - nin]->start(kept, (char *)(acc + at++ * span));
      }
      do {
        for (int64_t i = 0; i < l.in; i += l.it) {
          const int64_t m = l.in - i < l.it ? l.in - i : l.it;
          for (o = 0, at = 0; o < t.ops; o++) {
            if (o >= nin && red[o - nin]) t.q[o] = (char *)(buffer + at++ * span);
            else t.q[o] = t.p[o] + j * t.s[0][0][o] + i * t.s[1][0][o];
          }
          if (by_rows) { sums(kept, t.n[1][0], t.q, t.s[0][0], t.s[1][0], acc); continue; }
          if (tiled) sums(1, m, t.q, t.s[0][0], t.s[1][0], buffer);
          else if ((status = k(kept * m * (c && l.joined ? l.joined : 1), t.q, t.s[c][0]))) return status;
          for (o = nin, at = 0; o < t.ops; o++)
            if (red[o - nin])
              tr_combine(red[o - nin], &l, c, kept, tiled ? 1 : m, size[o - nin], t.q[o], (char *)(acc + at++ * span));
        }
      } while (tr_step(l.first[1], t.count[1], t.n[1], t.s[1], t.i[1], t.ops, t.p));
      for (o = nin, at = 0; o < t.ops; o++) {
        const tr_reducer *r = red[o - nin];
        if (!r) continue;
        if (c && !l.joined && r->settle) r->settle((char *)(acc + at * span));
        tr_finish(r, kept, (char *)(acc + at++ * span), t.p[o] + j * t.s[0][0][o], t.s[0][0][o]);
      }
    }
  } while (tr_step(l.first[0], t.count[0], t.n[0], t.s[0], t.i[0], t.ops, t.p));
  return 0;
}
""",
}
