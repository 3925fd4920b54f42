"""C text of sorting, by the bits of keys: unsigned numbers that are ordered as the elements are.

Values of four and eight bytes are sorted by NumPy's own functions, which use SIMD, where they can be called. Positions
are sorted by radix, which is stable.
"""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType
from treadle.link.c.conventions.sorts import BY_NUMPY

SORTING = {
    # Sorts numbers by their bits low to low + bits, equal ones in order; b is scratch memory of that size.
    "tr_radix": """\
static void tr_radix(uint64_t *a, uint64_t *b, int64_t n, int low, int bits) {
  const int width = n < 4096 ? 8 : 11;
  uint64_t *from = a, *to = b;
  for (const int end = low + bits; low < end; low += width) {
    const uint64_t mask = (UINT64_C(1) << (end - low < width ? end - low : width)) - 1;
    int64_t counts[2048], at = 0;
    memset(counts, 0, (size_t)(mask + 1) * sizeof *counts);
    for (int64_t i = 0; i < n; i++) counts[from[i] >> low & mask]++;
    if (counts[from[0] >> low & mask] == n) continue;
    for (uint64_t d = 0; d <= mask; d++) { const int64_t c = counts[d]; counts[d] = at; at += c; }
    for (int64_t i = 0; i < n; i++) to[counts[from[i] >> low & mask]++] = from[i];
    { uint64_t *t = from; from = to; to = t; }
  }
  if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}
""",
    # The positions that sort keys. Four bytes of each key are sorted beside its position; runs in which these agree
    # are sorted by the rest. Scratch: three times n numbers, the first n of which hold the keys.
    "tr_order": """\
static void tr_order(uint64_t *k, int64_t n, int64_t *out) {
  uint64_t *a = k + n, *b = a + n, least = UINT64_MAX, most = 0;
  int bits, rest;
  if (n <= 32) {
    for (int64_t i = 0; i < n; i++) {
      const uint64_t y = k[i];
      int64_t j = i;
      for (; j > 0 && k[out[j - 1]] > y; j--) out[j] = out[j - 1];
      out[j] = i;
    }
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    least = k[i] < least ? k[i] : least;
    most = k[i] > most ? k[i] : most;
  }
  bits = most == least ? 0 : 64 - __builtin_clzll(most - least);
  rest = bits > 32 ? bits - 32 : 0;
  for (int64_t i = 0; i < n; i++) a[i] = (k[i] - least) >> rest << 32 | (uint64_t)i;
  tr_radix(a, b, n, 32, bits - rest);
  if (rest) {
    const uint64_t mask = (UINT64_C(1) << rest) - 1;
    for (int64_t i = 0, end; i < n; i = end) {
      const uint64_t top = a[i] >> 32;
      for (end = i + 1; end < n && a[end] >> 32 == top; end++) {}
      if (end - i == 1) continue;
      for (int64_t j = i; j < end; j++) b[j] = ((k[(uint32_t)a[j]] - least) & mask) << 32 | (uint32_t)a[j];
      if (end - i <= 32) {
        for (int64_t j = i; j < end; j++) {
          const uint64_t y = b[j];
          int64_t h = j;
          for (; h > i && a[h - 1] > y; h--) a[h] = a[h - 1];
          a[h] = y;
        }
      } else {
        memcpy(a + i, b + i, (size_t)(end - i) * sizeof *a);
        tr_radix(a + i, b + i, end - i, 32, rest);
      }
    }
  }
  for (int64_t i = 0; i < n; i++) out[i] = (uint32_t)a[i];
}
""",
    "tr_line": """\
/* Step to the next line along an axis; 0 when all were visited. */
static int tr_line(const tr_var *x, const tr_var *o, int nd, int axis, int64_t *i, const char **p, char **q) {
  for (int d = nd - 1; d >= 0; d--) {
    if (d == axis) continue;
    if (++i[d] < x->n[d]) { *p += x->s[d]; *q += o->s[d]; return 1; }
    *p -= x->s[d] * (x->n[d] - 1);
    *q -= o->s[d] * (x->n[d] - 1);
    i[d] = 0;
  }
  return 0;
}
""",
}

