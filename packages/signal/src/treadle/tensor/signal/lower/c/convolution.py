"""Convolutions and their gradients: outputs from packed images by vectors, without copies of windows.

An image is packed with its padding, and each row is split by the stride, so that the elements that one weight is
multiplied by are contiguous. Four results by three vectors are then kept in registers in a loop over all weights. The
gradient by the input is such a sum for each remainder by the stride; that by the filter is a sum of products of rows.
"""

from __future__ import annotations

from string import Template

from treadle.link.c import HELPERS, TABLE, CType, Unit, ctype
from treadle.tensor import TensorNode
from treadle.tensor.signal.convolution import ConvND

CONVOLUTION = {
    "tr_conv_dim tr_conv_axis tr_floor tr_conv_read tr_conv_length": """\
/* A spatial dimension: lengths of input, filter and output, stride, dilation, padding in front. */
typedef struct { int64_t n, k, p, s, d, lo; } tr_conv_dim;
/* The results of one phase along a dimension: how many, where they lie, and where their operands start. */
typedef struct { int64_t count, from, by, at, step; } tr_conv_axis;
static int64_t tr_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }
/* Three dimensions, of which the first have length 1 where there are fewer. */
static void tr_conv_read(const tr_var *x, int nd, int64_t *n, int64_t *s) {
  for (int a = 0; a < 3; a++) {
    const int e = a - (3 - nd);
    n[a] = e < 0 ? 1 : x->n[2 + e];
    s[a] = e < 0 ? 0 : x->s[2 + e];
  }
}
/* The length of an output; -1 where the filter is longer than the padded input. */
static int64_t tr_conv_length(int64_t n, int64_t k, int64_t s, int64_t d, int64_t lo, int64_t hi) {
  const int64_t rest = n + lo + hi - (k - 1) * d - 1;
  return rest < 0 || k < 1 ? -1 : rest / s + 1;
}
"""
}


def _names(stem: str, count: int) -> list[str]:
    return [f"{stem}{k}" for k in range(count)]


def _rows(results: int, vectors: int) -> str:
    """Return the loop over the weights for some results, with some vectors of each, in registers."""
    sums = [[f"a{j}{k}" for k in range(vectors)] for j in range(results)]
    zeros = ", ".join(f"{name} = {{0}}" for row in sums for name in row)
    loads = ", ".join(f"{name} = *(const U *)(q + {k} * W)" for k, name in enumerate(_names("x", vectors)))
    adds = " ".join(f"{sums[j][k]} += x{k} * f[{j}];" for j in range(results) for k in range(vectors))
    stores = " ".join(
        f"*(U *)(o + {j} * os + i + {k} * W) = {sums[j][k]};" for j in range(results) for k in range(vectors)
    )
    return (
        f"    V {zeros};\n"
        f"    const T *f = w;\n"
        f"    for (int64_t t = 0; t < taps; t++, f += {results}) {{\n"
        "      const T *q = b + i + off[t];\n"
        f"      const V {loads};\n"
        f"      {adds}\n"
        "    }\n"
        f"    {stores}\n"
    )


def _dots(results: int, taps: int) -> str:
    """Return the sums of products of some rows with those at some offsets."""
    sums = [[f"a{j}{k}" for k in range(taps)] for j in range(results)]
    zeros = ", ".join(f"{name} = {{0}}" for row in sums for name in row)
    plain = ", ".join(f"x{k} = *(const U *)(b + off[{k}] + i)" for k in range(taps))
    masked = ", ".join(f"x{k} = (V)((I)(V)*(const U *)(b + off[{k}] + i) & mask)" for k in range(taps))
    products = [" ".join(f"{name} += v * x{k};" for k, name in enumerate(row)) for row in sums]
    adds = " ".join(f"{{ const V v = *(const U *)(y + {j} * ys + i); {text} }}" for j, text in enumerate(products))
    ends = " ".join(
        f"for (int l = 0; l < W; l++) sum[{k * results + j}] += {sums[j][k]}[l];"
        for j in range(results)
        for k in range(taps)
    )
    return (
        f"  V {zeros};\n"
        "  for (int64_t r = 0; r < rows; r++, b += bs, y += rs) {\n"
        "    int64_t i = 0;\n"
        f"    for (; i + W <= n; i += W) {{ const V {plain}; {adds} }}\n"
        f"    if (i < n) {{ const V {masked}; {adds} }}\n"
        "  }\n"
        f"  {ends}\n"
    )


