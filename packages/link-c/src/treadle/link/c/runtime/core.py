"""C text of the runtime: arrays, allocation, broadcasting, and what elementwise loops are called by."""

from __future__ import annotations

from treadle.link.c.conventions.convention import FIXED, LARGE, Status

CODES = "".join(f"#define TR_{status.name} {status}\n" for status in Status if status)
CODES += f"#define TR_WATCH {FIXED.index('watch')}\n#define TR_LARGE {LARGE}\n"
# NumPy's flag of arrays that may be written.
CODES += "#define TR_WRITEABLE 0x400\n"

# p: first element; own: block to free, of so many bytes (room); dst: memory of the caller for a result of lengths dn;
# fixed: whether it is an argument that is read-only; n, s: lengths and strides in bytes (0 where the length is 1);
# cell: storage of a result of rank 0.
# An arena belongs to one running call: its spare blocks, and counts of what it did.
TYPES = """\
typedef struct {
  void *(*take)(int64_t); void (*give)(void *);
  int64_t spares, made, reused, overwritten, live, peak, most, wide, steps;
  struct { void *p; int64_t room; } spare[256];
} tr_arena;
typedef struct {
  char *p; void *own; int64_t room; char *dst; const int64_t *dn; tr_arena *arena; int fixed;
  int64_t n[TR_ND], s[TR_ND]; int64_t cell[2];
} tr_var;
/* The start of a NumPy array object: its public layout. In a dtype's, behind the class of its elements, are its kind,
   letter, byte order and number. */
typedef struct {
  char before[TR_TYPE_AT]; uintptr_t type; char head[TR_HEAD - TR_TYPE_AT - sizeof(uintptr_t)];
  char *data; int nd; int64_t *dims, *strides; void *base; uintptr_t descr; int flags;
} tr_object;
typedef int (*tr_kernel)(int64_t n, char *const *p, const int64_t *s);
/* Where an argument or constant goes, and what it must be like; lengths that are not known are -1. */
typedef struct { int at, nd; int64_t size; const int64_t *shape; } tr_given;
typedef struct { int at, nd; } tr_result_place;
/* A program: the function that runs its nodes, the lengths of its tables, and these; `given` has constants too. */
typedef struct {
  int64_t (*run)(tr_var *v, const uintptr_t *F);
  int64_t count, inputs, constants, outputs; const tr_given *given; const tr_result_place *results;
} tr_program;
"""

CORE = {
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
  if (bytes > INT64_MAX - 4096) return TR_MEMORY;
  return tr_take(o, bytes);
}
""",
    # A spare block that fits without much waste, else one from the pool (large ones), else a new one. Blocks are large
    # by their room: the room of others, in whole lines, stays below TR_LARGE.
    "tr_take": """\
static int tr_take(tr_var *o, int64_t bytes) {
  tr_arena *a = o->arena;
  int64_t best = -1;
  const int large = bytes > TR_LARGE - 64;
  const int64_t wanted = large ? (bytes + 4095) & ~(int64_t)4095 : (bytes + 63) & ~(int64_t)63;
  for (int64_t i = a->spares - 1; i >= 0; i--) {
    const int64_t room = a->spare[i].room;
    if (room == wanted) { best = i; break; }
    if (room >= bytes && room - bytes <= (large ? bytes / 8 + 4096 : bytes + 256) &&
        (best < 0 || room < a->spare[best].room)) best = i;
  }
  if (best >= 0) {
    o->own = a->spare[best].p;
    o->room = a->spare[best].room;
    a->spare[best] = a->spare[--a->spares];
    if (large) a->wide = 0;
    a->reused++;
  } else {
    o->room = wanted;
    if (large) {
      if (a->wide && !a->most) tr_drop(a);
      o->own = a->take ? a->take(o->room) : aligned_alloc(64, (size_t)o->room);
    } else {
      o->own = malloc((size_t)o->room);
    }
    a->made++;
    if (!o->own) return TR_MEMORY;
  }
  a->live += o->room;
  if (a->live > a->peak) a->peak = a->live;
  o->p = o->own;
  return 0;
}
""",
    # Working memory for some elements; there is none for no elements.
    "tr_room": """\
static int tr_room(tr_var *o, int64_t count, int64_t size) {
  if (count <= 0) return 0;
  if (count > (INT64_MAX - 4096) / size) return TR_MEMORY;
  return tr_take(o, count * size);
}
""",
    "tr_discard": """\
static void tr_discard(const tr_arena *a, void *p, int64_t room) {
  if (a->give && room >= TR_LARGE) a->give(p);
  else free(p);
}
""",
    "tr_drop": """\
