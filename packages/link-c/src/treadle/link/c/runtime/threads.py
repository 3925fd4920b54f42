"""C text that shares loops among threads by OpenMP: around the loops for one thread, which stay as they are.

Results do not depend on how many threads there are: elementwise loops compute each element by itself, and reductions
are cut into parts that depend on lengths alone. Parts of one sum are combined in order.
"""

from __future__ import annotations

from collections.abc import Mapping

# A forked child has no threads, and libgomp would wait for them: there, and in its own threads' loops, one does it all.
TEAM = """\
#include <omp.h>
#include <pthread.h>
static volatile int tr_alone;
static void tr_be_alone(void) { tr_alone = 1; }
__attribute__((constructor)) static void tr_watch_forks(void) { pthread_atfork(0, 0, tr_be_alone); }
void treadle_alone(void) { tr_alone = 1; }
static int tr_team(int64_t total) {
  return total < TR_MINSIZE || tr_alone || omp_in_parallel() ? 1 : omp_get_max_threads();
}
/* The parts of a reduction to one element, of a first dimension of n out of total elements. */
#define TR_PARTS 256
static int64_t tr_parts(int64_t n, int64_t total) {
  const int64_t whole = total / 32768 < TR_PARTS ? total / 32768 : TR_PARTS;
  return whole < 1 ? 1 : whole < n ? whole : n;
}
/* The parts of a reduction that keeps elements, along the dimension of n elements that it is cut along. */
static int64_t tr_pieces(int64_t n, int inner) {
  const int64_t whole = n / (inner ? 64 : 2);
  return whole < 1 ? 1 : whole < 32 ? whole : 32;
}
/* The start of a part: whole lines of memory where the dimension is long. */
static int64_t tr_cut(int64_t n, int64_t part, int64_t parts) {
  const int64_t at = (int64_t)((__int128)n * part / parts);
  return part == parts || n < 64 * parts ? at : at & ~(int64_t)63;
}
static tr_var tr_piece(const tr_var *x, int d, int64_t from, int64_t to) {
  tr_var v = *x;
  if (v.n[d] != 1) { v.p += from * v.s[d]; v.n[d] = to - from; if (v.n[d] == 1) v.s[d] = 0; }
  v.own = 0;
  return v;
}
"""

_ITERATE = """\
static int tr_iterate(int nin, int ops, int nd, const int64_t *shape, char *const *p, int64_t (*st)[TR_OPS],
                      const unsigned char *size, tr_kernel k) {
  int64_t total = 1;
  int at = 0, bad = 0, team;
  for (int d = 0; d < nd; d++) {
    total *= shape[d];
    if (shape[d] > shape[at]) at = d;
  }
  team = nd ? tr_team(total) : 1;
  if (team <= 1) return tr_iterate_part(nin, ops, nd, shape, p, st, size, k);
  /* The first dimension if it is long enough: pieces then lie together. */
  for (int d = 0; d < at; d++) if (shape[d] >= 8 * team) { at = d; break; }
#pragma omp parallel for schedule(static) reduction(max : bad) num_threads(team)
  for (int part = 0; part < team; part++) {
    const int64_t from = tr_cut(shape[at], part, team), to = tr_cut(shape[at], part + 1, team);
    int64_t own[TR_ND];
    char *q[TR_OPS];
    if (from >= to) continue;
    for (int d = 0; d < nd; d++) own[d] = d == at ? to - from : shape[d];
    for (int o = 0; o < ops; o++) q[o] = p[o] + from * st[at][o];
    const int status = tr_iterate_part(nin, ops, nd, own, q, st, size, k);
    if (status > bad) bad = status;
  }
  return bad;
}
"""

