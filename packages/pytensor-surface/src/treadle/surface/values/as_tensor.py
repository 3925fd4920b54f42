"""``_as_tensor_variable``: the documented place to say how values of a class become tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.registered_conversions import CONVERSIONS, register_conversion

if TYPE_CHECKING:
    from collections.abc import Callable


class AsTensorVariable:
    """`as_tensor_variable` with the methods of a function that dispatches on the class of its argument."""

    def __call__(self, x: Any, name: str | None = None, ndim: int | None = None, **kwargs: Any) -> Any:
        """Return a value as a tensor variable."""
        return as_tensor_variable(x, name, ndim, **kwargs)

    def register(self, cls: type, func: Callable[..., Any] | None = None) -> Any:
        """Say how values of a class become tensors (see `register_conversion`); a second time replaces the first."""
        return register_conversion(cls, func, replace=True)

    def dispatch(self, cls: type) -> Callable[..., Any]:
        """Return the function that converts values of a class."""
        return CONVERSIONS.find(cls) or as_tensor_variable


_as_tensor_variable = AsTensorVariable()