_TEXT = """\
/* Vectors are as long as a tr_f64s. */
#define T $Acc
#define W ((int)(TR_BYTES / sizeof(T)))
typedef T tr_conv_v_$short __attribute__((vector_size(TR_BYTES)));
typedef T tr_conv_u_$short __attribute__((vector_size(TR_BYTES), aligned(sizeof(T)), may_alias));
typedef $Int tr_conv_i_$short __attribute__((vector_size(TR_BYTES)));
#define V tr_conv_v_$short
#define U tr_conv_u_$short
#define I tr_conv_i_$short
#ifdef __clang__
#define TR_CONV_FAST
#define TR_CONV_BODY _Pragma("clang fp contract(fast)")
#else
#define TR_CONV_FAST __attribute__((optimize("O2", "fp-contract=fast")))
#define TR_CONV_BODY
#endif
TR_CONV_FAST static void tr_conv_rows4_$short(int64_t taps, const int64_t *off, const T *w, const T *b, int64_t n, T *o,
                                              int64_t os) {
  TR_CONV_BODY
  int64_t i = 0;
  for (; n - i > 2 * W; i += 3 * W) {
$rows43  }
  if (n - i > W) {
$rows42  } else if (n > i) {
$rows41  }
}
TR_CONV_FAST static void tr_conv_rows1_$short(int64_t taps, const int64_t *off, const T *w, const T *b, int64_t n, T *o,
                                              int64_t os) {
  TR_CONV_BODY
  int64_t i = 0;
  for (; n - i > W; i += 4 * W) {
$rows14  }
  if (n > i) {
$rows11  }
}
TR_CONV_FAST static void tr_conv_dots_$short(int64_t rows, int64_t n, const T *b, int64_t bs, const int64_t *off,
                                             const T *y, int64_t rs, int64_t ys, I mask, T *sum) {
  TR_CONV_BODY
$dots}
/* Pack the channels of an image: positions from origin on, zero where there are none; each row split by its phases. */
static void tr_conv_pack_$short(const tr_var *x, int nd, int64_t image, int64_t channel, int64_t channels,
                                const int64_t *origin, const int64_t *length, int64_t phases, int64_t row, T *to) {
  int64_t n[3], s[3], from[3], end[3];
  tr_conv_read(x, nd, n, s);
  for (int a = 0; a < 3; a++) {
    from[a] = origin[a] < 0 ? -origin[a] : 0;
    end[a] = n[a] - origin[a] < length[a] ? n[a] - origin[a] : length[a];
  }
  memset(to, 0, (size_t)(channels * length[0] * length[1] * row) * sizeof(T));
  for (int64_t c = 0; c < channels; c++) for (int64_t u = from[0]; u < end[0]; u++)
    for (int64_t v = from[1]; v < end[1]; v++) {
      const char *p = x->p + image * x->s[0] + (channel + c) * x->s[1] + (u + origin[0]) * s[0] + (v + origin[1]) * s[1]
                      + origin[2] * s[2];
      T *q = to + ((c * length[0] + u) * length[1] + v) * row;
      if (phases == 1) for (int64_t i = from[2]; i < end[2]; i++) q[i] = $load(*(const $Elem *)(p + i * s[2]));
      else for (int64_t i = from[2]; i < end[2]; i++)
        q[i % phases * (row / phases) + i / phases] = $load(*(const $Elem *)(p + i * s[2]));
    }
}
/* Outputs of images x and filters w, or (back) the gradient by the images of outputs x. */
static int tr_conv_images_$short(const tr_var *x, const tr_var *w, tr_var *o, int nd, const tr_conv_dim *g,
                                 int64_t groups, int back) {
  int64_t xn[3], xs[3], wn[3], ws[3], on[3], os[3], origin[3], length[3], split[3];
  const int64_t ci = x->n[1] / groups, co = o->n[1] / groups, images = x->n[0];
  const int64_t kernel = g[0].k * g[1].k * g[2].k, total = ci * kernel, block = co == 1 ? 1 : 4;
  const int64_t blocks = (co + block - 1) / block;
  int bad = 0;
  if (tr_count(o, nd + 2) == 0) return 0;
  if (tr_count(x, nd + 2) == 0 || total == 0) {
    memset(o->p, 0, (size_t)tr_count(o, nd + 2) * sizeof($Elem));
    return 0;
  }
  tr_conv_read(x, nd, xn, xs);
  tr_conv_read(w, nd, wn, ws);
  tr_conv_read(o, nd, on, os);
  for (int a = 0; a < 3; a++) {
    const tr_conv_dim h = g[a];
    split[a] = back ? h.s : 1;
    origin[a] = -h.lo;
    length[a] = (h.p - 1) * h.s + (h.k - 1) * h.d + 1;
    if (back) {
      /* All phases read a part of this range. */
      origin[a] = tr_floor(h.lo, h.s) - ((h.k - 1) * h.d) / h.s - 1;
      length[a] = tr_floor(h.n - 1 + h.lo, h.s) - origin[a] + 1;
    }
  }
  const int64_t phases = back ? 1 : g[2].s, part = (length[2] + phases - 1) / phases, row = part * phases;
  const int64_t plane = length[1] * row, volume = length[0] * plane, parts = split[0] * split[1] * split[2];
  int64_t *off = malloc((size_t)(total + parts + 1) * sizeof *off), *start = off + total;
  T *weights = malloc((size_t)(blocks * total * block) * sizeof *weights);
  if (!off || !weights) { free(off); free(weights); return TR_MEMORY; }
  for (int64_t group = 0; group < groups && !bad; group++) {
    int64_t at = 0;
    for (int64_t f = 0; f < parts; f++) {
      const int64_t r[3] = {f / (split[1] * split[2]), f / split[2] % split[1], f % split[2]};
      start[f] = at;
      for (int64_t c = 0; c < ci; c++) for (int64_t k = 0; k < kernel; k++) {
        const int64_t ks[3] = {k / (g[1].k * g[2].k), k / g[2].k % g[1].k, k % g[2].k};
        int64_t pos[3];
        int fits = 1;
        for (int a = 0; a < 3; a++) {
          const int64_t u = ks[a] * g[a].d;
          fits = fits && (!back || u % g[a].s == r[a]);
          pos[a] = back ? -(u - r[a]) / g[a].s : a < 2 ? u : u % phases * part + u / phases;
        }
        if (!fits) continue;
        off[at] = c * volume + pos[0] * plane + pos[1] * row + pos[2];
        for (int64_t j = 0; j < blocks * block; j++) {
          const int64_t out = group * (back ? ci : co) + (back ? c : j), in = back ? j : c;
          T value = 0;
          if (j < co) value = $load(*(const $Elem *)(w->p + out * w->s[0] + in * w->s[1] + ks[0] * ws[0]
                                                     + ks[1] * ws[1] + ks[2] * ws[2]));
          weights[(j / block * total + at) * block + j % block] = value;
        }
        at++;
      }
    }
    start[parts] = at;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(max : bad) num_threads(tr_team(tr_count(o, nd + 2) * total))
#endif
    for (int64_t image = 0; image < images; image++) {
      const int64_t most = on[1] * (row > on[2] ? row : on[2]) + 4 * W;
      T *packed = calloc((size_t)(ci * volume + 4 * W), sizeof *packed);
      T *run = malloc((size_t)(block * most) * sizeof *run);
      if (!packed || !run) { free(packed); free(run); bad = TR_MEMORY; continue; }
      tr_conv_pack_$short(x, nd, image, group * ci, ci, origin, length, phases, row, packed);
      for (int64_t bl = 0; bl < blocks; bl++) for (int64_t f = 0; f < parts; f++) {
        const int64_t r[3] = {f / (split[1] * split[2]), f / split[2] % split[1], f % split[2]};
        const T *own = weights + (bl * total + start[f]) * block;
        tr_conv_axis ax[3];
        for (int a = 0; a < 3; a++) {
          if (back) {
            const int64_t lo = g[a].lo - r[a], s = g[a].s;
            const int64_t first = -tr_floor(-lo, s), last = tr_floor(on[a] - 1 + lo, s);
            ax[a] = (tr_conv_axis){last - first + 1, first * s - lo, s, first - origin[a], 1};
          } else {
            ax[a] = (tr_conv_axis){on[a], 0, 1, 0, a < 2 ? g[a].s : 1};
          }
        }
        if (ax[0].count <= 0 || ax[1].count <= 0 || ax[2].count <= 0) continue;
        /* Short rows that lie one after another are one run, with what is between them. */
        const int64_t n = ax[2].count, whole = (n + W - 1) / W * W;
        const int one = ax[1].step == 1 && phases == 1 && (row <= whole || (n < 3 * W && row <= 2 * n));
        const int64_t lines = one ? 1 : ax[1].count, width = one ? (ax[1].count - 1) * row + n : n;
        for (int64_t i = 0; i < ax[0].count; i++) for (int64_t h = 0; h < lines; h++) {
          const T *b = packed + (ax[0].at + i * ax[0].step) * plane + (ax[1].at + h * ax[1].step) * row + ax[2].at;
          (block == 4 ? tr_conv_rows4_$short : tr_conv_rows1_$short)(start[f + 1] - start[f], off + start[f], own, b,
                                                                     width, run, most);
          const int64_t within = one ? ax[1].count : 1;
          for (int64_t j = 0; j < block && bl * block + j < co; j++) for (int64_t e = 0; e < within; e++) {
            const T *from = run + j * most + e * row;
            char *to = o->p + image * o->s[0] + (group * co + bl * block + j) * o->s[1]
                       + (ax[0].from + i * ax[0].by) * os[0] + (ax[1].from + (h + e) * ax[1].by) * os[1]
                       + ax[2].from * os[2];
            const int64_t by = ax[2].by * os[2];
            for (int64_t q = 0; q < n; q++) *($Elem *)(to + q * by) = $store(from[q]);
          }
        }
      }
      free(packed);
      free(run);
    }
  }
  free(off);
  free(weights);
  return bad;
}
/* The gradient by the filter: sums over images and outputs y of their products with what they were made of. */
static int tr_conv_filters_$short(const tr_var *x, const tr_var *y, tr_var *o, int nd, const tr_conv_dim *g,
                                  int64_t groups) {
  int64_t on[3], os[3], origin[3], length[3], none[3] = {0, 0, 0};
  const int64_t ci = x->n[1] / groups, co = y->n[1] / groups, images = x->n[0];
  const int64_t kernel = g[0].k * g[1].k * g[2].k, taps = ci * kernel, blocks = (co + 3) / 4;
  int bad = 0;
  if (tr_count(o, nd + 2) == 0) return 0;
  memset(o->p, 0, (size_t)tr_count(o, nd + 2) * sizeof($Elem));
  if (tr_count(x, nd + 2) == 0 || tr_count(y, nd + 2) == 0) return 0;
  tr_conv_read(o, nd, on, os);
  for (int a = 0; a < 3; a++) {
    origin[a] = -g[a].lo;
    length[a] = (g[a].p - 1) * g[a].s + (g[a].k - 1) * g[a].d + 1;
  }
  const int64_t phases = g[2].s, part = (length[2] + phases - 1) / phases, row = part * phases;
  const int64_t plane = length[1] * row, volume = length[0] * plane;
  const int64_t n = g[2].p, width = (n + W - 1) / W * W, sized[3] = {g[0].p, g[1].p, n};
  const int64_t image_size = g[0].p * g[1].p * width;
  int64_t *off = malloc((size_t)(taps + 3) * sizeof *off);
  I mask;
  if (!off) return TR_MEMORY;
  for (int l = 0; l < W; l++) mask[l] = -(l < n % W);
  for (int64_t t = 0; t < taps + 3; t++) {
    const int64_t k = t % kernel, u = k % g[2].k * g[2].d;
    off[t] = t >= taps ? 0 : t / kernel * volume + k / (g[1].k * g[2].k) * g[0].d * plane
             + k / g[2].k % g[1].k * g[1].d * row + u % phases * part + u / phases;
  }
  /* So many rows of four outputs fit the first cache. */
  const int64_t high = 2048 / width > 4 ? 2048 / width : 4;
  int64_t team = 1;
#ifdef _OPENMP
  team = tr_team(tr_count(y, nd + 2) * taps);
  if (team > groups * blocks) team = groups * blocks;
#pragma omp parallel for schedule(static) reduction(max : bad) num_threads(team)
#endif
  for (int64_t member = 0; member < team; member++) {
    const int64_t first = groups * blocks * member / team, last = groups * blocks * (member + 1) / team;
    T *packed = calloc((size_t)(ci * volume + 4 * W), sizeof *packed);
    T *outer = calloc((size_t)(4 * image_size), sizeof *outer);
    T *sums = calloc((size_t)((last - first) * (taps + 3) * 4), sizeof *sums);
    if (!packed || !outer || !sums) { free(packed); free(outer); free(sums); bad = TR_MEMORY; continue; }
    for (int64_t image = 0; image < images; image++) for (int64_t at = first; at < last; at++) {
      const int64_t group = at / blocks, bl = at % blocks, have = co - bl * 4 < 4 ? co - bl * 4 : 4;
      T *own = sums + (at - first) * (taps + 3) * 4;
      if (at == first || bl == 0)
        tr_conv_pack_$short(x, nd, image, group * ci, ci, origin, length, phases, row, packed);
      tr_conv_pack_$short(y, nd, image, group * co + bl * 4, have, none, sized, 1, width, outer);
      for (int64_t i = 0; i < g[0].p; i++) for (int64_t h = 0; h < g[1].p; h += high) {
        const int64_t rows = g[1].p - h < high ? g[1].p - h : high;
        const T *b = packed + i * g[0].s * plane + h * g[1].s * row, *v = outer + (i * g[1].p + h) * width;
        for (int64_t t = 0; t < taps; t += 3)
          tr_conv_dots_$short(rows, n, b, g[1].s * row, off + t, v, width, image_size, mask, own + t * 4);
      }
    }
    for (int64_t at = first; at < last; at++) for (int64_t t = 0; t < taps; t++) for (int64_t j = 0; j < 4; j++) {
      const int64_t group = at / blocks, out = at % blocks * 4 + j, k = t % kernel;
      if (out < co)
        *($Elem *)(o->p + (group * co + out) * o->s[0] + t / kernel * o->s[1] + k / (g[1].k * g[2].k) * os[0]
                   + k / g[2].k % g[1].k * os[1] + k % g[2].k * os[2]) =
            $store(sums[((at - first) * (taps + 3) + t) * 4 + j]);
    }
    free(packed);
    free(outer);
    free(sums);
  }
  free(off);
  return bad;
}
/* Part: 0 for the outputs, 1 for the gradient by the images, 2 for that by the filters. */
static int tr_conv_$short(const tr_var *a, const tr_var *b, tr_var *o, int nd, const tr_conv_dim *g, int64_t groups,
                          int part) {
  return part == 2 ? tr_conv_filters_$short(a, b, o, nd, g, groups)
                   : tr_conv_images_$short(a, b, o, nd, g, groups, part);
}
#undef T
#undef V
#undef U
#undef I
#undef W
"""

