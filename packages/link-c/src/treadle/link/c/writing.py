"""From a graph to a unit of C text: which nodes have a rule, and what the rules write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Apply, Unsupported
from treadle.link.c.dtypes import CTYPES
from treadle.link.c.expression import check_texts
from treadle.link.c.lower import (
    broadcasting,
    conditional,
    copying,
    dimshuffle,
    elemwise,
    fused_reduction,
    indexing,
    joining,
    loops,
    normalization,
    product,
    reduction,
    searching,
    shape,
)
from treadle.link.c.table import TABLE
from treadle.link.c.unit import Unit
from treadle.tensor import (
    Elemwise,
    FusedReduction,
    MatrixOp,
    Scan,
    TensorType,
    tensors,
)

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph, Type

FAMILIES = (
    broadcasting,
    conditional,
    copying,
    dimshuffle,
    elemwise,
    fused_reduction,
    indexing,
    joining,
    loops,
    normalization,
    product,
    reduction,
    searching,
    shape,
)

# Families whose texts take complex numbers. What others do to these is written in simpler ops, or is a step of Python.
_OF_COMPLEX = frozenset({
    "accumulation", "assertion", "broadcasting", "conditional", "copying", "diagonals", "dimshuffle", "elemwise",
    "fourier", "fused_reduction", "indexing", "joining", "loops", "product", "reduction", "repetition", "shape",
    "shape_specification",
})  # fmt: skip
_LOWER = "treadle.link.c.lower."


def write_unit(fgraph: FunctionGraph, *, keeps_blocks: bool = False) -> Unit:
    """Return the unit of a graph, with the text of its nodes, and an array of its own for every output."""
    unit = Unit(fgraph, keeps_blocks=keeps_blocks)
    for var in (*fgraph.inputs, *unit.constants):
        unit.slot(var)
    for index, node in enumerate(unit.layout.order):
        unit.begin(index)
        TABLE.rule(node)(node.op, node, unit)
    unit.begin(len(unit.layout.order))
    for out in tensors(fgraph.outputs):
        unit.leave(out)
    return unit


def check(node: Apply) -> None:
    """Refuse a node that has no rule, or is of dtypes that C lacks."""
    family = TABLE.rule(node).__module__
    real_only = (
        family.startswith(_LOWER)
        and family.removeprefix(_LOWER) not in _OF_COMPLEX
        and not isinstance(node.op, MatrixOp)
    )
    for var in (*node.inputs, *node.outputs):
        if not has_type(var.type):
            lacking = var.type.dtype if isinstance(var.type, TensorType) else f"values of type {var.type}"
            msg = f"C has no {lacking}"
            raise Unsupported(msg)
        if real_only and isinstance(var.type, TensorType) and var.type.numpy_dtype.kind == "c":
            msg = f"C has no {type(node.op).__name__} of complex numbers"
            raise Unsupported(msg)
    if isinstance(node.op, Scan):
        loops.check_body(node.op)
    elif isinstance(node.op, Elemwise | FusedReduction):
        check_texts(node.op if isinstance(node.op, Elemwise) else node.op.elementwise, node)


def has_type(kind: Type) -> bool:
    """Whether C has values of a type."""
    return isinstance(kind, TensorType) and kind.dtype in CTYPES
