"""SciPy's special functions as implementations of scalar ops; SciPy is imported when one is first called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module

if TYPE_CHECKING:
    from scipy import special

    from treadle.tensor.scalar_op import Impl
else:
    special = lazy_module("scipy.special")


def of_scipy(name: str) -> Impl:
    """Return the function of `scipy.special` with this name."""

    def call(*operands: Any) -> Any:
        return getattr(special, name)(*operands)

    return call
