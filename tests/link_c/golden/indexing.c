#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
#define TR_SPARES 16
/* uses tr_span, tr_discard, tr_drop, tr_take, tr_alloc, tr_place, tr_iterate, tr_gather, tr_take_rows, tr_place_i64, tr_move8, tr_pick8, tr_release, tr_free, tr_open, tr_enter, tr_expect, tr_leave, tr_perform, tr_execute */
static const tr_given d0[] = {{0, 2, 8, 0}, {1, 1, 8, 0}};
static const tr_result_place d1[] = {{2, 2}};
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  int64_t n0_0;
  const int64_t k0_1 = tr_span(v[0].n[1], 0, INT64_C(0), INT64_C(0), INT64_C(-2), &n0_0);
  v[3].p = v[0].p + (k0_1 * v[0].s[1]);
  v[3].n[0] = n0_0; v[3].s[0] = n0_0 > 1 ? (v[0].s[1] * -2) : 0;
  {
  int64_t xs[TR_ND], rs[TR_ND], n[TR_ND]; v[2].n[0] = v[1].n[0];
  v[2].n[1] = n[0] = v[3].n[0]; xs[0] = v[3].s[0];
  if ((r = tr_alloc(v + 2, 2, 8))) return r | INT64_C(0) << 8;
  rs[0] = v[2].s[1];
  if ((r = tr_take_rows(v + 1, v[0].n[0], v[0].s[0], tr_place_i64, v[3].p, v[2].p, v[2].s[0], 1, n, xs, rs, tr_move8, tr_pick8))) return r | INT64_C(0) << 8;
  (void)n; (void)xs; (void)rs; }
  tr_free(v + 3);
  /* node 1 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 4, 2, 0, 1, d0, d1};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
