"""Every way to compute one node: ``perform``, the rules of the Python VM, and a program of the node on each backend."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from treadle.compile.mode.backends import BACKENDS
from treadle.config import new_lock
from treadle.graph import Apply, Constant, FunctionGraph, HasInnerGraph, IfElse, LoweringError, Op, prepare
from treadle.link.vm import TABLE, VMProgram, lower_node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import AbstractFunctionGraph, Cell, Compute, Value
    from treadle.link.vm import Backend, ProgramLinker

    Run = Callable[[Sequence[Any], Sequence[list[Any]]], None]


def own_thunk(op: Op) -> bool:
    """Whether an op makes its own thunks."""
    kind = type(op)
    return kind.make_thunk is not Op.make_thunk or kind.make_py_thunk is not Op.make_py_thunk


class Implementations:
    """The implementations of a graph's nodes, each made when it is first asked for.

    There is a program of one node for each of `backends`. `python` says whether Python implementations are tried where
    there is another one. `make_inner` returns a function that checks an inner graph while it computes it.
    """

    def __init__(
        self, backends: Sequence[Backend], python: bool, make_inner: Callable[[AbstractFunctionGraph], Compute]
    ) -> None:
        self.backends = tuple(backends)
        self.python = python
        self._make_inner = make_inner
        self._references: dict[Apply, Run] = {}
        self._others: dict[Apply, list[tuple[str, Compute]]] = {}
        self._lock = new_lock()

    def reference(self, node: Apply) -> Run:
        """Return a function of input values and output cells that runs `perform`."""
        with self._lock:
            if node not in self._references:
                self._references[node] = self._perform(node)
            return self._references[node]

    def _perform(self, node: Apply) -> Run:
        prepare(node)
        if isinstance(node.op, HasInnerGraph):
            node = self._with_checked_inner(node)
        perform = node.op.perform

        def run(values: Sequence[Value], cells: Sequence[Cell]) -> None:
            perform(node, list(values), list(cells))

        return run

    def _with_checked_inner(self, node: Apply) -> Apply:
        """Return the node with an op whose inner graph is checked too, while it is computed."""
        op = copy.copy(node.op)
        if isinstance(op, HasInnerGraph):
            op.__dict__["_fn"] = self._make_inner(op.fgraph)
        checked = Apply(op, node.inputs, [out.clone() for out in node.outputs])
        checked.user_line = node.user_line
        return checked

    def others(self, node: Apply) -> list[tuple[str, Compute]]:
        """Return the other implementations, with their names: values in, a sequence of values out."""
        with self._lock:
            if node not in self._others:
                self._others[node] = self._find_others(node)
            return self._others[node]

    def drop(self, node: Apply, name: str) -> None:
        """Leave an implementation out from now on, because the backend refuses the node's values."""
        with self._lock:
            self._others[node] = [(n, c) for n, c in self._others[node] if n != name]

    def _find_others(self, node: Apply) -> list[tuple[str, Compute]]:
        implementations: list[tuple[str, Compute]] = []
        if own_thunk(node.op) and not isinstance(node.op, IfElse):
            implementations.append(("its make_thunk", _listed(node, lower_node(node))))
        elif TABLE.find(node.op) is not None and not isinstance(node.op, HasInnerGraph):
            implementations.append(("the lowering of backend vm", _listed(node, lower_node(node))))
        for backend in self.backends:
            program = one_node_program(node, (backend.node_linker or backend.linker)())
            if program is not None:
                implementations.append((f"the lowering of backend {backend.name}", program))
        return implementations


def _listed(node: Apply, function: Compute) -> Compute:
    single = len(node.outputs) == 1

    def compute(*values: Value) -> Sequence[Value]:
        answer = function(*values)
        return [answer] if single else list(answer)

    return compute


def one_node_program(node: Apply, linker: ProgramLinker) -> Compute | None:
    """Return a linker's program of one node alone, on copies of what it overwrites; None where it has no lowering."""
    inputs = dict.fromkeys(x for x in node.inputs if not isinstance(x, Constant))
    alone = FunctionGraph(list(inputs), node.outputs, clone=True)
    try:
        program = linker.link(alone)
    except LoweringError:
        return None
    if isinstance(program, VMProgram):
        # A Python step is no implementation of the backend's own.
        return None
    places = [node.inputs.index(x) for x in inputs]

    def compute(*values: Value) -> Sequence[Value]:
        return list(program(*[values[i] for i in places]))

    return compute


def chosen_backends(check_c: bool | None, names: Sequence[str]) -> list[Backend]:
    """Return the backends that DebugMode compares with, by name; ``all`` is every one that works here.

    `check_c` says whether C is one of them; None: where it works here.
    """
    chosen: dict[str, Backend] = {}
    if check_c:
        backend = BACKENDS.find("c")
        chosen[backend.name] = backend
    elif check_c is None and (c_backend := BACKENDS.load("c")) is not None and c_backend.unavailable() is None:
        chosen[c_backend.name] = c_backend
    for name in names:
        if name == "all":
            installed = [BACKENDS.load(n) for n in BACKENDS.names()]
            chosen.update((b.name, b) for b in installed if b is not None and b.unavailable() is None)
        else:
            backend = BACKENDS.find(name)
            chosen[backend.name] = backend
    if check_c is False:
        chosen.pop("c", None)
    return list(chosen.values())
