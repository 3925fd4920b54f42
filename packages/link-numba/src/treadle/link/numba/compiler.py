"""Compiled units: each compiled once per process and, through the compile cache, once per machine.

Numba's compiler is imported when there is something to compile, not when machine code is loaded.
"""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path

import llvmlite
import numba
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from treadle.cache import default_cache, digest
from treadle.config import config, new_lock, span
from treadle.link.numba.dispatcher import dispatcher
from treadle.link.numba.routines.vector_math import VECTOR_MATH
from treadle.link.numba.text.unit import Unit

CAPACITY = 4096
# The modules that machine code depends on besides its text.
_OWN = (
    "primitives.py", "routines/calls.py", "routines/memory.py", "compiler.py", "text/emission.py",
    "text/lifetimes.py", "text/translation.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counts:
    """How many units this process compiled, loaded and shared."""

    # Units compiled, loaded from the cache, found in memory.
    compiled: int = 0
    # How many compiled units, apart from entries, needed Numba's frontend.
    analysed: int = 0
    loaded: int = 0
    shared: int = 0


class UnitCompiler:
    """Turns units into compiled functions."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: OrderedDict[str, Dispatcher] = OrderedDict()
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
            machine = repr(numba.core.registry.cpu_target.target_context.codegen().magic_tuple())
            versions = f"{numba.__version__} {llvmlite.__version__} {sys.version}"
            self._stamp = digest(versions, machine, VECTOR_MATH.stamp(), *own)
        return self._stamp

    def key(self, unit: Unit, entry: bool) -> str:
        """Return the key of a compiled unit (parameters as for `get`)."""
        return digest("numba", self.stamp(), unit.key, f"entry {entry}", f"fastmath {config.numba__fastmath}")

    def stored(self, key: str, stamp: str, unit: Unit) -> Dispatcher:
        """Return the entry function that was stored in the cache under a key; `stamp` is that of the stored code."""
        if stamp != self.stamp():  # which also loads the functions on vectors that the machine code calls
            msg = f"numba: the machine code of {unit.name} is for another machine or version."
            raise LookupError(msg)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                self._count("shared")
                return known
            payload = default_cache().get(key)
            if payload is None:
                msg = f"numba: the machine code of {unit.name} is no longer in the compile cache."
                raise LookupError(msg)
            loaded = self._load(unit, payload, entry=True)
            self._remember(key, loaded)
        return loaded

    def _remember(self, key: str, function: Dispatcher) -> None:
        self._known[key] = function
        if len(self._known) > CAPACITY:
            self._known.popitem(last=False)

    def get(self, unit: Unit, entry: bool = False) -> Dispatcher:
        """Return the compiled function of a unit; only an `entry` can be called from Python."""
        key = self.key(unit, entry)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                self._count("shared")
                return known
            compiled = self._make(unit, key, entry)
            self._remember(key, compiled)
        return compiled

    def _count(self, name: str) -> None:
        self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})

    def _make(self, unit: Unit, key: str, entry: bool) -> Dispatcher:
        if not (entry and config.numba__cache):
            return self._compile(unit, entry)[0]
        fresh: list[Dispatcher] = []

        def make() -> bytes:
            function, result = self._compile(unit, entry)
            fresh.append(function)
            data: bytes = dumps(result._reduce())
            return data

        payload = default_cache().get_or_create(key, make, {"backend": "numba", "unit": unit.name})
        return fresh[0] if fresh else self._load(unit, payload, entry)

    def _compile(self, unit: Unit, entry: bool) -> tuple[Dispatcher, CompileResult]:
        from treadle.link.numba.text.translation import compile_unit

        function, result, analysed = compile_unit(unit, entry, {u.name: self.get(u) for u in unit.uses})
        self._count("compiled")
        if analysed:
            self._count("analysed")
        return function, result

    def _load(self, unit: Unit, payload: bytes, entry: bool) -> Dispatcher:
        function = dispatcher(unit, {}, no_cpython_wrapper=not entry)
        context = function.targetdescr.target_context  # type: ignore[attr-defined]  # numba has no types
        with span("loading"), global_compiler_lock:
            # Install only what loaded code calls; `context.refresh` would also import what compiling needs (0.3 s).
            rtsys.initialize(context)
            result = CompileResult._rebuild(context, *pickle.loads(payload))
        function.add_overload(result)
        function.disable_compile()
        self._count("loaded")
        return function


COMPILER = UnitCompiler()
