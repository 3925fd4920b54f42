"""How values of other libraries become tensor variables: a table of conversions by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import text_of
from treadle.graph import DuplicateRegistrationError, Variable
from treadle.tensor.errors import TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONVERSIONS", "Conversions", "register_conversion"]

_Conversion = TypeVar("_Conversion", bound="Callable[..., Any]")


class Conversions:
    """Conversions to tensors, by class of value; looked up along the bases of a class."""

    __slots__ = ("_by_class", "_found")

    def __init__(self) -> None:
        self._by_class: dict[type, Callable[..., Any]] = {}
        self._found: dict[type, Callable[..., Any] | None] = {}

    def __len__(self) -> int:
        return len(self._by_class)

    def add(self, kind: Any, convert: Any, replace: bool = False) -> None:
        """Use a conversion for values of a class, and of classes derived from it (see `register_conversion`)."""
        if not isinstance(kind, type) or not callable(convert):
            msg = (
                f"register_conversion: a class and a function are needed, got {text_of(kind)} and {text_of(convert)}. "
                "Name the class of the values first."
            )
            raise TensorTypeError(msg)
        if issubclass(kind, Variable):
            msg = (
                f"register_conversion: values have conversions, got the class of variables {kind.__qualname__}. Give "
                "the type of these variables a method as_tensor(variable)."
            )
            raise TensorTypeError(msg)
        if kind in self._by_class and not replace:
            msg = (
                f"register_conversion: {kind.__qualname__} has a conversion already. Pass replace=True to put another "
                "in its place."
            )
            raise DuplicateRegistrationError(msg)
        self._by_class = {**self._by_class, kind: convert}
        self._found = {}

    def find(self, kind: type) -> Callable[..., Any] | None:
        """Return the conversion of the nearest base of a class that has one, or None."""
        found = self._found
        if kind not in found:
            found[kind] = next((self._by_class[base] for base in kind.__mro__ if base in self._by_class), None)
        return found[kind]


CONVERSIONS = Conversions()


def register_conversion(
    kind: type, convert: _Conversion | None = None, *, replace: bool = False
) -> Callable[[_Conversion], _Conversion] | _Conversion:
    """Say how values of a class become tensor variables, wherever a tensor is taken: in expressions and as arguments.

    Values with a method ``__array__`` need no conversion of their own.

    Parameters
    ----------
    kind
        The class; classes derived from it are converted alike, unless they have a conversion of their own.
    convert
        Called as ``convert(value, name, ndim)``, with ``dtype=`` besides where one is asked for: returns a tensor
        variable, or an array or another value that becomes one. A decorator is returned where it is left out.
    replace
        Whether it may take the place of another conversion.

    Raises
    ------
    DuplicateRegistrationError
        If the class has a conversion.
    TensorTypeError
        If it is no class, or one of variables, whose types say how they become tensors by a method ``as_tensor``.

    Examples
    --------
    >>> from treadle.tensor import as_tensor, register_conversion
    >>> class Celsius:
    ...     def __init__(self, degrees):
    ...         self.degrees = degrees
    >>> @register_conversion(Celsius)
    ... def kelvins(value, name=None, ndim=None, **options):
    ...     return as_tensor(value.degrees + 273.0, name, ndim, **options)
    >>> float((as_tensor(Celsius(20.0)) + 1).eval())
    294.0
    """
    if convert is None:

        def decorate(function: _Conversion) -> _Conversion:
            CONVERSIONS.add(kind, function, replace)
            return function

        return decorate
    CONVERSIONS.add(kind, convert, replace)
    return convert
