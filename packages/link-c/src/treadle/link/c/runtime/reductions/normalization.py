"""C text of softmax, its logarithm, and logsumexp: one pass over each run of elements, made contiguous if need be."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType

NORMALIZATION = {
    "tr_form": """\
typedef enum { TR_SOFTMAX, TR_LOG_SOFTMAX, TR_LOG_SUM_EXP } tr_form;
"""
}

_NORMALIZE = """\
static int $name(const tr_var *x, int nd, uint64_t mask, tr_var *o, tr_form form) {
  const int sums = form == TR_LOG_SUM_EXP;
  tr_dims in, result;
  int64_t in_kept[TR_ND] = {0}, in_reduced[TR_ND] = {0}, result_kept[TR_ND] = {0}, result_reduced[TR_ND] = {0};
  const char *from, *target;
  $Elem *out = ($Elem *)o->p;
  $Acc *run = 0;
  tr_split(x, nd, mask, 1, &in);
  if (in.kept == 0 || (!sums && in.reduced == 0)) return 0;
  const int64_t n = in.reduced;
  const int direct = $direct && in.nr == 1 && (in.rs[0] == sizeof($Elem) || n <= 1);
  if (!sums) tr_split(o, nd, mask, 1, &result);
  const int apart = !sums && !(direct && result.nr == 1 && (result.rs[0] == sizeof($Elem) || n <= 1));
  run = malloc((size_t)(n ? n : 1) * sizeof($Acc));
  if (!run) return TR_MEMORY;
  from = in.p;
  target = sums ? 0 : result.p;
  do {
    const $Acc *values = (const $Acc *)from;
    $Acc top = -INFINITY, total = 0, lost = 0;
    if (!direct && n) {
      const char *q = from;
      $Acc *r = run;
      do for (int64_t j = 0; j < in.rn[0]; j++) *r++ = $load(*(const $Elem *)(q + j * in.rs[0]));
      while (tr_next(1, in.nr, in.rn, in.rs, in_reduced, &q));
      values = run;
    }
    if (n) top = tr_max_${math}_${math}_${math}_run(values, n);
    if (!(top - top == 0)) top = 0;
    $Acc *exps = form == TR_SOFTMAX && !apart ? ($Acc *)target : run;
    for (int64_t i = 0; i < n; i += 256) {
      $Acc *kept = form == TR_SOFTMAX ? exps + i : 0;
      const $Acc s = tr_shifted_exp_$math(n - i < 256 ? n - i : 256, values + i, top, kept), r = total + s;
      lost += (total - r) + s;
      total = r;
    }
    if (lost - lost == 0) total += lost;
    if (sums) {
      *out++ = $store($log(total) + top);
    } else {
      const $Acc shift = form == TR_LOG_SOFTMAX ? $log(total) : 0, part = 1 / total;
      $Acc *written = apart ? run : ($Acc *)target;
      if (form == TR_SOFTMAX)
#pragma omp simd
        for (int64_t j = 0; j < n; j++) written[j] = exps[j] * part;
      else
        for (int64_t j = 0; j < n; j++) written[j] = (values[j] - top) - shift;
      if (apart) {
        const char *q = target;
        const $Acc *r = run;
        do for (int64_t j = 0; j < result.rn[0]; j++) *($Elem *)(uintptr_t)(q + j * result.rs[0]) = $store(*r++);
        while (tr_next(1, result.nr, result.rn, result.rs, result_reduced, &q));
      }
    }
    if (!sums) tr_next(0, result.nk, result.kn, result.ks, result_kept, &target);
  } while (tr_next(0, in.nk, in.kn, in.ks, in_kept, &from));
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
