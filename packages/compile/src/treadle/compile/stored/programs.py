"""Programs in the compile cache, found by the graph before rewriting, so that a hit rewrites and links nothing."""

from __future__ import annotations

import atexit
import json
import pickle
import struct
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.cache import default_cache
from treadle.compile.stored.canonical_graph import CanonicalGraph, inner_nodes
from treadle.compile.stored.code_text import UndigestibleError
from treadle.compile.stored.graph import StoredGraph, mark_origins, write
from treadle.compile.stored.key import FunctionKey, key_of
from treadle.config import config, dataclass, new_lock, span
from treadle.graph import early_nodes, foreign_code
from treadle.link.vm import ProgramGraph

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from treadle.cache import Cache
    from treadle.compile.functions.maker import FunctionMaker
    from treadle.graph import Apply, Type
    from treadle.link.vm import Program, ProgramLinker

_LENGTH = struct.Struct("<Q")
_MOST_KEPT = 1 << 20  # bytes of constants of a program that is kept in memory
LAST_LOOKUP = "last-lookup.json"


@dataclass(frozen=True, slots=True)
class FunctionCounts:
    """How the programs of this process's functions came about."""

    made: int = 0  # rewritten and linked, and kept in the cache
    loaded: int = 0  # from the cache
    shared: int = 0  # with a function of an equal graph
    # Rewritten and linked, and not kept: what they depend on cannot be identified in another process, or their backend
    # cannot keep them.
    unkept: int = 0


@dataclass(frozen=True, slots=True)
class _Stored:
    """An entry's two parts: the program's data, the rewritten graph."""

    program: bytes
    graph: bytes


class Lookup(NamedTuple):
    """What looking for the program of a maker has found.

    Attributes
    ----------
    key
        Its key; None if it is not kept.
    payload
        The entry in the cache, if there is one, whether or not it can be used.
    program
        The program, or None.
    """

    key: FunctionKey | None = None
    payload: bytes | None = None
    program: Program | None = None


def _pack(program: bytes, graph: bytes) -> bytes:
    return _LENGTH.pack(len(program)) + program + graph


def _unpack(payload: bytes) -> _Stored:
    (length,) = _LENGTH.unpack_from(payload)
    start = _LENGTH.size
    return _Stored(payload[start : start + length], payload[start + length :])


class Lookups:
    """The last look-up of this process, which is written to the compile directory when the process ends.

    (Files that are written again and again cost milliseconds each time.)
    """

    def __init__(self) -> None:
        # Not the key itself, which holds the graph and with it the values of shared variables.
        self._last: tuple[str | None, Mapping[str, str], str, str, str] | None = None
        self._cache: Cache | None = None

    def note(self, key: FunctionKey | None, outcome: str, reason: str, name: str | None) -> None:
        """Note how a look-up ended, and why."""
        if self._cache is None:
            atexit.register(self.write)
        self._cache = default_cache()
        text, parts = (None, {}) if key is None else (key.text, key.parts)
        self._last = (text, parts, outcome, reason, name or "")

    def last(self) -> dict[str, Any]:
        """Return the last look-up: outcome, reason, name of the function, key and its parts; nothing if none was."""
        if self._last is None:
            return {}
        text, parts, outcome, reason, name = self._last
        about: dict[str, object] = {"outcome": outcome, "reason": reason, "function": name}
        if text is not None:
            about |= {"key": text, "parts": dict(parts)}
        return about

    def write(self) -> None:
        """Write the last look-up to the compile directory, if there is one."""
        if self._cache is not None:
            self._cache.note(LAST_LOOKUP, json.dumps(self.last(), sort_keys=True).encode())


LOOKUPS = Lookups()


