"""Compiled units: each compiled once per process and, through the compile cache, once per machine.

Numba's compiler is imported when there is something to compile, not when machine code is loaded.
"""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import llvmlite
import numba
from llvmlite import binding
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from treadle.cache import default_cache, digest
from treadle.config import config, dataclass, new_lock, span
from treadle.link.numba.routines.vector_math import vector_stamp
from treadle.link.numba.text.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.link.numba.text.emission import Emitted

T = TypeVar("T")
CAPACITY = 4096
# The modules that machine code depends on besides its text.
_OWN = (
    "primitives.py", "routines/calls.py", "routines/eights.py", "routines/halves.py", "routines/lanes.py",
    "routines/symbols.py", "routines/vector_math.py", "compiler.py", "text/emission.py",
    "text/parsing.py", "text/translation.py", "text/unit.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counts:
    """How many units this process compiled, loaded and shared."""

    # Units compiled, loaded from the cache, found in memory.
    compiled: int = 0
    loaded: int = 0
    shared: int = 0


class UnitCompiler:
    """Turns units into compiled functions."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: OrderedDict[str, Emitted] = OrderedDict()
        # Machine code that programs call by symbols, under its key: for each name of a unit, its symbol and the code of
        # the type that it returns.
        self._apart: dict[str, dict[str, tuple[str, str]]] = {}
        self._entries: OrderedDict[str, int] = OrderedDict()
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

    def stored(self, key: str, stamp: str, name: str) -> int:
        """Return the address of the machine code that is in the cache under a key; `stamp` is that of this code."""
        if stamp != self.stamp():  # which also loads the functions on vectors that the machine code calls
            msg = f"numba: the machine code of {name} is for another machine or version."
            raise LookupError(msg)

        def load() -> int:
            payload = default_cache().get(key)
            if payload is None:
                msg = f"numba: the machine code of {name} is no longer in the compile cache."
                raise LookupError(msg)
            return self._load(payload)

        return self._once(self._entries, key, load)

    def entry(self, unit: Unit) -> int:
        """Return the address of machine code that C can call, of a unit all of whose arguments are words.

        It stays where it is until the process ends.
        """
        key = self.key(unit, True)
        return self._once(self._entries, key, lambda: self._make(unit, key))

    def get(self, unit: Unit) -> Emitted:
        """Return the compiled function of a unit, which other units can call."""

        def make() -> Emitted:
            from treadle.link.numba.text.translation import compile_unit

            if unit.is_apart:
                return self._called_by_symbol(unit)
            emitted = compile_unit(unit, {u.name: self.get(u) for u in unit.uses})
            self._count("compiled")
            return emitted

        return self._once(self._known, self.key(unit, False), make)

    def _once(self, known: OrderedDict[str, T], key: str, make: Callable[[], T]) -> T:
        """Return what is known by a key, or made now, and put it last; drop the first where there are too many."""
        with self._lock:
            value = known.get(key)
            if value is None:
                value = make()
            else:
                self._count("shared")
            known[key] = value
            known.move_to_end(key)
            if len(known) > CAPACITY:
                known.popitem(last=False)
            return value

    def _count(self, name: str) -> None:
        self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})

    def _make(self, unit: Unit, key: str) -> int:
        needed = self._needed([unit])
        fresh: list[int] = []

        def make() -> bytes:
            ((symbol, _, library),) = self._compile([unit])
            assert library is not None
            fresh.append(library.get_pointer_to_function(symbol))
            return pickle.dumps((symbol, needed, library._get_compiled_object()))

        if not config.numba__cache:
            make()
            return fresh[0]
        payload = default_cache().get_or_create(key, make, {"backend": "numba", "unit": unit.name})
        return fresh[0] if fresh else self._load(payload)

    def _compile(self, units: Sequence[Unit]) -> list[Emitted]:
        from treadle.link.numba.text.translation import compile_together

        names = {unit.name for unit in units}
        used = {u.name: self.get(u) for unit in units for u in unit.uses if u.name not in names}
        functions = compile_together(units, used)
        self._count("compiled")
        return functions

    def _load(self, payload: bytes) -> int:
        symbol, needed, code = pickle.loads(payload)
        for key in needed:
            self._open(key)
        (address,) = self._loaded(code, [symbol])
        self._count("loaded")
        return address

    @staticmethod
    def _loaded(code: bytes, symbols: Iterable[str]) -> list[int]:
        """Load machine code, and return the addresses of functions.

        Numba would also load LLVM's text of it, which takes ten times as long, to compile callers with.
        """
        context = cpu_target.target_context
        with span("loading"), global_compiler_lock:
            # Install only what loaded code calls; `context.refresh` would also import what compiling needs (0.3 s).
            rtsys.initialize(context)
            engine = context.codegen()._engine._ee
            engine.add_object_file(binding.ObjectFileRef.from_data(code))
            engine.finalize_object()
            return [engine.get_function_address(symbol) for symbol in symbols]

    # What is called by symbols

    def _needed(self, units: Sequence[Unit]) -> tuple[str, ...]:
        """Return the keys of the machine code that units call by symbols, which is there then."""
        keys: dict[str, None] = {}
        for unit in units:
            for called in unit.with_uses():
                if called.is_apart and called not in units:
                    self.get(called)
                    keys[self._together(called)[0]] = None
        return tuple(keys)

    def _together(self, unit: Unit) -> tuple[str, list[Unit]]:
        """Return the key of the machine code of a unit that is apart, and all units that it is of."""
        from treadle.link.numba.text.library import LIBRARY

        units = LIBRARY.together(unit)
        return digest("apart", *(self.key(each, False) for each in units)), units

    def _called_by_symbol(self, unit: Unit) -> Emitted:
        """Return a unit that is apart, whose machine code is there then."""
        from numba.core import typing

        from treadle.link.numba.primitives import TYPES, type_of
        from treadle.link.numba.text.emission import Emitted

        key, units = self._together(unit)
        if key not in self._apart:
            needed = self._needed(units)

            def make() -> bytes:
                functions = self._compile(units)
                library = functions[-1].library
                assert library is not None
                codes = {kind: code for code, kind in TYPES.items()}
                known = {
                    u.name: (f.name, codes[f.signature.return_type]) for u, f in zip(units, functions, strict=True)
                }
                addresses = [library.get_pointer_to_function(f.name) for f in functions]
                self._install(key, known, addresses)
                return pickle.dumps((known, needed, library._get_compiled_object()))

            if config.numba__cache:
                about = {"backend": "numba", "unit": unit.name}
                self._open(key, default_cache().get_or_create(key, make, about))
            else:
                make()
        symbol, returned = self._apart[key][unit.name]
        return Emitted(symbol, typing.signature(TYPES[returned], *map(type_of, unit.signature)), None)

    def _open(self, key: str, payload: bytes | None = None) -> None:
        """Have machine code found by its symbols, which is in the cache (else a LookupError)."""
        if key in self._apart:
            return
        payload = payload or default_cache().get(key)
        if payload is None:
            msg = "numba: machine code that the program calls is no longer in the compile cache."
            raise LookupError(msg)
        functions, needed, code = pickle.loads(payload)
        for other in needed:
            self._open(other)
        self._install(key, functions, self._loaded(code, [symbol for symbol, _ in functions.values()]))

    def _install(self, key: str, functions: dict[str, tuple[str, str]], addresses: Iterable[int]) -> None:
        for (symbol, _), address in zip(functions.values(), addresses, strict=True):
            binding.add_symbol(symbol, address)
        self._apart[key] = functions


COMPILER = UnitCompiler()
