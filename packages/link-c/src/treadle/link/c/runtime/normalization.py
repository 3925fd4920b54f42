"""C text of softmax and its kin: one pass over each run of elements, which is made contiguous if it is not."""

from __future__ import annotations

from treadle.link.c.dtypes import CTYPES
from treadle.link.c.runtime.text import replace_words

_NORMALIZE = """\
/* what: 0 for softmax, 1 for its logarithm, 2 for the logarithm of the sum. */
static int NAME(const tr_var *x, int nd, uint64_t mask, tr_var *o, int what) {
  tr_dims t, u;
  int64_t ki[TR_ND] = {0}, ri[TR_ND] = {0}, ui[TR_ND] = {0}, vi[TR_ND] = {0};
  const char *p, *w;
  X *out = (X *)o->p;
  A *run = 0;
  tr_split(x, nd, mask, 1, &t);
  if (t.kept == 0 || (what < 2 && t.reduced == 0)) return 0;
  const int64_t n = t.reduced;
  const int direct = DIRECT && t.nr == 1 && (t.rs[0] == sizeof(X) || n <= 1);
  if (what < 2) tr_split(o, nd, mask, 1, &u);
  const int apart = what < 2 && !(direct && u.nr == 1 && (u.rs[0] == sizeof(X) || n <= 1));
  run = malloc((size_t)(n ? n : 1) * sizeof(A));
  if (!run) return TR_MEMORY;
  p = t.p;
  w = what < 2 ? u.p : 0;
  do {
    const A *y = (const A *)p;
    A top = -INFINITY, total = 0, lost = 0;
    if (!direct && n) {
      const char *q = p;
      A *r = run;
      do for (int64_t j = 0; j < t.rn[0]; j++) *r++ = LOAD(*(const X *)(q + j * t.rs[0]));
      while (tr_next(1, t.nr, t.rn, t.rs, ri, &q));
      y = run;
    }
    if (n) top = tr_max_N_N_N_run(y, n);
    if (!(top - top == 0)) top = 0;
    A *e = what == 0 && !apart ? (A *)w : run;
    for (int64_t i = 0; i < n; i += 256) {
      const A s = tr_shifted_exp_N(n - i < 256 ? n - i : 256, y + i, top, what ? 0 : e + i), r = total + s;
      lost += (total - r) + s;
      total = r;
    }
    if (lost - lost == 0) total += lost;
    if (what == 2) {
      *out++ = STORE(LOG(total) + top);
    } else {
      const A shift = what == 1 ? LOG(total) : 0, part = 1 / total;
      A *to = apart ? run : (A *)w;
      if (what == 0)
#pragma omp simd
        for (int64_t j = 0; j < n; j++) to[j] = e[j] * part;
      else
        for (int64_t j = 0; j < n; j++) to[j] = (y[j] - top) - shift;
      if (apart) {
        const char *q = w;
        const A *r = run;
        do for (int64_t j = 0; j < u.rn[0]; j++) *(X *)(uintptr_t)(q + j * u.rs[0]) = STORE(*r++);
        while (tr_next(1, u.nr, u.rn, u.rs, vi, &q));
      }
    }
    if (what < 2) tr_next(0, u.nk, u.kn, u.ks, ui, &w);
  } while (tr_next(0, t.nk, t.kn, t.ks, ki, &p));
  free(run);
  return 0;
}
"""


def normalizer(dtype: str) -> tuple[str, str]:
    """Return name and text of the function for a float dtype."""
    x = CTYPES[dtype]
    name = f"tr_normalize_{x.short}"
    half = dtype == "float16"
    text = _NORMALIZE.replace("NAME", name).replace("DIRECT", "0" if half else "1")
    for word in ("tr_max_N_N_N_run", "tr_shifted_exp_N"):
        text = text.replace(word, word.replace("_N", f"_{x.math}"))
    text = text.replace("LOG(", f"log{x.suffix}(").replace("STORE", "tr_f32_to_f16" if half else "")
    text = text.replace("LOAD", "tr_f16_to_f32" if half else "")
    return name, replace_words(text, {"A": x.computed, "X": x.stored})
