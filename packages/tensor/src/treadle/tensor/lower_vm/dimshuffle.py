"""DimShuffle on the VM: one call to NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.dimshuffle import NEW, DimShuffle

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TABLE.register(DimShuffle)
def lower(op: DimShuffle, node: Apply) -> Callable[..., np.ndarray]:
    """Return a function that makes the view."""
    del node
    if op.dropped:
        return op.apply
    axes = tuple(d for d in op.order if isinstance(d, int))
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
