"""C text of reductions: the walk over kept and reduced dimensions, and the typed inner loops."""

from __future__ import annotations

from treadle.link.c.dtypes import CTYPES, CType
from treadle.link.c.runtime.text import expand_calls, replace_words

# row: combines a run of elements into one accumulator (of two parts: the value and what rounding lost).
# rows: combines m runs of n elements into n accumulators, side by side.
DRIVER = {
    "tr_reducer": """\
typedef struct {
  int64_t size, out_size;
  void (*start)(int64_t n, char *acc);
  void (*row)(int64_t n, const char *p, int64_t s, char *acc);
  void (*rows)(int64_t m, int64_t rs, int64_t n, const char *p, int64_t s, char *acc);
  void (*finish)(int64_t n, const char *acc, char *out);
  void (*settle)(char *acc);
  int empty;
} tr_reducer;
""",
    "tr_split": """\
typedef struct {
  int nk, nr;
  int64_t kn[TR_ND], ks[TR_ND], rn[TR_ND], rs[TR_ND], kept, reduced;
  const char *p;
} tr_dims;
/* Split dimensions into kept and reduced ones, the innermost first, neighbours that run evenly joined. Where the order
   over the reduced ones does not matter, they are sorted by stride and walked forwards. */
static void tr_split(const tr_var *x, int nd, uint64_t mask, int ordered, tr_dims *t) {
  t->nk = t->nr = 0;
  t->kept = t->reduced = 1;
  t->p = x->p;
  for (int d = nd - 1; d >= 0; d--) {
    int64_t n = x->n[d], s = x->s[d];
    if (mask >> d & 1) {
      int at = t->nr;
      t->reduced *= n;
      if (n == 1) continue;
      if (!ordered) {
        if (s < 0 && n > 0) { t->p += s * (n - 1); s = -s; }
        while (at > 0 && t->rs[at - 1] > s) { t->rn[at] = t->rn[at - 1]; t->rs[at] = t->rs[at - 1]; at--; }
      }
      t->rn[at] = n;
      t->rs[at] = s;
      t->nr++;
    } else {
      t->kept *= n;
      if (n == 1) continue;
      if (t->nk && s == t->ks[t->nk - 1] * t->kn[t->nk - 1]) { t->kn[t->nk - 1] *= n; continue; }
      t->kn[t->nk] = n;
      t->ks[t->nk++] = s;
    }
  }
  if (t->nr > 1) {
    int m = 0;
    for (int d = 1; d < t->nr; d++) {
      if (t->rs[d] == t->rs[m] * t->rn[m]) { t->rn[m] *= t->rn[d]; continue; }
      m++;
      t->rn[m] = t->rn[d];
      t->rs[m] = t->rs[d];
    }
    t->nr = m + 1;
  }
  if (t->nr == 0) { t->nr = 1; t->rn[0] = t->reduced; t->rs[0] = 0; }
  if (t->nk == 0) { t->nk = 1; t->kn[0] = t->kept; t->ks[0] = 0; }
}
""",
    "tr_next": """\
/* Step to the next index over dimensions first..nd-1; 0 when all were visited. */
static int tr_next(int first, int nd, const int64_t *n, const int64_t *s, int64_t *i, const char **p) {
  for (int d = first; d < nd; d++) {
    if (++i[d] < n[d]) { *p += s[d]; return 1; }
    *p -= s[d] * (n[d] - 1);
    i[d] = 0;
  }
  return 0;
}
""",
    "tr_reduce": """\
static int tr_reduce(const tr_var *x, int nd, uint64_t mask, tr_var *o, const tr_reducer *r) {
  tr_dims t;
  int64_t ki[TR_ND] = {0}, ri[TR_ND] = {0};
  char *out = o->p;
  const char *p;
  tr_split(x, nd, mask, 0, &t);
  if (t.kept == 0) return 0;
  if (t.reduced == 0) {
    int64_t acc[2];
    if (r->empty) return TR_EMPTY;
    for (int64_t j = 0; j < t.kept; j++) {
      r->start(1, (char *)acc);
      r->finish(1, (char *)acc, out + j * r->out_size);
    }
    return 0;
  }
  p = t.p;
  if (t.kept == 1 || llabs(t.rs[0]) <= llabs(t.ks[0])) {
    do {
      int64_t acc[2] = {0, 0};
      const char *q = p;
      r->start(1, (char *)acc);
      do r->row(t.rn[0], q, t.rs[0], (char *)acc);
      while (tr_next(1, t.nr, t.rn, t.rs, ri, &q));
      if (r->settle) r->settle((char *)acc);
      r->finish(1, (char *)acc, out);
      out += r->out_size;
    } while (tr_next(0, t.nk, t.kn, t.ks, ki, &p));
    return 0;
  }
  do {
    int64_t acc[2048];
    const int64_t most = (int64_t)sizeof acc / r->size;
    for (int64_t at = 0; at < t.kn[0]; at += most) {
      const int64_t m = t.kn[0] - at < most ? t.kn[0] - at : most;
      const char *q = p + at * t.ks[0];
      r->start(m, (char *)acc);
      do r->rows(t.rn[0], t.rs[0], m, q, t.ks[0], (char *)acc);
      while (tr_next(1, t.nr, t.rn, t.rs, ri, &q));
      r->finish(m, (char *)acc, out);
      out += m * r->out_size;
    }
  } while (tr_next(1, t.nk, t.kn, t.ks, ki, &p));
  return 0;
}
""",
    "tr_keep": """\
/* Lengths of a reduction's result: those that are not reduced. */
static void tr_keep(const tr_var *x, int nd, uint64_t mask, tr_var *o) {
  for (int d = 0, e = 0; d < nd; d++) if (!(mask >> d & 1)) o->n[e++] = x->n[d];
}
""",
}

