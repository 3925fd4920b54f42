"""From a graph to a unit of C text: which nodes have a rule, and what the rules write."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.config import config
from treadle.graph import Apply, Unsupported
from treadle.link.c.abi import object_layout
from treadle.link.c.dtypes import CTYPES
from treadle.link.c.expression import unsupported
from treadle.link.c.layout import Layout
from treadle.link.c.table import TABLE
from treadle.link.c.unit import Unit, dtype, ndim
from treadle.tensor import Elemwise, FusedReduction, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph, Type, Variable

U = TypeVar("U", bound=Unit)


def write_unit(
    fgraph: FunctionGraph,
    order: Sequence[Apply],
    keeps_blocks: bool = False,
    *,
    kind: type[U],
) -> tuple[U, list[tuple[Variable, int]]]:
    """Write a graph's C text into a unit of a kind; return it, with each output's array."""
    made = {out for node in order for out in node.outputs}
    given = set(fgraph.inputs)
    constants = [v for v in fgraph.variables if v not in made and v not in given]
    type_at, head = object_layout()
    last = {x: index for index, node in enumerate(order) for x in (*node.outputs, *node.inputs)}
    last.update(dict.fromkeys(fgraph.outputs, len(order)))
    own_blas = bool(config.blas__ldflags)
    unit = kind(fgraph, constants, type_at, head, own_blas=own_blas, last=last, keeps_blocks=keeps_blocks)
    unit.layout = Layout(fgraph)
    for var in (*fgraph.inputs, *constants):
        unit.slot(var)
    for index, node in enumerate(order):
        unit.begin(index)
        TABLE.rule(node)(node.op, node, unit)
    return unit, _outputs(fgraph, unit, made, len(order))


def _outputs(fgraph: FunctionGraph, unit: Unit, made: set[Variable], after: int) -> list[tuple[Variable, int]]:
    """Give every output an array of its own: one that is an input, a constant, a view or named twice is copied."""
    unit.begin(after)
    outputs: list[tuple[Variable, int]] = []
    taken: set[Variable] = set()
    for var in fgraph.outputs:
        size = CTYPES[dtype(var)].size
        if var in made and var not in taken and unit.may_have_own_block(var):
            taken.add(var)
            outputs.append((var, unit.slots[var]))
            if not unit.has_own_block(var):
                unit.call(f"tr_materialise(v + {unit.slot(var)}, {ndim(var)}, {size}, tr_move{size})")
            continue
        target = unit.scratch()
        unit.call(f"tr_copy(v + {target}, v + {unit.slot(var)}, {ndim(var)}, {size}, tr_move{size})")
        outputs.append((var, target))
    return outputs


def check(node: Apply) -> None:
    """Refuse a node that has no rule, or is of dtypes that C lacks.

    Raises
    ------
    Unsupported
        With the reason.
    """
    TABLE.rule(node)
    for var in (*node.inputs, *node.outputs):
        if not has_type(var.type):
            lacking = var.type.dtype if isinstance(var.type, TensorType) else f"values of type {var.type}"
            msg = f"C has no {lacking}"
            raise Unsupported(msg)
    if isinstance(node.op, Elemwise | FusedReduction):
        reason = unsupported(node.op if isinstance(node.op, Elemwise) else node.op.elementwise, node)
        if reason:
            raise Unsupported(reason)


def has_type(kind: Type) -> bool:
    """Whether C has values of a type."""
    return isinstance(kind, TensorType) and kind.dtype in CTYPES
