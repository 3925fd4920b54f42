"""SciPy's special functions as implementations of scalar ops; SciPy is imported when one is first called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import lazy_module

if TYPE_CHECKING:
    from scipy import special

    from treadle.tensor.elementwise.scalar_op import Impl
else:
    special = lazy_module("scipy.special")

_BLOCK = 4096


def of_scipy(name: str) -> Impl:
    """Return the function of `scipy.special` with this name."""

    def call(*operands: Any) -> Any:
        return getattr(special, name)(*operands)

    return call


def in_blocks(function: Impl) -> Impl:
    """Return a function computed in float64, for some elements at a time: it takes much memory for each."""

    def call(*operands: np.ndarray) -> np.ndarray:
        arrays = np.broadcast_arrays(*(x.astype("float64") for x in operands))
        flat = [x.ravel() for x in arrays]
        values = np.empty(flat[0].shape)
        with np.errstate(all="ignore"):
            for at in range(0, values.size, _BLOCK):
                values[at : at + _BLOCK] = function(*(x[at : at + _BLOCK] for x in flat))
        return values.reshape(arrays[0].shape)

    return call
