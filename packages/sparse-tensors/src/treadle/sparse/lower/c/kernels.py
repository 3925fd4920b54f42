"""Kernels of sparse matrices in C: loops over lines and their entries.

Each function first checks positions and pointers, so that no wrong ones lead out of an array.
"""

from __future__ import annotations

from string import Template

from treadle.link.c import HELPERS, TABLE, CType, Unit, ctype
from treadle.sparse.kernels.lines import Densified, LineOfEntry
from treadle.sparse.kernels.patterns import (
    CombinedPattern,
    ProductPattern,
    Sampled,
    SampledSparseProduct,
    TransposedPattern,
)
from treadle.sparse.kernels.products import LinesProduct, SampledProduct, TransposedLinesProduct
from treadle.tensor import TensorNode, TensorVariable

# The functions work on complex numbers as well.
TAKES_COMPLEX = True

_INDICES = {
    "tr_sparse_at": """\
static inline int32_t tr_sparse_at(const tr_var *x, int64_t i) { return *(const int32_t *)(x->p + i * x->s[0]); }
""",
    "tr_sparse_check": """\
/* Whether positions and pointers describe lines of a length. */
static int tr_sparse_check(const tr_var *idx, const tr_var *ptr, int64_t across) {
  const int64_t lines = ptr->n[0] - 1, count = idx->n[0];
  if (lines < 0 || tr_sparse_at(ptr, 0) != 0 || tr_sparse_at(ptr, lines) != count) return TR_SHAPE;
  for (int64_t i = 0; i < lines; i++) if (tr_sparse_at(ptr, i) > tr_sparse_at(ptr, i + 1)) return TR_SHAPE;
  for (int64_t e = 0; e < count; e++) if (tr_sparse_at(idx, e) < 0 || tr_sparse_at(idx, e) >= across) return TR_SHAPE;
  return 0;
}
""",
    "tr_sparse_lines": """\
static int tr_sparse_lines(const tr_var *idx, const tr_var *ptr, tr_var *o) {
  const int64_t lines = ptr->n[0] - 1, count = idx->n[0];
  int status;
  if (lines < 0 || tr_sparse_at(ptr, 0) != 0 || tr_sparse_at(ptr, lines) != count) return TR_SHAPE;
  for (int64_t i = 0; i < lines; i++) if (tr_sparse_at(ptr, i) > tr_sparse_at(ptr, i + 1)) return TR_SHAPE;
  o->n[0] = count;
  if ((status = tr_alloc(o, 1, 4))) return status;
  for (int64_t i = 0; i < lines; i++)
    for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++) ((int32_t *)o->p)[e] = (int32_t)i;
  return 0;
}
""",
    "tr_sparse_turned": """\
/* Counting sort of the entries by position. */
static int tr_sparse_turned(const tr_var *idx, const tr_var *ptr, int64_t across, tr_var *oi, tr_var *op, tr_var *oo) {
  const int64_t lines = ptr->n[0] - 1, count = idx->n[0];
  int status = across < 0 ? TR_SHAPE : tr_sparse_check(idx, ptr, across);
  if (status) return status;
  oi->n[0] = oo->n[0] = count;
  op->n[0] = across + 1;
  if ((status = tr_alloc(oi, 1, 4)) || (status = tr_alloc(op, 1, 4)) || (status = tr_alloc(oo, 1, 4))) return status;
  int32_t *start = (int32_t *)op->p, *from = (int32_t *)oi->p, *order = (int32_t *)oo->p;
  memset(start, 0, (size_t)(across + 1) * 4);
  for (int64_t e = 0; e < count; e++) start[tr_sparse_at(idx, e) + 1]++;
  for (int64_t j = 0; j < across; j++) start[j + 1] += start[j];
  for (int64_t i = 0; i < lines; i++) for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++) {
    const int32_t at = start[tr_sparse_at(idx, e)]++;
    from[at] = (int32_t)i;
    order[at] = (int32_t)e;
  }
  /* Each start has moved to the next one's place. */
  for (int64_t j = across; j > 0; j--) start[j] = start[j - 1];
  if (across > 0) start[0] = 0;
  return 0;
}
""",
    "tr_sparse_combined tr_sparse_sorted_line": """\
/* Copy the positions of a line, sorted. */
static int64_t tr_sparse_sorted_line(const tr_var *idx, int64_t from, int64_t to, int32_t *line) {
  const int64_t n = to - from;
  int sorted = 1;
  for (int64_t e = 0; e < n; e++) {
    line[e] = tr_sparse_at(idx, from + e);
    sorted &= !e || line[e - 1] <= line[e];
  }
  for (int64_t gap = sorted ? 0 : n / 2; gap > 0; gap /= 2) for (int64_t i = gap; i < n; i++) {
    const int32_t x = line[i];
    int64_t j = i;
    for (; j >= gap && line[j - gap] > x; j -= gap) line[j] = line[j - gap];
    line[j] = x;
  }
  return n;
}
/* The positions of one of two patterns or of both, each once. */
static int tr_sparse_combined(const tr_var *ai, const tr_var *ap, const tr_var *bi, const tr_var *bp, int64_t across,
                              int both, tr_var *oi, tr_var *op) {
  const int64_t lines = ap->n[0] - 1;
  int status = ap->n[0] != bp->n[0] ? TR_SHAPE : tr_sparse_check(ai, ap, across);
  if (status || (status = tr_sparse_check(bi, bp, across))) return status;
  int32_t *room = malloc((size_t)(2 * (ai->n[0] + bi->n[0]) + 1) * 4), *found = room + ai->n[0] + bi->n[0];
  if (!room) return TR_MEMORY;
  op->n[0] = lines + 1;
  if ((status = tr_alloc(op, 1, 4))) { free(room); return status; }
  int32_t *pointers = (int32_t *)op->p;
  int64_t count = 0;
  pointers[0] = 0;
  for (int64_t i = 0; i < lines; i++) {
    int32_t *a = room;
    const int64_t na = tr_sparse_sorted_line(ai, tr_sparse_at(ap, i), tr_sparse_at(ap, i + 1), a);
    int32_t *b = room + na;
    const int64_t nb = tr_sparse_sorted_line(bi, tr_sparse_at(bp, i), tr_sparse_at(bp, i + 1), b);
    int64_t x = 0, y = 0;
    while (both ? x < na && y < nb : x < na || y < nb) {
      const int32_t at = y >= nb || (x < na && a[x] <= b[y]) ? a[x] : b[y];
      const int in_a = x < na && a[x] == at, in_b = y < nb && b[y] == at;
      while (x < na && a[x] == at) x++;
      while (y < nb && b[y] == at) y++;
      if (!both || (in_a && in_b)) found[count++] = at;
    }
    pointers[i + 1] = (int32_t)count;
  }
  oi->n[0] = count;
  if (!(status = tr_alloc(oi, 1, 4))) memcpy(oi->p, found, (size_t)count * 4);
  free(room);
  return status;
}
""",
    "tr_sparse_product_pattern tr_sparse_sort": """\
/* Shellsort with Knuth's gaps: lines are short, and often nearly sorted. */
static void tr_sparse_sort(int32_t *line, int64_t n) {
  int64_t gap = 1;
  while (gap < n / 3) gap = 3 * gap + 1;
  for (; gap > 0; gap /= 3) for (int64_t i = gap; i < n; i++) {
    const int32_t x = line[i];
    int64_t j = i;
    for (; j >= gap && line[j - gap] > x; j -= gap) line[j] = line[j - gap];
    line[j] = x;
  }
}
/* The positions of a product, sorted and each once. Lines are counted, then filled (Gustavson, 1978). */
static int tr_sparse_product_pattern(const tr_var *ai, const tr_var *ap, const tr_var *bi, const tr_var *bp,
                                     int64_t across, tr_var *oi, tr_var *op) {
  const int64_t lines = ap->n[0] - 1, stride = bi->s[0];
  int status = across < 0 ? TR_SHAPE : tr_sparse_check(ai, ap, bp->n[0] - 1);
  if (status || (status = tr_sparse_check(bi, bp, across))) return status;
  op->n[0] = lines + 1;
  if ((status = tr_alloc(op, 1, 4))) return status;
  /* For each position the last line that has it, counted from 1; negative while lines are filled. */
  int32_t *seen = calloc((size_t)(across > 0 ? across : 1), 4), *pointers = (int32_t *)op->p;
  if (!seen) return TR_MEMORY;
  int64_t count = 0;
  pointers[0] = 0;
  for (int64_t i = 0; i < lines; i++) {
    const int32_t mark = (int32_t)(i + 1);
    for (int64_t e = tr_sparse_at(ap, i); e < tr_sparse_at(ap, i + 1); e++) {
      const int64_t k = tr_sparse_at(ai, e), from = tr_sparse_at(bp, k), to = tr_sparse_at(bp, k + 1);
      const char *at = bi->p + from * stride;
      for (int64_t f = from; f < to; f++, at += stride) {
        int32_t *place = seen + *(const int32_t *)at;
        count += *place != mark;
        *place = mark;
      }
    }
    if (count > INT32_MAX) { free(seen); return TR_SHAPE; }
    pointers[i + 1] = (int32_t)count;
  }
  oi->n[0] = count;
  if ((status = tr_alloc(oi, 1, 4))) { free(seen); return status; }
  for (int64_t i = 0; i < lines; i++) {
    const int32_t mark = (int32_t)(-i - 1);
    int32_t *line = (int32_t *)oi->p + pointers[i];
    int64_t n = 0;
    for (int64_t e = tr_sparse_at(ap, i); e < tr_sparse_at(ap, i + 1); e++) {
      const int64_t k = tr_sparse_at(ai, e), from = tr_sparse_at(bp, k), to = tr_sparse_at(bp, k + 1);
      const char *at = bi->p + from * stride;
      for (int64_t f = from; f < to; f++, at += stride) {
        const int32_t j = *(const int32_t *)at;
        if (seen[j] != mark) { seen[j] = mark; line[n++] = j; }
      }
    }
    if (n < across / 16) tr_sparse_sort(line, n);
    else for (int64_t j = n = 0; j < across; j++) if (seen[j] == mark) line[n++] = (int32_t)j;
  }
  free(seen);
  return 0;
}
""",
}

