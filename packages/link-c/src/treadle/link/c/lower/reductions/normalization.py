"""Softmax, its logarithm, and logsumexp."""

from __future__ import annotations

from treadle.graph import Op
from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.lower.reductions.reduction import axes_mask
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import LogSoftmax, LogSumExp, Softmax, TensorNode

_FORMS: dict[type[Op], str] = {Softmax: "TR_SOFTMAX", LogSoftmax: "TR_LOG_SOFTMAX", LogSumExp: "TR_LOG_SUM_EXP"}


@TABLE.register(*_FORMS)
def normalize(op: Softmax | LogSoftmax | LogSumExp, node: TensorNode, unit: Unit) -> None:
    """Write the result's lengths, and the call that computes it."""
    (x,), (out,) = node.inputs, node.outputs
    kind, rank, mask = ctype(x), x.type.ndim, axes_mask(op.axes)
    source, o = unit.slot(x), unit.owns(out)
    if isinstance(op, LogSumExp):
        unit.line(f"tr_keep(v + {source}, {rank}, {mask}, v + {o});")
    else:
        unit.line(f"memcpy(v[{o}].n, v[{source}].n, sizeof v[{o}].n);")
    unit.call(f"tr_alloc(v + {o}, {out.type.ndim}, {kind.size})")
    unit.call(f"tr_normalize_{kind.short}(v + {source}, {rank}, {mask}, v + {o}, {_FORMS[type(op)]})")