# A: accumulator, X: element in memory, LANES: as many as fill one vector of the accumulator.
_VECTORS = """\
typedef A NAME_v __attribute__((vector_size(64)));
typedef X NAME_x __attribute__((vector_size(LANES * sizeof(X))));
static inline NAME_v NAME_load(const X *p) {
  NAME_x x;
  memcpy(&x, p, sizeof x);
  return __builtin_convertvector(x, NAME_v);
}
static inline NAME_v NAME_join(NAME_v a, NAME_v x) { JOIN_V }
static A NAME_run(const X *x, int64_t n) {
  int64_t i = 0;
  A t = START;
  if (n > 2048) {
    const int64_t h = n / 2 & ~(int64_t)255;
    const A a = NAME_run(x, h), b = NAME_run(x + h, n - h);
    return JOIN(a, b);
  }
  if (n >= LANES) {
    NAME_v a = NAME_load(x);
    i = LANES;
    if (n >= 4 * LANES) {
      NAME_v b = NAME_load(x + LANES), c = NAME_load(x + 2 * LANES), d = NAME_load(x + 3 * LANES);
      for (i = 4 * LANES; i + 4 * LANES <= n; i += 4 * LANES) {
        a = NAME_join(a, NAME_load(x + i));
        b = NAME_join(b, NAME_load(x + i + LANES));
        c = NAME_join(c, NAME_load(x + i + 2 * LANES));
        d = NAME_join(d, NAME_load(x + i + 3 * LANES));
      }
      a = NAME_join(NAME_join(a, b), NAME_join(c, d));
    }
    for (; i + LANES <= n; i += LANES) a = NAME_join(a, NAME_load(x + i));
    for (int k = 0; k < LANES; k++) t = JOIN(t, a[k]);
  }
  for (; i < n; i++) { const A y = (A)x[i]; t = JOIN(t, y); }
  return t;
}
"""

_SCALARS = """\
static A NAME_run(const X *x, int64_t n) {
  A t[8] = {START, START, START, START, START, START, START, START};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) for (int k = 0; k < 8; k++) { const A y = LOAD(x[i + k]); t[k] = JOIN(t[k], y); }
  for (; i < n; i++) { const A y = LOAD(x[i]); t[0] = JOIN(t[0], y); }
  for (int k = 4; k; k /= 2) for (int j = 0; j < k; j++) t[j] = JOIN(t[j], t[j + k]);
  return t[0];
}
"""

