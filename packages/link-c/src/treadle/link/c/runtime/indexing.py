"""C text of indexing: positions and slices as views, and adding to what they show."""

from __future__ import annotations

from string import Template

from treadle.link.c.conventions.dtypes import CType

INDEXING = {
    # A position counted from the start; -1 if it is out of bounds.
    "tr_position": """\
static inline int64_t tr_position(int64_t i, int64_t n) {
  if (i < 0) i += n;
  return i < 0 || i >= n ? -1 : i;
}
""",
    # The first position and the length of a slice, clipped as in Python; given: bit 0 for a start, 1 for a stop. The
    # length is -1 if the step is 0.
    "tr_span": """\
static inline int64_t tr_span(int64_t n, int given, int64_t start, int64_t stop, int64_t step, int64_t *count) {
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  int64_t m;
  if (step == 0) { *count = -1; return 0; }
  if (!(given & 1)) start = step < 0 ? high : low;
  else { if (start < 0) start += n; start = start < low ? low : start > high ? high : start; }
  if (!(given & 2)) stop = step < 0 ? low : high;
  else { if (stop < 0) stop += n; stop = stop < low ? low : stop > high ? high : stop; }
  if (step > 0) m = stop > start ? (int64_t)(((uint64_t)(stop - start) - 1) / (uint64_t)step) + 1 : 0;
  else m = start > stop ? (int64_t)(((uint64_t)(start - stop) - 1) / (0 - (uint64_t)step)) + 1 : 0;
  *count = m;
  return m > 0 ? start : 0;
}
""",
}

_ADD = """\
static int tr_add_$short(int64_t n, char *const *p, const int64_t *s) {
  char *to = p[0];
  const char *from = p[1];
  for (int64_t j = 0; j < n; j++, to += s[0], from += s[1]) *($Elem *)to = $sum;
  return 0;
}
"""


def adding(ctype: CType) -> str:
    """Return the text of the kernel that adds the second operand to the first."""
    return Template(_ADD).substitute(Elem=ctype.stored, short=ctype.short, sum=_total(ctype))


def _total(ctype: CType) -> str:
    a, b = f"*({ctype.stored} *)to", f"*(const {ctype.stored} *)from"
    if ctype.short == "f16":
        return f"tr_f32_to_f16(tr_f16_to_f32({a}) + tr_f16_to_f32({b}))"
    return f"({ctype.stored})({a} {'|' if ctype.short == 'b' else '+'} {b})"