# Numbers of the width of an element. NaN is above all others; $sign is the highest bit.
_KEY = """\
static inline uint64_t tr_key_$short($Elem x) {
  $Bits u;
  memcpy(&u, &x, sizeof u);
  $key
}
"""
_BACK = """\
static inline $Elem tr_back_$short(uint64_t k) {
  $Bits u = ($Bits)k;
  $Elem x;
  $back
  memcpy(&x, &u, sizeof x);
  return x;
}
"""

# sorts: NumPy's functions, one for each type that has one here; 0 where they cannot be called.
_SORT = """\
static int ${name}_values($Elem *x, int64_t n, uintptr_t sorts) {
  const uintptr_t quick = $place >= 0 && sorts ? ((const uintptr_t *)sorts)[$place < 0 ? 0 : $place] : 0;
  uint64_t *k;
  if (n <= 24) {
    for (int64_t i = 1; i < n; i++) {
      const $Elem y = x[i];
      const uint64_t key = tr_key_${short}(y);
      int64_t j = i;
      for (; j > 0 && tr_key_${short}(x[j - 1]) > key; j--) x[j] = x[j - 1];
      x[j] = y;
    }
    return 0;
  }
  if ($bits <= 8 || ($bits == 16 && n >= 4096)) {
    const int64_t all = INT64_C(1) << ($bits <= 16 ? $bits : 1);
    int64_t *counts = calloc((size_t)all, sizeof *counts);
    if (!counts) return TR_MEMORY;
    for (int64_t i = 0; i < n; i++) counts[tr_key_${short}(x[i]) & (uint64_t)(all - 1)]++;
    for (int64_t d = 0; d < all; d++) {
      const $Elem y = tr_back_${short}((uint64_t)d);
      for (int64_t c = counts[d]; c; c--) *x++ = y;
    }
    free(counts);
    return 0;
  }
  if (quick) return ((int (*)(void *, intptr_t, void *))quick)(x, n, 0) < 0 ? TR_MEMORY : 0;
  if (!(k = malloc((size_t)n * 2 * sizeof *k))) return TR_MEMORY;
  for (int64_t i = 0; i < n; i++) k[i] = tr_key_${short}(x[i]);
  tr_radix(k, k + n, n, 0, $bits);
  for (int64_t i = 0; i < n; i++) x[i] = tr_back_${short}(k[i]);
  free(k);
  return 0;
}
static int $name(const tr_var *x, tr_var *o, int nd, int axis, uintptr_t sorts) {
  const int64_t n = x->n[axis], step = x->s[axis];
  int64_t i[TR_ND] = {0};
  const char *p = x->p;
  char *q = o->p;
  $Elem *line = 0;
  int status = 0;
  if (tr_count(x, nd) == 0) return 0;
  if (axis != nd - 1 && !(line = malloc((size_t)n * sizeof *line))) return TR_MEMORY;
  do {
    $Elem *to = line ? line : ($Elem *)q;
    if (step == sizeof($Elem)) memcpy(to, p, (size_t)n * sizeof *to);
    else for (int64_t t = 0; t < n; t++) to[t] = *(const $Elem *)(p + t * step);
    status = ${name}_values(to, n, sorts);
    if (line) for (int64_t t = 0; t < n; t++) *($Elem *)(q + t * o->s[axis]) = line[t];
  } while (!status && tr_line(x, o, nd, axis, i, &p, &q));
  free(line);
  return status;
}
"""

