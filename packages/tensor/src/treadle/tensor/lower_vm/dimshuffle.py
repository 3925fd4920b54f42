"""DimShuffle on the VM: one call to NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TABLE.register(DimShuffle)
def lower(op: DimShuffle, node: Apply) -> Callable[..., np.ndarray]:
    """Return a function that makes the view."""
    del node
    axes = tuple(d for d in op.order if isinstance(d, int))
    if op.dropped and op.order == axes and axes == tuple(sorted(axes)):
        dropped = op.dropped
        places = (*(0 if d in dropped else slice(None) for d in range(op.ndim)), ...)

        def drop(x: np.ndarray) -> np.ndarray:
            shape = x.shape
            for d in dropped:
                if shape[d] != 1:
                    return op.apply(x)
            return x[places]

        return drop
    if op.dropped:
        return op.apply
    if op.is_transpose:

        def permute(x: np.ndarray) -> np.ndarray:
            return x.transpose(axes)

        return permute
    index = tuple(np.newaxis if d == NEW else slice(None) for d in op.order)
    if axes == tuple(range(op.ndim)):

        def expand(x: np.ndarray) -> np.ndarray:
            return x[index]

        return expand

    def rearrange(x: np.ndarray) -> np.ndarray:
        return x.transpose(axes)[index]

    return rearrange
