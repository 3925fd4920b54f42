"""Running a node through its thunk: for ops that override ``make_thunk``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import new_lock
from treadle.graph import IfElse, Op, made_thunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


def has_own_thunk(node: Apply) -> bool:
    """Whether the node's op brings its own way to make thunks; what makes a choice lazy the VM writes itself."""
    kind = type(node.op)
    return kind.make_thunk not in {Op.make_thunk, IfElse.make_thunk} or kind.make_py_thunk is not Op.make_py_thunk


def through_thunk(node: Apply) -> Callable[..., Any]:
    """Return a function of the node's input values that runs its thunk on cells of its own, one call at a time."""
    node = node.with_distinct_inputs()
    storage: dict[Any, list[Any]] = {v: [None] for v in (*node.inputs, *node.outputs)}
    # Inputs are there before the thunk is called: a lazy one need not ask for any.
    computed = {**{v: [True] for v in node.inputs}, **{v: [False] for v in node.outputs}}
    thunk = made_thunk(node, storage, computed, list(node.outputs))
    inputs = [storage[v] for v in node.inputs]
    outputs = [storage[v] for v in node.outputs]
    lock = new_lock()
    single = len(outputs) == 1

    def run(*values: Any) -> Any:
        with lock:
            for cell, value in zip(inputs, values, strict=True):
                cell[0] = value
            for v in node.outputs:
                storage[v][0] = None
                computed[v][0] = False
            thunk()
            results = tuple(cell[0] for cell in outputs)
            for cell in (*inputs, *outputs):
                cell[0] = None
        return results[0] if single else results

    return run