_LOOPS = """\
static void NAME_start(int64_t n, char *acc) { for (int64_t j = 0; j < n; j++) ((A *)acc)[j] = START; }
static void NAME_row(int64_t n, const char *p, int64_t s, char *acc) {
  A *a = (A *)acc;
  if (s == sizeof(X)) {
    const A y = NAME_run((const X *)p, n);
    MERGE
    return;
  }
  for (int64_t i = 0; i < n; i += 256) {
    X b[256];
    const int64_t m = n - i < 256 ? n - i : 256;
    for (int64_t j = 0; j < m; j++, p += s) b[j] = *(const X *)p;
    { const A y = NAME_run(b, m); MERGE }
  }
}
static void NAME_rows(int64_t m, int64_t rs, int64_t n, const char *p, int64_t s, char *acc) {
  A *restrict a = (A *)acc;
  int64_t i = 0;
  if (s == sizeof(X)) {
    for (; i + 4 <= m; i += 4, p += 4 * rs) {
      const X *x0 = (const X *)p, *x1 = (const X *)(p + rs);
      const X *x2 = (const X *)(p + 2 * rs), *x3 = (const X *)(p + 3 * rs);
#pragma omp simd
      for (int64_t j = 0; j < n; j++) {
        const A y0 = LOAD(x0[j]), y1 = LOAD(x1[j]), y2 = LOAD(x2[j]), y3 = LOAD(x3[j]);
        const A l = JOIN(y0, y1), r = JOIN(y2, y3), t = JOIN(l, r), b = a[j];
        a[j] = JOIN(b, t);
      }
    }
    for (; i < m; i++, p += rs) {
      const X *x = (const X *)p;
#pragma omp simd
      for (int64_t j = 0; j < n; j++) { const A y = LOAD(x[j]), b = a[j]; a[j] = JOIN(b, y); }
    }
    return;
  }
  for (; i < m; i++, p += rs) {
    const char *q = p;
    for (int64_t j = 0; j < n; j++, q += s) { const A y = LOAD(*(const X *)q), b = a[j]; a[j] = JOIN(b, y); }
  }
}
static void NAME_finish(int64_t n, const char *acc, char *out) {
  for (int64_t j = 0; j < n; j++) { const A y = ((const A *)acc)[j]; ((O *)out)[j] = STORE; }
}
"""

# The error of each addition of partial sums is kept and added at the end (Neumaier 1974), unless a sum is not finite.
_SETTLE = """\
static void NAME_settle(char *acc) {
  A *a = (A *)acc;
  const A t = a[0] + a[1];
  if (t - t == 0) a[0] = t;
}
"""
_MERGE_SUM = (
    "{ const A u = a[0], t = u + y; "
    "a[1] += (u < 0 ? -u : u) >= (y < 0 ? -y : y) ? (u - t) + y : (y - t) + u; a[0] = t; }"
)
_MERGED = """\
static void NAME_merge(char *acc, const char *other) {
  A *a = (A *)acc;
  const A y = *(const A *)other;
  MERGE
  REST
}
"""
_MERGE = "{ const A u = a[0]; a[0] = JOIN(u, y); }"

_JOIN = {
    "sum": "(A)({a} + {x})",
    "prod": "(A)({a} * {x})",
    "max": "(({x} > {a}) | ({x} != {x}) ? {x} : {a})",
    "min": "(({x} < {a}) | ({x} != {x}) ? {x} : {a})",
    "all": "(A)({a} & {x})",
    "any": "(A)({a} | {x})",
}
_SELECT = (
    "typedef __typeof__(a < x) mask; const mask m = (x {} a) | (x != x); "
    "return (NAME_v)(((mask)x & m) | ((mask)a & ~m));"
)
_JOIN_V = {
    "sum": "return a + x;",
    "prod": "return a * x;",
    "max": _SELECT.format(">"),
    "min": _SELECT.format("<"),
    "all": "return a & x;",
    "any": "return a | x;",
}


def _start(kind: str, acc: CType) -> str:
    if kind in {"sum", "any"}:
        return "0"
    if kind in {"prod", "all"}:
        return "1"
    if acc.kind == "f":
        return "(A)-INFINITY" if kind == "max" else "(A)INFINITY"
    bits = acc.size * 8
    if acc.kind == "i":
        return f"INT{bits}_MIN" if kind == "max" else f"INT{bits}_MAX"
    return "0" if kind == "max" else f"UINT{bits}_MAX"


def combining_kind(kind: str, acc: str) -> str:
    """Return the kind that a reduction of truth values amounts to: a sum of them is ``any``, a product ``all``."""
    if acc != "bool":
        return kind
    return {"sum": "any", "max": "any", "prod": "all", "min": "all"}.get(kind, kind)


