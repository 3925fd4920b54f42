"""Calling C through cffi, with NumPy's arrays passed as they are.

Programs take the addresses of array objects and read pointer, lengths and strides from the objects' public fields
(the start of ``PyArrayObject_fields``, part of NumPy's stable binary interface), so that a call costs neither a buffer
request nor a conversion. Calls go through cffi's core module, which parses no declarations and releases
the interpreter lock.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from treadle.link.c.errors import BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

    from cffi import FFI

Function: TypeAlias = Callable[..., int]
_WORD = 8


class SharedLibrary(Protocol):
    """A shared library, loaded by cffi."""

    def load_function(self, kind: object, name: str) -> Function:
        """Return a function of a library with a C type."""


class _Cffi(NamedTuple):
    """cffi's core module, its FFI object, and C's ``free``."""

    backend: ModuleType
    ffi: FFI
    free: Function


@cache
def _cffi() -> _Cffi:
    backend = import_module("_cffi_backend")
    ffi = backend.FFI()
    _check_layout(ffi)
    return _Cffi(backend, ffi, backend.load_library(None, 0).load_function(ffi.typeof("void(*)(void *)"), "free"))


class Bridge:
    """Calls of cffi, which is loaded when first used."""

    def __init__(self) -> None:
        self._forked = False
        self._threaded: SharedLibrary | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._note_fork)

    def _note_fork(self) -> None:
        self._forked = True

    @property
    def ffi(self) -> FFI:
        """The cffi object."""
        return _cffi().ffi

    def open(self, path: Path, forever: bool = False) -> SharedLibrary:
        """Load a shared library, for as long as it is referred to or until the process ends."""
        backend = _cffi().backend
        flags = backend.RTLD_NOW | backend.RTLD_NODELETE if forever else 0
        library: SharedLibrary = backend.load_library(str(path), flags)
        with contextlib.suppress(AttributeError):
            alone = library.load_function(self.ffi.typeof("void(*)(void)"), "treadle_alone")
            # A library with threads is never unloaded, nor is libgomp, since idle threads wait in libgomp's code.
            self._threaded = self._threaded or library
            if self._forked:
                # In a forked child, libgomp would wait for threads that do not exist.
                alone()
        return library

    def function(self, library: SharedLibrary, name: str, arguments: int) -> Function:
        """Return a function of a library that takes addresses and returns a status."""
        kind = self.ffi.typeof(f"int64_t(*)({', '.join(['uintptr_t'] * arguments)})")
        return library.load_function(kind, name)

    def words(self, values: Sequence[int]) -> object:
        """Return an array of addresses in C memory, which is freed with the object."""
        block: object = self.ffi.new("uintptr_t[]", list(values))
        return block

    def owned(self, block: int, size: int, give: Function | None = None) -> Any:
        """Return a writable buffer on a block of memory, which a C function (``free`` if None) releases with it."""
        _, ffi, free = _cffi()
        return ffi.buffer(ffi.gc(ffi.cast("void *", block), give or free, size), size)

    def function_address(self, library: SharedLibrary, name: str) -> int:
        """Return the address of a function of a library."""
        return self.address(library.load_function(self.ffi.typeof("void(*)(void)"), name))

    def address(self, block: object) -> int:
        """Return the address of C memory."""
        return int(self.ffi.cast("uintptr_t", block))


BRIDGE = Bridge()


def object_layout() -> tuple[int, int]:
    """Return the offset of the type in an object, and the size of the header before an array's own fields."""
    head = object.__basicsize__
    return head - _WORD, head


def _check_layout(ffi: FFI) -> None:
    """Compare an array's fields, read from memory, with NumPy's attributes."""
    sample = np.zeros((3, 5), "int16")[::2, 1:]
    _, head = object_layout()
    words = ffi.cast("intptr_t *", id(sample))
    type_word = int(words[(head - _WORD) // _WORD])
    fields = words + head // _WORD
    lengths, strides = (ffi.cast("intptr_t *", fields[k]) for k in (2, 3))
    actual = (
        type_word, int(fields[0]), int(ffi.cast("int *", fields + 1)[0]), tuple(lengths[0:2]), tuple(strides[0:2]),
        int(fields[5]),
    )  # fmt: skip
    expected = (
        id(np.ndarray), sample.__array_interface__["data"][0], 2, sample.shape, sample.strides, id(sample.dtype),
    )  # fmt: skip
    if actual != expected:
        msg = f"c: NumPy {np.__version__} lays its arrays out in an unknown way. Use another backend, and report this."
        raise BackendUnavailableError(msg)


def unsupported_interpreter() -> str | None:
    """Return why this interpreter's objects cannot be read from C, or None."""
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32:
        return f"the C backend needs 64-bit CPython, this is {sys.implementation.name}"
    return None
