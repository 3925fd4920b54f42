"""Reductions on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.reductions.reduction import KINDS, Reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(Reduction)
def lower(op: Reduction, node: TensorNode) -> Callable[..., np.ndarray] | None:
    """Return a call of the ufunc's reduce where nothing is to be converted."""
    kind = node.inputs[0].type
    if not op.axes or not kind.dtype == op.acc_dtype == op.dtype:
        return None
    reduce = getattr(np, KINDS[op.kind].ufunc).reduce
    axes = op.axes
    dtype = np.dtype(op.dtype)
    asarray = np.asarray

    def run(x: np.ndarray) -> np.ndarray:
        return asarray(reduce(x, axes, dtype))

    def run_ordered(x: np.ndarray) -> np.ndarray:
        return asarray(reduce(x, axes))

    return run_ordered if op.kind in {"max", "min", "all", "any"} else run
