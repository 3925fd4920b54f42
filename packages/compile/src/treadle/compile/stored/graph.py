"""Pickling rewritten graphs without the user's objects: constants, state and lines come from the graph at hand.

An object of the graph before rewriting is written as its position in the `CanonicalGraph`; when the entry is loaded,
for an equal graph, what stands there in that graph takes its place.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass
from treadle.graph import Apply, Constant, Container, FunctionGraph, HasInnerGraph, ScratchPad, UserLine, toposort
from treadle.link.vm import Later

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.compile.stored.canonical_graph import CanonicalGraph
    from treadle.rewrite import Report

# A tag that rewrites put on nodes for messages: the nodes that a fused one was made of. Other tags are the user's.
_NOTED = "origins"
# A constant that a rewrite made again is looked for among the user's if it is at least this long, in bytes.
_LARGE = 1024
_PROTOCOL = 5


class Origin(UserLine):
    """A user's line that knows which node of the graph before rewriting it belongs to; rewrites carry it along."""

    __slots__ = ("position",)

    def __init__(self, line: UserLine, position: int) -> None:
        super().__init__(line.file, line.line, line.scope, line.outer, line.inner)
        self.position = position

    __hash__ = UserLine.__hash__


def mark_origins(fgraph: FunctionGraph, graph: CanonicalGraph) -> bool:
    """Give each node of a graph that is about to be rewritten an `Origin`; False if it is not a copy of `graph`."""
    copies = toposort(fgraph.outputs, fgraph.inputs)
    if len(copies) != len(graph.nodes) or any(a.op is not b.op for a, b in zip(copies, graph.nodes, strict=True)):
        return False
    for position, node in enumerate(copies):
        if node.user_line is not None:
            node.user_line = Origin(node.user_line, position)
    return True


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewritten graph, with what else is loaded together with it."""

    fgraph: FunctionGraph
    nodes: list[Apply]  # in the order of the program
    report: Report
    names: dict[str, int]  # of variables before rewriting, each with the position of the first that has it
    later: list[object]  # what the linker left to be loaded with the graph


def _names_of(graph: CanonicalGraph) -> dict[str, int]:
    names: dict[str, int] = {}
    for position, name in enumerate(graph.names()):
        if name is not None:
            names.setdefault(name, position)
    return names


def at_hand(kind: str, *place: object) -> Any:
    """Stand in entries for what is taken from the graph at hand; the reader of an entry has its own function for it."""
    msg = f"compile cache: {kind} {place} means something in an entry only."
    raise pickle.UnpicklingError(msg)


def _reduced(fgraph: FunctionGraph) -> tuple[Any, ...]:
    """Return how a graph is written: what rewrites noted on its nodes comes after the nodes themselves.

    A note refers to nodes that share variables with the graph, which must be known by then.
    """
    restore, args, state = fgraph.__reduce__()
    notes = [(node, getattr(node._tag, _NOTED)) for node in fgraph.apply_nodes if hasattr(node._tag, _NOTED)]
    return restore, args, (state, notes), None, None, _set_graph


class _Writer(pickle.Pickler):
    """Writes objects of the user's graph as positions."""

    def __init__(self, file: io.BytesIO, graph: CanonicalGraph, references: dict[int, tuple[object, ...]]) -> None:
        super().__init__(file, _PROTOCOL)
        self._graph = graph
        self._references = references
        self._lines: dict[UserLine, int] | None = None
        self._values: dict[bytes, int] | None = None
        self.later: list[object] = []

    def reducer_override(self, obj: Any) -> Any:
        """Return how an object is written, where not in its own way."""
        reference = self._references.get(id(obj))
        if reference is not None:
            return at_hand, reference
        kind = type(obj)
        if kind is FunctionGraph:
            return _reduced(obj)
        if kind is ScratchPad:
            return at_hand, ("tag",)
        if kind is UserLine or kind is Origin:
            return at_hand, ("line", self._position(obj))
        if kind is Later:
            self.later.append(obj.get())
            return at_hand, ("later", len(self.later) - 1)
        return self._reduced_value(obj)

    def _reduced_value(self, obj: object) -> Any:
        if isinstance(obj, Constant) and getattr(obj.data, "nbytes", 0) >= _LARGE:
            at = self._like(obj)
            return NotImplemented if at is None else (at_hand, ("constant", at))
        if isinstance(obj, Container):
            msg = "compile cache: the rewritten graph holds state that the function does not have."
            raise pickle.PicklingError(msg)
        return NotImplemented

    def _position(self, line: UserLine) -> int | None:
        if isinstance(line, Origin):
            return line.position
        if self._lines is None:
            self._lines = {}
            for at, line_of_node in enumerate(self._graph.lines()):
                if line_of_node is not None:
                    self._lines.setdefault(line_of_node, at)
        return self._lines.get(line)

    def _like(self, constant: Constant) -> int | None:
        if self._values is None:
            self._values = {c.signature(): at for at, c in enumerate(self._graph.constants)}
        return self._values.get(constant.signature())