_HEAD = """\
#define TR_SP_AT(x, i) (*(const $T *)((x)->p + (i) * (x)->s[0]))
#define TR_SP_ROW(x, i) ((x)->p + (i) * (x)->s[0])
"""
_FOOT = """\
#undef TR_SP_AT
#undef TR_SP_ROW
"""
# The body of a loop over columns, for matrices whose rows are contiguous and for others.
_AXPY = """\
      $T *to = (($T *)o->p) + $target * k;
      const char *row = TR_SP_ROW(y, $source);
      const $T factor = TR_SP_AT(data, e);
      if (y->s[1] == sizeof($T) || k == 1) for (int64_t c = 0; c < k; c++) to[c] += factor * (($T const *)row)[c];
      else for (int64_t c = 0; c < k; c++) to[c] += factor * *($T const *)(row + c * y->s[1]);
"""
_PRODUCT = (
    """\
static int tr_sparse_product_$short(const tr_var *data, const tr_var *idx, const tr_var *ptr, const tr_var *y,
                                    tr_var *o) {
  const int64_t lines = ptr->n[0] - 1, k = y->n[1];
  int status = data->n[0] != idx->n[0] ? TR_SHAPE : tr_sparse_check(idx, ptr, y->n[0]);
  if (status) return status;
  o->n[0] = lines;
  o->n[1] = k;
  if ((status = tr_alloc(o, 2, sizeof($T)))) return status;
  if (k == 1) {
    for (int64_t i = 0; i < lines; i++) {
      $T sum = 0;
      for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++)
        sum += TR_SP_AT(data, e) * TR_SP_AT(y, tr_sparse_at(idx, e));
      (($T *)o->p)[i] = sum;
    }
    return 0;
  }
  memset(o->p, 0, (size_t)(lines * k) * sizeof($T));
  for (int64_t i = 0; i < lines; i++) for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++) {
"""
    + Template(_AXPY).safe_substitute(target="i", source="tr_sparse_at(idx, e)")
    + """\
  }
  return 0;
}
"""
)
_TRANSPOSED = (
    """\
static int tr_sparse_transposed_$short(const tr_var *data, const tr_var *idx, const tr_var *ptr, const tr_var *y,
                                       int64_t across, tr_var *o) {
  const int64_t lines = ptr->n[0] - 1, k = y->n[1];
  int status = data->n[0] != idx->n[0] || lines != y->n[0] || across < 0 ? TR_SHAPE
                                                                         : tr_sparse_check(idx, ptr, across);
  if (status) return status;
  o->n[0] = across;
  o->n[1] = k;
  if ((status = tr_alloc(o, 2, sizeof($T)))) return status;
  memset(o->p, 0, (size_t)(across * k) * sizeof($T));
  for (int64_t i = 0; i < lines; i++) for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++) {
"""
    + Template(_AXPY).safe_substitute(target="tr_sparse_at(idx, e)", source="i")
    + """\
  }
  return 0;
}
"""
)
_SAMPLED_PRODUCT = """\
static int tr_sparse_dots_$short(const tr_var *idx, const tr_var *ptr, const tr_var *u, const tr_var *w, tr_var *o) {
  const int64_t lines = ptr->n[0] - 1, k = u->n[1];
  int status = lines != u->n[0] || k != w->n[1] ? TR_SHAPE : tr_sparse_check(idx, ptr, w->n[0]);
  if (status) return status;
  o->n[0] = idx->n[0];
  if ((status = tr_alloc(o, 1, sizeof($T)))) return status;
  for (int64_t i = 0; i < lines; i++) for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++) {
    const char *a = TR_SP_ROW(u, i), *b = TR_SP_ROW(w, tr_sparse_at(idx, e));
    $T sum = 0;
    for (int64_t c = 0; c < k; c++) sum += *($T const *)(a + c * u->s[1]) * *($T const *)(b + c * w->s[1]);
    (($T *)o->p)[e] = sum;
  }
  return 0;
}
"""
_SAMPLED = """\
/* Each line of the matrix is spread out in a row of zeros, and read there. */
static int tr_sparse_sampled_$short(const tr_var *data, const tr_var *idx, const tr_var *ptr, const tr_var *at,
                                    const tr_var *to, int64_t across, tr_var *o) {
  const int64_t lines = ptr->n[0] - 1;
  int status = data->n[0] != idx->n[0] || ptr->n[0] != to->n[0] ? TR_SHAPE : tr_sparse_check(idx, ptr, across);
  if (status || (status = tr_sparse_check(at, to, across))) return status;
  $T *row = calloc((size_t)(across > 0 ? across : 1), sizeof($T));
  if (!row) return TR_MEMORY;
  o->n[0] = at->n[0];
  if ((status = tr_alloc(o, 1, sizeof($T)))) { free(row); return status; }
  for (int64_t i = 0; i < lines; i++) {
    for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++)
      row[tr_sparse_at(idx, e)] += TR_SP_AT(data, e);
    for (int64_t e = tr_sparse_at(to, i); e < tr_sparse_at(to, i + 1); e++) (($T *)o->p)[e] = row[tr_sparse_at(at, e)];
    for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++) row[tr_sparse_at(idx, e)] = 0;
  }
  free(row);
  return 0;
}
"""
_SAMPLED_SPARSE = """\
/* Terms of each line are added up in a row, where the pattern has a position. */
static int tr_sparse_sampled_product_$short(const tr_var *a, const tr_var *ai, const tr_var *ap, const tr_var *b,
                                            const tr_var *bi, const tr_var *bp, const tr_var *at, const tr_var *to,
                                            int64_t across, tr_var *o) {
  const int64_t lines = ap->n[0] - 1, room = across > 0 ? across : 1;
  int status = a->n[0] != ai->n[0] || b->n[0] != bi->n[0] || ap->n[0] != to->n[0] || across < 0
                   ? TR_SHAPE : tr_sparse_check(ai, ap, bp->n[0] - 1);
  if (status || (status = tr_sparse_check(bi, bp, across)) || (status = tr_sparse_check(at, to, across))) return status;
  o->n[0] = at->n[0];
  if ((status = tr_alloc(o, 1, sizeof($T)))) return status;
  $T *row = malloc((size_t)room * sizeof($T)), *results = ($T *)o->p;
  int32_t *wanted = calloc((size_t)room, 4);
  if (!row || !wanted) { free(row); free(wanted); return TR_MEMORY; }
  for (int64_t i = 0; i < lines; i++) {
    const int32_t mark = (int32_t)(i + 1);
    const int64_t first = tr_sparse_at(to, i), last = tr_sparse_at(to, i + 1);
    for (int64_t e = first; e < last; e++) {
      wanted[tr_sparse_at(at, e)] = mark;
      row[tr_sparse_at(at, e)] = 0;
    }
    for (int64_t e = tr_sparse_at(ap, i); first < last && e < tr_sparse_at(ap, i + 1); e++) {
      const int64_t k = tr_sparse_at(ai, e), end = tr_sparse_at(bp, k + 1);
      const $T factor = TR_SP_AT(a, e);
      for (int64_t f = tr_sparse_at(bp, k); f < end; f++) {
        const int32_t j = tr_sparse_at(bi, f);
        if (wanted[j] == mark) row[j] += factor * TR_SP_AT(b, f);
      }
    }
    for (int64_t e = first; e < last; e++) results[e] = row[tr_sparse_at(at, e)];
  }
  free(row);
  free(wanted);
  return 0;
}
"""
_DENSE = """\
static int tr_sparse_dense_$short(const tr_var *data, const tr_var *idx, const tr_var *ptr, int64_t across, tr_var *o) {
  const int64_t lines = ptr->n[0] - 1;
  int status = data->n[0] != idx->n[0] || across < 0 ? TR_SHAPE : tr_sparse_check(idx, ptr, across);
  if (status) return status;
  o->n[0] = lines;
  o->n[1] = across;
  if ((status = tr_alloc(o, 2, sizeof($T)))) return status;
  memset(o->p, 0, (size_t)(lines * across) * sizeof($T));
  for (int64_t i = 0; i < lines; i++) for (int64_t e = tr_sparse_at(ptr, i); e < tr_sparse_at(ptr, i + 1); e++)
    (($T *)o->p)[i * across + tr_sparse_at(idx, e)] += TR_SP_AT(data, e);
  return 0;
}
"""


