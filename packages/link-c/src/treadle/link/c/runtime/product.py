"""C text of matrix products: BLAS for float32 and float64, loops for the rest."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType
from treadle.link.c.conventions.lapack import BLAS, blas_parameters

# The first letters of BLAS's routines, by the short names of the types they are for.
BLAS_LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}

PRODUCT = {
    "tr_matrix tr_as_matrix tr_to_matrices": """\
/* How BLAS sees the last two dimensions: 'N' if the rows of a matrix run through memory, 'T' if its columns do. */
typedef struct { char order; int ld; } tr_matrix;
static int tr_as_matrix(const tr_var *x, int nd, int64_t size, tr_matrix *m) {
  /* Sizes are powers of 2: a division takes longer than a small product. */
  const int shift = __builtin_ctzll((uint64_t)size);
  for (int t = 0; t < 2; t++) {
    const int64_t r = x->n[nd - 2 + t], c = x->n[nd - 1 - t], sr = x->s[nd - 2 + t], sc = x->s[nd - 1 - t];
    if (c != 1 && sc != size) continue;
    if (r != 1 && (sr < c << shift || (sr & (size - 1)) || sr >> shift > INT32_MAX)) continue;
    m->order = "NT"[t];
    m->ld = (int)(r == 1 ? c : sr >> shift);
    return 1;
  }
  return 0;
}
/* The same for two factors, of which those that BLAS cannot read are copied; and their steps as vectors in elements. */
static int tr_to_matrices(tr_var **a, tr_var **b, tr_var *t, int nd, int64_t size, tr_kernel k, tr_matrix *m,
                          int *steps) {
  tr_var **const x[] = {a, b};
  for (int f = 0; f < 2; f++) {
    if (!tr_as_matrix(*x[f], nd, size, m + f)) {
      const int status = tr_copy(t + f, *x[f], nd, size, k);
      if (status) return status;
      *x[f] = t + f;
      tr_as_matrix(t + f, nd, size, m + f);
    }
    const int d = nd - 1 - f;
    const int64_t step = (*x[f])->n[d] == 1 ? 1 : (*x[f])->s[d] >> __builtin_ctzll((uint64_t)size);
    if (step > INT32_MAX) return TR_TOO_LONG;
    steps[f] = (int)step;
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
    # Step to the next matrices, at p, of two factors and their product; 0 when all were multiplied.
    "tr_next_product": """\
static inline int tr_next_product(const tr_var *a, const tr_var *b, const tr_var *o, int nd, int64_t *i, char **p) {
  for (int d = nd - 3; d >= 0; i[d--] = 0) {
    const int64_t steps = ++i[d] < o->n[d] ? 1 : 1 - o->n[d];
    p[0] += a->s[d] * steps;
    p[1] += b->s[d] * steps;
    p[2] += o->s[d] * steps;
    if (steps == 1) return 1;
  }
  return 0;
}
""",
}

# A call of BLAS costs more than a product of up to four rows, columns and terms, or one of a vector with a small matrix
# of real numbers. Four columns of a row are in registers here, whose terms are added in order.
_ROWS = """\
    case $columns: for (int i = 0; i < m; i++, x += ar, y += l) {
      $Real $zeros;
      for (int r = 0; r < k; r++) { const $Real f = x[r * ac], *const row = b + r * br; $terms }
      $stores
    } break;
"""
_VECTORS = """\
    if (bc == 1 && l - j >= 4) {
      for (int i = 0; i < m; i++, x += ar, y += l) {
        tr_four_$short s = {0};
        for (int r = 0; r < k; r++) s += x[r * ac] * *(const tr_four_$short *)(b + r * br);
        *(tr_four_$short *)y = tr_scaled_product(s, *(tr_four_$short *)y);
      }
      continue;
    }
"""


def _rows(columns: int) -> str:
    """Return the case of so many columns."""
    each = [("" if r == 0 else f" + {r} * bc", r) for r in range(columns)]
    return Template(_ROWS).safe_substitute(
        columns=columns,
        zeros=", ".join(f"s{r} = 0" for _, r in each),
        terms=" ".join(f"s{r} += f * *(row{place});" for place, r in each),
        stores=" ".join(f"y[{r}] = tr_scaled_product(s{r}, y[{r}]);" for _, r in each),
    )


_BLAS = (
    """\
typedef void (*tr_gemm_$short)($gemm);
typedef void (*tr_gemv_$short)($gemv);
$four
#define tr_scaled_product(s, o) (beta == 0 ? alpha * (s) : alpha * (s) + beta * (o))
static void tr_small_$short(const $Real *a, const $Real *b, $Real *o, int m, int k, int l, int64_t ar, int64_t ac,
                            int64_t br, int64_t bc, $Real alpha, $Real beta) {
  for (int j = 0; j < l; j += 4, b += 4 * bc) {
    const $Real *x = a;
    $Real *y = o + j;
$vectors
    switch (l - j < 4 ? l - j : 4) {
"""
    + "".join(map(_rows, range(1, 5)))
    + """\
    }
  }
}
#undef tr_scaled_product
static void tr_product_$short($Real *a, $Real *b, $Real *o, int m, int k, int l, tr_gemm_$short gemm,
                              tr_gemv_$short gemv, tr_matrix ma, tr_matrix mb, int ia, int ib, $Real alpha,
                              $Real beta) {
  const int64_t ar = ma.order == 'N' ? ma.ld : 1, ac = ma.order == 'N' ? 1 : ma.ld;
  const int64_t br = mb.order == 'N' ? mb.ld : 1, bc = mb.order == 'N' ? 1 : mb.ld;
  int unit = 1;
  if (m <= 4 && k <= 4 && l <= 4) {
    tr_small_$short(a, b, o, m, k, l, ar, ac, br, bc, alpha, beta);
  } else if (k <= $most && l == 1 && m <= $most && (m * k <= 144 || (ar == 1 && m >= 4))) {
    tr_small_$short(b, a, o, 1, k, m, 0, br, ac, ar, alpha, beta);
  } else if (k <= $most && m == 1 && l <= $most && (l * k <= 144 || (bc == 1 && l >= 4))) {
    tr_small_$short(a, b, o, 1, k, l, 0, ac, br, bc, alpha, beta);
  } else if (l == 1 && ib > 0) {
    if (ma.order == 'N') gemv("T", &k, &m, &alpha, a, &ma.ld, b, &ib, &beta, o, &unit);
    else gemv("N", &m, &k, &alpha, a, &ma.ld, b, &ib, &beta, o, &unit);
  } else if (m == 1 && ia > 0) {
    if (mb.order == 'N') gemv("N", &l, &k, &alpha, b, &mb.ld, a, &ia, &beta, o, &unit);
    else gemv("T", &k, &l, &alpha, b, &mb.ld, a, &ia, &beta, o, &unit);
  } else {
    gemm(&mb.order, &ma.order, &l, &m, &k, &alpha, b, &mb.ld, a, &ma.ld, &beta, o, &l);
  }
}
static int tr_matmul_$short(tr_var *a, tr_var *b, tr_var *o, int nd, uintptr_t gemm, uintptr_t gemv, tr_var *t) {
  const int64_t size = sizeof($Real);
  tr_matrix m[2];
  int status, steps[2];
  int64_t i[TR_ND] = {0};
  if ((status = tr_stack(a, b, o, nd)) || (status = tr_alloc(o, nd, size))) return status;
  if (tr_count(o, nd) == 0) return 0;
  if (a->n[nd - 1] == 0) { memset(o->p, 0, (size_t)(tr_count(o, nd) * size)); return 0; }
  if (a->n[nd - 2] > INT32_MAX || a->n[nd - 1] > INT32_MAX || b->n[nd - 1] > INT32_MAX) return TR_TOO_LONG;
  if ((status = tr_to_matrices(&a, &b, t, nd, size, tr_move$size, m, steps))) return status;
  char *p[] = {a->p, b->p, o->p};
  do tr_product_$short(($Real *)p[0], ($Real *)p[1], ($Real *)p[2], (int)a->n[nd - 2], (int)a->n[nd - 1],
                       (int)b->n[nd - 1], (tr_gemm_$short)gemm, (tr_gemv_$short)gemv, m[0], m[1], steps[0],
                       steps[1], 1, 0);
  while (tr_next_product(a, b, o, nd, i, p));
  return 0;
}
"""
)

# BLAS reads neither matrix where its number is 0: a NaN would be lost. So c is scaled here, and a product that counts
# nothing is added as any other; one of another shape than c too.
_ACCUMULATED = """\
static int tr_added_$short(const tr_var *c, $Real alpha, tr_var *a, tr_var *b, $Real beta, tr_var *o, uintptr_t gemm,
                      uintptr_t gemv, tr_var *t) {
  int status;
  int64_t sc[2], sp[2];
  if ((status = tr_matmul_$short(a, b, t + 2, 2, gemm, gemv, t))) return status;
  for (int d = 0; d < 2; d++) {
    const int64_t n = c->n[d], m = t[2].n[d];
    if (n != m && n != 1 && m != 1) return TR_SHAPE;
    o->n[d] = n == 1 ? m : n;
    sc[d] = n == 1 ? 0 : c->s[d];
    sp[d] = m == 1 ? 0 : t[2].s[d];
  }
  if ((status = tr_alloc(o, 2, sizeof($Real)))) return status;
  for (int64_t i = 0; i < o->n[0]; i++) for (int64_t j = 0; j < o->n[1]; j++)
    (($Real *)o->p)[i * o->n[1] + j] = beta * *(const $Real *)(c->p + i * sc[0] + j * sc[1])
                                 + alpha * *(const $Real *)(t[2].p + i * sp[0] + j * sp[1]);
  return 0;
}
static int tr_accumulate_$short(tr_var *c, const tr_var *x, tr_var *a, tr_var *b, const tr_var *y, tr_var *o,
                           uintptr_t gemm, uintptr_t gemv, tr_var *t, int free) {
  const int64_t size = sizeof($Real);
  const $Real alpha = *(const $Real *)x->p, beta = *(const $Real *)y->p;
  int status, steps[2];
  int64_t m, l;
  tr_matrix seen[2];
  if ((status = tr_stack(a, b, o, 2))) return status;
  m = o->n[0];
  l = o->n[1];
  if (m > INT32_MAX || a->n[1] > INT32_MAX || l > INT32_MAX) return TR_TOO_LONG;
  if (alpha == 0 || a->n[1] == 0 || c->n[0] != m || c->n[1] != l)
    return tr_added_$short(c, alpha, a, b, beta, o, gemm, gemv, t);
  if (!(free && tr_overwrite(o, c, 2, size)) && (status = tr_alloc(o, 2, size))) return status;
  if (m == 0 || l == 0) return 0;
  if (c->p != o->p || beta != 1) for (int64_t i = 0; i < m; i++) {
    const char *row = c->p + i * c->s[0];
    $Real *to = ($Real *)o->p + i * l;
    if (l > 1 && c->s[1] != size) for (int64_t j = 0; j < l; j++) to[j] = beta * *(const $Real *)(row + j * c->s[1]);
    else if (beta == 1) memcpy(to, row, (size_t)(l * size));
    else for (int64_t j = 0; j < l; j++) to[j] = beta * ((const $Real *)row)[j];
  }
  if ((status = tr_to_matrices(&a, &b, t, 2, size, tr_move$size, seen, steps))) return status;
  tr_product_$short(($Real *)a->p, ($Real *)b->p, ($Real *)o->p, (int)m, (int)a->n[1], (int)l, (tr_gemm_$short)gemm,
                    (tr_gemv_$short)gemv, seen[0], seen[1], steps[0], steps[1], alpha, 1);
  return 0;
}
"""

_LOOPS = """\
static int tr_matmul_$short(tr_var *a, tr_var *b, tr_var *o, int nd) {
  int64_t i[TR_ND] = {0};
  int status;
  $Acc *acc;
  if ((status = tr_stack(a, b, o, nd)) || (status = tr_alloc(o, nd, sizeof($Elem)))) return status;
  if (tr_count(o, nd) == 0) return 0;
  char *p[] = {a->p, b->p, o->p};
  const int64_t M = a->n[nd - 2], K = a->n[nd - 1], L = b->n[nd - 1];
  const int64_t ar = a->s[nd - 2], ac = a->s[nd - 1], br = b->s[nd - 2], bc = b->s[nd - 1];
  acc = malloc((size_t)L * sizeof($Acc));
  if (!acc) return TR_MEMORY;
  do {
    for (int64_t r = 0; r < M; r++) {
      $Elem *row = ($Elem *)p[2] + r * L;
      memset(acc, 0, (size_t)L * sizeof($Acc));
      for (int64_t k = 0; k < K; k++) {
        const $Acc x = $load(*(const $Elem *)(p[0] + r * ar + k * ac));
        const char *q = p[1] + k * br;
        if (bc == sizeof($Elem))
#pragma omp simd
          for (int64_t j = 0; j < L; j++) acc[j] $add ($Acc)(x $times $load(((const $Elem *)q)[j]));
        else
          for (int64_t j = 0; j < L; j++) acc[j] $add ($Acc)(x $times $load(*(const $Elem *)(q + j * bc)));
      }
      for (int64_t j = 0; j < L; j++) row[j] = $store(acc[j]);
    }
  } while (tr_next_product(a, b, o, nd, i, p));
  free(acc);
  return 0;
}
"""


def _around_blas(text: str, ctype: CType) -> str:
    """Return the text of a helper around BLAS for a type."""
    number, is_real = ctype.computed, ctype.kind == "f"
    vector = f"vector_size({4 * ctype.size}), aligned({ctype.size})"
    return Template(text.replace("$vectors\n", _VECTORS if is_real else "")).substitute(
        {name: blas_parameters(name, number) for name in BLAS},
        Real=number,
        short=ctype.short,
        size=ctype.size,
        four=f"typedef {number} tr_four_{ctype.short} __attribute__(({vector}));" if is_real else "",
        most=32 if is_real else 0,
    )


def accumulated(ctype: CType) -> str:
    """Return the text of beta * c + alpha * (a @ b) for a type that BLAS has."""
    return _around_blas(_ACCUMULATED, ctype)


def matmul(ctype: CType) -> str:
    """Return the text of the product of stacks of matrices of a type."""
    if ctype.short in BLAS_LETTERS:
        return _around_blas(_BLAS, ctype)
    half, boolean = ctype.short == "f16", ctype.short == "b"
    return Template(_LOOPS).substitute(
        Acc=ctype.computed,
        Elem=ctype.stored,
        short=ctype.short,
        load="tr_f16_to_f32" if half else "",
        store="tr_f32_to_f16" if half else "",
        add="|=" if boolean else "+=",
        times="&" if boolean else "*",
    )
