"""Softmax, its logarithm, and logsumexp."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.lower.reductions.reduction import axes_mask
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import LogSoftmax, LogSumExp, Softmax, TensorNode


@TABLE.register(Softmax)
def softmax(op: Softmax, node: TensorNode, unit: Unit) -> None:
    """Write softmax."""
    _normalize(op.axes, node, unit, "TR_SOFTMAX")


@TABLE.register(LogSoftmax)
def log_softmax(op: LogSoftmax, node: TensorNode, unit: Unit) -> None:
    """Write the logarithm of softmax."""
    _normalize(op.axes, node, unit, "TR_LOG_SOFTMAX")


@TABLE.register(LogSumExp)
def logsumexp(op: LogSumExp, node: TensorNode, unit: Unit) -> None:
    """Write the logarithm of the sum of exponentials."""
    _normalize(op.axes, node, unit, "TR_LOG_SUM_EXP")


def _normalize(axes: tuple[int, ...], node: TensorNode, unit: Unit, form: str) -> None:
    (x,), (out,) = node.inputs, node.outputs
    kind, rank, mask = ctype(x), x.type.ndim, axes_mask(axes)
    source, o = unit.slot(x), unit.owns(out)
    if form == "TR_LOG_SUM_EXP":
        unit.line(f"tr_keep(v + {source}, {rank}, {mask}, v + {o});")
    else:
        unit.line(f"memcpy(v[{o}].n, v[{source}].n, sizeof v[{o}].n);")
    unit.call(f"tr_alloc(v + {o}, {out.type.ndim}, {kind.size})")
    unit.call(f"tr_normalize_{kind.short}(v + {source}, {rank}, {mask}, v + {o}, {form})")
