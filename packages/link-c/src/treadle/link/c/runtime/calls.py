"""C text around a program: it reads what is given, runs the nodes, and leaves results where the caller finds them."""

from __future__ import annotations

from treadle.link.c.conventions.convention import FIXED, MANY, MANY_STEPS

# Descriptions of arrays that need more than this many bytes are allocated, not put on the stack: a place of a length
# that is known takes less time than one of as many as there are.
MOST_ON_STACK = 1 << 13

CALLS = {
    "tr_open": """\
static inline uintptr_t tr_open(tr_var *v, const tr_object *x, int nd) {
  const int64_t *dims = x->dims, *strides = x->strides;
  uintptr_t bits = (uintptr_t)x->data;
  v->p = x->data;
  v->fixed = !(x->flags & TR_WRITEABLE);
  for (int d = 0; d < nd; d++) {
    const int64_t n = dims[d], s = n == 1 ? 0 : strides[d];
    v->n[d] = n;
    v->s[d] = s;
    bits |= (uintptr_t)s;
  }
  return bits;
}
""",
    "tr_enter": """\
static int tr_enter(tr_var *v, const tr_object *x, uintptr_t type, uintptr_t descr, const tr_given *g) {
  const size_t kind = TR_HEAD + sizeof(uintptr_t);
  if (x->type != type || x->nd != g->nd) return TR_CHECK;
  /* The dtype of an array that was pickled is equal to the others, and another object. */
  if (x->descr != descr && *(const uint64_t *)(x->descr + kind) != *(const uint64_t *)(descr + kind)) return TR_CHECK;
  if (tr_open(v, x, g->nd) & (uintptr_t)(g->size - 1)) return TR_CHECK;
  if (g->shape) for (int d = 0; d < g->nd; d++) if (g->shape[d] >= 0 && g->shape[d] != v->n[d]) return TR_CHECK;
  return 0;
}
""",
    "tr_expect": """\
static void tr_expect(tr_var *v, uintptr_t object) {
  const tr_object *x = (const tr_object *)object;
  if (!x) return;
  v->dst = x->data;
  v->dn = x->dims;
}
""",
    "tr_leave": """\
static int tr_leave(tr_var *v, int nd, int64_t *info) {
  if (v->p == v->dst) return 0;
  if (!info) return TR_WRAPPED;
  /* The lowest bit says that the block came out of the pool. */
  info[0] = (int64_t)(intptr_t)v->own | (v->own && v->arena->give && v->room >= TR_LARGE);
  for (int d = 0; d < nd; d++) info[d + 1] = v->n[d];
  v->own = 0;
  return TR_WRAPPED;
}
""",
    # A call of a program. F: its fixed values, then its constants, then the descriptors of inputs; a: the
    # arguments and the caller's arrays for outputs; info: if not 0, what is said of each output, then four counts.
    "tr_perform": f"""\
static int64_t tr_perform(const tr_program *g, tr_arena *arena, const uintptr_t *F, const uintptr_t *a,
                          int64_t *info) {{
  char few[{MOST_ON_STACK}] __attribute__((aligned(16)));
  tr_var *v = (tr_var *)few;
  const int64_t count = g->count, outputs = g->outputs;
  const int large = count * (int64_t)sizeof(tr_var) > {MOST_ON_STACK};
  const uintptr_t *constants = F + {len(FIXED)}, *kinds = constants + g->constants, type = F[0];
  const tr_given *x = g->given, *inputs = x + g->inputs, *end = inputs + g->constants;
  const tr_result_place *results = g->results;
  int64_t r = TR_CHECK;
  if (large && !(v = malloc((size_t)count * sizeof *v))) return TR_MEMORY;
  for (int64_t i = 0; i < count; i++) {{ v[i].own = v[i].dst = 0; v[i].fixed = 0; v[i].arena = arena; }}
  for (; x < inputs; x++)
    if (tr_enter(v + x->at, (const tr_object *)*a++, type, *kinds++, x)) goto done;
  for (; x < end; x++) tr_open(v + x->at, (const tr_object *)*constants++, x->nd);
  for (int64_t k = 0; k < outputs; k++) tr_expect(v + results[k].at, a[k]);
  r = g->run(v, F);
  tr_k_clear();
  if (!r)
    for (int64_t k = 0; k < outputs; k++)
      r |= tr_leave(v + results[k].at, results[k].nd, info ? info + k * (1 + TR_ND) : 0);
  if (r > TR_CHECK && arena->steps > {MANY_STEPS}) r |= INT64_C(1) << {MANY};
done:
  if (arena->made | arena->reused) for (int64_t i = 0; i < count; i++) tr_free(v + i);
  if (info) {{
    info += outputs * (1 + TR_ND);
    info[0] = arena->made; info[1] = arena->reused; info[2] = arena->overwritten; info[3] = arena->peak;
  }}
  if (large) free(v);
  return r;
}}
""",
    "tr_execute": f"""\
static int64_t tr_execute(const tr_program *g, const uintptr_t *F, const uintptr_t *a, int64_t *info) {{
  const uintptr_t *pool = (const uintptr_t *)F[{FIXED.index("pool")}];
  tr_arena arena;
  memset(&arena, 0, offsetof(tr_arena, spare));
  if (pool && pool[0] && pool[1]) {{ arena.take = (void *)pool[0]; arena.give = (void *)pool[1]; }}
  const int64_t r = tr_perform(g, &arena, F, a, info);
  if (arena.spares) tr_drop(&arena);
  return r;
}}
""",
}
