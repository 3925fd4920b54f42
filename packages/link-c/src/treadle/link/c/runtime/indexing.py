"""C text of indexing: positions and slices as views, and gathering and scattering by arrays of positions."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType

INDEXING = {
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
    # The place in memory that every tuple of positions picks, relative to the tensor's first element.
    "tr_place tr_placing": """\
typedef int (*tr_placing)(int64_t n, char *const *p, const int64_t *s, int64_t length, int64_t stride, int first);
static int tr_place(tr_var *v, const int *ix, const int *nds, int count, const int *dims, const tr_placing *k,
                    const tr_var *x, int nd, int64_t *n, int64_t **offsets) {
  int64_t total = 1, *made;
  for (int d = 0; d < nd; d++) {
    int64_t m = 1;
    for (int o = 0; o < count; o++) {
      const int e = d - (nd - nds[o]);
      if (e >= 0 && v[ix[o]].n[e] != 1) {
        if (m != 1 && m != v[ix[o]].n[e]) return TR_INDEX;
        m = v[ix[o]].n[e];
      }
    }
    n[d] = m;
    total *= m;
  }
  *offsets = made = malloc((size_t)(total ? total : 1) * sizeof(int64_t));
  if (!made) return TR_MEMORY;
  if (count == 0 && total) *made = 0;
  for (int o = 0; o < count; o++) {
    const tr_var *a = v + ix[o];
    if (!total) { /* Nothing is taken; NumPy checks single positions all the same. */
      char *one[2] = {(char *)made, a->p};
      const int64_t still[2] = {0, 0};
      const int status = nds[o] ? 0 : k[o](1, one, still, x->n[dims[o]], x->s[dims[o]], 1);
      if (status) return status;
      continue;
    }
    int64_t i[TR_ND + 1] = {0}, *at = made, s[2] = {sizeof(int64_t), 0}, inner = 1;
    char *p[2] = {0, a->p};
    int last = nd - 1;
    if (nd) { inner = n[last]; s[1] = nds[o] && a->n[nds[o] - 1] != 1 ? a->s[nds[o] - 1] : 0; }
    for (;;) {
      int d, status;
      p[0] = (char *)at;
      if ((status = k[o](inner, p, s, x->n[dims[o]], x->s[dims[o]], o == 0))) return status;
      at += inner;
      for (d = last - 1; d >= 0; d--) {
        const int e = d - (nd - nds[o]);
        const int64_t step = e < 0 || a->n[e] == 1 ? 0 : a->s[e];
        if (++i[d] < n[d]) { p[1] += step; break; }
        p[1] -= step * (n[d] - 1);
        i[d] = 0;
      }
      if (d < 0) break;
    }
  }
  return 0;
}
""",
    # to and from walk in step: for every place, all elements of the dimensions that no array indexes. Where there is
    # one element at each place, points does all of them.
    "tr_gather tr_points": """\
typedef void (*tr_points)(int64_t count, const int64_t *offsets, char *x, char *o, int64_t os);
static int tr_gather(int64_t count, const int64_t *offsets, char *x, char *o, int64_t os, int nd, const int64_t *n,
                     const int64_t *xs, const int64_t *rs, int scatter, tr_kernel k, tr_points points) {
  int64_t st[TR_ND][TR_OPS];
  char *p[2];
  int status;
  if (nd == 0) { points(count, offsets, x, o, os); return 0; }
  for (int d = 0; d < nd; d++) { st[d][scatter ? 0 : 1] = xs[d]; st[d][scatter ? 1 : 0] = rs[d]; }
  for (int64_t i = 0; i < count; i++) {
    p[scatter ? 0 : 1] = x + offsets[i];
    p[scatter ? 1 : 0] = o + i * os;
    if ((status = tr_iterate(2, nd, n, p, st, k))) return status;
  }
  return 0;
}
""",
}

# Reads what one vector of positions picks, block by block: their places need no memory of their own.
INDEXING["tr_take_rows"] = """\
static int tr_take_rows(const tr_var *a, int64_t length, int64_t stride, tr_placing place, char *x, char *o, int64_t os,
                        int nd, const int64_t *n, const int64_t *xs, const int64_t *rs, tr_kernel k, tr_points points) {
  int64_t offsets[1024];
  const int64_t count = a->n[0], s[2] = {sizeof(int64_t), count == 1 ? 0 : a->s[0]};
  for (int64_t i = 0; i < count; i += 1024) {
    const int64_t m = count - i < 1024 ? count - i : 1024;
    char *const p[2] = {(char *)offsets, a->p + i * s[1]};
    int status = place(m, p, s, length, stride, 1);
    if (!status) status = tr_gather(m, offsets, x, o + i * os, os, nd, n, xs, rs, 0, k, points);
    if (status) return status;
  }
  return 0;
}
"""

for _size, _type in ((1, "uint8_t"), (2, "uint16_t"), (4, "uint32_t"), (8, "uint64_t"), (16, "tr_pair")):
    INDEXING[f"tr_pick{_size}"] = f"""\
