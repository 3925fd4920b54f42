"""Which nodes C can lower: those with a rule and supported dtypes, and loops whose bodies consist of such nodes."""

from __future__ import annotations

from treadle.graph import Apply, FrozenFunctionGraph, FunctionGraph, Type, Unsupported, expand
from treadle.kernels import takes_real_only
from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.table import TABLE
from treadle.link.c.text.expression import check_texts
from treadle.tensor import Elemwise, FusedReduction, Scan, TensorType


def check(node: Apply) -> None:
    """Refuse a node that has no rule or whose dtypes C does not have."""
    real_only = takes_real_only(TABLE.rule(node))
    for var in (*node.inputs, *node.outputs):
        if not has_type(var.type):
            lacking = var.type.dtype if isinstance(var.type, TensorType) else f"values of type {var.type}"
            msg = f"C has no {lacking}"
            raise Unsupported(msg)
        if real_only and isinstance(var.type, TensorType) and var.type.numpy_dtype.kind == "c":
            msg = f"C has no {type(node.op).__name__} of complex numbers"
            raise Unsupported(msg)
    if isinstance(node.op, Scan):
        check_body(node.op)
    elif isinstance(node.op, Elemwise | FusedReduction):
        check_texts(node.op if isinstance(node.op, Elemwise) else node.op.elementwise, node)


def has_type(kind: Type) -> bool:
    """Whether C has values of a type."""
    return isinstance(kind, TensorType) and kind.dtype in CTYPES


def _is_lowered(node: Apply) -> bool:
    try:
        check(node)
    except Unsupported:
        return False
    return True


def body_of(graph: FrozenFunctionGraph) -> FunctionGraph:
    """Return the graph inside a loop, expanded as far as possible into ops that C has rules for."""
    return expand(graph.unfreeze(), _is_lowered)


def check_body(op: Scan) -> None:
    """Refuse a loop whose body has nodes that C cannot lower; all are listed."""
    reasons = {}
    for node in body_of(op.fgraph).toposort():
        try:
            check(node)
        except Unsupported as refusal:
            reason = refusal.reason or "there is no rule for it"
            reasons[f"{node.op}{node.where()}"] = f"{reason}. {refusal.remedy}" if refusal.remedy else reason
    if reasons:
        msg = f"in its body, {'; '.join(f'{at}: {why}' for at, why in reasons.items())}"
        raise Unsupported(msg)
