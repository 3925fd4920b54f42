"""C text of Fourier transforms: calls of NumPy's loops for all lines of an array."""

from __future__ import annotations

FOURIER = {
    "tr_transform tr_loop": """\
typedef void (*tr_loop)(char **, const int64_t *, const int64_t *, void *);
/* A loop takes lines, a factor, and results; it copies what does not lie in order. */
static void tr_transform(const tr_var *x, tr_var *o, int nd, int axis, void *loop, void *data, int single) {
  int64_t i[TR_ND] = {0};
  double factor = 1;
  float short_factor = 1;
  char *p[3] = {x->p, single ? (char *)&short_factor : (char *)&factor, o->p};
  int inner = -1, d;
  for (d = 0; d < nd; d++) {
    if (o->n[d] == 0) return;
    if (d != axis && (inner < 0 || o->n[d] > o->n[inner])) inner = d;
  }
  const int64_t n[3] = {inner < 0 ? 1 : o->n[inner], x->n[axis], o->n[axis]};
  const int64_t s[5] = {inner < 0 ? 0 : x->s[inner], 0, inner < 0 ? 0 : o->s[inner], x->s[axis], o->s[axis]};
  for (;;) {
    char *q[3] = {p[0], p[1], p[2]};
    ((tr_loop)loop)(q, n, s, data);
    for (d = nd - 1; d >= 0; d--) {
      if (d == axis || d == inner) continue;
      if (++i[d] < o->n[d]) { p[0] += x->s[d]; p[2] += o->s[d]; break; }
      p[0] -= x->s[d] * (o->n[d] - 1);
      p[2] -= o->s[d] * (o->n[d] - 1);
      i[d] = 0;
    }
    if (d < 0) return;
  }
}
""",
}