static void tr_pick{_size}(int64_t count, const int64_t *offsets, char *x, char *o, int64_t os) {{
  if (os == {_size}) for (int64_t i = 0; i < count; i++) (({_type} *)o)[i] = *(const {_type} *)(x + offsets[i]);
  else for (int64_t i = 0; i < count; i++, o += os) *({_type} *)o = *(const {_type} *)(x + offsets[i]);
}}
"""
    INDEXING[f"tr_put{_size}"] = f"""\
static void tr_put{_size}(int64_t count, const int64_t *offsets, char *x, char *o, int64_t os) {{
  for (int64_t i = 0; i < count; i++, o += os) *({_type} *)(x + offsets[i]) = *(const {_type} *)o;
}}
"""

_PLACE = """\
static int tr_place_$short(int64_t n, char *const *p, const int64_t *s, int64_t length, int64_t stride, int first) {
  int64_t *to = (int64_t *)p[0];
  const char *q = p[1];
  int64_t bad = 0;
  if (first && s[1] == sizeof($Elem)) {
    const $Elem *r = (const $Elem *)q;
#pragma omp simd reduction(|: bad)
    for (int64_t j = 0; j < n; j++) {
      const int64_t i = (int64_t)r[j], at = i < 0 ? i + length : i;
      bad |= (at < 0) | (at >= length);
      to[j] = at * stride;
    }
    return bad ? TR_INDEX : 0;
  }
  for (int64_t j = 0; j < n; j++, q += s[1]) {
    const $Elem r = *(const $Elem *)q;
    const int64_t i = (int64_t)r, at = i < 0 ? i + length : i;
    if (at < 0 || at >= length) return TR_INDEX;
    to[j] = (first ? 0 : to[j]) + at * stride;
  }
  return 0;
}
"""

_ADD_POINTS = """\
static void tr_add_points_$short(int64_t count, const int64_t *offsets, char *x, char *from, int64_t os) {
  for (int64_t i = 0; i < count; i++, from += os) { char *to = x + offsets[i]; *($Elem *)to = $sum; }
}
"""

_ADD = """\
static int tr_add_$short(int64_t n, char *const *p, const int64_t *s) {
  char *to = p[0];
  const char *from = p[1];
  for (int64_t j = 0; j < n; j++, to += s[0], from += s[1]) *($Elem *)to = $sum;
  return 0;
}
"""


def placing(ctype: CType) -> str:
    """Return the text of the function that adds to places the offsets of positions of a type."""
    return Template(_PLACE).substitute(Elem=ctype.stored, short=ctype.short)


def adding(ctype: CType) -> str:
    """Return the text of the kernel that adds the second operand to the first."""
    return Template(_ADD).substitute(Elem=ctype.stored, short=ctype.short, sum=_total(ctype))


def adding_points(ctype: CType) -> str:
    """Return the text of the function that adds elements to those at given places, one after another."""
    return Template(_ADD_POINTS).substitute(Elem=ctype.stored, short=ctype.short, sum=_total(ctype))


def _total(ctype: CType) -> str:
    a, b = f"*({ctype.stored} *)to", f"*(const {ctype.stored} *)from"
    if ctype.short == "f16":
        return f"tr_f32_to_f16(tr_f16_to_f32({a}) + tr_f16_to_f32({b}))"
    return f"({ctype.stored})({a} {'|' if ctype.short == 'b' else '+'} {b})"
