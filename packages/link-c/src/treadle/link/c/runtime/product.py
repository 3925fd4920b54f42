"""C text of matrix products: BLAS for float32 and float64, loops for the rest."""

from __future__ import annotations

from treadle.link.c.dtypes import CTYPES
from treadle.link.c.runtime.text import replace_words

_GEMM = "char *, char *, int *, int *, int *, E *, E *, int *, E *, int *, E *, E *, int *"
_GEMV = "char *, int *, int *, E *, E *, int *, E *, int *, E *, E *, int *"

COMMON = {
    "tr_matrix": """\
/* How BLAS sees the last two dimensions: 'N' if the rows of a matrix run through memory, 'T' if its columns do. */
typedef struct { char order; int ld; } tr_matrix;
static int tr_as_matrix(const tr_var *x, int nd, int64_t size, tr_matrix *m) {
  const int64_t r = x->n[nd - 2], c = x->n[nd - 1], sr = x->s[nd - 2], sc = x->s[nd - 1];
  if ((c == 1 || sc == size) && (r == 1 || (sr >= c * size && sr % size == 0 && sr / size <= INT32_MAX))) {
    m->order = 'N';
    m->ld = (int)(r == 1 ? c : sr / size);
    return 1;
  }
  if ((r == 1 || sr == size) && (c == 1 || (sc >= r * size && sc % size == 0 && sc / size <= INT32_MAX))) {
    m->order = 'T';
    m->ld = (int)(c == 1 ? r : sc / size);
    return 1;
  }
  return 0;
}
""",
    "tr_stack": """\
/* Lengths of a product of stacks of matrices. */
static int tr_stack(const tr_var *a, const tr_var *b, tr_var *o, int nd) {
  for (int d = 0; d < nd - 2; d++) {
    const int64_t n = a->n[d], m = b->n[d];
    if (n != m && n != 1 && m != 1) return TR_SHAPE;
    o->n[d] = n == 1 ? m : n;
  }
  o->n[nd - 2] = a->n[nd - 2];
  o->n[nd - 1] = b->n[nd - 1];
  return a->n[nd - 1] == b->n[nd - 2] ? 0 : TR_SHAPE;
}
""",
}

_BLAS = """\
typedef void (*tr_gemm_N)(GEMM);
typedef void (*tr_gemv_N)(GEMV);
static void tr_product_N(E *a, E *b, E *o, int m, int k, int l, tr_gemm_N gemm, tr_gemv_N gemv, tr_matrix ma,
                         tr_matrix mb, int ia, int ib, E alpha, E beta) {
  int unit = 1;
  if (l == 1 && ib > 0) {
    if (ma.order == 'N') gemv("T", &k, &m, &alpha, a, &ma.ld, b, &ib, &beta, o, &unit);
    else gemv("N", &m, &k, &alpha, a, &ma.ld, b, &ib, &beta, o, &unit);
  } else if (m == 1 && ia > 0) {
    if (mb.order == 'N') gemv("N", &l, &k, &alpha, b, &mb.ld, a, &ia, &beta, o, &unit);
    else gemv("T", &k, &l, &alpha, b, &mb.ld, a, &ia, &beta, o, &unit);
  } else {
    gemm(&mb.order, &ma.order, &l, &m, &k, &alpha, b, &mb.ld, a, &ma.ld, &beta, o, &l);
  }
}
static int tr_matmul_N(tr_var *a, tr_var *b, tr_var *o, int nd, uintptr_t gemm, uintptr_t gemv, tr_var *t) {
  const int64_t size = sizeof(E);
  tr_matrix ma, mb;
  int status;
  int64_t i[TR_ND] = {0}, sa, sb;
  char *p[3];
  if ((status = tr_stack(a, b, o, nd)) || (status = tr_alloc(o, nd, size))) return status;
  if (tr_count(o, nd) == 0) return 0;
  if (a->n[nd - 1] == 0) { memset(o->p, 0, (size_t)(tr_count(o, nd) * size)); return 0; }
  if (a->n[nd - 2] > INT32_MAX || a->n[nd - 1] > INT32_MAX || b->n[nd - 1] > INT32_MAX) return TR_TOO_LONG;
  if (!tr_as_matrix(a, nd, size, &ma)) {
    if ((status = tr_copy(t, a, nd, size, tr_moveSIZE))) return status;
    a = t;
    tr_as_matrix(a, nd, size, &ma);
  }
  if (!tr_as_matrix(b, nd, size, &mb)) {
    if ((status = tr_copy(t + 1, b, nd, size, tr_moveSIZE))) return status;
    b = t + 1;
    tr_as_matrix(b, nd, size, &mb);
  }
  sa = a->n[nd - 1] == 1 ? size : a->s[nd - 1];
  sb = b->n[nd - 2] == 1 ? size : b->s[nd - 2];
  if (sa / size > INT32_MAX || sb / size > INT32_MAX) return TR_TOO_LONG;
  p[0] = a->p;
  p[1] = b->p;
  p[2] = o->p;
  for (;;) {
    int d;
    tr_product_N((E *)p[0], (E *)p[1], (E *)p[2], (int)a->n[nd - 2], (int)a->n[nd - 1], (int)b->n[nd - 1],
                 (tr_gemm_N)gemm, (tr_gemv_N)gemv, ma, mb, (int)(sa / size), (int)(sb / size), 1, 0);
    for (d = nd - 3; d >= 0; d--) {
      if (++i[d] < o->n[d]) { p[0] += a->s[d]; p[1] += b->s[d]; p[2] += o->s[d]; break; }
      p[0] -= a->s[d] * (o->n[d] - 1);
      p[1] -= b->s[d] * (o->n[d] - 1);
      p[2] -= o->s[d] * (o->n[d] - 1);
      i[d] = 0;
    }
    if (d < 0) return 0;
  }
}
"""