/* Give up the spare blocks. */
static void tr_drop(tr_arena *a) {
  while (a->spares) { a->spares--; tr_discard(a, a->spare[a->spares].p, a->spare[a->spares].room); }
  a->wide = 0;
}
""",
    # Small blocks stay with the arena. Of large ones it keeps one at a time, none if there is a pool, and all of them
    # in loops and if the arena outlives the call (most), as many as a loop's body has arrays.
    "tr_release": """\
static void tr_release(tr_var *v) {
  tr_arena *a = v->arena;
  const int large = v->room >= TR_LARGE;
  a->live -= v->room;
  if (a->spares < (a->most > 16 ? a->most : 16) && (!large || a->most || (!a->give && !a->wide))) {
    a->spare[a->spares].p = v->own;
    a->spare[a->spares++].room = v->room;
    a->wide |= large;
  } else {
    tr_discard(a, v->own, v->room);
  }
  v->own = 0;
}
""",
    "tr_free": """\
static inline void tr_free(tr_var *v) { if (v->own) tr_release(v); }
""",
    # A description of the same memory.
    "tr_show": """\
static void tr_show(tr_var *o, const tr_var *x, int nd) {
  for (int d = 0; d < nd; d++) { o->n[d] = x->n[d]; o->s[d] = x->s[d]; }
  o->p = x->p;
}
""",
    # The same, which takes over the block; what the target had is free already.
    "tr_hand_on": """\
static inline void tr_hand_on(tr_var *o, tr_var *x, int nd) {
  tr_show(o, x, nd);
  o->own = x->own;
  o->room = x->room;
  x->own = 0;
}
""",
    # Whether a result of these lengths could be in the memory of an operand, and is not to be in the caller's.
    "tr_fits": """\
static int tr_fits(const tr_var *o, const tr_var *x, int nd, int64_t size) {
  int64_t step = size;
  for (int d = nd - 1; d >= 0; d--) {
    if (x->n[d] != o->n[d] || (x->n[d] != 1 && x->s[d] != step)) return 0;
    step *= x->n[d];
  }
  if (!o->dst) return 1;
  for (int d = 0; d < nd; d++) if (o->dn[d] != o->n[d]) return 1;
  return 0;
}
""",
    # A result of these lengths takes the block of an operand that nothing needs after, if it fills one.
    "tr_overwrite": """\
static int tr_overwrite(tr_var *o, tr_var *x, int nd, int64_t size) {
  if (!x->own || x->p != (char *)x->own || !tr_fits(o, x, nd, size)) return 0;
  tr_hand_on(o, x, nd);
  x->arena->overwritten++;
  return 1;
}
""",
    # The same for an operand that may be overwritten whoever owns its memory, such as an argument; `fixed` if it must
    # not be after all.
    "tr_overlay": """\
static int tr_overlay(tr_var *o, tr_var *x, int nd, int64_t size, int fixed) {
  if (tr_overwrite(o, x, nd, size)) return 1;
  if (fixed || !tr_fits(o, x, nd, size)) return 0;
  tr_show(o, x, nd);
  x->arena->overwritten++;
  return 1;
}
""",
    # The address of a function in a table of such; 0 if there is no table.
    "tr_function": """\
