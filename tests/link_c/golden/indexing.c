#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_span, tr_discard, tr_drop, tr_take, tr_alloc, tr_k_from_start_i64, tr_k_min, tr_k_find_places_first_i64, tr_k_picked_47fab205_i64_u64, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_release, tr_free, tr_perform, tr_execute */
static const tr_given d0[] = {{0, 2, 8, 0}, {1, 1, 8, 0}};
static const tr_result_place d1[] = {{2, 2}};
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  int64_t n0_0;
  const int64_t k0_1 = tr_span(v[0].n[1], 0, INT64_C(0), INT64_C(0), INT64_C(-2), &n0_0);
  v[2].n[0] = v[1].n[0];
  v[2].n[1] = n0_0;
  if ((r = tr_alloc(v + 2, 2, 8))) return r | INT64_C(0) << 8;
  if ((r = tr_k_picked_47fab205_i64_u64((int64_t *)v[1].p, v[1].s[0] / 8, v[0].n[0], v[0].s[0] / 8, v[1].n[0], n0_0, (uint64_t *)(double *)v[0].p, (k0_1 * v[0].s[1] / 8), (v[0].s[1] / 8 * -2), (uint64_t *)(double *)v[2].p, v[2].s[0] / 8, v[2].s[1] / 8))) return r | INT64_C(0) << 8;
  /* node 1 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 3, 2, 0, 1, d0, d1};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
