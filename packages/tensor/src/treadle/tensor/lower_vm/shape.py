"""Shapes on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.shapes.broadcasting import SumTo, sum_array_to
from treadle.tensor.shapes.shape import ShapeI

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TABLE.register(ShapeI)
def lower_shape_i(op: ShapeI, node: Apply) -> Callable[..., np.ndarray]:
    """Return a function that reads one length."""
    del node
    axis = op.axis
    array = np.array

    def length(x: np.ndarray) -> np.ndarray:
        return array(x.shape[axis], "int64")

    return length


@TABLE.register(SumTo)
def lower_sum_to(op: SumTo, node: Apply) -> Callable[..., np.ndarray]:
    """Return a function that sums to lengths, or gives the array itself where they agree."""
    del op, node

    def run(x: np.ndarray, *lengths: np.ndarray) -> np.ndarray:
        shape = tuple(map(int, lengths))
        return x if x.shape == shape else sum_array_to(x, shape)

    return run