_ARGSORT = """\
static int $name(const tr_var *x, tr_var *o, int nd, int axis) {
  const int64_t n = x->n[axis], step = x->s[axis];
  int64_t i[TR_ND] = {0}, *line = 0;
  const char *p = x->p;
  char *q = o->p;
  uint64_t *k;
  if (tr_count(x, nd) == 0) return 0;
  if (n > UINT32_MAX || !(k = malloc((size_t)n * 3 * sizeof *k))) return TR_MEMORY;
  if (axis != nd - 1 && !(line = malloc((size_t)n * sizeof *line))) { free(k); return TR_MEMORY; }
  do {
    int64_t *to = line ? line : (int64_t *)q;
    for (int64_t t = 0; t < n; t++) k[t] = tr_key_${short}($equal(*(const $Elem *)(p + t * step)));
    tr_order(k, n, to);
    if (line) for (int64_t t = 0; t < n; t++) *(int64_t *)(q + t * o->s[axis]) = line[t];
  } while (tr_line(x, o, nd, axis, i, &p, &q));
  free(line);
  free(k);
  return 0;
}
"""

# Keys in 2048 equal parts of their range are counted; the keys of the part that holds a wanted position are gathered,
# and searched in the same way until they are few.
SORTING["tr_narrow"] = """\
/* The shift that leaves 11 bits of a range. */
static inline int tr_narrow(uint64_t range) {
  const int bits = 64 - __builtin_clzll(range);
  return bits > 11 ? bits - 11 : 0;
}
"""
SORTING["tr_part tr_count_parts tr_gather_part tr_range_of"] = """\
/* Count keys by parts of their range, and find the part of a position, which becomes one in that part. */
static void tr_count_parts(const uint64_t *k, int64_t n, uint64_t least, int shift, int64_t *counts) {
  memset(counts, 0, 2048 * sizeof *counts);
  for (int64_t i = 0; i < n; i++) counts[(k[i] - least) >> shift]++;
}
static uint64_t tr_part(const int64_t *counts, int64_t *at) {
  uint64_t d = 0;
  while (*at >= counts[d]) *at -= counts[d++];
  return d;
}
static int64_t tr_gather_part(const uint64_t *k, int64_t n, uint64_t least, int shift, uint64_t d, uint64_t *to) {
  int64_t c = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t y = k[i];
    to[c] = y;
    c += (y - least) >> shift == d;
  }
  return c;
}
static void tr_range_of(const uint64_t *k, int64_t n, uint64_t *least, uint64_t *most) {
  uint64_t low = UINT64_MAX, high = 0;
  for (int64_t i = 0; i < n; i++) {
    low = k[i] < low ? k[i] : low;
    high = k[i] > high ? k[i] : high;
  }
  *least = low;
  *most = high;
}
"""
SORTING["tr_kth"] = """\
/* The key at a position of the order; b is scratch memory for n + 1024 numbers, and may not be k. */
static uint64_t tr_kth(const uint64_t *k, uint64_t *b, int64_t n, int64_t at) {
  for (;;) {
    uint64_t least, most, d;
    int64_t counts[2048];
    int shift;
    if (n <= 512) {
      memmove(b, k, (size_t)n * sizeof *b);
      tr_radix(b, b + n, n, 0, 64);
      return b[at];
    }
    tr_range_of(k, n, &least, &most);
    if (least == most) return least;
    shift = tr_narrow(most - least);
    tr_count_parts(k, n, least, shift, counts);
    d = tr_part(counts, &at);
    if (shift == 0) return least + d;
    n = tr_gather_part(k, n, least, shift, d, b);
    k = b;
  }
}
"""
SORTING["tr_pick_sorted"] = """\
/* The keys at m positions of the order. Scratch: three times n + 1024 numbers, the first n of which hold the keys. */
static void tr_pick_sorted(uint64_t *k, int64_t n, const int64_t *at, int64_t m, uint64_t *found) {
  uint64_t *part = k + n, *b = part + n + 1024, least, most, last = UINT64_MAX;
  int64_t counts[2048], size = 0;
  int shift;
  if (n <= 512) {
    if (n > 32) tr_radix(k, part, n, 0, 64);
    else for (int64_t i = 1; i < n; i++) {
      const uint64_t y = k[i];
      int64_t j = i;
      for (; j > 0 && k[j - 1] > y; j--) k[j] = k[j - 1];
      k[j] = y;
    }
    for (int64_t j = 0; j < m; j++) found[j] = k[at[j]];
    return;
  }
  tr_range_of(k, n, &least, &most);
  shift = most == least ? 0 : tr_narrow(most - least);
  tr_count_parts(k, n, least, shift, counts);
  for (int64_t j = 0; j < m; j++) {
    int64_t own = at[j];
    uint64_t d;
    if (own == 0 || own == n - 1) { found[j] = own ? most : least; continue; }
    d = tr_part(counts, &own);
    if (shift && d != last) size = tr_gather_part(k, n, least, shift, last = d, part);
    found[j] = shift ? tr_kth(part, b, size, own) : least + d;
  }
}
"""
_SELECT = """\
static int $name(const tr_var *x, const tr_var *kth, tr_var *o, int nd, int axis) {
  const int64_t n = x->n[axis], m = kth->n[0], step = x->s[axis];
  int64_t i[TR_ND] = {0}, *at;
  const char *p = x->p;
  char *q = o->p;
  uint64_t *k, *found;
  int status = 0;
  if (!(at = malloc((size_t)(m + 1) * 2 * sizeof *at))) return TR_MEMORY;
  found = (uint64_t *)(at + m);
  for (int64_t j = 0; j < m; j++) {
    at[j] = *(const int64_t *)(kth->p + j * kth->s[0]);
    if (at[j] < 0 || at[j] >= n) status = TR_INDEX;
  }
  if (status || m == 0 || tr_count(x, nd) == 0) { free(at); return status; }
  if (!(k = malloc((size_t)(n + 1024) * 3 * sizeof *k))) { free(at); return TR_MEMORY; }
  do {
    for (int64_t t = 0; t < n; t++) k[t] = tr_key_$short(*(const $Elem *)(p + t * step));
    tr_pick_sorted(k, n, at, m, found);
    for (int64_t j = 0; j < m; j++) *($Elem *)(q + j * o->s[axis]) = tr_back_$short(found[j]);
  } while (tr_line(x, o, nd, axis, i, &p, &q));
  free(k);
  free(at);
  return 0;
}
"""


