"""C text of accumulations and linear recurrences along an axis: element by element, or row by row across the last."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CTYPES, CType, converted, loaded, stored

# How two values are combined: a, of all elements before, and y.
ACCUMULATIONS = {
    "sum": "{a} + {y}",
    "prod": "{a} * {y}",
    "max": "({y} > {a}) | ({y} != {y}) ? {y} : {a}",
    "min": "({y} < {a}) | ({y} != {y}) ? {y} : {a}",
    "logaddexp": "{a} == {y} ? {a} + M_LN2 : {a} > {y} ? {a} + log1p$suffix(exp$suffix({y} - {a})) "
    ": {y} > {a} ? {y} + log1p$suffix(exp$suffix({a} - {y})) : {a} + {y}",
}

# The result lies in C order. Lines run along the axis; across it, whole rows of the last dimension are combined.
# $start, $forward and $back say how decays are walked, where there are some.
_WALK = """\
static int $name($params, tr_var *o, int nd, int axis) {
  const int across = axis != nd - 1;
  const int64_t n = x->n[axis], m = across ? x->n[nd - 1] : 1;
  const int64_t xt = x->s[axis], xs = across ? x->s[nd - 1] : 0;
  int64_t step = 1, i[TR_ND] = {0};
  const char *p = x->p;
  char *q = o->p;
  int d;
  $start
  if (tr_count(x, nd) == 0) return 0;
  for (d = nd - 1; d > axis; d--) step *= o->n[d];
  for (;;) {
    $Out *to = ($Out *)q;
    const char *f = p;
    $lines
    for (d = nd - 1 - across; d >= 0; d--) {
      if (d == axis) continue;
      if (++i[d] < x->n[d]) { p += x->s[d]; q += o->s[d]; $forward break; }
      p -= x->s[d] * (x->n[d] - 1);
      q -= o->s[d] * (x->n[d] - 1);
      $back
      i[d] = 0;
    }
    if (d < 0) return 0;
  }
}
"""
_ACCUMULATE = """\
if (!across) {
      $Acc a = $load;
      *to = $store;
      for (int64_t t = 1; t < n; t++) {
        f += xt;
        to += step;
        { const $Acc y = $load; a = $next; }
        *to = $store;
      }
    } else {
      for (int64_t j = 0; j < m; j++, f += xs) { const $Acc a = $load; to[j] = $store; }
      for (int64_t t = 1; t < n; t++) {
        const $Out *before = to;
        to += step;
        if (xs == sizeof($Elem)) {
          const $Elem *row = (const $Elem *)(p + t * xt);
#pragma omp simd
          for (int64_t j = 0; j < m; j++) { const $Acc b = $before, y = $row, a = $joined; to[j] = $store; }
        } else {
          f = p + t * xt;
          for (int64_t j = 0; j < m; j++, f += xs) { const $Acc b = $before, y = $load, a = $joined; to[j] = $store; }
        }
      }
    }"""
_RECUR = """\
const char *g = e;
    if (!across) {
      $Acc a = $load;
      *to = $store;
      for (int64_t t = 1; t < n; t++, g += et) {
        f += xt;
        to += step;
        { const $Acc y = $load, k = $decay; a = $next; }
        *to = $store;
      }
    } else {
      for (int64_t j = 0; j < m; j++, f += xs) { const $Acc a = $load; to[j] = $store; }
      for (int64_t t = 1; t < n; t++) {
        const $Out *before = to;
        f = p + t * xt;
        g = e + (t - 1) * et;
        to += step;
        for (int64_t j = 0; j < m; j++, f += xs, g += es) {
          const $Acc b = $before, y = $load, k = $decay, a = $joined;
          to[j] = $store;
        }
      }
    }"""
_NAMES = {kind.short: name for name, kind in CTYPES.items()}
_OF_TRUTH = {"sum": "{a} | {y}", "prod": "{a} & {y}"}


_OF_COMPLEX = {"prod": "tr_mul_$short({a}, {y})"}


def _walk(name: str, source: CType, result: CType, join: str, lines: str, more: dict[str, str]) -> str:
    """Return the function that walks along an axis and combines elements by `join`."""
    own, target = _NAMES[source.short], _NAMES[result.short]
    half = target == "float16"

    def read(place: str) -> str:
        return converted(own, target, loaded(own, place))

    def joined(a: str) -> str:
        text = join.format(a=a, y="y")
        return f"tr_f32_round_f16({text})" if half else f"({result.computed})({text})"

    types = {"Acc": result.computed, "Elem": source.stored, "Out": result.stored}
    text = Template(lines).safe_substitute(
        types,
        load=read(f"*(const {source.stored} *)f"),
        row=read("row[j]"),
        store=stored(target, "a"),
        before=loaded(target, "before[j]"),
        next=joined("a"),
        joined=joined("b"),
        decay=loaded(own, f"*(const {source.stored} *)g"),
    )
    return Template(_WALK).substitute(types, name=name, lines=text, **more)


def accumulation(kind: str, source: CType, result: CType) -> str:
    """Return the text of the function that accumulates elements of one type into results of another."""
    truth = _OF_TRUTH.get(kind) if result.kind == "b" else None
    join = truth or ACCUMULATIONS[kind].replace("$suffix", result.suffix)
    if result.kind == "c":
        join = _OF_COMPLEX.get(kind, join).replace("$short", result.short)
    more = {"params": "const tr_var *x", "start": "", "forward": "", "back": ""}
    return _walk(f"tr_scan_{kind}_{source.short}_{result.short}", source, result, join, _ACCUMULATE, more)


def recurrence(kind: CType) -> str:
    """Return the text of the function that runs the linear recurrence of a type."""
    more = {
        "params": "const tr_var *decay, const tr_var *x",
        "start": """const int64_t et = decay->s[axis], es = across ? decay->s[nd - 1] : 0;
  const char *e = decay->p;
  for (d = 0; d < nd; d++)
    if (decay->n[d] != (d != axis ? x->n[d] : x->n[d] > 1 ? x->n[d] - 1 : 0)) return TR_SHAPE;""",
        "forward": "e += decay->s[d];",
        "back": "e -= decay->s[d] * (x->n[d] - 1);",
    }
    join = "tr_f32_round_f16(k * {a}) + {y}" if kind.short == "f16" else "k * {a} + {y}"
    return _walk(f"tr_recur_{kind.short}", kind, kind, join, _RECUR, more)
