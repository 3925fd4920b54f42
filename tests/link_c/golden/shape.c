#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_discard, tr_drop, tr_take, tr_alloc, tr_scalars, tr_release, tr_free, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_perform, tr_execute */
static const int d0[] = {2, 1, 3};
static const tr_given d1[] = {{0, 2, 8, 0}, {1, 0, 8, 0}};
static const tr_result_place d2[] = {{3, 0}};
/* node 1 */
static int k0(int64_t n, char *const *p, const int64_t *s) {
  (void)n; (void)s;
  const int64_t r0 = *(const int64_t *)p[0];
  const int64_t r1 = *(const int64_t *)p[1];
  const int64_t r2 = (int64_t)(r0 * r1);
  *(int64_t *)p[2] = r2;
  return 0;
}
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  if ((r = tr_alloc(v + 2, 0, 8))) return r | INT64_C(0) << 8;
  ((int64_t *)v[2].p)[0] = v[0].n[1];
  /* node 1 */
  if ((r = tr_scalars(v, d0, 2, 1, k0))) return r | INT64_C(1) << 8;
  tr_free(v + 2);
  /* node 2 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 4, 1, 1, 1, d1, d2};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, int64_t *info) { const uintptr_t a[] = {a0, a1, 0}; return treadle_run(F, a, info); }
