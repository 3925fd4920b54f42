"""Fused reductions."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.lower.elementwise.elemwise import free_table, overwritten, single_numbers
from treadle.link.c.lower.reductions.reduction import axes_mask, reducer_name
from treadle.link.c.table import TABLE
from treadle.link.c.text.expression import expression
from treadle.link.c.text.kernel import Kernel
from treadle.link.c.text.rows import row_sums
from treadle.link.c.text.unit import Unit
from treadle.tensor import FusedReduction, TensorNode


@TABLE.register(FusedReduction)
def fused_reduction(op: FusedReduction, node: TensorNode, unit: Unit) -> None:
    """Write the kernel of the composite and its call over tiles, with the reducers of its results."""
    operations = expression(op.elementwise, node)
    scalars = single_numbers(node)
    kernel = Kernel(operations, scalars)
    slots = [unit.slot(x) for x in node.inputs]
    stored = [mask if r is None else 0 for r, mask in zip(op.reductions, overwritten(node, kernel, unit), strict=True)]
    slots += [unit.owns(x) for x in node.outputs]
    unit.ask_operands(len(slots))
    unit.ask_rank(node.inputs[0].type.ndim)
    dtypes = [operations.dtype(value) for value in operations.outputs]
    pairs = zip(op.reductions, dtypes, strict=True)
    reducers = ["0" if r is None else f"&{reducer_name(r, dtype)}" for r, dtype in pairs]
    # Sums along the last dimension have a function for rows besides, whose results are not stored.
    rows, rank = "", node.inputs[0].type.ndim
    if reducers in (["&tr_sum_f64_f64_f64"], ["&tr_sum_f32_f32_f32"]) and rank - 1 in op.axes:
        constant = [i for i, x in enumerate(node.inputs) if all(x.type.shape[d] == 1 for d in op.axes)]
        rows = row_sums(operations, constant)
    name = unit.kernel(rows + kernel.text())
    places = unit.table("int", slots)
    sizes = unit.table("unsigned char", [CTYPES[d].size for d in dtypes])
    table = unit.table("tr_reducer *const", reducers)
    unit.call(
        f"tr_fused(v, {places}, {len(node.inputs)}, {len(node.outputs)}, {rank}, "
        f"{axes_mask(op.axes)}, {sizes}, {free_table(unit, stored)}, {name}, {table}, {f'{name}_rows' if rows else 0})"
    )
