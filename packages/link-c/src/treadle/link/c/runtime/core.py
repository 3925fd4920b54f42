"""C text of the runtime: arrays, allocation, broadcasting, and the iteration over strided operands."""

from __future__ import annotations

# Status codes; the index of the node stands in the bits above the lowest eight.
OK, WRAPPED, CHECK, SHAPE, INDEX, MEMORY, EMPTY, POWER, TOO_LONG, LENGTH = range(10)

HEADERS = """\
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#define TR_WRAPPED 1
#define TR_CHECK 2
#define TR_SHAPE 3
#define TR_INDEX 4
#define TR_MEMORY 5
#define TR_EMPTY 6
#define TR_POWER 7
#define TR_TOO_LONG 8
#define TR_LENGTH 9
"""

# p: first element; own: block to free; dst: memory of the caller for a result of lengths dn; n, s: lengths and
# strides in bytes (0 where the length is 1); cell: storage of a result of rank 0.
TYPES = """\
typedef struct {
  char *p; void *own; char *dst; const int64_t *dn;
  int64_t n[TR_ND], s[TR_ND]; int64_t cell;
} tr_var;
/* The start of a NumPy array object: its public layout. */
typedef struct {
  char before[TR_TYPE_AT]; uintptr_t type; char head[TR_HEAD - TR_TYPE_AT - sizeof(uintptr_t)];
  char *data; int nd; int64_t *dims, *strides; void *base; uintptr_t descr;
} tr_object;
typedef int (*tr_kernel)(int64_t n, char *const *p, const int64_t *s);
"""

CORE = {
    "tr_enter": """\
static int tr_enter(tr_var *v, uintptr_t object, uintptr_t type, uintptr_t descr, int nd, int64_t size) {
  const tr_object *x = (const tr_object *)object;
  uintptr_t bits;
  if (x->type != type || x->descr != descr || x->nd != nd) return TR_CHECK;
  v->p = x->data;
  bits = (uintptr_t)v->p;
  for (int d = 0; d < nd; d++) {
    v->n[d] = x->dims[d];
    v->s[d] = x->dims[d] == 1 ? 0 : x->strides[d];
    bits |= (uintptr_t)v->s[d];
  }
  return bits & (uintptr_t)(size - 1) ? TR_CHECK : 0;
}
""",
    "tr_expect": """\
static void tr_expect(tr_var *v, uintptr_t object) {
  const tr_object *x = (const tr_object *)object;
  v->dst = x->data;
  v->dn = x->dims;
}
""",
    "tr_leave": """\
static int tr_leave(tr_var *v, int nd, int64_t *info) {
  if (v->p == v->dst) return 0;
  if (!info) return TR_WRAPPED;
  info[0] = (int64_t)(intptr_t)v->own;
  for (int d = 0; d < nd; d++) info[d + 1] = v->n[d];
  v->own = 0;
  return TR_WRAPPED;
}
""",
    "tr_alloc": """\
static int tr_alloc(tr_var *o, int nd, int64_t size) {
  int64_t bytes = size;
  int fits = o->dst != 0, empty = 0;
  for (int d = nd - 1; d >= 0; d--) {
    const int64_t n = o->n[d];
    o->s[d] = n == 1 ? 0 : bytes;
    empty |= n == 0;
    if (n > 0 && __builtin_mul_overflow(bytes, n, &bytes)) return TR_MEMORY;
    fits = fits && o->dn[d] == n;
  }
  if (fits) { o->p = o->dst; return 0; }
  if (nd == 0) { o->p = (char *)&o->cell; return 0; }
  if (empty) bytes = 1;
  if (bytes > INT64_MAX - 64) return TR_MEMORY;
  o->own = aligned_alloc(64, (size_t)((bytes + 63) & ~(int64_t)63));
  o->p = o->own;
  return o->own ? 0 : TR_MEMORY;
}
""",
    "tr_free": """\
static inline void tr_free(tr_var *v) { free(v->own); v->own = 0; }
""",
    "tr_count": """\
static int64_t tr_count(const tr_var *x, int nd) {
  int64_t total = 1;
  for (int d = 0; d < nd; d++) total *= x->n[d];
  return total;
}
""",
    "tr_is_contiguous": """\
static int tr_is_contiguous(const tr_var *x, int nd, int64_t size) {
  for (int d = nd - 1; d >= 0; d--) {
    if (x->n[d] != 1 && x->s[d] != size) return tr_count(x, nd) == 0;
    size *= x->n[d];
  }
  return 1;
}
""",
    # Neighbouring dimensions that all operands run through evenly are one; the last that is left is the kernel's.
    "tr_iterate": """\
static int tr_iterate(int ops, int nd, const int64_t *shape, char *const *p, int64_t (*st)[TR_OPS], tr_kernel k) {
  int64_t n[TR_ND], i[TR_ND], c[TR_ND][TR_OPS];
  char *q[TR_OPS];
  int m = 0, d, o, status;
  for (d = nd - 1; d >= 0; d--) {
    if (shape[d] == 1) continue;
    if (shape[d] == 0) return 0;
    if (m) {
      for (o = 0; o < ops && st[d][o] == c[m - 1][o] * n[m - 1]; o++) {}
      if (o == ops) { n[m - 1] *= shape[d]; continue; }
    }
    n[m] = shape[d];
    i[m] = 0;
    for (o = 0; o < ops; o++) c[m][o] = st[d][o];
    m++;
  }
  if (m == 0) {
    for (o = 0; o < ops; o++) c[0][o] = 0;
    return k(1, p, c[0]);
  }
  for (o = 0; o < ops; o++) q[o] = p[o];
  for (;;) {
    if ((status = k(n[0], q, c[0]))) return status;
    for (d = 1; d < m; d++) {
      if (++i[d] < n[d]) { for (o = 0; o < ops; o++) q[o] += c[d][o]; break; }
      for (o = 0; o < ops; o++) q[o] -= c[d][o] * (n[d] - 1);
      i[d] = 0;
    }
    if (d == m) return 0;
  }
}
""",
    # The lengths that operands broadcast to.
    "tr_broadcast": """\
static int tr_broadcast(const tr_var *v, const int *ix, int nin, int nd, int64_t *n) {
  for (int d = 0; d < nd; d++) {
    int64_t m = 1;
    for (int o = 0; o < nin; o++) {
      const int64_t own = v[ix[o]].n[d];
      if (own != 1) {
        if (m != 1 && m != own) return TR_SHAPE;
        m = own;
      }
    }
    n[d] = m;
  }
  return 0;
}
""",
    # ix: operands, then results, as positions in v.
    "tr_elemwise": """\
static int tr_elemwise(tr_var *v, const int *ix, int nin, int nout, int nd, const unsigned char *size, tr_kernel k) {
  int64_t n[TR_ND], st[TR_ND][TR_OPS];
  char *p[TR_OPS];
  int o, d, status;
  const int ops = nin + nout;
  if ((status = tr_broadcast(v, ix, nin, nd, n))) return status;
  for (o = 0; o < ops; o++) {
    tr_var *x = v + ix[o];
    if (o >= nin) {
      for (d = 0; d < nd; d++) x->n[d] = n[d];
      if ((status = tr_alloc(x, nd, size[o - nin]))) return status;
    }
    p[o] = x->p;
    for (d = 0; d < nd; d++) st[d][o] = x->s[d];
  }
  return tr_iterate(ops, nd, n, p, st, k);
}
""",
    # Runs a kernel of two operands, target and source; the source is broadcast.
    "tr_transfer": """\
static int tr_transfer(const tr_var *to, int nd, const tr_var *from, int from_nd, tr_kernel k) {
  int64_t st[TR_ND][TR_OPS];
  char *p[2] = {to->p, from->p};
  for (int d = 0; d < nd; d++) {
    const int e = d - (nd - from_nd);
    st[d][0] = to->s[d];
    st[d][1] = e < 0 ? 0 : from->s[e];
    if (e >= 0 && from->n[e] != 1 && from->n[e] != to->n[d]) return TR_SHAPE;
  }
  return tr_iterate(2, nd, to->n, p, st, k);
}
""",
    "tr_copy": """\
static int tr_copy(tr_var *o, const tr_var *x, int nd, int64_t size, tr_kernel k) {
  int status;
  for (int d = 0; d < nd; d++) o->n[d] = x->n[d];
  if ((status = tr_alloc(o, nd, size))) return status;
  if (tr_is_contiguous(x, nd, size)) {
    memcpy(o->p, x->p, (size_t)(tr_count(x, nd) * size));
    return 0;
  }
  return tr_transfer(o, nd, x, nd, k);
}
""",
}