static inline void *tr_function(uintptr_t table, int at) {
  return table ? (void *)((const uintptr_t *)table)[at] : 0;
}
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
    # ix: operands, then results, as positions in v. free: for each result, the operands whose block it may take.
    "tr_result": """\
static int tr_result(tr_var *v, const int *ix, tr_var *o, int nd, int64_t size, uint64_t free) {
  for (; free; free &= free - 1) if (tr_overwrite(o, v + ix[__builtin_ctzll(free)], nd, size)) return 0;
  return tr_alloc(o, nd, size);
}
""",
    # The lengths, the pointers and the strides of an elementwise function's operands and results, which are made.
    "tr_prepare": """\
static int tr_prepare(tr_var *v, const int *ix, int nin, int nout, int nd, const unsigned char *size,
                      const uint64_t *free, int64_t *n, char **p, int64_t (*st)[TR_OPS]) {
  int o, d, status;
  if ((status = tr_broadcast(v, ix, nin, nd, n))) return status;
  for (o = 0; o < nin + nout; o++) {
    tr_var *x = v + ix[o];
    if (o >= nin) {
      for (d = 0; d < nd; d++) x->n[d] = n[d];
      if ((status = tr_result(v, ix, x, nd, size[o], free ? free[o - nin] : 0))) return status;
    }
    p[o] = x->p;
    for (d = 0; d < nd; d++) st[d][o] = x->s[d];
  }
  return 0;
}
""",
    # What tr_elemwise does, for vectors, of which most functions have many.
    "tr_vectors": """\
static int tr_vectors(tr_var *v, const int *ix, int nin, int nout, const unsigned char *size, const uint64_t *free,
                      tr_kernel k) {
  int64_t n = 1, s[TR_OPS];
  char *p[TR_OPS];
  int o, status;
  for (o = 0; o < nin; o++) {
    const tr_var *x = v + ix[o];
    if (x->n[0] != 1) {
      if (n != 1 && n != x->n[0]) return TR_SHAPE;
      n = x->n[0];
    }
    p[o] = x->p;
    s[o] = x->s[0];
  }
  for (; o < nin + nout; o++) {
    tr_var *x = v + ix[o];
    x->n[0] = n;
    if ((status = tr_result(v, ix, x, 1, size[o], free ? free[o - nin] : 0))) return status;
    p[o] = x->p;
    s[o] = x->s[0];
  }
  return n ? k(n, p, s) : 0;
}
""",
    # size: bytes of an element of each operand and result.
    "tr_elemwise": """\
static int tr_elemwise(tr_var *v, const int *ix, int nin, int nout, int nd, const unsigned char *size,
                       const uint64_t *free, tr_kernel k) {
  int64_t n[TR_ND], st[TR_ND][TR_OPS];
  char *p[TR_OPS];
  const int status = tr_prepare(v, ix, nin, nout, nd, size, free, n, p, st);
  return status ? status : tr_iterate(nin, nin + nout, nd, n, p, st, size, k);
}
""",
    # Runs a kernel of two operands, target and source, of elements of a size; the source is broadcast. A last dimension
    # of a few elements changes places with the one before it, of which a block at a time stays in the cache.
    "tr_transfer": """\
static int tr_transfer(const tr_var *to, int nd, const tr_var *from, int from_nd, int64_t size, tr_kernel k) {
  const unsigned char turned[2] = {0, (unsigned char)size};
  int64_t n[TR_ND], st[TR_ND][TR_OPS];
  char *p[2] = {to->p, from->p};
  int m = 0, status;
  for (int d = 0; d < nd; d++) {
    const int e = d - (nd - from_nd);
    if (e >= 0 && from->n[e] != 1 && from->n[e] != to->n[d]) return TR_SHAPE;
    if (to->n[d] == 1) continue;
    n[m] = to->n[d];
    st[m][0] = to->s[d];
    st[m][1] = e < 0 ? 0 : from->s[e];
    m++;
  }
  if (m > 1 && n[m - 1] <= 8 && n[m - 2] > n[m - 1] &&
      (st[m - 2][0] != st[m - 1][0] * n[m - 1] || st[m - 2][1] != st[m - 1][1] * n[m - 1])) {
    const int64_t few = n[m - 1], many = n[m - 2];
    for (int o = 0; o < 2; o++) {
      const int64_t step = st[m - 1][o];
      st[m - 1][o] = st[m - 2][o];
      st[m - 2][o] = step;
    }
    n[m - 2] = few;
    for (int64_t i = 0; i < many; i += 1024) {
      char *q[2] = {p[0] + i * st[m - 1][0], p[1] + i * st[m - 1][1]};
      n[m - 1] = many - i < 1024 ? many - i : 1024;
      if ((status = tr_iterate(2, 2, m, n, q, st, turned, k))) return status;
    }
    return 0;
  }
  return tr_iterate(2, 2, m, n, p, st, turned, k);
}
""",
    # memcpy of 4 KiB to 1 MiB takes 15 times longer on AMD's processors (glibc 2.36) where the target is a little ahead
    # of the source, but for multiples of 4096: an element before what is joined is enough. Pieces are quick.
    "tr_bytes": """\
static void tr_bytes(char *to, const char *from, int64_t n) {
  if (n < (1 << 20) && (((uintptr_t)to - (uintptr_t)from - 1) & 4095) < 63)
    for (; n > 2048; n -= 2048, to += 2048, from += 2048) memcpy(to, from, 2048);
  memcpy(to, from, (size_t)n);
}
""",
    "tr_copy": """\
static int tr_copy(tr_var *o, const tr_var *x, int nd, int64_t size, tr_kernel k) {
  int status;
  for (int d = 0; d < nd; d++) o->n[d] = x->n[d];
  if ((status = tr_alloc(o, nd, size))) return status;
  if (tr_is_contiguous(x, nd, size)) {
    tr_bytes(o->p, x->p, tr_count(x, nd) * size);
    return 0;
  }
  return tr_transfer(o, nd, x, nd, size, k);
}
""",
    # A kernel of single numbers.
    "tr_scalars": """\
static int tr_scalars(tr_var *v, const int *ix, int nin, int nout, tr_kernel k) {
  char *p[TR_OPS];
  for (int o = 0; o < nin; o++) p[o] = v[ix[o]].p;
  for (int o = nin; o < nin + nout; o++) {
    tr_var *x = v + ix[o];
    p[o] = x->p = x->dst ? x->dst : (char *)&x->cell;
  }
  return k(1, p, 0);
}
""",
    # Takes over the block of an array that nothing else needs, if it fills one; else copies it. For a small result that
    # goes to memory of the caller, copying costs less than handing a block over.
    "tr_adopt": """\
static int tr_adopt(tr_var *o, tr_var *x, int nd, int64_t size, tr_kernel k) {
  const int small = o->dst && tr_count(x, nd) * size < 32768;
  if (small || !x->own || x->p != x->own || !tr_is_contiguous(x, nd, size)) return tr_copy(o, x, nd, size, k);
  tr_hand_on(o, x, nd);
  return 0;
}
""",
    # Hands an output the block that it shows from the start and fills, which nothing else needs.
    "tr_inherit": """\
static int tr_inherit(tr_var *o, tr_var *x, int nd, int64_t size, tr_kernel k) {
  const int64_t bytes = tr_count(o, nd) * size;
  tr_var whole = *o;
  int status;
  if (!x->own || o->p != x->own || o->own || x->room - bytes > bytes / 8 + 4096) return 0;
  whole.own = x->own;
  whole.room = x->room;
  status = tr_adopt(o, &whole, nd, size, k);
  x->own = whole.own;
  return status;
}
""",
    # Makes a result the value of the branch taken: it shows its memory, and takes its block over where nothing else
    # needs that. A result that goes to memory of the caller is copied there, unless a large block can be handed over.
    "tr_choose": """\
static int tr_choose(tr_var *o, tr_var *x, int nd, int64_t size, int ends, tr_kernel k) {
  if (o->dst) return ends ? tr_adopt(o, x, nd, size, k) : tr_copy(o, x, nd, size, k);
  if (ends) tr_hand_on(o, x, nd);
  else tr_show(o, x, nd);
  return 0;
}
""",
    "tr_kept tr_lend tr_return": """\
/* Arenas that outlive calls: as many as calls ran at once, up to eight. */
static tr_arena *tr_kept[8];
static tr_arena *tr_lend(void) {
  for (int i = 0; i < 8; i++) {
    tr_arena *a = __atomic_exchange_n(tr_kept + i, 0, __ATOMIC_ACQ_REL);
    if (a) return a;
  }
  return calloc(1, sizeof(tr_arena));
}
static void tr_return(tr_arena *a) {
  for (int i = 0; i < 8; i++) {
    tr_arena *none = 0;
    if (__atomic_compare_exchange_n(tr_kept + i, &none, a, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  }
  tr_drop(a);
  free(a);
}
void treadle_free(void) {
  for (int i = 0; i < 8; i++) {
    tr_arena *a = __atomic_exchange_n(tr_kept + i, 0, __ATOMIC_ACQ_REL);
    if (a) { tr_drop(a); free(a); }
  }
}
__attribute__((destructor)) static void tr_unload(void) { treadle_free(); }
""",
    # Gives an output that turned out to be a view a block of its own.
    "tr_materialise": """\
static int tr_materialise(tr_var *o, int nd, int64_t size, tr_kernel k) {
  tr_var x = *o;
  if (o->p == o->dst || (o->own && o->p == o->own)) return 0;
  return tr_copy(o, &x, nd, size, k);
}
""",
}

