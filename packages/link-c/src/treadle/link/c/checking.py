"""Which nodes C can lower: those with a rule and supported dtypes, and loops whose bodies consist of such nodes."""

from __future__ import annotations

from treadle.graph import Apply, FrozenFunctionGraph, FunctionGraph, Type, Unsupported, expand
from treadle.kernels import takes_real_only
from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.table import TABLE
from treadle.link.c.text.expression import takes
from treadle.link.c.text.scalars import SCALARS
from treadle.tensor import Scan, TensorType


def check(node: Apply) -> None:
    """Refuse a node that has no rule or whose dtypes C does not have."""
    SCALARS.check(node, CTYPES, takes, "C", real_only=takes_real_only(TABLE.rule(node)))
    if isinstance(node.op, Scan):
        check_body(node.op)


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
