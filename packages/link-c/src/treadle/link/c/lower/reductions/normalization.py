"""Softmax, its logarithm, and logsumexp."""

from __future__ import annotations

from treadle.graph import Op
from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.lower.reductions.reduction import kept
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import LogSoftmax, LogSumExp, Softmax, TensorNode

_FORMS: dict[type[Op], str] = {Softmax: "TR_SOFTMAX", LogSoftmax: "TR_LOG_SOFTMAX", LogSumExp: "TR_LOG_SUM_EXP"}


@TABLE.register(*_FORMS)
def normalize(op: Softmax | LogSoftmax | LogSumExp, node: TensorNode, unit: Unit) -> None:
    """Write the result's lengths, and the call that computes it."""
    arguments = kept(unit, node, op.axes, keeps_all=not isinstance(op, LogSumExp))
    unit.call(f"tr_normalize_{ctype(node.inputs[0]).short}({arguments}, {_FORMS[type(op)]})")