class FunctionCache:
    """Finds and keeps the programs of functions, in this process's memory and in the compile directory."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._programs: OrderedDict[tuple[str, str], tuple[Program, _Stored]] = OrderedDict()
        self._counts = FunctionCounts()

    @property
    def counts(self) -> FunctionCounts:
        """How often programs were made, loaded, shared and not kept so far."""
        return self._counts

    def forget(self) -> None:
        """Drop the programs in memory."""
        with self._lock:
            self._programs.clear()

    def look_up(self, maker: FunctionMaker) -> Lookup:
        """Look for the program of a maker: another function's, or one from the cache."""
        with span("cache key"):
            key = self._key(maker)
        if key is None:
            return Lookup()
        program = self._from_memory(maker, key)
        if program is not None:
            return Lookup(key, None, program)
        payload = default_cache().get(key.text)
        return Lookup(key, payload, self._from_entry(maker, key, payload))

    def find_or_make(self, maker: FunctionMaker, lookup: Lookup | None = None) -> Program:
        """Return the program of a maker: what was found for it, or a new one, which is kept.

        Parameters
        ----------
        maker
            The maker.
        lookup
            What `look_up` has returned; it is called if None.
        """
        key, payload, program = self.look_up(maker) if lookup is None else lookup
        if key is None:
            self._count("unkept")
            return maker.make()
        if program is not None:
            return program
        cache = default_cache()
        with cache.claim(key.text) as latest:
            # Another thread or process may have made it meanwhile.
            program = self._from_memory(maker, key)
            if program is None and latest != payload:
                program = self._from_entry(maker, key, latest)
            return self._make(cache, maker, key) if program is None else program

    @staticmethod
    def _key(maker: FunctionMaker) -> FunctionKey | None:
        """Return the key of a maker's program, None if it cannot be kept."""
        try:
            graph = CanonicalGraph(maker.specification)
            maker.linker.foresee(graph.nodes)
            key = key_of(maker, graph)
        except UndigestibleError as error:
            LOOKUPS.note(None, "not kept", str(error), maker.name)
            return None
        if not _is_kept_by(maker.linker):
            LOOKUPS.note(key, "not kept", f"{type(maker.linker).__name__} does not keep programs", maker.name)
            return None
        return key

    # In memory

    def _from_memory(self, maker: FunctionMaker, key: FunctionKey) -> Program | None:
        place = (str(default_cache().directory), key.text)
        with self._lock:
            entry = self._programs.get(place)
            if entry is None:
                return None
            self._programs.move_to_end(place)
        program, stored = entry
        bound = self._bound(maker, key, stored, program)
        if bound is not None:
            self._count("shared")
            LOOKUPS.note(key, "shared", "a function of an equal graph is in memory", maker.name)
        return bound

    def _keep(self, key: FunctionKey, program: Program, stored: _Stored) -> None:
        limit = int(config.cache__programs)
        if sum(getattr(c.data, "nbytes", 0) for c in key.graph.constants) > _MOST_KEPT:
            return
        place = (str(default_cache().directory), key.text)
        with self._lock:
            self._programs[place] = (program, stored)
            self._programs.move_to_end(place)
            while len(self._programs) > limit:
                self._programs.popitem(last=False)

    # In the compile directory

    def _from_entry(self, maker: FunctionMaker, key: FunctionKey, payload: bytes | None) -> Program | None:
        if payload is None:
            return None
        try:
            stored = _unpack(payload)
        except struct.error:
            return None
        program = self._bound(maker, key, stored, None)
        if program is not None:
            self._keep(key, program, stored)
            self._count("loaded")
            LOOKUPS.note(key, "hit", "", maker.name)
        return program

    def _make(self, cache: Cache, maker: FunctionMaker, key: FunctionKey) -> Program:
        fgraph = maker.create_fgraph()
        marked = mark_origins(fgraph, key.graph)
        with early_nodes() as early:
            program = maker.make(fgraph)
        try:
            _check_early(early, key.libraries)
            stored = _written(maker, key, program, marked)
        except Exception as error:  # noqa: BLE001 - whatever hinders pickling, the function works without
            self._count("unkept")
            LOOKUPS.note(key, "not kept", f"{type(error).__name__}: {error}", maker.name)
            return program
        cache.put(key.text, _pack(stored.program, stored.graph), _described(key, maker))
        self._keep(key, program, stored)
        self._count("made")
        LOOKUPS.note(key, "made", "", maker.name)
        return program

    @staticmethod
    def _bound(maker: FunctionMaker, key: FunctionKey, stored: _Stored, program: Program | None) -> Program | None:
        """Return a program for the maker's graph, from an entry or from another function's; None if that fails."""
        source = StoredGraph(stored.graph, key.graph)
        try:
            types, writes, data = source.program(stored.program)
            graph = _program_graph(maker, source, types)
            bound = program.rebound(graph, data) if program is not None else None
            if bound is None:
                with span("load"):
                    bound = maker.linker.load(data, graph)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with an entry, it counts as missing
            LOOKUPS.note(key, "miss", f"the entry cannot be used: {type(error).__name__}: {error}", maker.name)
            return None
        bound.writes = writes
        maker.load_fgraph_with(graph.get)
        return bound

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})


