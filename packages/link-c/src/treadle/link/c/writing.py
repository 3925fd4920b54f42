"""From a graph to a unit of C text: which nodes have a rule, and what the rules write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import config
from treadle.graph import Apply, inner_graph, missing_lowerings
from treadle.link.c.abi import object_layout
from treadle.link.c.dtypes import CTYPES
from treadle.link.c.expression import unsupported
from treadle.link.c.layout import Layout
from treadle.link.c.lower import (
    broadcasting,
    conditional,
    copying,
    dimshuffle,
    elemwise,
    from_graph,
    fused,
    indexing,
    joining,
    normalization,
    product,
    reduction,
    shape,
)
from treadle.link.c.table import TABLE
from treadle.link.c.unit import Unit, dtype, ndim
from treadle.tensor import Elemwise, FusedReduction, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import FunctionGraph, Type, Variable

FAMILIES = (
    broadcasting,
    conditional,
    copying,
    dimshuffle,
    elemwise,
    from_graph,
    fused,
    indexing,
    joining,
    normalization,
    product,
    reduction,
    shape,
)

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
        TABLE.find(node.op)(node.op, node, unit)  # type: ignore[misc]  # refused above if there is none
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


def refuse(order: Iterable[Apply]) -> None:
    """Refuse nodes without a rule, or of dtypes that C lacks.

    Raises
    ------
    LoweringError
        If there are any; all are listed.
    """
    gaps = []
    for node in order:
        reason = lowering_gap(node)
        if reason is not None:
            gaps.append((node, reason))
    if gaps:
        raise missing_lowerings(TABLE.backend, gaps)


def _gap_inside(node: Apply) -> str | None:
    """Return which node of an inner graph cannot be lowered, None if all can."""
    graphs: list[Any] = [node.op]
    while graphs:
        for inner in graphs.pop().fgraph.apply_nodes:
            if TABLE.find(inner.op) is inner_graph:
                graphs.append(inner.op)
            elif lowering_gap(inner) is not None:
                return f"inside of it is {inner.op}, for which C has no rule"
    return None


def lowering_gap(node: Apply) -> str | None:
    """Return why a node cannot be lowered, None if it can."""
    rule = TABLE.find(node.op)
    if rule is None:
        return ""
    if rule is inner_graph:
        return _gap_inside(node)
    for var in (*node.inputs, *node.outputs):
        if not has_type(var.type):
            lacking = var.type.dtype if isinstance(var.type, TensorType) else f"values of type {var.type}"
            return f"C has no {lacking}"
    if isinstance(node.op, Elemwise | FusedReduction):
        op = node.op if isinstance(node.op, Elemwise) else node.op.elementwise
        return unsupported(op, node) or None
    return None


def has_type(kind: Type) -> bool:
    """Whether C has values of a type."""
    return isinstance(kind, TensorType) and kind.dtype in CTYPES
