"""Making shared variables of plain values, whose class says of which type they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.config import discover, text_of
from treadle.graph.errors import DuplicateRegistrationError, GraphTypeError
from treadle.graph.ir.arguments import as_flag
from treadle.graph.ir.plugins import PluginLoader
from treadle.graph.ir.shared_variable import SharedVariable
from treadle.graph.ir.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.graph.ir.type import Type

    # A class, its full name, the name of a method, or a function that says of a class whether it is meant.
    _Kind = type | str | Callable[[type], bool]


class ConverterTable:
    """Functions from plain values to types, found through the entry-point group ``treadle.types``.

    Each entry is a mapping from a Python class to a function ``type_of(value) -> Type``. In place of a class its full
    name will do, such as ``"package.module.Class"``, so that its module need not be imported. The bare name of a
    method, such as ``"__array__"``, stands for all classes that have it and no converter of their own; a function
    ``takes(cls) -> bool`` for those of which it is true.
    """

    __slots__ = ("_by_class", "_published")

    def __init__(self) -> None:
        self._by_class: dict[_Kind, Callable[[Any], Type]] = {}
        self._published = PluginLoader(lambda: discover("treadle.types"), self._take)

    def register(self, kind: _Kind, type_of: Callable[[Any], Type]) -> None:
        """Convert values of class `kind` (and subclasses) with `type_of`; a second converter is an error."""
        if kind in self._by_class:
            name = kind if isinstance(kind, str) else kind.__qualname__
            msg = f"shared: {name} has a converter already. Remove one of the two registrations."
            raise DuplicateRegistrationError(msg)
        self._by_class[kind] = type_of

    def _take(self, table: Mapping[_Kind, Callable[[object], Type]]) -> None:
        for kind, convert in table.items():
            self.register(kind, convert)

    def type_of(self, value: object) -> Type:
        """Return the type of a variable that is to hold the value; without a converter for it, it is refused."""
        self._published.load()
        for base in type(value).__mro__:
            convert_one = self._by_class.get(base) or self._by_class.get(f"{base.__module__}.{base.__qualname__}")
            if convert_one is not None:
                return convert_one(value)
        for kind, convert_one in self._by_class.items():
            if isinstance(kind, str):
                fits = "." not in kind and hasattr(type(value), kind)
            else:
                fits = not isinstance(kind, type) and kind(type(value))
            if fits:
                return convert_one(value)
        msg = (
            f"shared: no type is known for a value of class {type(value).__qualname__}, got {text_of(value)}. "
            "Pass a NumPy array or a number, or install a package that registers a converter."
        )
        raise GraphTypeError(msg)


CONVERTERS = ConverterTable()


class SharedConstructor:
    """Makes shared variables from plain values; further constructors can be registered by class of value.

    Calling it is `shared`. A constructor registered for a class is called for its values, and those of subclasses,
    with all of `shared`'s arguments as given; it returns the shared variable.
    """

    __slots__ = ("_by_class",)

    def __init__(self) -> None:
        self._by_class: dict[type, Callable[..., SharedVariable]] = {}

    def __call__(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a shared variable with the value (parameters as for `shared`)."""
        return shared(value, *args, **kwargs)

    def register(self, kind: type, constructor: Callable[..., SharedVariable] | None = None) -> Any:
        """Call `constructor` for values of class `kind`; without one, return a decorator that registers it.

        Raises
        ------
        DuplicateRegistrationError
            If the class has a constructor already.
        """
        if constructor is None:
            return partial(self.register, kind)
        if kind in self._by_class:
            msg = f"shared: {kind.__qualname__} has a constructor already. Remove one of the two registrations."
            raise DuplicateRegistrationError(msg)
        self._by_class[kind] = constructor
        return constructor

    def find(self, value: object) -> Callable[..., SharedVariable] | None:
        """Return the constructor for a value, or None if there is none for its class."""
        if not self._by_class:
            return None
        return next((self._by_class[base] for base in type(value).__mro__ if base in self._by_class), None)


shared_constructor = SharedConstructor()


def _device_name(subject: str, name: object) -> str | None:
    """Return the name of a device, or None; anything else is an error of the subject."""
    if name is None or (isinstance(name, str) and name):
        return name
    msg = f"{subject}: device must be the name of a device, such as 'gpu:1', or None, got {text_of(name)}. Give the "
    raise GraphTypeError(msg + "name as the backend's option for it takes it.")


def shared(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    *,
    borrow: bool = False,
    device: str | None = None,
    **type_options: Any,
) -> Any:
    """Return a shared variable with the value, of the class that its type names.

    Parameters
    ----------
    value
        The first value; its class decides the variable's type.
    name
        Shown when printed.
    strict
        Whether later values must be of exactly this type.
    allow_downcast
        Whether later values may lose precision when converted.
    borrow
        Whether the object given may be kept instead of a copy of it.
    device
        The name of the device that functions of JAX, PyTorch and other array libraries keep the value on, such as
        ``gpu:1``: they run there. None for wherever the function runs. Backends that have the host only, such as C
        and Numba, do not look at it. ``container.device`` has it, and may be set.
    type_options
        Attributes of the type to set, such as ``shape``.

    Raises
    ------
    GraphTypeError
        If the value is a variable, or no type is known for its class.

    Examples
    --------
    >>> float(tt.shared(2.5, name="w").get_value())
    2.5
    """
    if isinstance(value, Variable):
        kind = "constant" if isinstance(value, Constant) else "variable"
        msg = f"shared: a plain value is needed, got the {kind} {value}. Pass an array or number."
        raise GraphTypeError(msg)
    place = _device_name("shared", device)
    constructor = shared_constructor.find(value)
    if constructor is not None:
        made: SharedVariable = constructor(
            value, name=name, strict=strict, allow_downcast=allow_downcast, borrow=borrow, **type_options
        )
        if place is not None:
            made.container.device = place
        return made
    type_ = CONVERTERS.type_of(value)
    if type_options:
        type_ = type_.clone(**type_options)
    # The type is that of the first value, which need not be exact to say so.
    first_is_strict = strict and bool(type_options)
    filtered = type_.accept(value, strict=first_is_strict, allow_downcast=allow_downcast)
    is_shared, is_borrowed = type_.may_share_memory(filtered, value), as_flag("shared: borrow", borrow)
    if is_shared and not is_borrowed:
        filtered = type_.copy_value(filtered)
    kind_of_shared = getattr(type_, "shared_type", SharedVariable)
    variable: SharedVariable = kind_of_shared(type_, filtered, strict, allow_downcast, name=name)
    variable.container.device = place
    if is_shared and is_borrowed:
        variable.container.write(filtered, lent=True)
    return variable
