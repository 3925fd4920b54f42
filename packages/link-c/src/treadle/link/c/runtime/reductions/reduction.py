"""C text of reductions: the walk over kept and reduced dimensions, and the typed inner loops."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType

# row: combines a run of elements into one accumulator (of two parts: the value and what rounding lost).
# each: makes an accumulator of each of m runs, if their elements follow each other.
# rows: combines m runs of n elements into n accumulators, side by side.
DRIVER = {
    # The other is a function that adds up rows, see `treadle.link.c.text.rows`.
    "tr_reducer tr_row_sums": """\
typedef struct {
  int64_t size, out_size;
  void (*start)(int64_t n, char *acc);
  void (*row)(int64_t n, const char *p, int64_t s, char *acc);
  void (*rows)(int64_t m, int64_t rs, int64_t n, const char *p, int64_t s, char *acc);
  void (*finish)(int64_t n, const char *acc, char *out);
  int (*each)(int64_t m, int64_t rs, int64_t n, const char *p, int64_t s, char *acc);
  void (*settle)(char *acc);
  int empty;
} tr_reducer;
typedef int (*tr_row_sums)(int64_t rows, int64_t n, char *const *p, const int64_t *rs, const int64_t *s, void *sums);
""",
    # The kept dimensions of an operand, nk of them with lengths kn and strides ks, ko results apart, and the reduced
    # ones, nr with rn and rs; kept and reduced: how many elements they have; p: where the walk begins.
    "tr_split tr_dims": """\
typedef struct {
  int nk, nr;
  int64_t kn[TR_ND], ks[TR_ND], ko[TR_ND], rn[TR_ND], rs[TR_ND], kept, reduced;
  const char *p;
} tr_dims;
/* Split dimensions into kept and reduced ones, the innermost first, neighbours that run evenly joined. Where the order
   does not matter, they are sorted by stride, and reduced ones walked forwards. */
