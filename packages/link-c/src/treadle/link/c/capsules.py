"""C functions that Python modules publish as capsules, as SciPy's modules for Cython do, looked up by checked names."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, machinery, util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from treadle.config import new_lock
from treadle.link.c.errors import BackendUnavailableError

if TYPE_CHECKING:
    from treadle.kernels import Source


@dataclass(frozen=True, slots=True)
class CPointer:
    """A C function in a module's ``__pyx_capi__``, such as one of ``scipy.special.cython_special``.

    Parameters
    ----------
    module
        The module's dotted name.
    name
        The function's name there, such as ``gammaln`` or ``__pyx_fuse_1psi``.
    signature
        Its C type as the capsule names it, such as ``double (double, int __pyx_skip_dispatch)``. It is compared with
        the type in the installed version, since a call with other parameters would crash.
    """

    module: str
    name: str
    signature: str

    def address(self) -> int:
        """Return its address.

        Raises
        ------
        BackendUnavailableError
            If the module or the function is missing, or has another signature.
        """
        return _POINTERS.find(self)


@dataclass(frozen=True, slots=True)
class ExternalPointer(CPointer):
    """What kernels use that is compiled elsewhere; its signature is not looked at."""

    source: Source

    def address(self) -> int:
        """Return its address.

        Raises
        ------
        BackendUnavailableError
            If it is not there.
        """
        try:
            return self.source.address()
        except ImportError as error:
            msg = f"c: {error}"
            raise BackendUnavailableError(msg) from error


class _Pointers:
    """The addresses found so far."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: dict[CPointer, int] = {}

    def find(self, pointer: CPointer) -> int:
        with self._lock:
            if pointer not in self._known:
                self._known[pointer] = _address(pointer)
            return self._known[pointer]


_POINTERS = _Pointers()


def _address(pointer: CPointer) -> int:
    try:
        module: Any = extension(pointer.module)
    except ImportError as error:
        msg = f"c: {pointer.module}, which has the C function {pointer.name}, cannot be imported: {error}. Install it."
        raise BackendUnavailableError(msg) from error
    capsule = getattr(module, "__pyx_capi__", {}).get(pointer.name)
    if capsule is None:
        msg = f"c: {pointer.module} has no C function {pointer.name}. Another version of it may have: check the name."
        raise BackendUnavailableError(msg)
    return capsule_pointer(capsule, pointer.signature, f"{pointer.module}.{pointer.name}")


def extension(name: str) -> ModuleType:
    """Import a module; those of ``scipy.linalg`` from their files, which is four times as fast as the package."""
    package, _, own = name.rpartition(".")
    if package != "scipy.linalg" or name in sys.modules:
        return import_module(name)
    scipy = util.find_spec("scipy")
    folders = scipy.submodule_search_locations if scipy is not None else None
    for folder in folders or ():
        for suffix in machinery.EXTENSION_SUFFIXES:
            file = Path(folder) / "linalg" / f"{own}{suffix}"
            if file.exists():
                loader = machinery.ExtensionFileLoader(name, str(file))
                spec = util.spec_from_file_location(name, str(file), loader=loader)
                if spec is not None:
                    module = util.module_from_spec(spec)
                    loader.exec_module(module)
                    return module
    msg = f"no module {name}"
    raise ImportError(msg)


def capsule_signature(capsule: object) -> str:
    """Return a capsule's name, which is the function's C type."""
    # Here and below, a new function object: other packages set other types on the shared ones of `ctypes`.
    get_name: Callable[[object], bytes | None] = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    return (get_name(capsule) or b"").decode()


def capsule_pointer(capsule: object, signature: str, name: str, advice: str = "Check its version") -> int:
    """Return the function pointer in a capsule, after checking the function's C type."""
    stated = capsule_signature(capsule)
    if stated != signature:
        msg = f"c: {name} has the C type {stated!r}, not {signature!r}. {advice}."
        raise BackendUnavailableError(msg)
    get_pointer: Callable[[object, bytes], int] = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return int(get_pointer(capsule, stated.encode()))
