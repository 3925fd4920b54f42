"""Values that ops compute while a program is built, not when it runs.

The program cache must know of them: such a value depends on everything that the op's code read at that moment.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from treadle.config import is_own_module
from treadle.graph.algorithms.traversal import toposort
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.type import Type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from treadle.graph.ir.apply import Apply

_COLLECTOR: ContextVar[list[Apply] | None] = ContextVar("treadle early values", default=None)
_DERIVED = frozenset({"_canonical", "_fn", "_hash"})


@contextmanager
def early_nodes() -> Iterator[list[Apply]]:
    """Yield a list that collects the nodes computed early inside the block, in this thread or task."""
    nodes: list[Apply] = []
    token = _COLLECTOR.set(nodes)
    try:
        yield nodes
    finally:
        _COLLECTOR.reset(token)


def perform_early(node: Apply, values: Sequence[object], cells: Sequence[list[object]]) -> None:
    """Compute a node from values that are known before the program runs, and note it for `early_nodes`."""
    nodes = _COLLECTOR.get()
    if nodes is not None:
        nodes.append(node)
    node.op.perform(node, values, cells)


def foreign_code(nodes: Iterable[Apply], libraries: Collection[str]) -> str | None:
    """Return the name of a third-party class or function that ops or types consist of, or None.

    Such code may read anything. Not counted is treadle's own code, Python's, and that of the libraries named.
    """
    pending: list[Any] = []
    for node in nodes:
        pending += (node.op, *(v.type for v in (*node.inputs, *node.outputs)))
    met: dict[int, Any] = {}
    while pending:
        thing = pending.pop()
        if id(thing) in met:
            continue
        met[id(thing)] = thing  # kept alive, so that its id is not reused
        is_builtin = isinstance(thing, BuiltinFunctionType) and thing.__module__ is not None
        code = thing if is_builtin or isinstance(thing, type | FunctionType) else type(thing)
        module = code.__module__
        root = module.partition(".")[0] if isinstance(module, str) else ""
        if not (is_own_module(module) or root in libraries or root in sys.stdlib_module_names):
            return f"{module}.{code.__qualname__}"
        if code is not thing:
            pending += _parts_of(thing)
        elif isinstance(thing, FunctionType):
            pending += _closed_over(thing)
    return None


def _closed_over(function: FunctionType) -> list[object]:
    """Return the values in a function's closure that are set by now."""
    contents = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            contents.append(cell.cell_contents)
    return contents


def _parts_of(thing: object) -> Iterable[object]:
    """Return the parts of an object, neither class nor function, that may contain third-party code."""
    if isinstance(thing, tuple | list | set | frozenset):
        return thing
    if isinstance(thing, dict):
        return (*thing.keys(), *thing.values())
    if isinstance(thing, partial):
        return (thing.func, *thing.args, *thing.keywords.values())
    if isinstance(thing, MethodType):
        return (thing.__self__, thing.__func__)
    parts: list[object] = []
    if isinstance(thing, HasInnerGraph):
        inside = toposort(thing.inner_outputs, thing.inner_inputs)
        parts += (part for node in inside for part in (node.op, *(v.type for v in node.outputs)))
    if is_own_module(type(thing).__module__) and not isinstance(thing, Type):
        state = getattr(thing, "__dict__", {})
        slots = (name for base in type(thing).__mro__ for name in base.__dict__.get("__slots__", ()))
        parts += (value for name, value in state.items() if name not in _DERIVED)
        parts += (getattr(thing, name) for name in slots if hasattr(thing, name))
    return parts