static void tr_split(const tr_var *x, int nd, uint64_t mask, int ordered, tr_dims *t) {
  int order[TR_ND];
  int64_t step[TR_ND];
  const int count = tr_inner_first(!ordered, nd, x->n, x->s, 1, order);
  t->nk = t->nr = 0;
  t->kept = t->reduced = 1;
  t->p = x->p;
  for (int d = nd - 1; d >= 0; d--) {
    step[d] = t->kept;
    *(mask >> d & 1 ? &t->reduced : &t->kept) *= x->n[d];
  }
  for (int at = 0; at < count; at++) {
    const int d = order[at], r = t->nr - 1, k = t->nk - 1;
    int64_t n = x->n[d], s = x->s[d];
    if (mask >> d & 1) {
      if (!ordered && s < 0 && n > 0) { t->p += s * (n - 1); s = -s; }
      if (r >= 0 && s == t->rs[r] * t->rn[r]) { t->rn[r] *= n; continue; }
      t->rn[t->nr] = n;
      t->rs[t->nr++] = s;
    } else {
      if (k >= 0 && s == t->ks[k] * t->kn[k] && step[d] == t->ko[k] * t->kn[k]) { t->kn[k] *= n; continue; }
      t->kn[t->nk] = n;
      t->ko[t->nk] = step[d];
      t->ks[t->nk++] = s;
    }
  }
  if (t->nr == 0) { t->nr = 1; t->rn[0] = t->reduced; t->rs[0] = 0; }
  if (t->nk == 0) { t->nk = 1; t->kn[0] = t->kept; t->ks[0] = t->ko[0] = 0; }
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
    "tr_finish": """\
/* Make the results of n accumulators, s bytes apart. */
static void tr_finish(const tr_reducer *r, int64_t n, const char *acc, char *out, int64_t s) {
  if (n == 1 || s == r->out_size) { r->finish(n, acc, out); return; }
  for (int64_t j = 0; j < n; j++) r->finish(1, acc + j * r->size, out + j * s);
}
""",
    "tr_reduce_none": """\
/* The results over no elements. */
static int tr_reduce_none(const tr_reducer *r, int64_t kept, char *out) {
  int64_t acc[2];
  if (r->empty) return TR_EMPTY;
  for (int64_t j = 0; j < kept; j++) {
    r->start(1, (char *)acc);
    r->finish(1, (char *)acc, out + j * r->out_size);
  }
  return 0;
}
""",
    "tr_reduce": """\
static int tr_reduce(const tr_var *x, int nd, uint64_t mask, tr_var *o, const tr_reducer *r) {
  tr_dims t;
  int64_t ki[TR_ND] = {0}, oi[TR_ND] = {0}, ri[TR_ND] = {0};
  const char *p, *out = o->p;
  tr_split(x, nd, mask, 0, &t);
  if (t.reduced == 0) return tr_reduce_none(r, t.kept, o->p);
  if (t.kept == 0) return 0;
  p = t.p;
  for (int d = 0; d < t.nk; d++) t.ko[d] *= r->out_size;
  const int64_t run = t.rn[0];
  const int each = t.kept > 1 && t.nr == 1 && run * r->size >= 64 && run <= 2048 && r->each(0, 0, 0, p, t.rs[0], 0);
  /* Where few elements make one, the kept ones are run through instead, which are more. */
  const int few = t.nr == 1 && run <= 16 && t.kn[0] > run && !each;
  if (t.kept == 1 || (!few && !each && llabs(t.rs[0]) <= llabs(t.ks[0]))) {
    do {
      int64_t acc[2] = {0, 0};
      const char *q = p;
      r->start(1, (char *)acc);
      do r->row(t.rn[0], q, t.rs[0], (char *)acc);
      while (tr_next(1, t.nr, t.rn, t.rs, ri, &q));
      if (r->settle) r->settle((char *)acc);
      r->finish(1, (char *)acc, (char *)(uintptr_t)out);
      tr_next(0, t.nk, t.kn, t.ko, oi, &out);
    } while (tr_next(0, t.nk, t.kn, t.ks, ki, &p));
    return 0;
  }
  do {
    int64_t acc[2048];
    const int64_t most = (int64_t)sizeof acc / r->size;
    for (int64_t at = 0; at < t.kn[0]; at += most) {
      const int64_t m = t.kn[0] - at < most ? t.kn[0] - at : most;
      const char *q = p + at * t.ks[0];
      if (!each) r->start(m, (char *)acc);
      if (each) r->each(m, t.ks[0], run, q, t.rs[0], (char *)acc);
      else do r->rows(run, t.rs[0], m, q, t.ks[0], (char *)acc);
      while (tr_next(1, t.nr, t.rn, t.rs, ri, &q));
      tr_finish(r, m, (char *)acc, (char *)(uintptr_t)out + at * t.ko[0], t.ko[0]);
    }
    tr_next(1, t.nk, t.kn, t.ko, oi, &out);
  } while (tr_next(1, t.nk, t.kn, t.ks, ki, &p));
  return 0;
}
""",
    "tr_turned": """\
/* A vector with its numbers in another order. */
#ifdef __clang__
#define tr_turned(a, order, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
#else
#define tr_turned(a, order, ...) __builtin_shuffle(a, (order){__VA_ARGS__})
#endif
""",
    "tr_keep": """\
/* Lengths of a reduction's result: those that are not reduced. */
static void tr_keep(const tr_var *x, int nd, uint64_t mask, tr_var *o) {
  for (int d = 0, e = 0; d < nd; d++) if (!(mask >> d & 1)) o->n[e++] = x->n[d];
}
""",
}

# $Acc: C type of the accumulator, $Elem: of an element in memory, $Out: of a result. $lanes fill one vector of $Acc.
_VECTORS = """\
typedef $Acc ${name}_v __attribute__((vector_size(64)));
typedef $Elem ${name}_x __attribute__((vector_size($lanes * sizeof($Elem))));
typedef int${bits}_t ${name}_m __attribute__((vector_size(64)));
typedef $two ${name}_2 __attribute__((vector_size(2 * $lanes)));
typedef $four ${name}_4 __attribute__((vector_size(4 * $lanes)));
static inline ${name}_v ${name}_load(const $Elem *p) {
  ${name}_x x;
  memcpy(&x, p, sizeof x);
  return $widened;
}
static inline ${name}_v ${name}_join(${name}_v a, ${name}_v x) { $join_vectors }
static $Acc ${name}_run(const $Elem *x, int64_t n) {
  int64_t i = 0;
  $Acc t = $start;
  $halved
  if (n >= $lanes) {
    ${name}_v a = ${name}_load(x);
    i = $lanes;
    if (n >= 4 * $lanes) {
      ${name}_v b = ${name}_load(x + $lanes), c = ${name}_load(x + 2 * $lanes), d = ${name}_load(x + 3 * $lanes);
      for (i = 4 * $lanes; i + 4 * $lanes <= n; i += 4 * $lanes) {
        a = ${name}_join(a, ${name}_load(x + i));
        b = ${name}_join(b, ${name}_load(x + i + $lanes));
        c = ${name}_join(c, ${name}_load(x + i + 2 * $lanes));
        d = ${name}_join(d, ${name}_load(x + i + 3 * $lanes));
      }
      a = ${name}_join(${name}_join(a, b), ${name}_join(c, d));
    }
    for (; i + $lanes <= n; i += $lanes) a = ${name}_join(a, ${name}_load(x + i));
    $halves
    for (; i < n; i++) { const $Acc y = ($Acc)x[i]; t = JOIN(t, y); }
    { const $Acc y = a[0]; return JOIN(y, t); }
  }
  for (; i < n; i++) { const $Acc y = ($Acc)x[i]; t = JOIN(t, y); }
  return t;
}
"""