# Takes over the block of an array that nothing else needs, if it fills one; else copies it. For a small result that
# goes to memory of the caller, copying costs less than handing a block over.
CORE["tr_adopt"] = """\
static int tr_adopt(tr_var *o, tr_var *x, int nd, int64_t size, tr_kernel k) {
  const int small = o->dst && tr_count(x, nd) * size < 32768;
  if (small || !x->own || x->p != x->own || !tr_is_contiguous(x, nd, size)) return tr_copy(o, x, nd, size, k);
  for (int d = 0; d < nd; d++) { o->n[d] = x->n[d]; o->s[d] = x->s[d]; }
  o->p = x->p;
  o->own = x->own;
  x->own = 0;
  return 0;
}
"""

# Gives an output that turned out to be a view a block of its own.
CORE["tr_materialise"] = """\
static int tr_materialise(tr_var *o, int nd, int64_t size, tr_kernel k) {
  tr_var x = *o;
  if (o->p == o->dst || (o->own && o->p == o->own)) return 0;
  return tr_copy(o, &x, nd, size, k);
}
"""

# Elements of one operand as a contiguous block: in place if they are one, else gathered into a buffer, which a
# stride of 0 fills once.
for _size, _type in ((1, "uint8_t"), (2, "uint16_t"), (4, "uint32_t"), (8, "uint64_t")):
    CORE[f"tr_block{_size}"] = f"""\
static const void *tr_block{_size}(const char *p, int64_t s, int64_t i, int64_t m, void *buffer) {{
  {_type} *b = buffer;
  if (s == {_size}) return p + i * {_size};
  if (s == 0) {{
    const {_type} x = *(const {_type} *)p;
    if (i == 0) for (int64_t j = 0; j < m; j++) b[j] = x;
    return b;
  }}
  p += i * s;
  for (int64_t j = 0; j < m; j++, p += s) b[j] = *(const {_type} *)p;
  return b;
}}
"""
    CORE[f"tr_move{_size}"] = f"""\
static int tr_move{_size}(int64_t n, char *const *p, const int64_t *s) {{
  char *to = p[0];
  const char *from = p[1];
  if (s[0] == {_size} && s[1] == {_size}) {{ memcpy(to, from, (size_t)n * {_size}); return 0; }}
  if (s[0] == {_size} && s[1] == 0) {{
    const {_type} x = *(const {_type} *)from;
    for (int64_t j = 0; j < n; j++) (({_type} *)to)[j] = x;
    return 0;
  }}
  for (int64_t j = 0; j < n; j++, to += s[0], from += s[1]) *({_type} *)to = *(const {_type} *)from;
  return 0;
}}
"""