def _set_graph(
    fgraph: FunctionGraph, state_and_notes: tuple[tuple[object, ...], list[tuple[Apply, list[Apply]]]]
) -> None:
    state, notes = state_and_notes
    fgraph.__setstate__(state)
    for node, origins in notes:
        setattr(node.tag, _NOTED, origins)


class _Reader(pickle.Unpickler):
    def __init__(self, data: bytes, find: Callable[..., object]) -> None:
        super().__init__(io.BytesIO(data))
        self._find = find

    def find_class(self, module: str, name: str) -> Any:
        """Return what an entry names; in place of `at_hand`, what finds things in the graph at hand."""
        return self._find if module == __name__ and name == "at_hand" else super().find_class(module, name)


def _user_objects(graph: CanonicalGraph) -> dict[int, tuple[Any, ...]]:
    """Return references to what the user's graph holds, by identity."""
    references: dict[int, tuple[object, ...]] = {}
    for at, node in enumerate(graph.nodes):
        if isinstance(node.op, HasInnerGraph):
            references.setdefault(id(node.op), ("op", at))
    references.update((id(c), ("constant", at)) for at, c in enumerate(graph.constants))
    references.update((id(cell), ("cell", at)) for at, cell in enumerate(graph.cells) if cell is not None)
    return references


def _rewritten_objects(fgraph: FunctionGraph, nodes: Sequence[Apply]) -> dict[int, tuple[Any, ...]]:
    """Return references to what the rewritten graph consists of, by identity."""
    references: dict[int, tuple[object, ...]] = {id(fgraph): ("graph",)}
    references.update((id(v), ("input", at)) for at, v in enumerate(fgraph.inputs))
    for at, node in enumerate(nodes):
        references[id(node)] = ("node", at)
        references.update((id(out), ("made", at, k)) for k, out in enumerate(node.outputs))
    return references


def write(graph: CanonicalGraph, fgraph: FunctionGraph, report: Report, program: object) -> tuple[bytes, bytes]:
    """Return the bytes of a program's data, and those of the rewritten graph.

    `graph` is the one before rewriting; `program` is what the linker keeps, which may refer to parts of `fgraph`.
    """
    users = _user_objects(graph)
    nodes = fgraph.toposort()
    program_file = io.BytesIO()
    writer = _Writer(program_file, graph, {**_rewritten_objects(fgraph, nodes), **users})
    writer.dump(program)
    graph_file = io.BytesIO()
    _Writer(graph_file, graph, users).dump(Rewritten(fgraph, nodes, report, _names_of(graph), writer.later))
    return program_file.getvalue(), graph_file.getvalue()


class StoredGraph:
    """A rewritten graph as bytes, which `write` returned second, for an equal graph at hand; loaded on first use."""

    def __init__(self, data: bytes, graph: CanonicalGraph) -> None:
        self._data = data
        self._graph = graph
        self._lines: list[UserLine | None] | None = None
        self._loaded: Rewritten | None = None

    def load(self) -> Rewritten:
        """Return the rewritten graph."""
        if self._loaded is None:
            rewritten: Rewritten = _Reader(self._data, self._of_user).load()
            self._rename(rewritten)
            self._loaded = rewritten
            self._data = b""
        return self._loaded

    def program(self, data: bytes) -> Any:
        """Return what the linker kept: the first of what `write` returned."""
        return _Reader(data, self._of_program).load()

    def _of_user(self, kind: str, *place: Any) -> Any:
        graph = self._graph
        if kind == "line":
            return self._line(place[0])
        if kind == "constant":
            return graph.constants[place[0]]
        if kind == "cell":
            return graph.cells[place[0]]
        if kind == "op":
            return graph.nodes[place[0]].op
        if kind == "tag":
            return ScratchPad()
        msg = f"compile cache: an entry refers to {kind!r}, which is not known."
        raise pickle.UnpicklingError(msg)

    def _of_program(self, kind: str, *place: Any) -> Any:
        if kind == "later":
            at: int = place[0]
            return Later(lambda: self.load().later[at])
        if kind == "graph":
            return self.load().fgraph
        if kind == "node":
            return self.load().nodes[place[0]]
        if kind == "made":
            return self.load().nodes[place[0]].outputs[place[1]]
        if kind == "input":
            return self.load().fgraph.inputs[place[0]]
        return self._of_user(kind, *place)

    def _line(self, position: int | None) -> UserLine | None:
        if position is None:
            return None
        if self._lines is None:
            self._lines = self._graph.lines()
        return self._lines[position] if position < len(self._lines) else None

    def _rename(self, rewritten: Rewritten) -> None:
        """Give variables the names that they have in the graph at hand."""
        for own, current in zip(rewritten.fgraph.inputs, self._graph.inputs, strict=True):
            own.name = current.name
        names = self._graph.names()
        changed = {old: names[at] for old, at in rewritten.names.items() if names[at] != old}
        if not changed:
            return
        for node in rewritten.nodes:
            for out in node.outputs:
                if out.name in changed:
                    out.name = changed[out.name]