# Elements of one operand as a contiguous block: in place if they are one, else gathered into a buffer, which a
# stride of 0 fills once.
CORE["tr_pair"] = "typedef struct { uint64_t first, second; } tr_pair;\n"
for _size, _type in ((1, "uint8_t"), (2, "uint16_t"), (4, "uint32_t"), (8, "uint64_t"), (16, "tr_pair")):
    CORE[f"tr_block{_size}"] = f"""\
static const void *tr_block{_size}(const char *p, int64_t s, int64_t i, int64_t m, void *buffer) {{
  {_type} *b = buffer;
  if (s == {_size}) return p + i * {_size};
  if (s == 0) {{
    const {_type} x = *(const {_type} *)p;
    if (i) return b;
#pragma omp simd
    for (int64_t j = 0; j < m; j++) b[j] = x;
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
  if (s[0] == {_size} && s[1] == {_size}) {{ tr_bytes(to, from, n * {_size}); return 0; }}
  if (s[0] == {_size} && s[1] == 0) {{
    const {_type} x = *(const {_type} *)from;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) (({_type} *)to)[j] = x;
    return 0;
  }}
  const int64_t a = s[0], b = s[1];
#pragma GCC unroll 4
  for (int64_t j = 0; j < n; j++, to += a, from += b) *({_type} *)to = *(const {_type} *)from;
  return 0;
}}
"""
