"""C functions that Python modules publish as capsules, as SciPy's modules for Cython do."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module, machinery, util
from pathlib import Path
from types import ModuleType

from treadle.config import new_lock

SPECIAL_MODULE = "scipy.special.cython_special"
_IMPORTING = new_lock()


def extension(name: str) -> ModuleType:
    """Import a module; those of ``scipy.linalg`` from their files, which is four times as fast as the package.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    package, _, own = name.rpartition(".")
    if package != "scipy.linalg":
        return import_module(name)
    with _IMPORTING:
        return sys.modules.get(name) or _imported_apart(name, own)


def _imported_apart(name: str, own: str) -> ModuleType:
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


def _name(capsule: object) -> bytes | None:
    # Here and below, a new function object: other packages set other types on the shared ones of `ctypes`.
    get_name: Callable[[object], bytes | None] = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    return get_name(capsule)


def capsule_signature(capsule: object) -> str:
    """Return a capsule's name, which is the function's C type; empty if it has none."""
    return (_name(capsule) or b"").decode()


def capsule_pointer(capsule: object) -> int:
    """Return the address in a capsule."""
    get_pointer: Callable[[object, bytes | None], int] = ctypes.PYFUNCTYPE(
        ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
    )(("PyCapsule_GetPointer", ctypes.pythonapi))
    return get_pointer(capsule, _name(capsule))


def published(module: str, name: str) -> object:
    """Return the capsule that a module publishes for a C function.

    Raises
    ------
    ImportError
        If there is no such module or function.
    """
    try:
        capsules: Mapping[str, object] = getattr(extension(module), "__pyx_capi__", {})
    except ImportError as error:
        msg = f"{module}, which has the C function {name}, cannot be imported: {error}. Install it."
        raise ImportError(msg) from error
    if name not in capsules:
        msg = f"{module} has no C function {name}. Another version of it may have: check the name."
        raise ImportError(msg)
    return capsules[name]


def special_capsule(name: str, single: bool) -> tuple[str, str, object] | None:
    """Return one of SciPy's special functions of real numbers: ``float`` or ``double``, its own name, and its capsule.

    For `single` precision it is the function for float if there is one, otherwise the one for double. Functions with
    several variants have one capsule for each, ``__pyx_fuse_0name`` and so on.
    """
    capsules: Mapping[str, object] = import_module(SPECIAL_MODULE).__pyx_capi__
    variants = [(own, c) for own, c in capsules.items() if re.fullmatch(rf"(__pyx_fuse_\d+(_\d)?)?{name}", own)]
    for kind in ("float", "double") if single else ("double",):
        for own, capsule in variants:
            if re.fullmatch(rf"{kind} \(({kind}, )+int __pyx_skip_dispatch\)", capsule_signature(capsule)):
                return kind, own, capsule
    return None
