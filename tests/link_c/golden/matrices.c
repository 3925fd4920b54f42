#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
static void *tr_at_dgetrf;
static void *tr_at_dtrsv;
static void *tr_at_dtrsm;
/* uses tr_discard, tr_drop, tr_take, tr_alloc, tr_k_min, tr_k_smaller_i64, tr_room, tr_k_max, tr_k_line_copied_f64, tr_k_cleared_beside_f64, tr_k_lines_copied_f64, tr_k_infinite_in_line_f64, tr_k_infinite_in_lines_f64, tr_k_matrix_copied_checked_f64, tr_k_clear, tr_k_lu_factored_f64, tr_k_failed_f64, tr_k_failed_i32, tr_k_matrix_copied_not_checked_f64, tr_k_lu_factored_9f93ef9e_f64_i32, tr_release, tr_free, tr_k_line_distance_i64, tr_k_copy_size_i64, tr_k_infinite_count_f64, tr_k_line_copied_i32, tr_k_cleared_beside_i32, tr_k_lines_copied_i32, tr_k_matrix_copied_not_checked_i32, tr_k_pivots_checked_i32, tr_k_rows_exchanged_not_back_first0_f64_i32, tr_k_substituted_in_order_not_conjugate_forward_unit_f64, tr_k_substituted_not_adjoint_not_by_columns_lower_small16_unit_f64, tr_k_substituted_in_order_not_conjugate_not_forward_not_unit_f64, tr_k_substituted_not_adjoint_not_by_columns_not_lower_small16_not_unit_f64, tr_k_lu_solved_not_adjoint_f64_i32, tr_k_lu_solved_58cf0cff_f64_i32, tr_open, tr_enter, tr_expect, tr_leave, tr_perform, tr_execute */
static const tr_given d0[] = {{0, 2, 8, 0}, {1, 2, 8, 0}};
static const tr_result_place d1[] = {{5, 2}};
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  v[2].n[0] = v[0].n[0];
  v[2].n[1] = v[0].n[1];
  if ((r = tr_alloc(v + 2, 2, 8))) return r | INT64_C(0) << 8;
  const int64_t k0_1 = tr_k_smaller_i64(v[0].n[0], v[0].n[1]);
  v[3].n[0] = k0_1;
  if ((r = tr_alloc(v + 3, 1, 4))) return r | INT64_C(0) << 8;
  if ((r = tr_room(v + 4, (v[0].n[0] * v[0].n[1]), 8))) return r | INT64_C(0) << 8;
  if ((r = tr_k_lu_factored_9f93ef9e_f64_i32(v[0].n[0], v[0].n[1], (double *)v[2].p, (double *)v[4].p, k0_1, (int32_t *)v[3].p, (double *)v[0].p, v[0].s[0] / 8, v[0].s[1] / 8, tr_at_dgetrf))) return r | INT64_C(0) << 8;
  tr_free(v + 4);
  /* node 1 */
  if ((r = (v[2].n[1] != v[2].n[0]) ? TR_SHAPE : 0)) return r | INT64_C(1) << 8;
  if ((r = (v[3].n[0] != v[2].n[0]) ? TR_SHAPE : 0)) return r | INT64_C(1) << 8;
  if ((r = (v[1].n[0] != v[2].n[0]) ? TR_SHAPE : 0)) return r | INT64_C(1) << 8;
  v[5].n[0] = v[2].n[0];
  v[5].n[1] = v[1].n[1];
  if ((r = tr_alloc(v + 5, 2, 8))) return r | INT64_C(1) << 8;
  const int64_t k1_1 = tr_k_copy_size_i64(v[2].n[0], v[2].n[0], v[2].s[0] / 8, v[2].s[1] / 8, 1);
  if ((r = tr_room(v + 6, k1_1, 8))) return r | INT64_C(1) << 8;
  const int64_t k1_2 = tr_k_copy_size_i64(1, v[2].n[0], 0, v[3].s[0] / 4, 1);
  if ((r = tr_room(v + 7, k1_2, 4))) return r | INT64_C(1) << 8;
  if ((r = tr_k_lu_solved_58cf0cff_f64_i32(v[2].n[0], v[1].n[1], (double *)v[5].p, (double *)v[2].p, v[2].s[0] / 8, v[2].s[1] / 8, (double *)v[6].p, (int32_t *)v[3].p, 0, v[3].s[0] / 4, (int32_t *)v[7].p, (double *)v[1].p, v[1].s[0] / 8, v[1].s[1] / 8, tr_at_dtrsv, tr_at_dtrsm))) return r | INT64_C(1) << 8;
  tr_free(v + 2);
  tr_free(v + 3);
  tr_free(v + 6);
  tr_free(v + 7);
  /* node 2 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 8, 2, 0, 1, d0, d1};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
int64_t treadle_init(const uintptr_t *P) {
  static int done; static int64_t failed;
  if (done) return failed;
  tr_at_dgetrf = (void *)P[0];
  tr_at_dtrsv = (void *)P[1];
  tr_at_dtrsm = (void *)P[2];
  done = 1; (void)P;
  return failed;
}
