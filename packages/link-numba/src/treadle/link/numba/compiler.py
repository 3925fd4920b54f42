"""Compiled units: each compiled once per process and, through the compile cache, once per machine.

Numba's compiler is imported when there is something to compile, not when machine code is loaded.
"""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import llvmlite
import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from treadle.cache import default_cache, digest
from treadle.config import config, new_lock, span
from treadle.link.numba.routines.vector_math import vector_stamp
from treadle.link.numba.text.unit import Unit

if TYPE_CHECKING:
    from treadle.link.numba.text.emission import Emitted

CAPACITY = 4096
# The modules that machine code depends on besides its text.
_OWN = (
    "primitives.py", "routines/calls.py", "routines/eights.py", "routines/halves.py", "routines/lanes.py",
    "routines/memory.py", "routines/symbols.py", "routines/vector_math.py", "compiler.py", "text/emission.py",
    "text/lifetimes.py", "text/parsing.py", "text/translation.py", "text/unit.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counts:
    """How many units this process compiled, loaded and shared."""

    # Units compiled, loaded from the cache, found in memory.
    compiled: int = 0
    loaded: int = 0
    shared: int = 0


class Entry(NamedTuple):
    """Machine code that C can call."""

    # Where it is, and Numba's library that holds it.
    address: int
    library: JITCodeLibrary


class UnitCompiler:
    """Turns units into compiled functions."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: OrderedDict[str, Emitted] = OrderedDict()
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._counts = Counts()
        self._stamp = ""

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        return self._counts

    def stamp(self) -> str:
        """Return what compiled code depends on besides its source: versions, the processor, treadle's primitives."""
        if not self._stamp:
            folder = Path(__file__).parent
            own = [(folder / name).read_bytes() for name in _OWN]
            machine = repr(cpu_target.target_context.codegen().magic_tuple())
            versions = f"{numba.__version__} {llvmlite.__version__} {sys.version}"
            self._stamp = digest(versions, machine, vector_stamp(), *own)
        return self._stamp

    def key(self, unit: Unit, entry: bool) -> str:
        """Return the key of a compiled unit, for callers in C or in other units."""
        return digest("numba", self.stamp(), unit.key, f"entry {entry}", f"fastmath {config.numba__fastmath}")

    def stored(self, key: str, stamp: str, name: str) -> Entry:
        """Return the entry function that was stored in the cache under a key; `stamp` is that of the stored code."""
        if stamp != self.stamp():  # which also loads the functions on vectors that the machine code calls
            msg = f"numba: the machine code of {name} is for another machine or version."
            raise LookupError(msg)
        with self._lock:
            known = self._entries.get(key)
            if known is None:
                payload = default_cache().get(key)
                if payload is None:
                    msg = f"numba: the machine code of {name} is no longer in the compile cache."
                    raise LookupError(msg)
                known = self._load(payload)
            else:
                self._count("shared")
            _remember(self._entries, key, known)
        return known

    def entry(self, unit: Unit) -> Entry:
        """Return the machine code of a unit that C can call, all of whose arguments are words."""
        key = self.key(unit, True)
        with self._lock:
            known = self._entries.get(key)
            if known is None:
                known = self._make(unit, key)
            else:
                self._count("shared")
            _remember(self._entries, key, known)
        return known

    def get(self, unit: Unit) -> Emitted:
        """Return the compiled function of a unit, which other units can call."""
        key = self.key(unit, False)
        with self._lock:
            known = self._known.get(key)
            if known is None:
                from treadle.link.numba.text.translation import compile_unit

                known = compile_unit(unit, {u.name: self.get(u) for u in unit.uses})
                self._count("compiled")
            else:
                self._count("shared")
            _remember(self._known, key, known)
        return known

    def _count(self, name: str) -> None:
        self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})

    def _make(self, unit: Unit, key: str) -> Entry:
        if not config.numba__cache:
            return self._compile(unit)[0]
        fresh: list[Entry] = []

        def make() -> bytes:
            entry, symbol = self._compile(unit)
            fresh.append(entry)
            return pickle.dumps((symbol, entry.library.serialize_using_object_code()))

        payload = default_cache().get_or_create(key, make, {"backend": "numba", "unit": unit.name})
        return fresh[0] if fresh else self._load(payload)

    def _compile(self, unit: Unit) -> tuple[Entry, str]:
        from treadle.link.numba.text.translation import compile_entry

        symbol, _, library = compile_entry(unit, {u.name: self.get(u) for u in unit.uses})
        self._count("compiled")
        return Entry(library.get_pointer_to_function(symbol), library), symbol

    def _load(self, payload: bytes) -> Entry:
        context = cpu_target.target_context
        with span("loading"), global_compiler_lock:
            # Install only what loaded code calls; `context.refresh` would also import what compiling needs (0.3 s).
            rtsys.initialize(context)
            symbol, data = pickle.loads(payload)
            library = context.codegen().unserialize_library(data)
            entry = Entry(library.get_pointer_to_function(symbol), library)
        self._count("loaded")
        return entry


def _remember(units: OrderedDict[str, Any], key: str, value: object) -> None:
    """Put a value last, and drop the first one where there are too many."""
    units[key] = value
    units.move_to_end(key)
    if len(units) > CAPACITY:
        units.popitem(last=False)


COMPILER = UnitCompiler()
