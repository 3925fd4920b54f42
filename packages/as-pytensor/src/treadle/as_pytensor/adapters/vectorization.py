"""Graphs for a batch whose inputs may be of other dtypes: PyTensor makes each op anew, whatever it is applied to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from treadle import graph
from treadle.graph import Variable, clone_replace
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

V = TypeVar("V", bound="Variable | Sequence[Variable]")


def vectorize_graph(outputs: V, replace: Mapping[Variable, Variable]) -> V:
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
    if stand_ins:
        outputs = clone_replace(outputs, stand_ins, rebuild_strict=False)
        pairs = {stand_ins.get(old, old): new for old, new in pairs.items()}
    return graph.vectorize_graph(outputs, pairs)
