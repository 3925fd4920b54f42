#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_block4, tr_v_exp_f32, tr_v_log1p_f32, tr_fits, tr_show, tr_hand_on, tr_overwrite, tr_discard, tr_drop, tr_take, tr_alloc, tr_result, tr_vectors, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_release, tr_free, tr_perform, tr_execute */
static const int d0[] = {1, 0, 2, 3};
static const unsigned char d1[] = {4, 4, 4, 4};
static const int64_t d2[] = {1};
static const tr_given d3[] = {{0, 1, 4, 0}, {1, 1, 4, d2}, {2, 1, 4, d2}};
static const tr_result_place d4[] = {{3, 1}};
/* node 0 */
static int k0(int64_t n, char *const *p, const int64_t *s) {
  const float c0 = *(const float *)p[0];
  float b1[512] __attribute__((aligned(64)));
  const float c2 = *(const float *)p[2];
  double t0[520] __attribute__((aligned(64)));
  double t1[520] __attribute__((aligned(64)));
  double t2[520] __attribute__((aligned(64)));
  double t3[520] __attribute__((aligned(64)));
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = n - i < 512 ? n - i : 512;
    const float *x1 = tr_block4(p[1], s[1], i, m, b1);
    float *y0 = (float *)p[3] + i;
#pragma omp simd
    for (int64_t j = 0; j < m; j++) {
      const float e1 = x1[j];
      const float r3 = (float)(c0 * e1);
      const float r4 = (float)((r3 > ((float)0.0) || r3 != r3) ? r3 : ((float)0.0));
      const float r5 = (float)(fabsf(r3));
      const float r6 = (float)(-r5);
      ((float *)t0)[j] = r4;
      ((float *)t1)[j] = r6;
    }
    tr_v_exp_f32(m, ((float *)t1), ((float *)t2));
    tr_v_log1p_f32(m, ((float *)t2), ((float *)t3));
#pragma omp simd
    for (int64_t j = 0; j < m; j++) {
      const float r9 = (float)(((float *)t0)[j] + ((float *)t3)[j]);
      const float r10 = (float)(r9 - c2);
      y0[j] = r10;
    }
  }
  return 0;
}
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  if ((r = tr_vectors(v, d0, 3, 1, d1, 0, k0))) return r | INT64_C(0) << 8;
  /* node 1 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 4, 1, 2, 1, d3, d4};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, int64_t *info) { const uintptr_t a[] = {a0, a1, 0}; return treadle_run(F, a, info); }
