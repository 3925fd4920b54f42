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
    visited: dict[int, Any] = {}
    while pending:
        obj = pending.pop()
        if id(obj) in visited:
            continue
        visited[id(obj)] = obj  # kept alive, so that its id is not reused
        is_builtin = isinstance(obj, BuiltinFunctionType) and obj.__module__ is not None
        code = obj if is_builtin or isinstance(obj, type | FunctionType) else type(obj)
        module = code.__module__
        root = module.partition(".")[0] if isinstance(module, str) else ""
        if not (is_own_module(module) or root in libraries or root in sys.stdlib_module_names):
            return f"{module}.{code.__qualname__}"
        if code is not obj:
            pending += _parts_of(obj)
        elif isinstance(obj, FunctionType):
            pending += _closed_over(obj)
    return None


def _closed_over(function: FunctionType) -> list[object]:
    """Return the values in a function's closure that are set by now."""
    contents = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            contents.append(cell.cell_contents)
    return contents


def _parts_of(obj: object) -> Iterable[object]:
    """Return the parts of an object, neither class nor function, that may contain third-party code."""
    if isinstance(obj, tuple | list | set | frozenset):
        return obj
    if isinstance(obj, dict):
        return (*obj.keys(), *obj.values())
    if isinstance(obj, partial):
        return (obj.func, *obj.args, *obj.keywords.values())
    if isinstance(obj, MethodType):
        return (obj.__self__, obj.__func__)
    parts: list[object] = []
    if isinstance(obj, HasInnerGraph):
        inside = toposort(obj.inner_outputs, obj.inner_inputs)
        parts += (part for node in inside for part in (node.op, *(v.type for v in node.outputs)))
    if is_own_module(type(obj).__module__) and not isinstance(obj, Type):
        state = getattr(obj, "__dict__", {})
        slots = (name for base in type(obj).__mro__ for name in base.__dict__.get("__slots__", ()))
        parts += (value for name, value in state.items() if name not in _DERIVED)
        parts += (getattr(obj, name) for name in slots if hasattr(obj, name))
    return parts
