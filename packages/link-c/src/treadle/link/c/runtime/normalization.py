"""C text of softmax, its logarithm, and logsumexp: one pass over each run of elements, made contiguous if need be."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.link.c.dtypes import CType

NORMALIZATION = {
    "tr_form": """\
typedef enum { TR_SOFTMAX, TR_LOG_SOFTMAX, TR_LOG_SUM_EXP } tr_form;
""",
}

_NORMALIZE = """\
static int $name(const tr_var *x, int nd, uint64_t mask, tr_var *o, tr_form form) {
  const int sums = form == TR_LOG_SUM_EXP;
  tr_dims t, u;
  int64_t ki[TR_ND] = {0}, ri[TR_ND] = {0}, ui[TR_ND] = {0}, vi[TR_ND] = {0};
  const char *p, *w;
  $Elem *out = ($Elem *)o->p;
  $Acc *run = 0;
  tr_split(x, nd, mask, 1, &t);
  if (t.kept == 0 || (!sums && t.reduced == 0)) return 0;
  const int64_t n = t.reduced;
  const int direct = $direct && t.nr == 1 && (t.rs[0] == sizeof($Elem) || n <= 1);
  if (!sums) tr_split(o, nd, mask, 1, &u);
  const int apart = !sums && !(direct && u.nr == 1 && (u.rs[0] == sizeof($Elem) || n <= 1));
  run = malloc((size_t)(n ? n : 1) * sizeof($Acc));
  if (!run) return TR_MEMORY;
  p = t.p;
  w = sums ? 0 : u.p;
  do {
    const $Acc *y = (const $Acc *)p;
    $Acc top = -INFINITY, total = 0, lost = 0;
    if (!direct && n) {
      const char *q = p;
      $Acc *r = run;
      do for (int64_t j = 0; j < t.rn[0]; j++) *r++ = $load(*(const $Elem *)(q + j * t.rs[0]));
      while (tr_next(1, t.nr, t.rn, t.rs, ri, &q));
      y = run;
    }
    if (n) top = tr_max_${math}_${math}_${math}_run(y, n);
    if (!(top - top == 0)) top = 0;
    $Acc *e = form == TR_SOFTMAX && !apart ? ($Acc *)w : run;
    for (int64_t i = 0; i < n; i += 256) {
      $Acc *kept = form == TR_SOFTMAX ? e + i : 0;
      const $Acc s = tr_shifted_exp_$math(n - i < 256 ? n - i : 256, y + i, top, kept), r = total + s;
      lost += (total - r) + s;
      total = r;
    }
    if (lost - lost == 0) total += lost;
    if (sums) {
      *out++ = $store($log(total) + top);
    } else {
      const $Acc shift = form == TR_LOG_SOFTMAX ? $log(total) : 0, part = 1 / total;
      $Acc *to = apart ? run : ($Acc *)w;
      if (form == TR_SOFTMAX)
#pragma omp simd
        for (int64_t j = 0; j < n; j++) to[j] = e[j] * part;
      else
        for (int64_t j = 0; j < n; j++) to[j] = (y[j] - top) - shift;
      if (apart) {
        const char *q = w;
        const $Acc *r = run;
        do for (int64_t j = 0; j < u.rn[0]; j++) *($Elem *)(uintptr_t)(q + j * u.rs[0]) = $store(*r++);
        while (tr_next(1, u.nr, u.rn, u.rs, vi, &q));
      }
    }
    if (!sums) tr_next(0, u.nk, u.kn, u.ks, ui, &w);
  } while (tr_next(0, t.nk, t.kn, t.ks, ki, &p));
  free(run);
  return 0;
}
"""


def normalizer(ctype: CType) -> str:
    """Return the text of the function for a float type."""
    half = ctype.short == "f16"
    return Template(_NORMALIZE).substitute(
        name=f"tr_normalize_{ctype.short}",
        Acc=ctype.computed,
        Elem=ctype.stored,
        math=ctype.math,
        log=f"log{ctype.suffix}",
        direct=int(not half),
        load="tr_f16_to_f32" if half else "",
        store="tr_f32_to_f16" if half else "",
    )
