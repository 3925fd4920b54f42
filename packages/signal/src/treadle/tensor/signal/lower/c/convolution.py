"""Convolutions and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.tensor import ConvND

if TYPE_CHECKING:
    from treadle.link.c.text.unit import Unit
    from treadle.tensor import TensorNode


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
