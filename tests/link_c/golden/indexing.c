#define TR_ND 2
#define TR_OPS 3
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_place, tr_place_i64, tr_span, tr_discard, tr_drop, tr_take, tr_alloc, tr_iterate, tr_gather, tr_move8, tr_pick8, tr_release, tr_free, tr_enter, tr_expect, tr_leave */
static const int d0[] = {1};
static const int d1[] = {0};
static const tr_placing d2[] = {tr_place_i64};
static const tr_given d3[] = {{0, 2, 8, 0}, {1, 1, 8, 0}};
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  v[3].p = v[0].p;
  if ((r = tr_span(v + 3, 0, v + 0, 1, 4, INT64_C(0), INT64_C(0), INT64_C(-2)))) return r | INT64_C(0) << 8;
  {
  int64_t *offsets = 0, n[TR_ND + 1], rs[TR_ND + 1], os = 0, count = 1;
  r = tr_place(v, d0, d0, 1, d1, d2, v + 0, 1, n, &offsets);
  for (int d = 0; !r && d < 1; d++) { v[2].n[0 + d] = n[d]; count *= n[d]; }
  for (int d = 0; d < 1; d++) v[2].n[d < 0 ? d : d + 1] = v[3].n[d];
  if (!r) r = tr_alloc(v + 2, 2, 8);
  for (int d = 0; d < 1; d++) rs[d] = v[2].s[d < 0 ? d : d + 1];
  for (int d = 1 - 1; d >= 0 && os == 0; d--) os = v[2].s[0 + d];
  if (!r) r = tr_gather(count, offsets, v[3].p, v[2].p, os, 1, v[3].n, v[3].s, rs, 0, tr_move8, tr_pick8);
  free(offsets);
  if (r) return r | INT64_C(0) << 8;
  }
  tr_free(v + 3);
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
  tr_var v[4];
  for (int i = 0; i < 4; i++) { v[i].own = v[i].dst = 0; v[i].arena = arena; }
  for (int k = 0; k < 2; k++) {
    const tr_given *g = d3 + k;
    if (tr_enter(v + g->at, k < 2 ? a[k] : F[k + 9], F[0], F[k + 11], g->nd, g->size, g->shape))
      { r = TR_CHECK; goto done; }
  }
  tr_expect(v + 2, a[2]);
  if ((r = run0(v, F))) goto done;
  r |= tr_leave(v + 2, 2, info ? info + 0 : 0);
done:
  for (int i = 0; i < 4; i++) tr_free(v + i);
  if (info) { info[3] = arena->made; info[4] = arena->reused; info[5] = arena->overwritten; info[6] = arena->peak; }
  tr_drop(arena);
  return r;
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