_INTEGERS = {1: "int8_t", 2: "int16_t", 4: "int32_t", 8: "int64_t"}


def _convolution_text(kind: CType) -> str:
    """Return the text of convolutions of a type and of their gradients."""
    half = kind.short == "f16"
    return Template(_TEXT).substitute(
        Acc=kind.computed,
        Elem=kind.stored,
        Int="int32_t" if half else _INTEGERS[kind.size],
        short=kind.short,
        load="tr_f16_to_f32" if half else "",
        store="tr_f32_to_f16" if half else "",
        rows43=_rows(4, 3),
        rows42=_rows(4, 2),
        rows41=_rows(4, 1),
        rows14=_rows(1, 4),
        rows11=_rows(1, 1),
        dots=_dots(4, 3),
    )


HELPERS.add(CONVOLUTION, {"tr_conv": _convolution_text})
# The generated C numbers the parts in this order.
PARTS = ("output", "input", "filter")


@TABLE.register(ConvND)
def convolution(op: ConvND, node: TensorNode, unit: Unit) -> None:
    """Write checks of the lengths, and the call of the convolution."""
    a, b, *wanted = node.inputs
    (out,) = node.outputs
    kind, rank, groups = ctype(out), op.ndim + 2, op.groups
    x, y, o = unit.slot(a), unit.slot(b), unit.owns(out)
    wanted_lengths = [unit.integer(n) for n in wanted]
    # The positions of the images, filters and outputs among operands and result.
    image, weight, result = {"output": (x, y, o), "input": (o, y, x), "filter": (x, o, y)}[op.part]
    dims = []
    for e in range(op.ndim):
        n, k, p = (f"v[{at}].n[{2 + e}]" for at in (image, weight, result))
        n, k = (wanted_lengths[e] if at == o and wanted_lengths else text for at, text in ((image, n), (weight, k)))
        (low, high), s, d = op.padding[e], op.stride[e], op.dilation[e]
        length = f"tr_conv_length({n}, {k}, {s}, {d}, {low}, {high})"
        dims.append(f"{{{n}, {k}, {length if op.part == 'output' else p}, {s}, {d}, {low}}}")
    ones = ["{1, 1, 1, 1, 1, 0}"] * (3 - op.ndim)
    unit.line("{")
    unit.line(f"const tr_conv_dim g[3] = {{{', '.join([*ones, *dims])}}};")
    first = 3 - op.ndim
    fits = [f"g[{first + e}].p >= 0" for e in range(op.ndim)]
    if op.part == "output":
        fits += [f"v[{x}].n[1] == v[{y}].n[1] * {groups}", f"v[{y}].n[0] % {groups} == 0"]
        lengths = [f"v[{x}].n[0]", f"v[{y}].n[0]", *(f"g[{first + e}].p" for e in range(op.ndim))]
    else:
        fits += [
            f"g[{first + e}].p == tr_conv_length(g[{first + e}].n, g[{first + e}].k, {op.stride[e]}, {op.dilation[e]}, "
            f"{op.padding[e][0]}, {op.padding[e][1]})"
            for e in range(op.ndim)
        ]
        if op.part == "input":
            fits += [f"v[{x}].n[1] == v[{y}].n[0]", f"v[{y}].n[0] % {groups} == 0"]
            lengths = [f"v[{x}].n[0]", f"v[{y}].n[1] * {groups}", *(f"g[{first + e}].n" for e in range(op.ndim))]
        else:
            fits += [f"v[{x}].n[0] == v[{y}].n[0]", *(f"v[{at}].n[1] % {groups} == 0" for at in (x, y))]
            lengths = [f"v[{y}].n[1]", f"v[{x}].n[1] / {groups}", *(f"g[{first + e}].k" for e in range(op.ndim))]
    unit.call(f"{' && '.join(fits)} ? 0 : TR_SHAPE")
    for e, length in enumerate(lengths):
        unit.line(f"v[{o}].n[{e}] = {length};")
    unit.call(f"tr_alloc(v + {o}, {rank}, {kind.size})")
    part = PARTS.index(op.part)
    unit.call(f"tr_conv_{kind.short}(v + {x}, v + {y}, v + {o}, {op.ndim}, g, {groups}, {part})")
    unit.line("}")