# BLAS reads neither matrix where its number is 0: a NaN would be lost. So c is scaled here, and a product that counts
# nothing is added as any other; one of another shape than c too.
_ACCUMULATED = """\
static int tr_added_N(const tr_var *c, E alpha, tr_var *a, tr_var *b, E beta, tr_var *o, uintptr_t gemm,
                      uintptr_t gemv, tr_var *t) {
  int status;
  int64_t sc[2], sp[2];
  if ((status = tr_matmul_N(a, b, t + 2, 2, gemm, gemv, t))) return status;
  for (int d = 0; d < 2; d++) {
    const int64_t n = c->n[d], m = t[2].n[d];
    if (n != m && n != 1 && m != 1) return TR_SHAPE;
    o->n[d] = n == 1 ? m : n;
    sc[d] = n == 1 ? 0 : c->s[d];
    sp[d] = m == 1 ? 0 : t[2].s[d];
  }
  if ((status = tr_alloc(o, 2, sizeof(E)))) return status;
  for (int64_t i = 0; i < o->n[0]; i++) for (int64_t j = 0; j < o->n[1]; j++)
    ((E *)o->p)[i * o->n[1] + j] = beta * *(const E *)(c->p + i * sc[0] + j * sc[1])
                                 + alpha * *(const E *)(t[2].p + i * sp[0] + j * sp[1]);
  return 0;
}
static int tr_accumulate_N(tr_var *c, const tr_var *x, tr_var *a, tr_var *b, const tr_var *y, tr_var *o,
                           uintptr_t gemm, uintptr_t gemv, tr_var *t, int free) {
  const int64_t size = sizeof(E);
  const E alpha = *(const E *)x->p, beta = *(const E *)y->p;
  int status;
  int64_t m, l, sa, sb;
  tr_matrix ma, mb;
  if ((status = tr_stack(a, b, o, 2))) return status;
  m = o->n[0];
  l = o->n[1];
  if (m > INT32_MAX || a->n[1] > INT32_MAX || l > INT32_MAX) return TR_TOO_LONG;
  if (alpha == 0 || a->n[1] == 0 || c->n[0] != m || c->n[1] != l)
    return tr_added_N(c, alpha, a, b, beta, o, gemm, gemv, t);
  if (!(free && tr_overwrite(o, c, 2, size)) && (status = tr_alloc(o, 2, size))) return status;
  if (m == 0 || l == 0) return 0;
  if (c->p != o->p || beta != 1) for (int64_t i = 0; i < m; i++) {
    const char *row = c->p + i * c->s[0];
    E *to = (E *)o->p + i * l;
    if (l > 1 && c->s[1] != size) for (int64_t j = 0; j < l; j++) to[j] = beta * *(const E *)(row + j * c->s[1]);
    else if (beta == 1) memcpy(to, row, (size_t)(l * size));
    else for (int64_t j = 0; j < l; j++) to[j] = beta * ((const E *)row)[j];
  }
  if (!tr_as_matrix(a, 2, size, &ma)) {
    if ((status = tr_copy(t, a, 2, size, tr_moveSIZE))) return status;
    a = t;
    tr_as_matrix(a, 2, size, &ma);
  }
  if (!tr_as_matrix(b, 2, size, &mb)) {
    if ((status = tr_copy(t + 1, b, 2, size, tr_moveSIZE))) return status;
    b = t + 1;
    tr_as_matrix(b, 2, size, &mb);
  }
  sa = a->n[1] == 1 ? size : a->s[1];
  sb = b->n[0] == 1 ? size : b->s[0];
  if (sa / size > INT32_MAX || sb / size > INT32_MAX) return TR_TOO_LONG;
  tr_product_N((E *)a->p, (E *)b->p, (E *)o->p, (int)m, (int)a->n[1], (int)l, (tr_gemm_N)gemm, (tr_gemv_N)gemv, ma, mb,
               (int)(sa / size), (int)(sb / size), alpha, 1);
  return 0;
}
"""

