"""Programs of the Python VM: a graph as one generated function, each node through its rule, its thunk or `perform`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from treadle.config import new_lock
from treadle.graph import IfElse, LoweringTable, Op, made_thunk, node_error, note_op, prepare
from treadle.link.vm.interface import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from treadle.graph import Apply, Compute, FunctionGraph, Value, Variable
    from treadle.link.vm.buffers import Buffers
    from treadle.link.vm.generation import Listing

TABLE = LoweringTable("vm")


def vm_scope() -> AbstractContextManager[None]:
    """Return the context that nodes run in on the VM: what a package's values need, such as NumPy's error state."""
    TABLE.load()
    return (TABLE.scope or nullcontext)()


def through_perform(node: Apply) -> Compute:
    """Return a function of the node's input values that runs `perform`."""
    perform = node.op.perform
    prepare(node)
    if len(node.outputs) == 1:

        def run_one(*values: object) -> Value:
            cell: list[object] = [None]
            perform(node, list(values), [cell])
            return cell[0]

        return run_one

    def run(*values: object) -> tuple[Value, ...]:
        cells: list[list[object]] = [[None] for _ in node.outputs]
        perform(node, list(values), cells)
        return tuple(cell[0] for cell in cells)

    return run


def into_buffers(node: Apply, reused: Sequence[bool], buffers: Buffers) -> Compute:
    """Return a function of the node's input values that runs `perform` on output cells with the last call's values."""
    perform = node.op.perform
    prepare(node)
    outputs = list(zip(node.outputs, reused, strict=True))

    def run(*values: object) -> Value:
        cells = [[buffers.take(out) if kept else None] for out, kept in outputs]
        perform(node, list(values), cells)
        results = tuple(cell[0] for cell in cells)
        for (out, kept), value in zip(outputs, results, strict=True):
            if kept:
                buffers.leave(out, value)
        return results[0] if len(results) == 1 else results

    return run


def has_own_thunk(node: Apply) -> bool:
    """Whether the node's op brings its own way to make thunks; what makes a choice lazy the VM writes itself."""
    kind = type(node.op)
    return kind.make_thunk not in {Op.make_thunk, IfElse.make_thunk} or kind.make_py_thunk is not Op.make_py_thunk


def through_thunk(node: Apply) -> Compute:
    """Return a function of the node's input values that runs its thunk on cells of its own, one call at a time."""
    node = node.with_distinct_inputs()
    storage: dict[Value, list[Value]] = {v: [None] for v in (*node.inputs, *node.outputs)}
    # Inputs are there before the thunk is called: a lazy one need not ask for any.
    computed = {**{v: [True] for v in node.inputs}, **{v: [False] for v in node.outputs}}
    thunk = made_thunk(node, storage, computed, list(node.outputs))
    inputs = [storage[v] for v in node.inputs]
    outputs = [storage[v] for v in node.outputs]
    lock = new_lock()
    single = len(outputs) == 1

    def run(*values: object) -> Value:
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


def lower_node(node: Apply, perform: Callable[[Apply], Callable[..., object]] = through_perform) -> Compute:
    """Return a function of the node's input values: its rule's, its own thunk's, or what runs its `perform`.

    A rule ``rule(op, node)`` registered in `TABLE` returns such a function (one value, or a tuple of values for
    several outputs), or None to leave the node to `perform`.
    """
    if has_own_thunk(node):
        return through_thunk(node)
    rule = TABLE.find(node.op)
    try:
        found: Callable[..., object] | None = None if rule is None else rule(node.op, node)
    except Exception as error:
        note_op(error, node.op, "lowering for the VM", node.where())
        raise
    return perform(node) if found is None else found


class VMProgram(Program):
    """A graph as one generated Python function."""

    __slots__ = ("_listing", "_run", "_scope", "fgraph")

    def __init__(self, fgraph: FunctionGraph, listing: Listing) -> None:
        TABLE.load()
        self._scope = TABLE.scope or nullcontext
        self.fgraph = fgraph
        self._listing = listing
        self._run = listing.run

    @property
    def listing(self) -> Listing:
        """The generated function, and which node each line of it runs."""
        return self._listing

    @property
    def source(self) -> str:
        """Text of the generated function."""
        return self._listing.source

    def __call__(self, *inputs: object) -> Sequence[Value]:
        """Compute the outputs."""
        try:
            with self._scope():
                result: Sequence[object] = self._run(*inputs)
        except Exception as error:
            raise self._explained(error) from error
        return result

    def _explained(self, error: Exception) -> Exception:
        """Name the node that raised, found by the line of the generated function; its inputs are still there."""
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            node = self._listing.node_at(frame.f_code, trace.tb_lineno)
            if node is not None:
                values = [self._value(v, frame.f_locals, frame.f_globals) for v in node.inputs]
                return node_error(node, error, values)
            trace = trace.tb_next
        return error

    def _value(self, var: Variable, local: Mapping[str, object], scope: Mapping[str, object]) -> object:
        name = self._listing.names[var]
        # A value of a branch that was not taken was not computed.
        return local[name] if name in local else scope.get(name)


class KeepingProgram(VMProgram):
    """One that keeps the memory of values between nodes for the next call of the same thread."""

    __slots__ = ("_buffers",)

    def __init__(self, fgraph: FunctionGraph, listing: Listing, buffers: Buffers) -> None:
        super().__init__(fgraph, listing)
        self._buffers = buffers

    def __call__(self, *inputs: object) -> Sequence[Value]:
        """Compute the outputs."""
        with self._buffers.taken():
            return super().__call__(*inputs)

    def free(self) -> None:
        """Give the memory back."""
        self._buffers.clear()
