#define TR_ND 2
#define TR_OPS 16
#define TR_HEAD 16
#define TR_TYPE_AT 8
#define TR_SPARES 16
/* uses tr_join_lengths, tr_discard, tr_drop, tr_take, tr_alloc, tr_iterate, tr_transfer, tr_join_part, tr_join, tr_move8, tr_enter, tr_expect, tr_leave, tr_release, tr_free */
static const int d0[] = {0, 1};
static const tr_given d1[] = {{0, 2, 8, 0}, {1, 2, 8, 0}};
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  if ((r = tr_join(v, d0, 2, v + 2, 2, 1, 8, tr_move8))) return r | INT64_C(0) << 8;
  /* node 1 */
  (void)r; (void)F;
  return 0;
}
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  int64_t r = 0;
  const uintptr_t *pool = (const uintptr_t *)F[1];
  tr_arena own, *arena = &own;
  memset(arena, 0, offsetof(tr_arena, spare));
  if (pool && pool[0] && pool[1]) { own.take = (void *)pool[0]; own.give = (void *)pool[1]; }
  tr_var v[3];
  for (int i = 0; i < 3; i++) { v[i].own = v[i].dst = 0; v[i].arena = arena; }
  for (int k = 0; k < 2; k++) {
    const tr_given *g = d1 + k;
    if (tr_enter(v + g->at, k < 2 ? a[k] : F[k + 10], F[0], F[k + 12], g->nd, g->size, g->shape))
      { r = TR_CHECK; goto done; }
  }
  tr_expect(v + 2, a[2]);
  if ((r = run0(v, F))) goto done;
  r |= tr_leave(v + 2, 2, info ? info + 0 : 0);
done:
  for (int i = 0; i < 3; i++) tr_free(v + i);
  if (info) { info[3] = arena->made; info[4] = arena->reused; info[5] = arena->overwritten; info[6] = arena->peak; }
  tr_drop(arena);
  return r;
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