def _filled(text: str, stem: str, kind: CType) -> str:
    bits = kind.size * 8
    sign = f"((uint{bits}_t)1 << {bits - 1})"
    nan = f"(u & ({sign} - 1)) > 0x7c00" if kind.short == "f16" else "x != x"
    key, back = "return u;", ""
    if kind.kind == "i":
        key, back = f"return (uint{bits}_t)(u ^ {sign});", f"u ^= {sign};"
    elif kind.kind == "f":
        key = f"return {nan} ? (uint{bits}_t)-1 : u & {sign} ? (uint{bits}_t)~u : (uint{bits}_t)(u | {sign});"
        back = f"u = u & {sign} ? u ^ {sign} : (uint{bits}_t)~u;"
    # Zeros of both signs are equal.
    equal = {"f16": "tr_unsigned_zero", "f32": "0.0f + ", "f64": "0.0 + "}.get(kind.short, "")
    return Template(text).substitute(
        name=f"{stem}_{kind.short}",
        short=kind.short,
        Elem=kind.stored,
        Bits=f"uint{bits}_t",
        bits=bits,
        key=key,
        back=back,
        equal=equal,
        place=BY_NUMPY.index(kind.short) if kind.short in BY_NUMPY else -1,
    )


def key_of(kind: CType) -> str:
    """Return the text of the function from an element to its key."""
    return _filled(_KEY, "tr_key", kind)


def back_from_key(kind: CType) -> str:
    """Return the text of the function from a key to its element."""
    return _filled(_BACK, "tr_back", kind)


def sorter(kind: CType) -> str:
    """Return the text of the function that sorts lines."""
    return _filled(_SORT, "tr_sort", kind)


def position_sorter(kind: CType) -> str:
    """Return the text of the function that finds the positions which sort lines."""
    return _filled(_ARGSORT, "tr_argsort", kind)


def selector(kind: CType) -> str:
    """Return the text of the function that finds order statistics of lines."""
    return _filled(_SELECT, "tr_select", kind)


SORTING["tr_unsigned_zero"] = """\
static inline uint16_t tr_unsigned_zero(uint16_t x) { return x == 0x8000 ? 0 : x; }
"""
