"""Indexing on the VM: indices without symbolic parts are made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.vm import TABLE
from treadle.tensor.indexing.expressions import At, filled_index, symbolic_count
from treadle.tensor.indexing.indexing import Subtensor

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from treadle.graph import Apply


@TABLE.register(Subtensor)
def lower_subtensor(op: Subtensor, node: Apply) -> Callable[..., np.ndarray] | None:
    """Return a function that takes the view, where the index is known and the result is an array."""
    del node
    if symbolic_count(op.entries) or all(isinstance(e, At) for e in op.entries):
        return None
    index = filled_index(op.entries, ())

    def view(x: np.ndarray) -> np.ndarray:
        return x[index]

    return view