# What a part of a reduction to one element leaves: the accumulator, for the parts to be combined.
_STORE = """\
static void tr_store(int64_t n, const char *acc, char *out) { memcpy(out, acc, (size_t)n * 16); }
static void tr_unite(const tr_reducer *r, int64_t parts, const char *stored, int64_t step, char *out) {
  int64_t acc[2] = {0, 0};
  r->start(1, (char *)acc);
  for (int64_t i = 0; i < parts; i++) r->merge((char *)acc, stored + i * step);
  if (r->settle) r->settle((char *)acc);
  r->finish(1, (char *)acc, out);
}
"""

_REDUCE = """\
static int tr_reduce(const tr_var *x, int nd, uint64_t mask, tr_var *o, const tr_reducer *r) {
  const int64_t total = tr_count(x, nd);
  int64_t kept = 1, after = 1, pieces;
  int first = -1, last = -1, keeps = -1, bad = 0, team;
  for (int d = nd - 1; d >= 0; d--) {
    if (x->n[d] == 1) continue;
    if (last < 0) last = d;
    first = d;
    if (mask >> d & 1) continue;
    keeps = d;
    after = kept;
    kept *= x->n[d];
  }
  pieces = keeps < 0 ? 1 : tr_pieces(x->n[keeps], keeps == last);
  if (first < 0 || total < TR_MINSIZE || (keeps >= 0 && pieces == 1)) return tr_reduce_part(x, nd, mask, o, r);
  team = tr_team(total);
  if (keeps < 0) {
    char stored[TR_PARTS][16] __attribute__((aligned(64)));
    const int64_t n = x->n[first], parts = tr_parts(n, total);
    tr_reducer own = *r;
    own.finish = tr_store;
    own.settle = 0;
    own.out_size = 16;
#pragma omp parallel for schedule(static) reduction(max : bad) num_threads(team)
    for (int64_t part = 0; part < parts; part++) {
      tr_var a = tr_piece(x, first, tr_cut(n, part, parts), tr_cut(n, part + 1, parts)), b = *o;
      b.p = stored[part];
      const int status = tr_reduce_part(&a, nd, mask, &b, &own);
      if (status > bad) bad = status;
    }
    if (!bad) tr_unite(r, parts, stored[0], 16, o->p);
    return bad;
  }
#pragma omp parallel for schedule(static) reduction(max : bad) num_threads(team)
  for (int64_t part = 0; part < pieces; part++) {
    const int64_t from = tr_cut(x->n[keeps], part, pieces), to = tr_cut(x->n[keeps], part + 1, pieces);
    tr_var a = tr_piece(x, keeps, from, to), b = *o;
    b.p = o->p + from * after * r->out_size;
    const int status = tr_reduce_part(&a, nd, mask, &b, r);
    if (status > bad) bad = status;
  }
  return bad;
}
"""

