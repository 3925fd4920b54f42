"""The key under which a function's program is kept, and the parts that make it up."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from treadle.cache import LIBRARIES, SOURCES, digest, processor
from treadle.compile.mode.backends import BACKENDS
from treadle.compile.mode.mode import Mode
from treadle.compile.stored.canonical_graph import CanonicalGraph
from treadle.compile.stored.code_text import UndigestibleError
from treadle.compile.stored.fingerprint import Identity
from treadle.config import dataclass, discover, installed_version
from treadle.graph import LoweringTable
from treadle.rewrite import default_database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.functions.specification import Specification
    from treadle.link.vm import Backend, ProgramLinker

# Changes whenever what an entry holds, or how it is read, does.
FORMAT = "1"
# Packages whose code every program depends on.
_OURS = ("treadle.config", "treadle.graph", "treadle.rewrite", "treadle.compile", "treadle.link.vm")


@dataclass(frozen=True, slots=True)
class FunctionKey:
    """The key of a function's program."""

    text: str  # as `treadle.cache.digest` makes it
    parts: Mapping[str, str]  # what the text is a digest of: short texts and digests, by name
    graph: CanonicalGraph  # before rewriting
    # Ops whose lowering cannot be identified in another process. A program is not kept if the rewritten graph holds
    # one; of others the key says which ops these are.
    barred: tuple[type, ...]
    libraries: frozenset[str]  # third-party ones whose versions the key holds


def key_of(maker: FunctionMaker, graph: CanonicalGraph | None = None) -> FunctionKey:
    """Return the key of the program that a maker makes; `graph` is that of its specification, if there is one yet."""
    graph = CanonicalGraph(maker.specification) if graph is None else graph
    mode = maker.mode
    backend, linker = mode.backend, maker.linker
    identity = Identity()
    lowerings, barred = _lowerings(identity)
    parts = {
        "format": FORMAT,
        "graph": graph.digest(),
        "signature": _signature(maker),
        "mode": _mode(mode, linker, backend, identity),
        "backend": f"{backend.name} {backend.version()}",
        "machine": processor(),
        "python": sys.version,
        "rules": _rules(identity),
        "lowerings": lowerings,
    }
    parts.update({f"option {name}": value for name, value in maker.options.code_key()})
    parts.update(_code(graph, linker, backend, identity))
    libraries = _libraries(backend, parts)
    parts.update({f"version of {name}": str(installed_version(name)) for name in libraries})
    text = digest("function", *(part for name in sorted(parts) for part in (name, parts[name])))
    return FunctionKey(text, parts, graph, barred, libraries)


def _signature(maker: FunctionMaker) -> str:
    """Return what the key holds of inputs and outputs beside their types."""
    spec: Specification = maker.specification
    first: dict[int, int] = {}
    cells = [None if cell is None else first.setdefault(id(cell), at) for at, cell in enumerate(spec.cells())]
    places = {id(cell): at for at, cell in enumerate(spec.cells()) if cell is not None}
    updates = [places.get(id(cell), -1) for cell, _ in spec.updates]
    # An input with a default is never overwritten, mutable or not.
    free = set(spec.mutable_inputs())
    ins = [(k in free, bool(i.borrow), i.update is not None) for k, i in enumerate(spec.inputs)]
    outs = [bool(o.borrow) for o in spec.outputs]
    native = sorted(maker.native_outputs)
    return f"{ins} {outs} cells {cells} updates {updates} native {native} in place {bool(maker.accept_inplace)}"


def _mode(mode: Mode, linker: ProgramLinker, backend: Backend, identity: Identity) -> str:
    query = mode.query
    texts = [
        str(query),
        f"{sorted(query.subquery)} {query.position_cutoff}",
        f"{sorted(backend.include)} {sorted(backend.exclude)} {sorted(backend.capabilities)}",
        identity.of(linker),
        identity.of(list(query.subquery.values())) if query.subquery else "",
        identity.of([list(pair) for pair in query.extra_rewrites]) if query.extra_rewrites else "",
    ]
    if type(mode) is not Mode or mode.own_rewriter is not None or mode.db is not None:
        texts.append(identity.of(mode))
    return digest(*texts)[:32]


