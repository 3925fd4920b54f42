"""Draws of the portable generator, by vectorized kernels."""

from __future__ import annotations

from functools import partial

from treadle.graph import Unsupported
from treadle.link.c import HELPERS, TABLE, Unit, ctype
from treadle.tensor import TensorNode
from treadle.tensor.random.generators.portable_draws import PortableDraws
from treadle.tensor.random.lower.c.portable_texts import PLAIN_SAMPLERS, PORTABLE_DRAWS, portable_kernel
from treadle.tensor.random.lower.c.rejection_texts import PORTABLE_REJECTION, SAMPLER_TEXTS

HELPERS.add(
    {**PORTABLE_DRAWS, **PORTABLE_REJECTION},
    {f"tr_draw_{sampler}": partial(portable_kernel, sampler) for sampler in PLAIN_SAMPLERS},
)


def has_text(op: PortableDraws, _: TensorNode) -> None:
    """Refuse a sampler without a text.

    Raises
    ------
    Unsupported
        If there is none.
    """
    if op.sampler not in PLAIN_SAMPLERS and SAMPLER_TEXTS.find(op.sampler) is None:
        msg = f"there is no text of the sampler {op.sampler}"
        raise Unsupported(msg, "register it in treadle.tensor.random.lower.c.SAMPLER_TEXTS")


@TABLE.register(PortableDraws, check=has_text)
def portable_draws(op: PortableDraws, node: TensorNode, unit: Unit) -> None:
    """Write the lengths of the result, and the call of the kernel of the sampler."""
    state, lengths, parameters = op.parts(node.inputs)
    kind, origin, o = ctype(node.outputs[0]), unit.slot(state), unit.owns(node.outputs[0])
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
        unit.call(f"v[{o}].n[{d}] < 0 ? TR_LENGTH : 0")
    unit.call(f"tr_alloc(v + {o}, {op.ndim}, {kind.size})")
    parameter_table = unit.table("int", [number for p in parameters for number in (unit.slot(p), p.type.ndim)] or [0])
    unit.ask_operands(len(parameters))
    kernel = f"tr_draw_{op.sampler}_{kind.short}"
    unit.call(f"tr_draw(v, {o}, {op.ndim}, {kind.size}, {origin}, {parameter_table}, {len(parameters)}, {kernel})")