FUNCTIONS = FunctionCache()


def is_cached(maker: FunctionMaker) -> bool:
    """Whether the programs of a maker go through the cache: not those with a profile.

    Nor those whose rewriting is to print, check or note something, which it would not do on a hit.
    """
    return bool(config.cache__functions) and maker.profile is None and not reports_rewriting()


def reports_rewriting() -> bool:
    """Whether rewriting is to print, check or note something."""
    reports = config.optimizer_verbose or config.profile_optimizer or config.check_stack_trace != "off"
    reports = reports or config.traceback__compile_limit or config.compute_test_value_opt != "off"
    return bool(reports)


def _is_kept_by(linker: ProgramLinker) -> bool:
    """Whether a linker keeps what its `link` makes: a subclass with another `link` needs a `dump` and `load` too."""
    order = type(linker).__mro__
    definer = {name: next(k for k, kind in enumerate(order) if name in vars(kind)) for name in ("link", "dump", "load")}
    return definer["dump"] <= definer["link"] and definer["load"] <= definer["link"]


def _program_graph(maker: FunctionMaker, source: StoredGraph, outputs: tuple[Type, ...]) -> ProgramGraph:
    spec = maker.specification
    inputs = [*(i.variable.type for i in spec.inputs), *(s.type for s in spec.shared)]

    def load() -> Any:
        rewritten = source.load()
        maker.report = rewritten.report
        return rewritten.fgraph

    return ProgramGraph(inputs, outputs, maker.native_outputs, load)


def _check_early(nodes: Iterable[Apply], libraries: Collection[str]) -> None:
    """Refuse a program with values that third-party code computed: it may have read anything, which no key can hold."""
    culprit = foreign_code(nodes, libraries)
    if culprit is not None:
        msg = f"a value that {culprit} computed is part of the program, and may be another one in another process"
        raise pickle.PicklingError(msg)


def _written(maker: FunctionMaker, key: FunctionKey, program: Program, marked: bool) -> _Stored:
    fgraph, report = maker.fgraph, maker.report
    data = maker.linker.dump(program) if marked else None
    if report is not None and report.failures:
        # The next process must get the warning too, or stop if its options say so.
        msg = f"rule {report.failures[0][0]!r} failed"
        raise pickle.PicklingError(msg)
    if data is None or report is None:
        msg = f"{type(maker.linker).__name__} cannot keep {type(program).__name__}"
        raise pickle.PicklingError(msg)
    nodes = (*fgraph.apply_nodes, *inner_nodes(fgraph.apply_nodes)) if key.barred else ()
    for node in nodes:
        if any(isinstance(op, key.barred) for op in (node.op, *getattr(node.op, "scalar_ops", ()))):
            msg = f"the lowering of {node.op} cannot be told from others in another process"
            raise pickle.PicklingError(msg)
    writes = program.writes
    types = tuple(v.type for v in fgraph.outputs) if writes is None else writes.types
    return _Stored(*write(key.graph, fgraph, report, (types, writes, data)))


def _described(key: FunctionKey, maker: FunctionMaker) -> dict[str, str]:
    """Return what listings tell about an entry."""
    return {
        "function": maker.name or "",
        "backend": maker.mode.backend.name,
        "nodes": str(len(key.graph.nodes)),
        "parts": json.dumps(dict(key.parts), sort_keys=True),
    }
