#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_block8, tr_v_exp_f64, tr_span, tr_fits, tr_show, tr_hand_on, tr_overwrite, tr_discard, tr_drop, tr_take, tr_alloc, tr_result, tr_vectors, tr_count, tr_is_contiguous, tr_bytes, tr_step, tr_by_blocks, tr_tile4, tr_tile8, tr_by_tiles, tr_iterate, tr_transfer, tr_copy, tr_adopt, tr_choose, tr_move8, tr_inherit, tr_materialise, tr_release, tr_free, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_perform, tr_execute */
static const int d0[] = {1, 2};
static const unsigned char d1[] = {8, 8};
static const tr_given d2[] = {{0, 0, 1, 0}, {1, 1, 8, 0}};
static const tr_result_place d3[] = {{4, 1}};
/* node 0 */
static int k0(int64_t n, char *const *p, const int64_t *s) {
  double b0[512] __attribute__((aligned(64)));
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = n - i < 512 ? n - i : 512;
    const double *x0 = tr_block8(p[0], s[0], i, m, b0);
    double *y0 = (double *)p[1] + i;
    tr_v_exp_f64(m, x0, y0);
  }
  return 0;
}
static int64_t b0_0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 1 */
  int64_t n1_0;
  const int64_t k1_1 = tr_span(v[1].n[0], 0, INT64_C(0), INT64_C(0), INT64_C(-1), &n1_0);
  v[3].p = v[1].p + (k1_1 * v[1].s[0]);
  v[3].n[0] = n1_0; v[3].s[0] = n1_0 > 1 ? (v[1].s[0] * -1) : 0;
  (void)r; (void)F;
  return 0;
}
static int64_t b1_0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  if ((r = tr_vectors(v, d0, 1, 1, d1, 0, k0))) return r | INT64_C(0) << 8;
  (void)r; (void)F;
  return 0;
}
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 2 */
  if (*(const int8_t *)v[0].p) {
  if ((r = b1_0(v, F))) return r;
  if ((r = tr_choose(v + 4, v + 2, 1, 8, 1, tr_move8))) return r | INT64_C(2) << 8;
  } else {
  if ((r = b0_0(v, F))) return r;
  if ((r = tr_choose(v + 4, v + 3, 1, 8, 0, tr_move8))) return r | INT64_C(2) << 8;
  }
  /* node 3 */
  if ((r = tr_inherit(v + 4, v + 2, 1, 8, tr_move8))) return r | INT64_C(3) << 8;
  if ((r = tr_materialise(v + 4, 1, 8, tr_move8))) return r | INT64_C(3) << 8;
  tr_free(v + 2);
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 5, 2, 0, 1, d2, d3};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
