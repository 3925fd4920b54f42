"""Fourier transforms, by NumPy's compiled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.loops import LoopPointer
from treadle.tensor import FourierTransform

if TYPE_CHECKING:
    from treadle.link.c.text.unit import Unit
    from treadle.tensor import TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True

_MODULE = "numpy.fft._pocketfft_umath"
# The types of each loop in double precision; single precision replaces D and d by F and f.
_TYPES = {"fft": "Dd->D", "ifft": "Dd->D", "rfft_n_even": "dd->D", "rfft_n_odd": "dd->D", "irfft": "Dd->d"}


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
        types = _TYPES[name].replace("D", "F").replace("d", "f") if single else _TYPES[name]
        stem = f"tr_at_{name}_{'f32' if single else 'f64'}"
        loop = unit.pointer(stem, LoopPointer(_MODULE, name, types))
        called.append(f"{loop}, {unit.pointer(f'{stem}_data', LoopPointer(_MODULE, name, types, is_data=True))}")
    both = " : ".join(f"tr_transform(v + {source}, v + {o}, {rank}, {axis}, {pair}, {single})" for pair in called)
    unit.line(f"v[{source}].n[{axis}] % 2 == 0 ? {both};" if len(called) > 1 else f"{both};")
