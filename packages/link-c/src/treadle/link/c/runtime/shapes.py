"""C text of ops that compute or check lengths and positions at run time, and of adding to what views show."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType

SHAPES = {
    "tr_reshape": """\
static int tr_reshape(tr_var *o, int nd, const tr_var *x, int from_nd, int64_t size, tr_kernel k) {
  const int64_t total = tr_count(x, from_nd);
  int64_t known = 1;
  int open = -1;
  for (int d = 0; d < nd; d++) {
    if (o->n[d] == -1) {
      if (open >= 0) return TR_LENGTH;
      open = d;
    } else if (o->n[d] < 0 || __builtin_mul_overflow(known, o->n[d], &known)) {
      return TR_LENGTH;
    }
  }
  if (open >= 0) {
    if (known == 0 || total % known) return TR_LENGTH;
    o->n[open] = total / known;
    known = total;
  }
  if (known != total) return TR_LENGTH;
  if (tr_is_contiguous(x, from_nd, size)) {
    int64_t s = size;
    for (int d = nd - 1; d >= 0; d--) {
      o->s[d] = o->n[d] == 1 ? 0 : s;
      s *= o->n[d];
    }
    o->p = x->p;
    return 0;
  } else {
    tr_var whole = *x;
    int status = tr_alloc(o, nd, size);
    if (status) return status;
    whole.dst = 0;
    whole.p = o->p;
    int64_t s = size;
    for (int d = from_nd - 1; d >= 0; d--) {
      whole.s[d] = whole.n[d] == 1 ? 0 : s;
      s *= whole.n[d];
    }
    return tr_transfer(&whole, from_nd, x, from_nd, size, k);
  }
}
""",
    "tr_sum_to": """\
static int tr_sum_to(tr_var *o, int nd, const tr_var *x, int from_nd, int64_t size, const tr_reducer *r) {
  const int extra = from_nd - nd;
  uint64_t mask = 0;
  int status;
  for (int d = 0; d < extra; d++) mask |= UINT64_C(1) << d;
  for (int d = 0; d < nd; d++) {
    const int64_t n = x->n[d + extra], m = o->n[d];
    if (m == n) continue;
    if (m != 1) return TR_SHAPE;
    mask |= UINT64_C(1) << (d + extra);
  }
  if (!mask) {
    for (int d = 0; d < nd; d++) o->s[d] = x->s[d];
    o->p = x->p;
    return 0;
  }
  if ((status = tr_alloc(o, nd, size))) return status;
  return tr_reduce(x, from_nd, mask, o, r);
}
""",
    "tr_join_lengths": """\
static int tr_join_lengths(const tr_var *v, const int *ix, int count, tr_var *o, int nd, int axis) {
  for (int d = 0; d < nd; d++) {
    o->n[d] = v[ix[0]].n[d];
    for (int i = 1; i < count; i++) {
      if (d == axis) o->n[d] += v[ix[i]].n[d];
      else if (v[ix[i]].n[d] != o->n[d]) return TR_SHAPE;
    }
  }
  return 0;
}
""",
    # Writes a part to where the target begins, which then begins behind it.
    "tr_join_part": """\
static int tr_join_part(tr_var *to, const tr_var *x, int nd, int axis, int64_t size, tr_kernel k) {
  tr_var part = *to;
  for (int d = 0; d < nd; d++) part.n[d] = x->n[d];
  to->p += x->n[axis] * to->s[axis];
  return tr_transfer(&part, nd, x, nd, size, k);
}
""",
    "tr_join": """\
static int tr_join(tr_var *v, const int *ix, int count, tr_var *o, int nd, int axis, int64_t size, tr_kernel k) {
  tr_var to;
  int status = tr_join_lengths(v, ix, count, o, nd, axis);
  if (status || (status = tr_alloc(o, nd, size))) return status;
  to = *o;
  for (int i = 0; i < count; i++) if ((status = tr_join_part(&to, v + ix[i], nd, axis, size, k))) return status;
  return 0;
}
""",
    # A position counted from the start; -1 if it is out of bounds.
    "tr_position": """\
static inline int64_t tr_position(int64_t i, int64_t n) {
  if (i < 0) i += n;
  return i < 0 || i >= n ? -1 : i;
}
""",
    # The first position and the length of a slice, clipped as in Python; given: bit 0 for a start, 1 for a stop. The
    # length is -1 if the step is 0.
    "tr_span": """\
static inline int64_t tr_span(int64_t n, int given, int64_t start, int64_t stop, int64_t step, int64_t *count) {
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  int64_t m;
  if (step == 0) { *count = -1; return 0; }
  if (!(given & 1)) start = step < 0 ? high : low;
  else { if (start < 0) start += n; start = start < low ? low : start > high ? high : start; }
  if (!(given & 2)) stop = step < 0 ? low : high;
  else { if (stop < 0) stop += n; stop = stop < low ? low : stop > high ? high : stop; }
  if (step > 0) m = stop > start ? (int64_t)(((uint64_t)(stop - start) - 1) / (uint64_t)step) + 1 : 0;
  else m = start > stop ? (int64_t)(((uint64_t)(start - stop) - 1) / (0 - (uint64_t)step)) + 1 : 0;
  *count = m;
  return m > 0 ? start : 0;
}
""",
}

_ADD = """\
static int tr_add_$short(int64_t n, char *const *p, const int64_t *s) {
  char *to = p[0];
  const char *from = p[1];
  for (int64_t j = 0; j < n; j++, to += s[0], from += s[1]) *($Elem *)to = $sum;
  return 0;
}
"""


def adding(ctype: CType) -> str:
    """Return the text of the kernel that adds the second operand to the first."""
    return Template(_ADD).substitute(Elem=ctype.stored, short=ctype.short, sum=_total(ctype))


def _total(ctype: CType) -> str:
    a, b = f"*({ctype.stored} *)to", f"*(const {ctype.stored} *)from"
    if ctype.short == "f16":
        return f"tr_f32_to_f16(tr_f16_to_f32({a}) + tr_f16_to_f32({b}))"
    return f"({ctype.stored})({a} {'|' if ctype.short == 'b' else '+'} {b})"
