#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_discard, tr_drop, tr_take, tr_alloc, tr_count, tr_is_contiguous, tr_bytes, tr_step, tr_by_blocks, tr_tile4, tr_tile8, tr_by_tiles, tr_iterate, tr_transfer, tr_copy, tr_matrix, tr_stack, tr_move8, tr_next_product, tr_matmul_f64, tr_release, tr_free, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_perform, tr_execute */
static const tr_given d0[] = {{0, 2, 8, 0}, {1, 2, 8, 0}};
static const tr_result_place d1[] = {{2, 2}};
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  if ((r = tr_matmul_f64(v + 0, v + 1, v + 2, 2, F[2], F[4], v + 3))) return r | INT64_C(0) << 8;
  tr_free(v + 3);
  tr_free(v + 4);
  /* node 1 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 5, 2, 0, 1, d0, d1};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, uintptr_t a2, int64_t *info) { const uintptr_t a[] = {a0, a1, a2, 0}; return treadle_run(F, a, info); }