class _Installed(NamedTuple):
    """Entry points of rules and lowerings, and the modules that they are in."""

    published: tuple[str, ...]
    modules: tuple[str, ...]


class _Publications:
    """The installed rules and lowerings, read once for each search path, since every compilation asks for them."""

    def __init__(self) -> None:
        self._installed: _Installed | None = None
        self._path: tuple[str, ...] = ()

    def read(self) -> _Installed:
        """Return what is installed along the search path."""
        path = tuple(sys.path)
        if self._installed is None or path != self._path:
            groups = ("treadle.rules", *(f"treadle.lowerings.{name}" for name in (*BACKENDS.names(), "vm", "kernels")))
            entries = [entry for group in dict.fromkeys(groups) for entry in discover(group).values()]
            texts = tuple(f"{entry.group} {entry.name} {entry.value}" for entry in entries)
            modules = tuple({entry.value.partition(":")[0] for entry in entries})
            self._installed = _Installed(texts, modules)
            self._path = path
        return self._installed


_PUBLICATIONS = _Publications()


def _rules(identity: Identity) -> str:
    """Return what publishes rules and lowerings, and what was registered in the default database beside these."""
    installed = _PUBLICATIONS.read()
    identity.modules.update(installed.modules)
    changes = [text + identity.of(member) for member, text in default_database().changes()]
    return digest(*installed.published, "changed", *changes)[:32]


def _lowerings(identity: Identity) -> tuple[str, tuple[type, ...]]:
    """Return a digest of the lowerings registered without being published, and the ops whose lowering has no text."""
    texts: set[str] = set()
    barred: list[type] = []
    for table in list(LoweringTable.tables):
        own = SOURCES.root(table.module)
        for op_type, rule in table.added():
            if SOURCES.root(getattr(rule, "__module__", None)) in {own, "treadle.tensor"}:
                continue
            rule_text = _rule_text(rule, identity)
            if rule_text is None:
                barred.append(op_type)
            texts.add(f"{table.backend} {op_type.__module__}.{op_type.__qualname__} {rule_text}")
    return digest(*sorted(texts))[:32], tuple(barred)


def _rule_text(rule: object, identity: Identity) -> str | None:
    """Return a text that is equal for rules that do the same, None if there is none; add the modules it depends on."""
    own = Identity()
    try:
        text = own.of(rule)
    except UndigestibleError:
        return None
    if None in SOURCES.stamps(own.modules).values():
        return None
    identity.modules |= own.modules
    return text


def _code(graph: CanonicalGraph, linker: ProgramLinker, backend: Backend, identity: Identity) -> dict[str, str]:
    """Return a digest of the code of each package that the program depends on."""
    for text in graph.code:
        identity.add_names(text)
    identity.modules.update(type(c.type).__module__ for c in graph.constants)
    identity.modules |= graph.modules
    identity.modules.update(_OURS)
    identity.modules.add(type(linker).__module__)
    made_by: object = backend.linker
    identity.modules.add(made_by.func.__module__ if isinstance(made_by, partial) else made_by.__module__)
    stamps = SOURCES.stamps(identity.modules)
    unknown = sorted(name for name, stamp in stamps.items() if stamp is None)
    if unknown:
        msg = (
            f"compile cache: the code of {', '.join(unknown)} is in no file, or its file was changed after this "
            "process began."
        )
        raise UndigestibleError(msg)
    return {f"code of {name}": str(stamp) for name, stamp in stamps.items()}


def _libraries(backend: Backend, parts: Mapping[str, str]) -> frozenset[str]:
    """Return the libraries that every program depends on, those of the backend, and of others whose code it uses."""
    names = {*LIBRARIES, *backend.libraries}
    for name, entry in discover("treadle.backends").items():
        if f"code of {SOURCES.root(entry.value.partition(':')[0])}" in parts:
            foreign = BACKENDS.load(name)
            names.update(() if foreign is None else foreign.libraries)
    return frozenset(names)
