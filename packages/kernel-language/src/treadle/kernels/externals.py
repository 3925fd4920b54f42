"""Compiled functions and tables of other libraries, which kernels use by addresses that only a process knows."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Protocol, get_args, get_origin

from treadle.config import dataclass
from treadle.kernels.errors import KernelError
from treadle.kernels.kinds import is_pointer, value_kind
from treadle.kernels.language import ELEMENTS, Pointer, address, as_value

# The types of numbers that functions take and return, by NumPy's names.
_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool, "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip
_PLAIN: dict[object, str] = {int: "int64", float: "float64", bool: "bool"}


class Address(Protocol):
    """What finds an address: a value that can be pickled, since stored programs ask it again."""

    def address(self) -> int:
        """Return the address in this process.

        Raises
        ------
        ImportError
            If it is not there.
        """


class Source(Address, Protocol):
    """An address that messages can name, of a value that can be compared."""

    @property
    def module(self) -> str:
        """The Python module that has it, for messages."""

    @property
    def name(self) -> str:
        """Its name there, for messages."""


@dataclass(frozen=True, slots=True)
class External:
    """Something that is compiled elsewhere, under a name that no other has.

    See Also
    --------
    external : declares a function.
    external_table : declares elements in memory.
    """

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class ExternalFunction(External):
    """A function; see `external`."""

    # Dtypes of numbers, and ``*float64`` for pointers.
    takes: tuple[str, ...]
    # The dtype of its result, empty if it returns nothing.
    result: str

    def __call__(self, *arguments: Any) -> Any:
        """Call it from a kernel that runs in Python.

        Raises
        ------
        KernelError
            If there are more or fewer arguments than it takes.
        ImportError
            If it is not there.
        """
        if len(arguments) != len(self.takes):
            msg = f"kernel: {self.name} takes {len(self.takes)} arguments, got {len(arguments)}."
            raise KernelError(msg)
        kinds = [ctypes.c_void_p if is_pointer(kind) else _CTYPES[kind] for kind in self.takes]
        values = [
            int(address(value)) if is_pointer(kind) else as_value(kind, value).item()
            for kind, value in zip(self.takes, arguments, strict=True)
        ]
        called = ctypes.CFUNCTYPE(_CTYPES[self.result] if self.result else None, *kinds)(self.source.address())
        returned = called(*values)
        return as_value(value_kind(self.result), returned) if self.result else None


@dataclass(frozen=True, slots=True)
class ExternalTable(External):
    """Elements in memory; see `external_table`."""

    dtype: str

    def __getitem__(self, index: int) -> Any:
        """Return the value of an element, to a kernel that runs in Python."""
        element = _CTYPES[self.dtype]
        place = self.source.address() + int(index) * ctypes.sizeof(element)
        return as_value(value_kind(self.dtype), element.from_address(place).value)


def external(name: str, takes: Sequence[object], result: object, source: Source) -> ExternalFunction:
    """Declare a compiled function, which kernels call by the name that it has in their module.

    Parameters
    ----------
    name
        A name for generated code, which no other function or table has.
    takes
        The types of its parameters: ``int``, ``float`` and ``bool`` stand for C's ``int64_t``, ``double`` and
        ``_Bool``; ``float32``, ``uint64``, ``int32`` and ``uint32`` for numbers of these types; ``Pointer[float64]``
        for a pointer to such elements.
    result
        The type of its result: such a number, or ``None``.
    source
        What finds its address.

    Raises
    ------
    KernelError
        If a type is none of these.

    Examples
    --------
    >>> import ctypes, ctypes.util
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class OfC:
    ...     name: str
    ...     module: str = "ctypes"
    ...     def address(self) -> int:
    ...         return ctypes.cast(getattr(ctypes.CDLL(None), self.name), ctypes.c_void_p).value
    >>> absolute = external("c_labs", [int], int, OfC("labs"))
    >>> int(absolute(-3))
    3
    """
    kinds = tuple(_kind(name, kind) for kind in takes)
    returned = "" if result is None else _kind(name, result)
    if is_pointer(returned):
        msg = f"external {name}: it returns {result!r}. Pass a pointer to where its result is to be written."
        raise KernelError(msg)
    return ExternalFunction(name, source, kinds, returned)


def external_table(name: str, kind: object, source: Source) -> ExternalTable:
    """Declare elements in memory, to which kernels have a pointer by the name of the table in their module.

    Parameters
    ----------
    name
        A name for generated code, which no other function or table has.
    kind
        The type of the pointer, such as ``Pointer[uint64]``. Kernels only read the elements.
    source
        What finds the address.

    Raises
    ------
    KernelError
        If the type is none.
    """
    pointer = _kind(name, kind)
    if not is_pointer(pointer) or pointer[1:] not in _CTYPES:
        msg = f"external {name}: a table is {kind!r}. Use Pointer[int64], or another type of real numbers."
        raise KernelError(msg)
    return ExternalTable(name, source, pointer[1:])


def _kind(name: str, kind: object) -> str:
    """Return a dtype, or that of a pointer's elements behind a star."""
    if get_origin(kind) is Pointer:
        (element,) = get_args(kind)
        if element in ELEMENTS:
            return f"*{ELEMENTS[element]}"
    dtype = ELEMENTS.get(kind) or _PLAIN.get(kind)
    if dtype not in _CTYPES:
        msg = (
            f"external {name}: {kind!r} is no type of its parameters. Use int, float, bool, float32, uint64, int32, "
            "uint32, or Pointer[float64] and pointers to other elements."
        )
        raise KernelError(msg)
    return dtype