_HALVED = """\
if (n > $most) {
    const int64_t h = n / 2 & ~(int64_t)($most / 8 - 1);
    const $Acc a = ${name}_run(x, h), b = ${name}_run(x + h, n - h);
    return JOIN(a, b);
  }"""

_PARTS = """\
static $Acc ${name}_run(const $Elem *x, int64_t n) {
  $Acc t[$parts] = {$starts};
  int64_t i = 0;
  $halved
  for (; i + $parts <= n; i += $parts)
    for (int k = 0; k < $parts; k++) { const $Acc y = LOAD(x[i + k]); t[k] = JOIN(t[k], y); }
  for (; i < n; i++) { const $Acc y = LOAD(x[i]); t[0] = JOIN(t[0], y); }
  for (int k = $parts / 2; k; k /= 2) for (int j = 0; j < k; j++) t[j] = JOIN(t[j], t[j + k]);
  return t[0];
}
"""

# Parts are added up side by side.
_COMPLEX_SUM = """\
typedef $Real ${name}_v __attribute__((vector_size(64)));
static $Acc ${name}_run(const $Elem *x, int64_t n) {
  enum { L = 64 / sizeof($Real) };
  const $Real *p = (const $Real *)x;
  $Real re = 0, im = 0;
  int64_t i = 0;
  $halved
  if (2 * n >= 4 * L) {
    ${name}_v t[4], y;
    memcpy(t, p, sizeof t);
    for (i = 4 * L; i + 4 * L <= 2 * n; i += 4 * L)
      for (int k = 0; k < 4; k++) { memcpy(&y, p + i + k * L, sizeof y); t[k] += y; }
    t[0] = (t[0] + t[1]) + (t[2] + t[3]);
    for (int k = 0; k < L; k += 2) { re += t[0][k]; im += t[0][k + 1]; }
  }
  for (; i < 2 * n; i += 2) { re += p[i]; im += p[i + 1]; }
  return __builtin_complex(re, im);
}
"""