def reducer(kind: str, source: str, acc: str, out: str, merged: bool = False) -> tuple[str, str]:
    """Return name and text of the reducer of a kind for dtypes: elements, accumulation, result.

    With `merged`, it has a function that combines accumulators.
    """
    x, a, o = CTYPES[source], CTYPES[acc], CTYPES[out]
    how = combining_kind(kind, acc)
    name = f"tr_{kind}_{x.short}_{a.short}_{o.short}"
    vector = source != "float16" and acc != "float16" and (acc != "bool" or source == "bool")
    compensated = how == "sum" and a.kind == "f"
    body = (_VECTORS if vector else _SCALARS) + _LOOPS + (_SETTLE if compensated else "")
    if merged:
        body += _MERGED.replace("REST", "a[1] += ((const A *)other)[1];" if compensated else "")
    body = body.replace("MERGE", _MERGE_SUM if compensated else _MERGE).replace("JOIN_V", _JOIN_V[how])
    body = expand_calls(body, "JOIN", _JOIN[how])
    load = "tr_f16_to_f32({x})" if source == "float16" else ("({x} != 0)" if acc == "bool" else "(A){x}")
    body = expand_calls(body, "LOAD", load)
    value = "y" if acc != "float16" else "tr_f32_round_f16(y)"
    if out == "float16":
        value = "tr_f64_to_f16(y)" if acc == "float64" else "tr_f32_to_f16(y)"
    elif out == "bool" and acc != "bool":
        value = "(y != 0)"
    body = body.replace("STORE", value).replace("START", _start(how, a)).replace("LANES", str(64 // _width(a)))
    words = {"A": a.computed, "X": x.stored, "O": o.stored}
    body = replace_words(body, words).replace("NAME", name)
    empty = int(kind in {"max", "min"})
    settle = f"{name}_settle" if compensated else "0"
    table = (
        f"static const tr_reducer {name} = {{{_width(a)}, {o.size}, {name}_start, {name}_row, {name}_rows, "
        f"{name}_finish, {settle}, {empty}{f', {name}_merge' if merged else ''}}};\n"
    )
    return name, body + table


def _width(ctype: CType) -> int:
    return 4 if ctype.short == "f16" else ctype.size


# First extremum, counted in C order over the reduced dimensions; the first NaN wins.
_ARG = """\
static int NAME(const tr_var *x, int nd, uint64_t mask, tr_var *o) {
  tr_dims t;
  int64_t ki[TR_ND] = {0}, ri[TR_ND] = {0}, *out = (int64_t *)o->p;
  const char *p;
  tr_split(x, nd, mask, 1, &t);
  if (t.kept == 0) return 0;
  if (t.reduced == 0) return TR_EMPTY;
  p = t.p;
  do {
    const char *q = p;
    A best = LOAD(*(const X *)q);
    int64_t at = 0, base = 0;
    do {
      const int64_t n = t.rn[0], s = t.rs[0];
      if (best != best) break;
      if (RUN) {
        const X *y = (const X *)q;
        const A top = RUN_TOP;
        if (top CMP best || top != top) {
          int64_t j = 0;
          if (top == top) while ((A)y[j] != top) j++;
          else while (y[j] == y[j]) j++;
          best = top;
          at = base + j;
        }
      } else {
        for (int64_t j = 0; j < n; j++) {
          const A y = LOAD(*(const X *)(q + j * s));
          if (y CMP best || y != y) { best = y; at = base + j; if (y != y) break; }
        }
      }
      base += n;
    } while (tr_next(1, t.nr, t.rn, t.rs, ri, &q));
    for (int d = 0; d < t.nr; d++) ri[d] = 0;
    *out++ = at;
  } while (tr_next(0, t.nk, t.kn, t.ks, ki, &p));
  return 0;
}
"""


def arg_reducer(kind: str, source: str) -> tuple[str, str]:
    """Return name and text of the function that finds the first extremum."""
    x = CTYPES[source]
    name = f"tr_{kind}_{x.short}"
    extremum = kind[3:]
    vector = source not in {"float16", "bool"}
    text = _ARG.replace("RUN_TOP", f"tr_{extremum}_{x.short}_{x.short}_{x.short}_run(y, n)" if vector else "best")
    text = text.replace("RUN", "s == sizeof(X)" if vector else "0").replace("CMP", ">" if kind == "argmax" else "<")
    text = expand_calls(text, "LOAD", "tr_f16_to_f32({x})" if source == "float16" else "(A){x}")
    text = replace_words(text, {"A": x.computed, "X": x.stored}).replace("NAME", name)
    return name, text