def _family(text: str) -> object:
    """Return a function from C types to the text of a helper."""

    def written(kind: CType) -> str:
        return Template(_HEAD + text + _FOOT).substitute(T=kind.stored, short=kind.short)

    return written


FAMILIES = {
    "tr_sparse_product": _family(_PRODUCT),
    "tr_sparse_transposed": _family(_TRANSPOSED),
    "tr_sparse_dots": _family(_SAMPLED_PRODUCT),
    "tr_sparse_sampled": _family(_SAMPLED),
    "tr_sparse_sampled_product": _family(_SAMPLED_SPARSE),
    "tr_sparse_dense": _family(_DENSE),
}
HELPERS.add(_INDICES, FAMILIES)  # type: ignore[arg-type]  # functions from C types to texts


def _slots(unit: Unit, variables: list[TensorVariable]) -> str:
    return ", ".join(f"v + {unit.slot(x)}" for x in variables)


@TABLE.register(LineOfEntry)
def line_of_entry(op: LineOfEntry, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    inputs = _slots(unit, list(node.inputs))
    unit.call(f"tr_sparse_lines({inputs}, v + {unit.owns(node.outputs[0])})")


@TABLE.register(Densified)
def densified(op: Densified, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    *arrays, across = node.inputs
    (out,) = node.outputs
    inputs, length = _slots(unit, arrays), unit.integer(across)
    unit.call(f"tr_sparse_dense_{ctype(out).short}({inputs}, {length}, v + {unit.owns(out)})")


@TABLE.register(LinesProduct)
def lines_product(op: LinesProduct, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    (out,) = node.outputs
    inputs = _slots(unit, list(node.inputs))
    unit.call(f"tr_sparse_product_{ctype(out).short}({inputs}, v + {unit.owns(out)})")


@TABLE.register(TransposedLinesProduct)
def transposed_lines_product(op: TransposedLinesProduct, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    *arrays, across = node.inputs
    (out,) = node.outputs
    inputs, length = _slots(unit, arrays), unit.integer(across)
    unit.call(f"tr_sparse_transposed_{ctype(out).short}({inputs}, {length}, v + {unit.owns(out)})")


@TABLE.register(SampledProduct)
def sampled_product(op: SampledProduct, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    (out,) = node.outputs
    inputs = _slots(unit, list(node.inputs))
    unit.call(f"tr_sparse_dots_{ctype(out).short}({inputs}, v + {unit.owns(out)})")


@TABLE.register(Sampled)
def sampled(op: Sampled, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    *arrays, across = node.inputs
    (out,) = node.outputs
    inputs, length = _slots(unit, arrays), unit.integer(across)
    unit.call(f"tr_sparse_sampled_{ctype(out).short}({inputs}, {length}, v + {unit.owns(out)})")


@TABLE.register(TransposedPattern)
def transposed_pattern(op: TransposedPattern, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    *arrays, across = node.inputs
    inputs, length = _slots(unit, arrays), unit.integer(across)
    outputs = ", ".join(f"v + {unit.owns(out)}" for out in node.outputs)
    unit.call(f"tr_sparse_turned({inputs}, {length}, {outputs})")


@TABLE.register(CombinedPattern)
def combined_pattern(op: CombinedPattern, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    *arrays, across = node.inputs
    inputs, length = _slots(unit, arrays), unit.integer(across)
    outputs = ", ".join(f"v + {unit.owns(out)}" for out in node.outputs)
    unit.call(f"tr_sparse_combined({inputs}, {length}, {int(op.both)}, {outputs})")


@TABLE.register(ProductPattern)
def product_pattern(op: ProductPattern, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    *arrays, across = node.inputs
    inputs, length = _slots(unit, arrays), unit.integer(across)
    outputs = ", ".join(f"v + {unit.owns(out)}" for out in node.outputs)
    unit.call(f"tr_sparse_product_pattern({inputs}, {length}, {outputs})")


@TABLE.register(SampledSparseProduct)
def sampled_sparse_product(op: SampledSparseProduct, node: TensorNode, unit: Unit) -> None:
    """Write the call."""
    *arrays, across = node.inputs
    (out,) = node.outputs
    inputs, length = _slots(unit, arrays), unit.integer(across)
    unit.call(f"tr_sparse_sampled_product_{ctype(out).short}({inputs}, {length}, v + {unit.owns(out)})")