_ENDS = """\
static void ${name}_start(int64_t n, char *acc) { for (int64_t j = 0; j < n; j++) (($Acc *)acc)[j] = $start; }
static void ${name}_finish(int64_t n, const char *acc, char *out) {
  for (int64_t j = 0; j < n; j++) { const $Acc y = ((const $Acc *)acc)[j]; (($Out *)out)[j] = $store; }
}
"""
_LOOPS = """\
static int ${name}_each(int64_t m, int64_t rs, int64_t n, const char *p, int64_t s, char *acc) {
  for (int64_t j = 0; j < m; j++, p += rs) (($Acc *)acc)[j] = ${name}_run((const $Elem *)p, n);
  return $whole;
}
static void ${name}_row(int64_t n, const char *p, int64_t s, char *acc) {
  const int64_t most = $whole ? n : 512;
  $Acc *a = ($Acc *)acc;
  $Elem b[512];
  for (int64_t i = 0; i < n; i += most) {
    const int64_t m = n - i < most ? n - i : most;
    const $Acc y = ${name}_run($block(p, s, i, m, b), m);
    $merge
  }
}
static void ${name}_rows(int64_t m, int64_t rs, int64_t n, const char *p, int64_t s, char *acc) {
  $Acc *restrict a = ($Acc *)acc;
  $Elem b[512];
  if ($whole)
    for (; m >= 4; m -= 4, p += 4 * rs) {
      const $Elem *x0 = (const $Elem *)p, *x1 = (const $Elem *)(p + rs);
      const $Elem *x2 = (const $Elem *)(p + 2 * rs), *x3 = (const $Elem *)(p + 3 * rs);
#pragma omp simd
      for (int64_t j = 0; j < n; j++) {
        const $Acc y0 = LOAD(x0[j]), y1 = LOAD(x1[j]), y2 = LOAD(x2[j]), y3 = LOAD(x3[j]);
        const $Acc l = JOIN(y0, y1), r = JOIN(y2, y3), t = JOIN(l, r), c = a[j];
        a[j] = JOIN(c, t);
      }
    }
  for (int64_t i = 0; i < n; i += 512, a += 512, p += 512 * s) {
    const int64_t l = n - i < 512 ? n - i : 512;
    for (int64_t k = 0; k < m; k++) {
      const $Elem *x = $block(p + k * rs, s, 0, l, b);
#pragma omp simd
      for (int64_t j = 0; j < l; j++) { const $Acc y = LOAD(x[j]), c = a[j]; a[j] = JOIN(c, y); }
    }
  }
}
"""

# The error of each addition of partial sums is kept and added at the end (Neumaier 1974), unless a sum is not finite.
_SETTLE = """\
static void ${name}_settle(char *acc) {
  $Acc *a = ($Acc *)acc;
  const $Acc t = a[0] + a[1];
  if (t - t == 0) a[0] = t;
}
"""
_MERGE_SUM = (
    "{ const $Acc u = a[0], t = u + y; "
    "a[1] += (u < 0 ? -u : u) >= (y < 0 ? -y : y) ? (u - t) + y : (y - t) + u; a[0] = t; }"
)
_MERGED = """\
static void ${name}_merge(char *acc, const char *other) {
  $Acc *a = ($Acc *)acc;
  const $Acc y = *(const $Acc *)other;
  $merge
  $rest
}
"""
_MERGE = "{ const $Acc u = a[0]; a[0] = JOIN(u, y); }"

# How two values are combined: {a} and {x}.
_JOIN = {
    "sum": "($Acc)({a} + {x})",
    "prod": "($Acc)({a} * {x})",
    "max": "(({x} > {a}) | ({x} != {x}) ? {x} : {a})",
    "min": "(({x} < {a}) | ({x} != {x}) ? {x} : {a})",
    "all": "($Acc)({a} & {x})",
    "any": "($Acc)({a} | {x})",
}
KINDS = tuple(_JOIN)
_SELECT = (
    "typedef __typeof__(a < x) mask; const mask m = (x {} a) | (x != x); "
    "return (${{name}}_v)(((mask)x & m) | ((mask)a & ~m));"
)
_JOIN_VECTORS = {
    "sum": "return a + x;",
    "prod": "return a * x;",
    "max": _SELECT.format(">"),
    "min": _SELECT.format("<"),
    "all": "return a & x;",
    "any": "return a | x;",
}


def _expand_macro(text: str, name: str, by: str) -> str:
    """Replace ``NAME(a, x)`` or ``NAME(x)``, whose arguments hold no commas of their own, by an expression."""
    pieces = text.split(f"{name}(")
    expanded = [pieces[0]]
    for piece in pieces[1:]:
        depth, end = 1, 0
        while depth:
            depth += {"(": 1, ")": -1}.get(piece[end], 0)
            end += 1
        arguments = [part.strip() for part in piece[: end - 1].split(",")]
        expanded.append(by.format(a=arguments[0], x=arguments[-1]) + piece[end:])
    return "".join(expanded)


def _widened(name: str, source: CType, acc: CType) -> str:
    """Return the expression of a vector's numbers as those of the accumulator.

    gcc converts them one by one where their size changes by more than a factor of two.
    """
    value = "x"
    for size in (2, 4):
        if source.kind in "biu" and source.size < size < _width(acc) + (acc.kind == "f"):
            value = f"__builtin_convertvector({value}, {name}_{size})"
    return f"__builtin_convertvector({value}, {name}_v)"


