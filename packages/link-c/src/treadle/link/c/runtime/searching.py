"""C text of searches: positions of true elements, binary search, and counts of integers."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType, loaded

SEARCHING = {
    # A mask fits if in each of its last dimensions it is as long as wanted.
    "tr_check_mask": """\
static int tr_check_mask(tr_var *o, const tr_var *x, int nd, int first, const int64_t *wanted) {
  for (int d = 0; d < nd; d++) {
    if (d >= first && x->n[d] != wanted[d - first]) return TR_INDEX;
    o->n[d] = x->n[d];
    o->s[d] = x->s[d];
  }
  o->p = x->p;
  return 0;
}
""",
    # The elements are counted first. Then every row is walked without a branch: each position is written where the
    # next one found belongs, and stays if its element is true.
    "tr_nonzero": """\
static int tr_nonzero(tr_var *v, const int *outs, const tr_var *x, int nd) {
  const int last = nd - 1;
  const int64_t n = x->n[last], s = x->s[last];
  int64_t i[TR_ND + 1] = {0}, rows = 1, count = 0, found = 0;
  const char *row = x->p;
  for (int d = 0; d < last; d++) rows *= x->n[d];
  for (int64_t k = 0; k < rows; k++) {
    int64_t own = 0;
    if (s == 1) {
#pragma omp simd reduction(+: own)
      for (int64_t j = 0; j < n; j++) own += row[j];
    } else for (int64_t j = 0; j < n; j++) own += row[j * s];
    count += own;
    for (int d = last - 1; d >= 0; d--) {
      row += x->s[d];
      if (++i[d] < x->n[d]) break;
      row -= x->s[d] * x->n[d];
      i[d] = 0;
    }
  }
  for (int d = 0; d < nd; d++) {
    const int status = (v[outs[d]].n[0] = count, tr_alloc(v + outs[d], 1, 8));
    if (status) return status;
  }
  memset(i, 0, sizeof i);
  row = x->p;
  while (found < count) {
    int64_t *to = (int64_t *)v[outs[last]].p;
    const int64_t before = found;
    for (int64_t j = 0; j < n && found < count; j++) { to[found] = j; found += row[j * s]; }
    for (int d = 0; d < last; d++)
      for (int64_t k = before; k < found; k++) ((int64_t *)v[outs[d]].p)[k] = i[d];
    for (int d = last - 1; d >= 0; d--) {
      row += x->s[d];
      if (++i[d] < x->n[d]) break;
      row -= x->s[d] * x->n[d];
      i[d] = 0;
    }
  }
  return 0;
}
""",
    # x: the integers, w: their weights or null. Short counts are kept four times, so that equal integers in a row do
    # not wait for one another.
    "tr_bincount": """\
