#define TR_ND 2
#define TR_OPS 16
#define TR_HEAD 16
#define TR_TYPE_AT 8
#define TR_SPARES 16
static void *tr_at_dgetrf;
static void *tr_at_dtrsm;
static void *tr_at_dtrsv;
/* uses tr_core, tr_pack8, tr_finite_f64, tr_pack4, tr_overwrite, tr_discard, tr_drop, tr_take, tr_alloc, tr_stacks, tr_finite, tr_fail, tr_matrices, tr_release, tr_free, tr_enter, tr_expect, tr_leave, tr_perform, tr_execute */
static const tr_core d0[] = {{0, 2, 8, 1, 1, 0, 0, 8, tr_pack8, tr_finite_f64}, {2, 2, 8, 1, 0, -1, 0, 8, tr_pack8, 0}, {3, 1, 4, 0, 0, -1, 0, 0, tr_pack4, 0}};
static const tr_core d1[] = {{2, 2, 8, 0, 0, -1, 0, 8, tr_pack8, tr_finite_f64}, {3, 1, 4, 0, 0, -1, 0, 0, tr_pack4, 0}, {1, 2, 8, 0, 1, 0, 0, 8, tr_pack8, tr_finite_f64}, {5, 2, 8, 0, 0, -1, 0, 8, tr_pack8, 0}};
static const tr_given d2[] = {{0, 2, 8, 0}, {1, 2, 8, 0}};
static const tr_result_place d3[] = {{5, 2}};
/* node 0 */

static int k0_body(int64_t tr_runs, char *const *tr_p, const int64_t *tr_s) {
  int info = 0;
  int m = (int)tr_s[0];
  int n = (int)tr_s[1];
  int ld_factor = (int)tr_s[6];
  if (!tr_runs) return 0;
  double *const a = (double *)tr_p[0];
  double *const factor = (double *)tr_p[1];
  int32_t *const pivots = (int32_t *)tr_p[2];
  ((void (*)(int *, int *, double *, int *, int *, int *))tr_at_dgetrf)(&m, &n, factor, &ld_factor, pivots, &info);
  for (int i = 0; i < m && i < n; i++) pivots[i]--;
  info = 0;
  return info;
}
static int k0(int64_t n, char *const *p, const int64_t *s) { return k0_body(n, p, s); }
/* node 1 */
/* Exchanges rows for those of the numbers given, from first to last or back. */
static void k1_exchange(double *x, int64_t ld, int n, const int *pivots, int first, int m, int back) {
  for (int k = 0; k < m; k++) {
    const int i = back ? m - 1 - k : k, j = pivots[i] - first;
    if (i != j) for (int c = 0; c < n; c++) {
      const double y = x[i * ld + c];
      x[i * ld + c] = x[j * ld + c];
      x[j * ld + c] = y;
    }
  }
}

static int k1_body(int64_t tr_runs, char *const *tr_p, const int64_t *tr_s) {
  int info = 0;
  int m = (int)tr_s[0];
  int ld_a = (int)tr_s[2];
  int n = (int)tr_s[9];
  int ld_x = (int)tr_s[14];
  if (!tr_runs) return 0;
  double *const a = (double *)tr_p[0];
  int32_t *const pivots = (int32_t *)tr_p[1];
  double *const b = (double *)tr_p[2];
  double *const x = (double *)tr_p[3];
  for (int i = 0; i < m; i++) if (pivots[i] < 0 || pivots[i] >= m) return 1;
  for (int i = 0; i < m; i++) if (a[i * (int64_t)(ld_a + 1)] == 0) return 1;
  if (!m) return 0;
  k1_exchange(x, ld_x, n, pivots, 0, m, 0);
  { double one = 1; if (n == 1) ((void (*)(char *, char *, char *, int *, double *, int *, double *, int *))tr_at_dtrsv)("U", "T", "U", &m, a, &ld_a, x, &ld_x);
    else if (n) ((void (*)(char *, char *, char *, char *, int *, int *, double *, double *, int *, double *, int *))tr_at_dtrsm)("R", "U", "N", "U", &n, &m, &one, a, &ld_a, x, &ld_x); }
  { double one = 1; if (n == 1) ((void (*)(char *, char *, char *, int *, double *, int *, double *, int *))tr_at_dtrsv)("L", "T", "N", &m, a, &ld_a, x, &ld_x);
    else if (n) ((void (*)(char *, char *, char *, char *, int *, int *, double *, double *, int *, double *, int *))tr_at_dtrsm)("R", "L", "N", "N", &n, &m, &one, a, &ld_a, x, &ld_x); }
  return info;
}
static int k1(int64_t n, char *const *p, const int64_t *s) { return k1_body(n, p, s); }
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  v[2].n[0] = v[0].n[0];
  v[2].n[1] = v[0].n[1];
  v[3].n[0] = v[0].n[0] < v[0].n[1] ? v[0].n[0] : v[0].n[1];
  if ((r = tr_matrices(v, d0, 1, 2, 0, 0, 4, 0, 0, k0))) return r | INT64_C(0) << 8;
  tr_free(v + 4);
  /* node 1 */
  if ((r = v[2].n[1] == v[2].n[0] ? 0 : TR_SHAPE)) return r | INT64_C(1) << 8;
  if ((r = v[3].n[0] == v[2].n[0] ? 0 : TR_SHAPE)) return r | INT64_C(1) << 8;
  if ((r = v[1].n[0] == v[2].n[0] ? 0 : TR_SHAPE)) return r | INT64_C(1) << 8;
  v[5].n[0] = v[2].n[0];
  v[5].n[1] = v[1].n[1];
  if ((r = tr_matrices(v, d1, 3, 1, 0, 0, 6, 0, 0, k1))) return r | INT64_C(1) << 8;
  tr_free(v + 2);
  tr_free(v + 3);
  tr_free(v + 6);
  /* node 2 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 7, 2, 0, 1, d2, d3};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
int64_t treadle_init(const uintptr_t *P) {
  static int done; static int64_t failed;
  if (done) return failed;
  tr_at_dgetrf = (void *)P[0];
  tr_at_dtrsm = (void *)P[1];
  tr_at_dtrsv = (void *)P[2];
  done = 1; (void)P;
  return failed;
}