def halves(lanes: int) -> list[str]:
    """Return the orders that a vector is joined with in turn, so that its first number becomes that of all."""
    steps = [lanes >> k for k in range(1, lanes.bit_length())]
    return [", ".join(str(k ^ step) for k in range(lanes)) for step in steps]


def _start(kind: str, acc: CType) -> str:
    if kind in {"sum", "any"}:
        return "0"
    if kind in {"prod", "all"}:
        return "1"
    largest = kind == "min"
    if acc.kind == "f":
        return f"({acc.computed}){'' if largest else '-'}INFINITY"
    bits = acc.size * 8
    if acc.kind == "i":
        return f"INT{bits}_{'MAX' if largest else 'MIN'}"
    return f"UINT{bits}_MAX" if largest else "0"


def _combining_kind(kind: str, acc: CType) -> str:
    """Return the kind that a reduction of booleans is equal to: a sum is ``any``, a product ``all``."""
    return {"sum": "any", "max": "any", "prod": "all", "min": "all"}.get(kind, kind) if acc.kind == "b" else kind


def reducer(kind: str, source: CType, acc: CType, out: CType, *, merged: bool = False) -> str:
    """Return the text of the reducer of a kind, for the types of elements, accumulator and result.

    With `merged`, the reducer has a function that combines accumulators.
    """
    how = _combining_kind(kind, acc)
    name = f"tr_{kind}_{source.short}_{acc.short}_{out.short}"
    number = acc.kind == "c"
    half = source.short == "f16"
    vector = "c" not in {source.kind, acc.kind} and (acc.short != "b" or source.short == "b")
    compensated = how == "sum" and acc.kind == "f"
    orders = halves(64 // _width(acc)) if vector else []
    store = "y" if acc.short != "f16" else "tr_f32_round_f16(y)"
    if out.short == "f16":
        store = "tr_f64_to_f16(y)" if acc.short == "f64" else "tr_f32_to_f16(y)"
    elif out.short == "b" and acc.short != "b":
        store = "(y != 0)"
    real = "float" if acc.suffix else "double"
    types = {"Acc": acc.computed, "Elem": source.computed, "Out": out.stored, "name": name, "Real": real}
    run = _VECTORS if vector else _PARTS
    if number and how == "sum" and source.short == acc.short:
        run = _COMPLEX_SUM
    parts_count = 4 if number else 8
    parts = [run, _ENDS, _LOOPS, _SETTLE if compensated else "", _MERGED if merged else ""]
    body = Template("".join(parts)).substitute(
        types,
        merge=Template(_MERGE_SUM if compensated else _MERGE).substitute(types),
        join_vectors=Template(_JOIN_VECTORS[how]).substitute(types) if vector else "",
        rest=f"a[1] += ((const {acc.computed} *)other)[1];" if compensated else "",
        start=_start(how, acc),
        halved=Template(_HALVED).substitute(types, most=512 if run is _PARTS else 2048),
        # float16 is made float32, $Elem, in blocks.
        whole="0" if half else f"(s == sizeof({source.computed}))",
        block="tr_block_half" if half else f"tr_block{source.size}",
        parts=parts_count,
        starts=", ".join([_start(how, acc)] * parts_count),
        store=store,
        lanes=64 // _width(acc),
        bits=8 * _width(acc),
        two="int16_t" if source.kind == "i" else "uint16_t",
        four="int32_t" if source.kind == "i" else "uint32_t",
        widened=_widened(name, source, acc),
        halves="\n    ".join(f"a = {name}_join(a, tr_turned(a, {name}_m, {order}));" for order in orders),
    )
    join = "tr_k_times_$short({a}, {x})" if number and how == "prod" else _JOIN[how]
    body = _expand_macro(body, "JOIN", Template(join).substitute(types, short=acc.short))
    load = "({x} != 0)" if acc.short == "b" else "($Acc){x}"
    body = _expand_macro(body, "LOAD", Template(load).substitute(types))
    empty = int(kind in {"max", "min"})
    settle = f"{name}_settle" if compensated else "0"
    table = (
        f"static const tr_reducer {name} = {{{_width(acc)}, {out.size}, {name}_start, {name}_row, {name}_rows, "
        f"{name}_finish, {name}_each, {settle}, {empty}{f', {name}_merge' if merged else ''}}};\n"
    )
    return body + table


def _width(ctype: CType) -> int:
    return 4 if ctype.short == "f16" else ctype.size
