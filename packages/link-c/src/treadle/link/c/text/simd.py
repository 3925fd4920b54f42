"""The math functions that the C library has for vectors (glibc's libmvec) and that are accurate enough."""

from __future__ import annotations

import platform
from importlib import import_module
from typing import TYPE_CHECKING, Any

from treadle.config import new_lock
from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.errors import CompileError
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS, VECTOR_TYPES

if TYPE_CHECKING:
    from treadle.link.c.toolchain import Toolchain

_LIBRARY = "libmvec.so.1"
# Left out, since some results are wrong by nearly four units in the last place: erff(3.6533227) by 3.99999 (all of
# float32 was tried; docs/simd_accuracy.md).
_INACCURATE = frozenset({"erff"})


class _Probe:
    """The results of the probes so far, by compiler."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._offered: frozenset[str] | None = None
        self._known: dict[str, frozenset[str]] = {}

    def read(self, toolchain: Toolchain) -> frozenset[str]:
        with self._lock:
            if self._offered is None:
                self._offered = _offered()
            key = toolchain.key("simd")
            if key not in self._known:
                self._known[key] = self._offered if _usable(self._offered, toolchain) else frozenset()
            return self._known[key]


_PROBE = _Probe()


def simd_functions(toolchain: Toolchain) -> frozenset[str]:
    """Return the C names of the functions to call by their SIMD entry points, such as ``exp`` and ``expf``.

    Entry points exist for every vector width or for none, so the narrowest is looked up. A library that calls those of
    the width in use is then compiled and loaded once, since a compiler may come with a C library of its own. The
    compile cache keeps it.
    """
    return _PROBE.read(toolchain)


def _offered() -> frozenset[str]:
    """Return the functions that the system's library has."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return frozenset()
    backend: Any = import_module("_cffi_backend")
    try:
        library = backend.load_library(_LIBRARY, 0)
    except OSError:
        return frozenset()
    names = set()
    pointer = backend.FFI().typeof("void(*)(void)")
    for name, count in BLOCK_FUNCTIONS.items():
        for lanes, suffix in ((2, ""), (4, "f")):
            try:
                library.load_function(pointer, f"_ZGVbN{lanes}{'v' * count}_{name}{suffix}")
            except AttributeError:
                continue
            names.add(name + suffix)
    return frozenset(names) - _INACCURATE


def _usable(functions: frozenset[str], toolchain: Toolchain) -> bool:
    """Whether generated C can call the functions."""
    if not functions:
        return False
    declared, named = [], []
    for function in sorted(functions):
        name = function if function in BLOCK_FUNCTIONS else function[:-1]
        macro = "TR_F64" if function == name else "TR_F32"
        entry = f"{macro}({'v' * BLOCK_FUNCTIONS[name]}, {name})"
        declared.append(f"extern void {entry}(void);\n")
        named.append(f"  {entry},\n")
    text = f"{VECTOR_TYPES}{''.join(declared)}void (*const treadle_simd[])(void) = {{\n{''.join(named)}}};\n"
    try:
        BRIDGE.open(toolchain.probe(text))
    except (CompileError, OSError):
        return False
    return True
