"""Fused reductions: one loop over the elements, of which only results are stored."""

from __future__ import annotations

from treadle.link.numba.lower.elementwise.elemwise import elements_of
from treadle.link.numba.lower.reductions.reduction import reduce_elements, refuse_empty
from treadle.link.numba.scalars import can_fail, takes
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.values import ArrayValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import FusedReduction, TensorNode


@TABLE.register(FusedReduction)
def lower_fused_reduction(op: FusedReduction, node: TensorNode, writer: GraphWriter) -> None:
    """Write the kernel of the functions with the reductions of their results; over all axes, it follows memory."""
    composite = op.elementwise.expanded(node, takes)
    ndim = node.inputs[0].type.ndim
    lines, results, operands = elements_of(writer, composite, node, packs=len(op.axes) < ndim)
    arrays = [x for x in operands if isinstance(x, ArrayValue)]
    elements, _ = op.parts(node)
    known = elements.outputs[0].type.shape
    dims = writer.broadcast_dims([x.dims for x in arrays], known) if arrays else ("1",) * ndim
    if any(r is not None and r.kind in {"max", "min"} for r in op.reductions):
        refuse_empty(writer, [dims[d] for d in op.axes])
    dtypes = [composite.value_dtypes[i] for i in composite.outputs]
    outputs = []
    reductions = []
    for i, (out, reduction, text, dtype) in enumerate(zip(node.outputs, op.reductions, results, dtypes, strict=True)):
        if reduction is None:
            outputs.append((f"o{i}", writer.new_output(out, dims)))
            lines.append(f"o{i}_x = {text}")
        else:
            reductions.append((reduction, out, text, dtype))
    inputs = [(f"x{i}", x) for i, x in enumerate(operands)]
    checks = any(map(can_fail, composite.steps))
    reduce_elements(writer, "fused_sum", inputs, dims, outputs, lines, reductions, op.axes, checks)
