"""The math functions that the C library has for vectors (glibc's libmvec) and that are accurate enough."""

from __future__ import annotations

import platform
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.kernels import HELPERS, INACCURATE, LIBMVEC
from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.errors import CompileError
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS

if TYPE_CHECKING:
    from treadle.link.c.toolchain import Toolchain

# Where a system has its C library, as the file that the linker reads for ``-lm``, and what that says of libmvec.
_SYSTEMS = re.compile(r"(?:/usr)?/lib(?:64)?(?:/[^/]+-linux-gnu)?/libm\.so")
_NAMED = re.compile(rf"/[^\s()]+/{re.escape(LIBMVEC)}(?=[\s)])")


@cache
def simd_functions(toolchain: Toolchain) -> frozenset[str]:
    """Return the C names of the functions to call by their SIMD entry points, such as ``exp`` and ``expf``.

    Entry points exist for every vector width or for none, so the narrowest is looked up. A compiler may come with a C
    library of its own: if it is not the system's, a library that calls those of the width in use is compiled and loaded
    once. The compile cache keeps it.
    """
    offered, place = _offered()
    usable = offered and (_links(toolchain, place) or _usable(offered, toolchain))
    return offered if usable else frozenset()


@cache
def _offered() -> tuple[frozenset[str], Path | None]:
    """Return the functions that the system's library has, and the library's file if it is known."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return frozenset(), None
    backend: Any = import_module("_cffi_backend")
    try:
        library = backend.load_library(LIBMVEC, 0)
    except OSError:
        return frozenset(), None
    names = set()
    pointer = backend.FFI().typeof("void(*)(void)")
    for name, count in BLOCK_FUNCTIONS.items():
        for lanes, suffix in ((2, ""), (4, "f")):
            try:
                library.load_function(pointer, f"_ZGVbN{lanes}{'v' * count}_{name}{suffix}")
            except AttributeError:
                continue
            names.add(name + suffix)
    return frozenset(names) - INACCURATE, _loaded()


def _loaded() -> Path | None:
    """Return the file of the library, which this process has loaded."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    return next((Path(line[line.index("/") :]) for line in lines if LIBMVEC.partition(".")[0] in line), None)


def _links(toolchain: Toolchain, place: Path | None) -> bool:
    """Whether it is the system's library that a compiler links, whose file this is."""
    try:
        script = Path(toolchain.place_of("libm.so")).resolve()
        if place is None or not _SYSTEMS.fullmatch(str(script)):
            return False
        named = _NAMED.search(script.read_text(encoding="utf-8"))
    except (CompileError, OSError, ValueError):
        return False
    return named is not None and Path(named[0]).resolve() == place.resolve()


def _usable(functions: frozenset[str], toolchain: Toolchain) -> bool:
    """Whether generated C can call the functions."""
    declared, named = [], []
    for function in sorted(functions):
        name = function if function in BLOCK_FUNCTIONS else function[:-1]
        macro = "TR_F64" if function == name else "TR_F32"
        entry = f"{macro}({'v' * BLOCK_FUNCTIONS[name]}, {name})"
        declared.append(f"extern void {entry}(void);\n")
        named.append(f"  {entry},\n")
    table = f"void (*const treadle_simd[])(void) = {{\n{''.join(named)}}};\n"
    text = f"{HELPERS['tr_f64s tr_f32s']}{''.join(declared)}{table}"
    try:
        BRIDGE.open(toolchain.probe(text))
    except (CompileError, OSError):
        return False
    return True
