"""Softmax, its logarithm, and logsumexp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.dtypes import CTYPES
from treadle.link.c.lower.reduction import axes_mask
from treadle.link.c.table import TABLE
from treadle.link.c.unit import dtype, ndim
from treadle.tensor import LogSoftmax, LogSumExp, Softmax

if TYPE_CHECKING:
    from treadle.graph import Apply
    from treadle.link.c.unit import Unit


@TABLE.register(Softmax)
def softmax(op: Softmax, node: Apply, unit: Unit) -> None:
    """Write softmax."""
    _same_shape(op.axes, node, unit, 0)


@TABLE.register(LogSoftmax)
def log_softmax(op: LogSoftmax, node: Apply, unit: Unit) -> None:
    """Write the logarithm of softmax."""
    _same_shape(op.axes, node, unit, 1)


@TABLE.register(LogSumExp)
def logsumexp(op: LogSumExp, node: Apply, unit: Unit) -> None:
    """Write the logarithm of the sum of exponentials."""
    (x,) = node.inputs
    source, o = unit.slot(x), unit.owns(node.outputs[0])
    unit.line(f"tr_keep(v + {source}, {ndim(x)}, {axes_mask(op.axes)}, v + {o});")
    _emit(op.axes, node, unit, 2)


def _same_shape(axes: tuple[int, ...], node: Apply, unit: Unit, what: int) -> None:
    source, o = unit.slot(node.inputs[0]), unit.owns(node.outputs[0])
    unit.line(f"memcpy(v[{o}].n, v[{source}].n, sizeof v[{o}].n);")
    _emit(axes, node, unit, what)


def _emit(axes: tuple[int, ...], node: Apply, unit: Unit, what: int) -> None:
    (x,) = node.inputs
    ctype = CTYPES[dtype(x)]
    source, o = unit.slot(x), unit.slot(node.outputs[0])
    unit.call(f"tr_alloc(v + {o}, {ndim(node.outputs[0])}, {ctype.size})")
    unit.call(f"tr_normalize_{ctype.short}(v + {source}, {ndim(x)}, {axes_mask(axes)}, v + {o}, {what})")
