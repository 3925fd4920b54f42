#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_reducer, tr_turned, tr_block8, tr_sum_f64_f64_f64, tr_loops, tr_plan, tr_broadcast, tr_fits, tr_show, tr_hand_on, tr_overwrite, tr_discard, tr_drop, tr_take, tr_alloc, tr_result, tr_reduce_none, tr_inner_first, tr_combine, tr_step, tr_finish, tr_fused, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_release, tr_free, tr_perform, tr_execute */
static const int d0[] = {0, 1, 2};
static const unsigned char d1[] = {8};
static const tr_reducer *const d2[] = {&tr_sum_f64_f64_f64};
static const tr_given d3[] = {{0, 2, 8, 0}, {1, 2, 8, 0}};
static const tr_result_place d4[] = {{2, 1}};
/* node 0 */
typedef double k0_v __attribute__((vector_size(64)));
typedef int64_t k0_m __attribute__((vector_size(64)));
static inline __attribute__((always_inline)) k0_v k0_at(int64_t i, const double *x0, const double *x1) {
  k0_v e0; memcpy(&e0, x0 + i, sizeof e0);
  k0_v e1; memcpy(&e1, x1 + i, sizeof e1);
  const k0_v r2 = (k0_v)(e0 - e1);
  const k0_v r3 = (k0_v)(r2 * r2);
  return r3;
}
static int k0_rows(int64_t rows, int64_t n, char *const *p, const int64_t *rs, const int64_t *s, void *sums) {
  if (s[0] != 8 || s[1] != 8) return 0;
  for (int64_t k = 0; k < rows; k++) {
    const double *x0 = (const double *)(p[0] + k * rs[0]);
    const double *x1 = (const double *)(p[1] + k * rs[1]);
    k0_v a = {0}, b = a, c = a, d = a;
    double t = 0;
    int64_t i = 0;
    for (; i + 4 * 8 <= n; i += 4 * 8) {
      a += k0_at(i, x0, x1);
      b += k0_at(i + 8, x0, x1);
      c += k0_at(i + 2 * 8, x0, x1);
      d += k0_at(i + 3 * 8, x0, x1);
    }
    a = (a + b) + (c + d);
    for (; i + 8 <= n; i += 8) a += k0_at(i, x0, x1);
    a += tr_turned(a, k0_m, 4, 5, 6, 7, 0, 1, 2, 3);
    a += tr_turned(a, k0_m, 2, 3, 0, 1, 6, 7, 4, 5);
    a += tr_turned(a, k0_m, 1, 0, 3, 2, 5, 4, 7, 6);
    for (; i < n; i++) {
      const double e0 = x0[i];
      const double e1 = x1[i];
      const double r2 = (double)(e0 - e1);
      const double r3 = (double)(r2 * r2);
      t += r3;
    }
    ((double *)sums)[k] = a[0] + t;
  }
  return 1;
}

/* node 0 */
static int k0(int64_t n, char *const *p, const int64_t *s) {
  double b0[512] __attribute__((aligned(64)));
  double b1[512] __attribute__((aligned(64)));
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = n - i < 512 ? n - i : 512;
    const double *x0 = tr_block8(p[0], s[0], i, m, b0);
    const double *x1 = tr_block8(p[1], s[1], i, m, b1);
    double *y0 = (double *)p[2] + i;
#pragma omp simd
    for (int64_t j = 0; j < m; j++) {
      const double e0 = x0[j];
      const double e1 = x1[j];
      const double r2 = (double)(e0 - e1);
      const double r3 = (double)(r2 * r2);
      y0[j] = r3;
    }
  }
  return 0;
}
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  if ((r = tr_fused(v, d0, 2, 1, 2, UINT64_C(2), d1, 0, k0, d2, k0_rows))) return r | INT64_C(0) << 8;
  /* node 1 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 3, 2, 0, 1, d3, d4};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
