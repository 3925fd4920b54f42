"""Which math functions the C library has for vectors (glibc's libmvec)."""

from __future__ import annotations

import platform
from importlib import import_module
from typing import Any

from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS

_LIBRARY = "libmvec.so.1"


class _Probe:
    """Looks the entry points up once."""

    def __init__(self) -> None:
        self._known: frozenset[str] | None = None

    def read(self) -> frozenset[str]:
        if self._known is None:
            self._known = _look()
        return self._known


_PROBE = _Probe()


def simd_functions() -> frozenset[str]:
    """Return the C names of the functions that have SIMD entry points, such as ``exp`` and ``expf``.

    Entry points exist for every vector width or for none, so the narrowest is looked for.
    """
    return _PROBE.read()


def _look() -> frozenset[str]:
    if platform.machine() not in {"x86_64", "AMD64"}:
        return frozenset()
    backend: Any = import_module("_cffi_backend")
    try:
        library = backend.load_library(_LIBRARY, 0)
    except OSError:
        return frozenset()
    found = set()
    pointer = backend.FFI().typeof("void(*)(void)")
    for name, count in BLOCK_FUNCTIONS.items():
        for lanes, suffix in ((2, ""), (4, "f")):
            try:
                library.load_function(pointer, f"_ZGVbN{lanes}{'v' * count}_{name}{suffix}")
            except AttributeError:
                continue
            found.add(name + suffix)
    return frozenset(found)
