"""C text around functions of users' ops: their view of arrays, and their return values."""

from __future__ import annotations

from treadle.link.c.conventions.convention import MOST_ERRORS, USER

# What a user's function is given for each operand and result. It is documented: its fields stay as they are.
ARRAY = """\
#ifndef TREADLE_ARRAY
#define TREADLE_ARRAY
typedef struct {
  void *data;             /* the first element */
  int64_t ndim, itemsize;
  const int64_t *shape;   /* ndim lengths */
  const int64_t *strides; /* ndim steps in bytes */
} treadle_array;
#endif
"""

USERS = {
    "tr_user": f"""\
static int tr_user(int k) {{ return k == 0 ? 0 : {USER} + (k > 0 && k < {MOST_ERRORS} ? k : {MOST_ERRORS}); }}
""",
    # Strides as in a block of memory in C order, also where a length is 1.
    "tr_seen": """\
static treadle_array tr_seen(const tr_var *v, int nd, int64_t size, int64_t *strides) {
  int64_t bytes = size;
  const int dense = tr_is_contiguous(v, nd, size);
  treadle_array x = {v->p, nd, size, v->n, strides};
  for (int d = nd - 1; d >= 0; d--) {
    strides[d] = dense ? bytes : v->s[d];
    bytes *= v->n[d];
  }
  return x;
}
""",
}