static int tr_bincount(tr_var *o, const tr_var *x, const tr_var *w, int64_t least, int bounded) {
  const int64_t n = x->n[0], s = x->s[0];
  int64_t low = 0, high = -1, bins = least;
  int status;
  if (least < 0) return TR_LENGTH;
  if (w && w->n[0] != n) return TR_SHAPE;
  if (!bounded) {
    const char *p = x->p;
    if (s == 8) {
      const int64_t *q = (const int64_t *)p;
#pragma omp simd reduction(min: low) reduction(max: high)
      for (int64_t j = 0; j < n; j++) { low = q[j] < low ? q[j] : low; high = q[j] > high ? q[j] : high; }
    } else for (int64_t j = 0; j < n; j++, p += s) {
      const int64_t k = *(const int64_t *)p;
      low = k < low ? k : low;
      high = k > high ? k : high;
    }
    if (low < 0 || high == INT64_MAX) return TR_LENGTH;
    if (high >= bins) bins = high + 1;
  }
  o->n[0] = bins;
  if ((status = tr_alloc(o, 1, 8))) return status;
  memset(o->p, 0, (size_t)bins * 8);
  if (w) {
    double *to = (double *)o->p;
    const char *p = x->p, *q = w->p;
    for (int64_t j = 0; j < n; j++, p += s, q += w->s[0]) {
      const int64_t k = *(const int64_t *)p;
      if (!bounded || (k >= 0 && k < bins)) to[k] += *(const double *)q;
    }
    return 0;
  }
  int64_t *to = (int64_t *)o->p;
  const char *p = x->p;
  if (bins <= 2048 && n >= 4 * bins) {
    int64_t part[3][2048], j = 0;
    memset(part, 0, sizeof part);
    for (; j + 4 <= n; j += 4, p += 4 * s) {
      const int64_t a = *(const int64_t *)p, b = *(const int64_t *)(p + s), c = *(const int64_t *)(p + 2 * s),
                    d = *(const int64_t *)(p + 3 * s);
      if ((uint64_t)a < (uint64_t)bins) to[a]++;
      if ((uint64_t)b < (uint64_t)bins) part[0][b]++;
      if ((uint64_t)c < (uint64_t)bins) part[1][c]++;
      if ((uint64_t)d < (uint64_t)bins) part[2][d]++;
    }
    for (; j < n; j++, p += s) { const int64_t a = *(const int64_t *)p; if ((uint64_t)a < (uint64_t)bins) to[a]++; }
    for (int64_t k = 0; k < bins; k++) to[k] += part[0][k] + part[1][k] + part[2][k];
    return 0;
  }
  if (!bounded) { for (int64_t j = 0; j < n; j++, p += s) to[*(const int64_t *)p]++; return 0; }
  for (int64_t j = 0; j < n; j++, p += s) {
    const int64_t k = *(const int64_t *)p;
    if ((uint64_t)k < (uint64_t)bins) to[k]++;
  }
  return 0;
}
""",
}

# Binary search takes the same number of steps for every value, so that some values are searched for at once: while
# one waits for memory, the others go on.
_SEARCH = """\
static int tr_search_$short(tr_var *o, const tr_var *x, const tr_var *v, int nd, int batch, int right) {
  const int64_t n = x->n[batch], s = x->s[batch];
  int64_t i[TR_ND + 1] = {0}, each = 1, parts = 1;
  int status;
  for (int d = 0; d < batch; d++) {
    if (x->n[d] != v->n[d]) return TR_SHAPE;
    parts *= v->n[d];
  }
  for (int d = 0; d < nd; d++) o->n[d] = v->n[d];
  for (int d = batch; d < nd; d++) each *= v->n[d];
  if ((status = tr_alloc(o, nd, 8))) return status;
  const char *first = x->p;
  const $Elem *value = (const $Elem *)v->p;
  int64_t *to = (int64_t *)o->p;
  for (int64_t part = 0; part < parts; part++) {
    for (int64_t j = 0; j < each; j += 8, value += 8, to += 8) {
      const int count = each - j < 8 ? (int)(each - j) : 8;
      int64_t at[8] = {0};
      $Computed key[8];
      for (int c = 0; c < count; c++) key[c] = $key;
      for (int c = count; c < 8; c++) key[c] = key[0];
      $odd
      if (right) { $search_after }
      else { $search_before }
      for (int c = 0; c < count; c++) to[c] = at[c];
    }
    value += each - (each + 7) / 8 * 8;
    to += each - (each + 7) / 8 * 8;
    for (int d = batch - 1; d >= 0; d--) {
      first += x->s[d];
      if (++i[d] < x->n[d]) break;
      first -= x->s[d] * x->n[d];
      i[d] = 0;
    }
  }
  return 0;
}
"""


# Among few values all are counted that lie before. Among more, those before the middle are left behind where the
# condition holds, without a branch.
_HALVES = """\
if (n <= 24) for (int64_t k = 0; k < n; k++) {
        const $Computed a = $each;
#pragma omp simd
        for (int c = 0; c < 8; c++) { const $Computed b = key[c]; at[c] += ($condition); }
      }
      else for (int64_t left = n, half; left > 0; left -= half) {
        half = left == 1 ? 1 : left / 2;
        for (int c = 0; c < 8; c++) {
          const $Computed a = $middle, b = key[c];
          at[c] += half & -(int64_t)($condition);
        }
      }"""
# NaN counts as larger than every number: the first one is searched for, or the end.
_ODD_KEYS = """\
int odd = 0;
      for (int c = 0; c < 8; c++) odd |= key[c] != key[c];
      if (odd) {
        if (right) { $after }
        else { $before }
        for (int c = 0; c < count; c++) to[c] = at[c];
        continue;
      }"""


def search(ctype: CType) -> str:
    """Return the text of binary search among values of a type; the values searched for lie in C order."""
    dtype = "float16" if ctype.short == "f16" else ""
    middle = loaded(dtype, f"*(const {ctype.stored} *)(first + (at[c] + half - 1) * s)")

    each = loaded(dtype, f"*(const {ctype.stored} *)(first + k * s)")

    def halves(condition: str) -> str:
        return Template(_HALVES).substitute(Computed=ctype.computed, middle=middle, each=each, condition=condition)

    before, after = halves("(a < b) | ((b != b) & (a == a))"), halves("(a <= b) | (b != b)")
    return Template(_SEARCH).substitute(
        short=ctype.short,
        Elem=ctype.stored,
        Computed=ctype.computed,
        key=loaded(dtype, "value[c]"),
        odd=Template(_ODD_KEYS).substitute(before=before, after=after) if ctype.kind == "f" else "",
        search_before=halves("a < b"),
        search_after=halves("a <= b"),
    )


# Merge sort from short runs up, which keeps the order of equal rows.
_ROW_ORDER = """\
static int tr_row_less_$short(const char *p, const char *q, int64_t m, int64_t s) {
  for (int64_t j = 0; j < m; j++, p += s, q += s) {
    const $Computed a = $first, b = $second;
    if ($before) return 1;
    { const $Computed c = a; if ($swapped) return 0; }
  }
  return 0;
}
static int tr_row_order_$short(tr_var *o, const tr_var *x) {
  const int64_t n = x->n[0], m = x->n[1], s = x->s[0], t = x->s[1];
  int64_t *from, *to, *spare;
  int status;
  o->n[0] = n;
  if ((status = tr_alloc(o, 1, 8))) return status;
  if (!(spare = malloc((size_t)(n ? n : 1) * 8))) return TR_MEMORY;
  from = (int64_t *)o->p;
  to = spare;
  for (int64_t i = 0; i < n; i++) from[i] = i;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t low = 0; low < n; low += 2 * width) {
      const int64_t mid = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
      int64_t i = low, j = mid, k = low;
      while (i < mid && j < high)
        to[k++] = tr_row_less_$short(x->p + from[j] * s, x->p + from[i] * s, m, t) ? from[j++] : from[i++];
      while (i < mid) to[k++] = from[i++];
      while (j < high) to[k++] = from[j++];
    }
    { int64_t *other = from; from = to; to = other; }
  }
  if (from != (int64_t *)o->p) memcpy(o->p, from, (size_t)n * 8);
  free(spare);
  return 0;
}
"""


def row_order(ctype: CType) -> str:
    """Return the text of the function that finds the order of the rows of a matrix of a type."""
    dtype = "float16" if ctype.short == "f16" else ""
    floating = ctype.kind == "f"
    return Template(_ROW_ORDER).substitute(
        short=ctype.short,
        Computed=ctype.computed,
        first=loaded(dtype, f"*(const {ctype.stored} *)p"),
        second=loaded(dtype, f"*(const {ctype.stored} *)q"),
        before="a < b || (b != b && a == a)" if floating else "a < b",
        swapped="b < c || (c != c && b == b)" if floating else "b < c",
    )
