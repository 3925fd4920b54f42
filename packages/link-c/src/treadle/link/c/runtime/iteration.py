"""C text of the walk over strided operands: in the order of their memory, in tiles, and in blocks of short rows."""

ITERATION = {
    "tr_inner_first": """\
/* List the dimensions from the innermost on: as in C order, but for those along which some operands have smaller steps
   than along one that is further in, and none larger ones. s: the steps of the operands, `row` numbers a dimension. */
static int tr_inner_first(int ops, int nd, const int64_t *n, const int64_t *s, int row, int *order) {
  int m = 0;
  for (int d = nd - 1; d >= 0; d--) {
    int to = m, less, more;
    if (n[d] == 1) continue;
    for (int at = m - 1; at >= 0; at--) {
      less = more = 0;
      for (int o = 0; o < ops; o++) {
        const int64_t a = llabs(s[d * row + o]), b = llabs(s[order[at] * row + o]);
        less |= a && a < b;
        more |= b && a > b;
      }
      if (more) break;
      if (less) to = at;
    }
    for (int at = m++; at > to; at--) order[at] = order[at - 1];
    order[to] = d;
  }
  return m;
}
""",
    "tr_step": """\
/* Step to the next index over loops first..count-1; 0 when all were visited. */
static int tr_step(int first, int count, const int64_t *n, int64_t (*s)[TR_OPS], int64_t *i, int ops, char **p) {
  for (int d = first; d < count; d++) {
    if (++i[d] < n[d]) { for (int o = 0; o < ops; o++) p[o] += s[d][o]; return 1; }
    for (int o = 0; o < ops; o++) p[o] -= s[d][o] * (n[d] - 1);
    i[d] = 0;
  }
  return 0;
}
""",
    # Operands whose elements follow each other along rows, s apart, are turned in tiles of 16 rows, so that lines of
    # memory are read once. They are among the first nin, and have so many bytes together.
    "tr_by_tiles tr_lies_across": """\
static inline int tr_lies_across(int64_t size, int64_t rs, int64_t s) {
  return (size == 4 || size == 8) && rs == size && llabs(s) > size;
}
static int tr_by_tiles(int nin, int ops, int64_t rows, const int64_t *rs, int64_t n, const int64_t *s, char *const *p,
                       const unsigned char *size, int64_t bytes, tr_kernel k) {
  char buffer[52224] __attribute__((aligned(64)));
  /* Rows of the buffer are no power of two apart, for the sake of caches. */
  const int64_t most = bytes > 16 ? 24 : 128, row = most + 8;
  for (int64_t i = 0, w; i < rows; i += w) {
    w = rows - i < 24 ? rows - i : 16;
    for (int64_t j = 0; j < n; j += most) {
      const int64_t m = n - j < most ? n - j : most;
      int64_t step[TR_OPS], next[TR_OPS];
      char *q[TR_OPS], *to = buffer;
      for (int o = 0; o < ops; o++) {
        const int across = o < nin && tr_lies_across(size[o], rs[o], s[o]);
        q[o] = p[o] + i * rs[o] + j * s[o];
        next[o] = across ? row * size[o] : rs[o];
        step[o] = across ? size[o] : s[o];
        if (!across) continue;
        (size[o] == 4 ? tr_tile4 : tr_tile8)(w, m, q[o], s[o], to, row);
        q[o] = to;
        to += w * next[o];
      }
      for (int64_t r = 0; r < w; r++) {
        const int status = k(m, q, step);
        if (status) return status;
        for (int o = 0; o < ops; o++) q[o] += next[o];
      }
    }
  }
  return 0;
}
""",
    # Where rows are short, as in x[:, 1:] or x[:, None] - y, those of operands that they cut are gathered, so that the
    # kernel gets a block at a time; -1 where it cannot. Other operands lie in C order, or are single numbers.
    "tr_by_blocks": """\
static int tr_by_blocks(int nin, int ops, int m, const int64_t *n, int64_t (*c)[TR_OPS], int64_t *i, char **p,
                        const unsigned char *size, int64_t left, tr_kernel k) {
  uint64_t buffer[8][512];
  char *q[TR_OPS];
  int64_t s[TR_OPS], held = 0;
  int cut[8], few = 0, status = 0;
  for (int o = 0; o < ops; o++) {
    int64_t next = size[o];
    int even = 1, single = 1;
    for (int d = 0; d < m; next *= n[d++]) { even &= c[d][o] == next; single &= c[d][o] == 0; }
    q[o] = p[o];
    s[o] = single ? 0 : size[o];
    if (even || single) continue;
    if (o >= nin || size[o] == 0 || size[o] > 8 || few == 8) return -1;
    cut[few++] = o;
  }
  do for (int64_t r = 0, w; r < n[1] && !status; r += w) {
    w = (512 - held) / n[0] < n[1] - r ? (512 - held) / n[0] : n[1] - r;
    for (int g = 0; g < few; g++) {
      const int64_t z = size[cut[g]], t = c[0][cut[g]];
      const char *row = p[cut[g]] + r * c[1][cut[g]];
      char *to = (char *)buffer[g] + held * z;
      q[cut[g]] = (char *)buffer[g];
      for (int64_t h = 0; h < w; h++, row += c[1][cut[g]]) {
        const char *x = row;
        if (z == 8) for (int64_t l = 0; l < n[0]; l++, x += t, to += 8) *(uint64_t *)to = *(const uint64_t *)x;
        else if (z == 4) for (int64_t l = 0; l < n[0]; l++, x += t, to += 4) *(uint32_t *)to = *(const uint32_t *)x;
        else for (int64_t l = 0; l < n[0]; l++, x += t, to += z) memcpy(to, x, (size_t)z);
      }
    }
    held += w * n[0];
    left -= w * n[0];
    if (left && held + n[0] <= 512) continue;
    status = k(held, q, s);
    for (int o = 0; o < ops; o++) q[o] += held * s[o];
    held = 0;
  } while (!status && tr_step(2, m, n, c, i, ops, p));
  return status;
}
""",
    # Neighbouring dimensions that all operands run through evenly are one; the last that is left is the kernel's.
    # m dimensions are left, of lengths n, at index i, with strides c[dimension][operand]; q: the operands' elements.
    # size: bytes of an element of each operand. The first nin may be read in another order, unless theirs is 0.
    "tr_iterate": """\
static int tr_iterate(int nin, int ops, int nd, const int64_t *shape, char *const *p, int64_t (*st)[TR_OPS],
                      const unsigned char *size, tr_kernel k) {
  int64_t n[TR_ND], i[TR_ND], c[TR_ND][TR_OPS], total = 1, across = 0;
  char *q[TR_OPS];
  int m = 0, d, o, status;
  for (d = nd - 1; d >= 0; d--) {
    total *= shape[d];
    if (shape[d] == 1) continue;
    if (shape[d] == 0) return 0;
    if (m) {
      for (o = 0; o < ops && st[d][o] == c[m - 1][o] * n[m - 1]; o++) {}
      if (o == ops) { n[m - 1] *= shape[d]; continue; }
    }
    n[m] = shape[d];
    i[m] = 0;
    for (o = 0; o < ops; o++) c[m][o] = st[d][o];
    m++;
  }
  if (m == 0) {
    for (o = 0; o < ops; o++) c[0][o] = 0;
    return k(1, p, c[0]);
  }
  for (o = 0; o < ops; o++) q[o] = p[o];
  if (m > 1 && n[0] < 16 && total >= 16) {
    status = tr_by_blocks(nin, ops, m, n, c, i, q, size, total, k);
    if (status >= 0) return status;
  }
  for (d = m; d > 1 && !across && n[0] >= 16;)
    for (d--, o = 0; o < nin; o++) if (n[d] >= 8 && tr_lies_across(size[o], c[d][o], c[0][o])) across += size[o];
  const int64_t rows = across && across <= 64 ? n[d] : 0;
  if (rows) n[d] = 1;
  do status = rows ? tr_by_tiles(nin, ops, rows, c[d], n[0], c[0], q, size, across, k) : k(n[0], q, c[0]);
  while (!status && tr_step(1, m, n, c, i, ops, q));
  return status;
}
""",
}
for _size, _type in ((4, "uint32_t"), (8, "uint64_t")):
    # Elements of w by m are put down the other way round, in rows of so many; w is 8 at least. A line of memory is read
    # at once: processors do not keep those of many rows that are a power of two apart.
    ITERATION[f"tr_tile{_size}"] = f"""\
static void tr_tile{_size}(int64_t w, int64_t m, const char *p, int64_t s, char *to, int64_t row) {{
  for (int64_t r = 0; r < w; r += 8) {{
    const int64_t at = r + 8 <= w ? r : w - 8;
    const char *x = p + at * {_size};
    {_type} *o = ({_type} *)to + at * row;
    for (int64_t j = 0; j < m; j++, x += s)
#pragma GCC unroll 8
      for (int h = 0; h < 8; h++) o[h * row + j] = ((const {_type} *)x)[h];
  }}
}}
"""
