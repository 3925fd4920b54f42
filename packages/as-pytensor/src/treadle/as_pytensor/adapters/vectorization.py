"""Graphs for a batch whose inputs may be of other dtypes: PyTensor makes each op anew, whatever it is applied to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle import graph
from treadle.graph import Variable, clone_replace
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def vectorize_graph(
    outputs: Variable | Sequence[Variable], replace: Mapping[Variable, Variable]
) -> Variable | list[Variable]:
    """Return the outputs for inputs with more leading dimensions, as `treadle.graph.vectorize_graph` does.

    Where a replacement has another dtype, the ops are made anew for that, before they are for the batch.
    """
    pairs = dict(replace)
    stand_ins = {
        old: old.type.clone(dtype=new.type.dtype).make_variable(old.name)
        for old, new in pairs.items()
        if isinstance(old, Variable)
        and isinstance(new, Variable)
        and isinstance(old.type, TensorType)
        and isinstance(new.type, TensorType)
        and old.type.dtype != new.type.dtype
    }
    outs = [outputs] if isinstance(outputs, Variable) else list(outputs)
    if stand_ins:
        outs = clone_replace(outs, stand_ins, rebuild_strict=False)
        pairs = {stand_ins.get(old, old): new for old, new in pairs.items()}
    result = graph.vectorize_graph(outs, pairs)
    return result[0] if isinstance(outputs, Variable) else result
