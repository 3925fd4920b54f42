#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_block8, tr_block4, tr_broadcast, tr_fits, tr_show, tr_hand_on, tr_overwrite, tr_discard, tr_drop, tr_take, tr_alloc, tr_result, tr_prepare, tr_step, tr_by_blocks, tr_tile4, tr_tile8, tr_by_tiles, tr_iterate, tr_elemwise, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_release, tr_free, tr_perform, tr_execute */
static const int d0[] = {0, 2, 3};
static const unsigned char d1[] = {8, 4, 8};
static const tr_given d2[] = {{0, 2, 8, 0}, {1, 1, 4, 0}};
static const tr_result_place d3[] = {{3, 2}};
/* node 1 */
static int k0(int64_t n, char *const *p, const int64_t *s) {
  double b0[512] __attribute__((aligned(64)));
  float b1[512] __attribute__((aligned(64)));
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = n - i < 512 ? n - i : 512;
    const double *x0 = tr_block8(p[0], s[0], i, m, b0);
    const float *x1 = tr_block4(p[1], s[1], i, m, b1);
    double *y0 = (double *)p[2] + i;
#pragma omp simd
    for (int64_t j = 0; j < m; j++) {
      const double e0 = x0[j];
      const float e1 = x1[j];
      const double r2 = (double)(((double)e1));
      const double r3 = (double)(e0 * r2);
      y0[j] = r3;
    }
  }
  return 0;
}
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  v[2].p = v[1].p;
  v[2].n[0] = 1; v[2].s[0] = 0;
  v[2].n[1] = v[1].n[0]; v[2].s[1] = v[1].s[0];
  /* node 1 */
  if ((r = tr_elemwise(v, d0, 2, 1, 2, d1, 0, k0))) return r | INT64_C(1) << 8;
  /* node 2 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 4, 2, 0, 1, d2, d3};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
