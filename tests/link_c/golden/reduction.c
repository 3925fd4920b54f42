#define TR_ND 2
#define TR_OPS 256
#define TR_HEAD 16
#define TR_TYPE_AT 8
/* uses tr_keep, tr_discard, tr_drop, tr_take, tr_alloc, tr_reducer, tr_inner_first, tr_split, tr_reduce_none, tr_next, tr_finish, tr_reduce, tr_turned, tr_block1, tr_sum_i8_i64_i64, tr_open, tr_enter, tr_expect, tr_k_clear, tr_leave, tr_release, tr_free, tr_perform, tr_execute */
static const tr_given d0[] = {{0, 2, 1, 0}};
static const tr_result_place d1[] = {{1, 1}};
static int64_t run0(tr_var *v, const uintptr_t *F) {
  int64_t r;
  /* node 0 */
  tr_keep(v + 0, 2, UINT64_C(1), v + 1);
  if ((r = tr_alloc(v + 1, 1, 8))) return r | INT64_C(0) << 8;
  if ((r = tr_reduce(v + 0, 2, UINT64_C(1), v + 1, &tr_sum_i8_i64_i64))) return r | INT64_C(0) << 8;
  /* node 1 */
  (void)r; (void)F;
  return 0;
}
static const tr_program program = {run0, 2, 1, 0, 1, d0, d1};
int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {
  return tr_execute(&program, F, a, info);
}
int64_t treadle_call(const uintptr_t *F, uintptr_t a0, uintptr_t a1, int64_t *info) { const uintptr_t a[] = {a0, a1, 0}; return treadle_run(F, a, info); }
