"""How values of other libraries become arrays of NumPy: a table of functions by class.

A class is named by its package and its own name, ``"pandas.Series"``, so that no library is imported: a value of the
class comes from a program that has done so. What pandas, polars, pyarrow, PyTorch and xarray have is in
`treadle.tensor.types.known_libraries`, which loads with the first value of another library.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treadle.config import new_lock, text_of
from treadle.graph import DuplicateRegistrationError, Variable
from treadle.tensor.errors import TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    ToArray = Callable[[str, Any], Any]

__all__ = ["register_array"]

_ToArray = TypeVar("_ToArray", bound="Callable[[str, Any], Any]")
_KNOWN = "treadle.tensor.types.known_libraries"
# Classes of Python and NumPy are no one's to register.
_OWN = frozenset({"builtins", "numpy", "treadle"})
_CPU = 1  # the number of the processor's own memory in DLPack


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


class OtherArrays:
    """Functions from values of other libraries to arrays, by class; looked up along the bases of a class."""

    __slots__ = ("_by_class", "_by_name", "_found", "_known_loaded", "_lock")

    def __init__(self) -> None:
        self._by_class: dict[type, ToArray] = {}
        self._by_name: dict[str, ToArray] = {}
        self._found: dict[type, ToArray | None] = {}
        self._known_loaded = False
        self._lock = new_lock()

    def add(self, kind: type | str, to_array: ToArray, replace: bool = False) -> None:
        """Use a function for values of a class, and of classes derived from it (see `register_array`)."""
        named = isinstance(kind, str) and all(part.isidentifier() for part in kind.split(".")) and "." in kind
        if not (named or isinstance(kind, type)) or not callable(to_array):
            msg = (
                "register_array: a class, or its package and name as in 'pandas.Series', and a function are needed, "
                f"got {text_of(kind)} and {text_of(to_array)}. Name the class of the values first."
            )
            raise TensorTypeError(msg)
        if isinstance(kind, type) and (issubclass(kind, Variable) or _package(kind) in _OWN):
            msg = (
                f"register_array: a class of another library is needed, got {kind.__module__}.{kind.__qualname__}, "
                "which has its meaning. Name a class of your own."
            )
            raise TensorTypeError(msg)
        with self._lock:
            if not replace and kind in (self._by_name if isinstance(kind, str) else self._by_class):
                msg = (
                    f"register_array: {kind if isinstance(kind, str) else kind.__qualname__} is registered already. "
                    "Pass replace=True to put another function in its place."
                )
                raise DuplicateRegistrationError(msg)
            if isinstance(kind, str):
                first, last = kind.partition(".")[0], kind.rpartition(".")[2]
                self._by_name = {**self._by_name, f"{first}.{last}": to_array}
            else:
                self._by_class = {**self._by_class, kind: to_array}
            self._found = {}

    def find(self, kind: type) -> ToArray | None:
        """Return the function for a class: that of its nearest base that has one, or one for a protocol, or None."""
        found = self._found
        if kind not in found:
            if _package(kind) in _OWN:
                return None
            with self._lock:
                found[kind] = self._look_up(kind)
        return found[kind]

    def _look_up(self, kind: type) -> ToArray | None:
        for base in kind.__mro__:
            to_array = self._by_class.get(base) or self._by_name.get(f"{_package(base)}.{base.__name__}")
            if to_array is not None:
                return to_array
        if issubclass(kind, np.ndarray | np.generic | Variable):
            return None
        if hasattr(kind, "__array__"):
            return _by_own_method
        return _by_dlpack if hasattr(kind, "__dlpack__") else None

    def packages(self) -> set[str]:
        """Return the packages that have a class in the table."""
        self.load()
        return {name.partition(".")[0] for name in self._by_name} | {_package(kind) for kind in self._by_class}

    def load(self) -> None:
        """Register what is known of libraries."""
        if not self._known_loaded:
            self._known_loaded = True
            for name, to_array in import_module(_KNOWN).TO_ARRAY.items():
                if name not in self._by_name:
                    self.add(name, to_array)


def _by_own_method(what: str, value: Any) -> np.ndarray:  # noqa: ARG001 - the signature of all
    # The library's own method may not know `copy`.
    return np.asarray(value)


def _by_dlpack(what: str, value: Any) -> np.ndarray:
    device = value.__dlpack_device__()
    if int(device[0]) != _CPU:
        msg = f"{what}: an array in the processor's memory is needed, got {text_of(value)}. Copy it there first."
        raise TensorTypeError(msg)
    return np.from_dlpack(value)


OTHER_ARRAYS = OtherArrays()


def is_other_array(kind: type) -> bool:
    """Whether values of a class are arrays, series or tables of another library that become tensors."""
    return other_array(kind) is not None


def is_registered(value: object) -> bool:
    """Whether a value is of a class that is registered: its own say in operators with tensors is not asked for."""
    return other_array(type(value)) not in {None, _by_own_method, _by_dlpack}


def asking_library() -> str | None:
    """Return the package whose code runs a method of treadle's, if it has a class that is registered, else None."""
    frame = sys._getframe(1)
    package = "treadle"
    while frame is not None and package in _OWN:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        frame = frame.f_back  # type: ignore[assignment]  # None in the end
    return package if package in OTHER_ARRAYS.packages() else None


def other_array(kind: type) -> ToArray | None:
    """Return the function that makes arrays of a class's values; None for NumPy's arrays, numbers, lists and the like.

    It is called with what messages begin with and the value.
    """
    if kind.__module__ in _OWN:
        return None
    OTHER_ARRAYS.load()
    return OTHER_ARRAYS.find(kind)


def register_array(
    kind: type | str, to_array: _ToArray | None = None, *, replace: bool = False
) -> Callable[[_ToArray], _ToArray] | _ToArray:
    """Say how values of a class become arrays of NumPy, wherever numbers are taken.

    That is as operands of operators and functions, in `constant` and `shared`, in calls of compiled functions and in
    ``set_value``. Values with a method ``__array__`` or ``__dlpack__`` need none, unless there is something to refuse.

    Parameters
    ----------
    kind
        The class, or its package and name, ``"pandas.Series"``, wherever in the package it stands: the package need not
        be imported. Values of derived classes are converted alike, unless they have a function of their own.
    to_array
        Called as ``to_array(what, value)``, where `what` is what messages begin with: returns an array, which may
        share the value's memory. A decorator is returned where it is left out.
    replace
        Whether it may take the place of another function.

    Raises
    ------
    DuplicateRegistrationError
        If the class has one.
    TensorTypeError
        If it is no class, or one of Python, NumPy or treadle.

    Examples
    --------
    >>> import numpy as np
    >>> from treadle.tensor import as_tensor, register_array
    >>> class Measured:
    ...     def __init__(self, *values):
    ...         self.values = values
    >>> @register_array(Measured)
    ... def values_of(what, measured):
    ...     return np.array(measured.values)
    >>> (as_tensor([1.0, 2.0]) + Measured(10.0, 20.0)).eval().tolist()
    [11.0, 22.0]
    """
    if to_array is None:

        def decorate(function: _ToArray) -> _ToArray:
            OTHER_ARRAYS.load()
            OTHER_ARRAYS.add(kind, function, replace)
            return function

        return decorate
    OTHER_ARRAYS.load()
    OTHER_ARRAYS.add(kind, to_array, replace)
    return to_array