_FUSED = """\
static int tr_fused(tr_var *v, const int *ix, int nin, int nout, int nd, uint64_t mask, const unsigned char *size,
                    const uint64_t *may, tr_kernel k, const tr_reducer *const *red, tr_row_sums sums) {
  const int ops = nin + nout;
  int64_t n[TR_ND], total = 1, parts = 1;
  int first = -1, last = -1, keeps = -1, all = 1, bad = 0, at, status, team;
  if ((status = tr_broadcast(v, ix, nin, nd, n))) return status;
  for (int d = nd - 1; d >= 0; d--) {
    total *= n[d];
    if (n[d] == 1) continue;
    if (last < 0) last = d;
    first = d;
    if (!(mask >> d & 1)) keeps = d;
  }
  for (int o = 0; o < nout; o++) all &= red[o] != 0;
  at = keeps < 0 ? first : keeps;
  if (at >= 0) parts = keeps < 0 ? tr_parts(n[at], total) : tr_pieces(n[at], at == last);
  if (total < TR_MINSIZE || parts == 1 || (!all && at != first))
    return tr_fused_part(v, ix, nin, nout, nd, mask, size, may, k, red, sums);
  team = tr_team(total);
  for (int o = nin; o < ops; o++) {
    tr_var *x = v + ix[o];
    const tr_reducer *r = red[o - nin];
    int e = 0;
    for (int d = 0; d < nd; d++) if (!r || !(mask >> d & 1)) x->n[e++] = n[d];
    if ((status = tr_result(v, ix, x, e, r ? r->out_size : size[o - nin], may ? may[o - nin] : 0))) return status;
  }
  char *stored = keeps < 0 ? malloc((size_t)(parts * nout * 16)) : 0;
  if (keeps < 0 && !stored) return TR_MEMORY;
#pragma omp parallel for schedule(static) reduction(max : bad) num_threads(team)
  for (int64_t part = 0; part < parts; part++) {
    const int64_t from = tr_cut(n[at], part, parts), to = tr_cut(n[at], part + 1, parts);
    tr_var w[TR_OPS];
    int64_t lengths[TR_ND];
    int own[TR_OPS];
    tr_reducer kinds[TR_OPS];
    const tr_reducer *uses[TR_OPS];
    for (int d = 0; d < nd; d++) lengths[d] = d == at ? to - from : n[d];
    for (int o = 0; o < ops; o++) {
      const tr_reducer *r = o < nin ? 0 : red[o - nin];
      own[o] = o;
      if (o < nin) { w[o] = tr_piece(v + ix[o], at, from, to); continue; }
      w[o] = v[ix[o]];
      w[o].own = 0;
      uses[o - nin] = r;
      if (r && keeps < 0) {
        kinds[o] = *r;
        kinds[o].finish = tr_store;
        kinds[o].settle = 0;
        kinds[o].out_size = 16;
        uses[o - nin] = kinds + o;
        w[o].dst = stored + (part * nout + (o - nin)) * 16;
        continue;
      }
      /* Where this part's results begin: all dimensions before have one element, or are not there. */
      int64_t step = r ? r->out_size : size[o - nin];
      for (int d = at + 1; d < nd; d++) if (!r || !(mask >> d & 1)) step *= n[d];
      w[o].dst = v[ix[o]].p + from * step;
    }
    for (int o = nin; o < ops; o++) {
      /* Lengths of the part's result, which its memory has: it is taken as it is. */
      int e = 0;
      for (int d = 0; d < nd; d++) if (!uses[o - nin] || !(mask >> d & 1)) w[o].n[e++] = lengths[d];
      w[o].dn = w[o].n;
    }
    const int found = tr_fused_part(w, own, nin, nout, nd, mask, size, 0, k, uses, keeps < 0 ? 0 : sums);
    if (found > bad) bad = found;
  }
  for (int o = 0; keeps < 0 && !bad && o < nout; o++)
    if (red[o]) tr_unite(red[o], parts, stored + o * 16, (int64_t)nout * 16, v[ix[nin + o]].p);
  free(stored);
  return bad;
}
"""


_VECTORS = """\
static int tr_vectors(tr_var *v, const int *ix, int nin, int nout, const unsigned char *size, const uint64_t *free,
                      tr_kernel k) {
  return tr_elemwise(v, ix, nin, nout, 1, size, free, k);
}
"""


def shared_among_threads(serial: Mapping[str, str], minsize: int) -> dict[str, str]:
    """Return the texts of loops that use threads for `minsize` elements or more, from those for one thread."""
    texts = {
        "tr_team tr_parts tr_cut tr_piece tr_pieces tr_alone": f"#define TR_MINSIZE INT64_C({minsize})\n{TEAM}",
        "tr_unite tr_store": _STORE,
        "tr_vectors": _VECTORS,
    }
    for name, text in (("tr_iterate", _ITERATE), ("tr_reduce", _REDUCE), ("tr_fused", _FUSED)):
        texts[name] = text
        texts[f"{name}_part"] = serial[name].replace(f"{name}(", f"{name}_part(")
    # Reducers get a function that combines the results of parts.
    texts["tr_reducer tr_row_sums"] = serial["tr_reducer tr_row_sums"].replace(
        "  int empty;\n", "  int empty;\n  void (*merge)(char *acc, const char *other);\n"
    )
    return texts