_LOOPS = """\
static int tr_matmul_N(tr_var *a, tr_var *b, tr_var *o, int nd) {
  int64_t i[TR_ND] = {0};
  const char *pa = a->p, *pb = b->p;
  char *po;
  int status;
  A *acc;
  if ((status = tr_stack(a, b, o, nd)) || (status = tr_alloc(o, nd, sizeof(X)))) return status;
  if (tr_count(o, nd) == 0) return 0;
  po = o->p;
  const int64_t M = a->n[nd - 2], K = a->n[nd - 1], L = b->n[nd - 1];
  const int64_t ar = a->s[nd - 2], ac = a->s[nd - 1], br = b->s[nd - 2], bc = b->s[nd - 1];
  acc = malloc((size_t)L * sizeof(A));
  if (!acc) return TR_MEMORY;
  for (;;) {
    int d;
    for (int64_t r = 0; r < M; r++) {
      X *row = (X *)po + r * L;
      memset(acc, 0, (size_t)L * sizeof(A));
      for (int64_t k = 0; k < K; k++) {
        const A x = LOAD(*(const X *)(pa + r * ar + k * ac));
        const char *q = pb + k * br;
        if (bc == sizeof(X)) for (int64_t j = 0; j < L; j++) acc[j] ADD (A)(x TIMES LOAD(((const X *)q)[j]));
        else for (int64_t j = 0; j < L; j++) acc[j] ADD (A)(x TIMES LOAD(*(const X *)(q + j * bc)));
      }
      for (int64_t j = 0; j < L; j++) row[j] = STORE(acc[j]);
    }
    for (d = nd - 3; d >= 0; d--) {
      if (++i[d] < o->n[d]) { pa += a->s[d]; pb += b->s[d]; po += o->s[d]; break; }
      pa -= a->s[d] * (o->n[d] - 1);
      pb -= b->s[d] * (o->n[d] - 1);
      po -= o->s[d] * (o->n[d] - 1);
      i[d] = 0;
    }
    if (d < 0) break;
  }
  free(acc);
  return 0;
}
"""


def _of_dtype(text: str, dtype: str) -> str:
    """Return the text of a helper around BLAS for a dtype."""
    x = CTYPES[dtype]
    filled = text.replace("GEMM", _GEMM).replace("GEMV", _GEMV).replace("SIZE", str(x.size))
    return replace_words(filled.replace("_N(", f"_{x.short}(").replace("_N)", f"_{x.short})"), {
        "E": x.computed, "tr_gemm_N": f"tr_gemm_{x.short}", "tr_gemv_N": f"tr_gemv_{x.short}",
    })  # fmt: skip


def accumulated(dtype: str) -> tuple[str, str]:
    """Return name and text of beta * c + alpha * (a @ b) for a dtype that BLAS has."""
    return f"tr_accumulate_{CTYPES[dtype].short}", _of_dtype(_ACCUMULATED, dtype)


def matmul(dtype: str, blas: bool) -> tuple[str, str]:
    """Return name and text of the product of stacks of matrices of a dtype."""
    x = CTYPES[dtype]
    name = f"tr_matmul_{x.short}"
    if blas:
        return name, _of_dtype(_BLAS, dtype)
    half = dtype == "float16"
    text = _LOOPS.replace("LOAD", "tr_f16_to_f32" if half else "").replace("STORE", "tr_f32_to_f16" if half else "")
    text = text.replace("ADD", "|=" if dtype == "bool" else "+=").replace("TIMES", "&" if dtype == "bool" else "*")
    return name, replace_words(text, {"A": x.computed, "X": x.stored, "tr_matmul_N": name})
