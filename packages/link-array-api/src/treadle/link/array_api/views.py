"""Which results of a graph may share memory with other values: those of ops that hand on what they are given."""

from __future__ import annotations

from treadle.graph import DeepCopyOp, FunctionGraph, Variable
from treadle.link.array_api.libraries import library
from treadle.tensor import (
    Accumulation,
    AdvancedIncSubtensor,
    ARange,
    ArgReduction,
    ArgSort,
    BinCount,
    Elemwise,
    IncSubtensor,
    Join,
    MatMul,
    Nonzero,
    Reduction,
    SearchSorted,
    Shape,
    ShapeI,
    Sort,
)

# Ops whose rules make their results anew.
_MAKING = (
    Accumulation, AdvancedIncSubtensor, ARange, ArgReduction, ArgSort, BinCount, DeepCopyOp, Elemwise, IncSubtensor,
    Join, MatMul, Nonzero, Reduction, SearchSorted, Shape, ShapeI, Sort,
)  # fmt: skip
# Elementwise functions whose results may be views.
_VIEWS = {"real", "imag", "conj", "second"}


def fresh_outputs(fgraph: FunctionGraph) -> frozenset[int]:
    """Return the positions of the outputs that share memory with nothing: the others are to be copied."""
    seen: set[Variable] = set()
    fresh = []
    for i, out in enumerate(fgraph.outputs):
        if out not in seen and _is_made(out):
            fresh.append(i)
        seen.add(out)
    return frozenset(fresh)


def _is_made(var: Variable) -> bool:
    node = var.owner
    if node is None or not isinstance(node.op, _MAKING):
        return False
    if isinstance(node.op, Elemwise):
        steps = node.op.expanded(node, library().takes)
        at = steps.outputs[node.outputs.index(var)] - steps.nin - len(steps.constants)
        return at >= 0 and steps.steps[at].scalar_op.name not in _VIEWS
    return not (isinstance(node.op, Reduction) and not node.op.axes)
