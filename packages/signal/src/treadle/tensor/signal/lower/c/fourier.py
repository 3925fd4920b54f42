"""Fourier transforms, by NumPy's compiled loops."""

from __future__ import annotations

from treadle.link.c import HELPERS, TABLE, LoopPointer, Unit, ctype
from treadle.tensor import TensorNode
from treadle.tensor.fft.fourier import FourierTransform
from treadle.tensor.signal.lower.pocketfft import MODULE, types_of

# The rules take complex numbers too.
TAKES_COMPLEX = True


FOURIER = {
    "tr_transform tr_loop": """\
typedef void (*tr_loop)(char **, const int64_t *, const int64_t *, void *);
/* A loop takes lines, a factor, and results; it copies what does not lie in order. */
static void tr_transform(const tr_var *x, tr_var *o, int nd, int axis, void *loop, void *data, int single) {
  int64_t i[TR_ND] = {0};
  double factor = 1;
  float short_factor = 1;
  char *p[3] = {x->p, single ? (char *)&short_factor : (char *)&factor, o->p};
  int inner = -1, d;
  for (d = 0; d < nd; d++) {
    if (o->n[d] == 0) return;
    if (d != axis && (inner < 0 || o->n[d] > o->n[inner])) inner = d;
  }
  const int64_t n[3] = {inner < 0 ? 1 : o->n[inner], x->n[axis], o->n[axis]};
  const int64_t s[5] = {inner < 0 ? 0 : x->s[inner], 0, inner < 0 ? 0 : o->s[inner], x->s[axis], o->s[axis]};
  for (;;) {
    char *q[3] = {p[0], p[1], p[2]};
    ((tr_loop)loop)(q, n, s, data);
    for (d = nd - 1; d >= 0; d--) {
      if (d == axis || d == inner) continue;
      if (++i[d] < o->n[d]) { p[0] += x->s[d]; p[2] += o->s[d]; break; }
      p[0] -= x->s[d] * (o->n[d] - 1);
      p[2] -= o->s[d] * (o->n[d] - 1);
      i[d] = 0;
    }
    if (d < 0) return;
  }
}
""",
}

HELPERS.add(FOURIER, {})


@TABLE.register(FourierTransform)
def fourier_transform(op: FourierTransform, node: TensorNode, unit: Unit) -> None:
    """Write the length along the axis, and one call for all lines."""
    x, *wanted = node.inputs
    (out,) = node.outputs
    source, o, rank = unit.slot(x), unit.owns(out), x.type.ndim
    axis = rank + op.axis
    single = int(x.type.dtype in {"float32", "complex64"})
    unit.line(f"memcpy(v[{o}].n, v[{source}].n, sizeof v[{o}].n);")
    if op.kind == "rfft":
        unit.line(f"v[{o}].n[{axis}] = v[{source}].n[{axis}] / 2 + 1;")
    elif wanted:
        unit.line(f"v[{o}].n[{axis}] = {unit.integer(wanted[0])};")
        unit.call(f"v[{o}].n[{axis}] > 0 && v[{source}].n[{axis}] == v[{o}].n[{axis}] / 2 + 1 ? 0 : TR_SHAPE")
    unit.call(f"v[{source}].n[{axis}] > 0 ? 0 : TR_SHAPE")
    unit.call(f"tr_alloc(v + {o}, {rank}, {ctype(out).size})")
    names = ["rfft_n_even", "rfft_n_odd"] if op.kind == "rfft" else [op.kind]
    called = []
    for name in names:
        types = types_of(name, single=bool(single))
        stem = f"tr_at_{name}_{'f32' if single else 'f64'}"
        loop = unit.pointer(stem, LoopPointer(MODULE, name, types))
        called.append(f"{loop}, {unit.pointer(f'{stem}_data', LoopPointer(MODULE, name, types, is_data=True))}")
    both = " : ".join(f"tr_transform(v + {source}, v + {o}, {rank}, {axis}, {pair}, {single})" for pair in called)
    unit.line(f"v[{source}].n[{axis}] % 2 == 0 ? {both};" if len(called) > 1 else f"{both};")
