"""C text of ops that compute or check lengths at run time."""

from __future__ import annotations

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
    for (int d = from_nd - 1; d >= 0; d--) {
      whole.s[d] = whole.n[d] == 1 ? 0 : size;
      size *= whole.n[d];
    }
    return tr_transfer(&whole, from_nd, x, from_nd, k);
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
static int tr_join_part(tr_var *to, const tr_var *x, int nd, int axis, tr_kernel k) {
  tr_var part = *to;
  for (int d = 0; d < nd; d++) part.n[d] = x->n[d];
  to->p += x->n[axis] * to->s[axis];
  return tr_transfer(&part, nd, x, nd, k);
}
""",
    "tr_join": """\
static int tr_join(tr_var *v, const int *ix, int count, tr_var *o, int nd, int axis, int64_t size, tr_kernel k) {
  tr_var to;
  int status = tr_join_lengths(v, ix, count, o, nd, axis);
  if (status || (status = tr_alloc(o, nd, size))) return status;
  to = *o;
  for (int i = 0; i < count; i++) if ((status = tr_join_part(&to, v + ix[i], nd, axis, k))) return status;
  return 0;
}
""",
}
