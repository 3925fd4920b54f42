"""Programs of the Python VM: a graph as one generated function, each node through its rule, its thunk or `perform`.

Where values are not freed (``allow_gc=False``), a program keeps memory for its next call.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from treadle.config import new_lock
from treadle.graph import (
    Constant,
    FunctionGraph,
    IfElse,
    LoweringError,
    LoweringTable,
    Op,
    made_thunk,
    memory_roots,
    node_error,
    note_op,
    prepare,
    roots_of,
)
from treadle.link.vm.generation import fixed_value, generate
from treadle.link.vm.interface import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from treadle.graph import Apply, Compute, FunctionGraph, Value, Variable
    from treadle.link.vm.generation import Listing
    from treadle.link.vm.linker import ProgramLinker


class Buffers:
    """Values that nodes computed in the last call of each thread: ``perform`` finds them in its output cells.

    A call takes all of them and leaves its own, so that a call within a call has none in common with it.
    """

    __slots__ = ("_of_thread",)

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Let the calls of nodes inside use the values of the last call."""
        local = self._of_thread
        outer = getattr(local, "taken", None)
        local.taken, local.spare = getattr(local, "spare", None) or {}, None
        try:
            yield
        finally:
            local.taken, local.spare = outer, local.taken

    def take(self, place: int) -> Value:
        """Return a value that may be overwritten to compute the value with a number, or None."""
        available: dict[int, object] | None = getattr(self._of_thread, "taken", None)
        return None if available is None else available.pop(place, None)

    def leave(self, place: int, value: object) -> None:
        """Keep a value for the next call."""
        values: dict[int, object] | None = getattr(self._of_thread, "taken", None)
        if values is not None:
            values[place] = value

    def clear(self) -> None:
        """Forget the values of all threads."""
        self._of_thread = threading.local()


def reusable_outputs(fgraph: FunctionGraph) -> dict[Apply, list[int | None]]:
    """Return for nodes a number for each output whose memory is free after a call, None for the others.

    Such a value is no output of the graph, no input, no view.
    """
    order = fgraph.toposort()
    roots = memory_roots(order)
    escaping = {root for out in fgraph.outputs for root in roots_of(out, roots)}
    numbers = itertools.count()
    reusable = {}
    for node in order:
        places = [None if out in roots or out in escaping else next(numbers) for out in node.outputs]
        if any(place is not None for place in places):
            reusable[node] = places
    return reusable


def replay(fgraph: FunctionGraph, inputs: Sequence[object], error: Exception) -> Exception:
    """Explain another backend's failure: run the graph on the VM and return what it raises.

    Parameters
    ----------
    fgraph
        The graph that failed.
    inputs
        The values it failed on.
    error
        What the backend raised, returned if the VM finds nothing wrong.
    """
    host = [v.type.to_host(x) for v, x in zip(fgraph.inputs, inputs, strict=True)]
    try:
        callables = {node: lower_node(node) for node in fgraph.toposort()}
        VMProgram(fgraph, generate(fgraph, callables, free=False))(*host)
    except Exception as explanation:  # noqa: BLE001 - whatever it is, it is the answer
        return explanation
    return error


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


def into_buffers(node: Apply, places: Sequence[int | None], buffers: Buffers) -> Compute:
    """Return a function of the node's input values that runs `perform` on output cells with the last call's values.

    An op with a `filler` uses that instead.
    """
    fill = node.op.filler(node)
    if fill is not None:
        return _filling(fill, lower_node(node), places[0], buffers)
    perform = node.op.perform
    prepare(node)

    def run(*values: object) -> Value:
        cells = [[None if place is None else buffers.take(place)] for place in places]
        perform(node, list(values), cells)
        results = tuple(cell[0] for cell in cells)
        for place, value in zip(places, results, strict=True):
            if place is not None:
                buffers.leave(place, value)
        return results[0] if len(results) == 1 else results

    return run


def _filling(
    fill: Callable[[Value, Sequence[Value]], bool], make: Compute, place: int | None, buffers: Buffers
) -> Compute:
    """Return a function of a node's input values that makes a new value only where the last call's does not fit."""
    if place is None:
        return make

    def run(*values: object) -> Value:
        buffer = buffers.take(place)
        if buffer is None or not fill(buffer, values):
            buffer = make(*values)
        buffers.leave(place, buffer)
        return buffer

    return run


def has_own_thunk(node: Apply) -> bool:
    """Whether the node's op makes thunks in its own way; `IfElse` does not count, as the VM itself makes it lazy."""
    kind = type(node.op)
    return kind.make_thunk not in {Op.make_thunk, IfElse.make_thunk} or kind.make_py_thunk is not Op.make_py_thunk


def through_thunk(node: Apply) -> Compute:
    """Return a function of the node's input values that runs its thunk on cells of its own, one call at a time."""
    node = node.with_distinct_inputs()
    storage: dict[Value, list[Value]] = {v: [None] for v in (*node.inputs, *node.outputs)}
    # Inputs are computed before the thunk is called: a lazy one need not ask for any.
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
    """Return a function of the node's input values: of its rule, its own thunk, or its `perform`.

    A rule ``rule(op, node)`` registered in `TABLE` returns such a function (one value, or a tuple of values for
    several outputs), or None to leave the node to `perform`.
    """
    if has_own_thunk(node):
        return through_thunk(node)
    rule = TABLE.find(node.op)
    try:
        lowered: Callable[..., object] | None = None if rule is None else rule(node.op, node)
    except Exception as error:
        note_op(error, node.op, "lowering for the VM", node.where())
        raise
    return perform(node) if lowered is None else lowered


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
        except Exception as error:  # noqa: BLE001 - raised again, with the node
            explained = self.explained(error)
            try:
                if explained is error:
                    raise
                raise explained from error
            finally:
                # The error refers to this frame: a cycle that would keep the call's values until garbage is collected.
                del explained
        return result

    def explained(self, error: Exception) -> Exception:
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
        name = self._listing.names.get(var)
        if name is None:  # a program that was kept may name an equal constant
            return fixed_value(var)
        # A value of a branch that was not taken was not computed.
        return local[name] if name in local else scope.get(name)


class KeepingProgram(VMProgram):
    """A program that keeps the memory of values between nodes for the next call of the same thread."""

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


def link_one_node(node: Apply, linker: ProgramLinker | None) -> Compute:
    """Return a function of a node's input values, made by a linker of that node alone.

    Parameters
    ----------
    node
        The node; it is left as it is.
    linker
        What lowers it; None for the Python VM. A node that it refuses runs on the Python VM too, and so does one
        that overwrites an input, since a program by itself would overwrite a copy. A conditional (`IfElse`) runs there
        because the values of the branch not taken are None.

    Returns
    -------
    A function that takes one host value for each input of the node and returns the output's value, or a tuple of them
    for several outputs.
    """
    if linker is None or node.op.destroy_map or isinstance(node.op, IfElse):
        return lower_node(node)
    variables = dict.fromkeys(x for x in node.inputs if not isinstance(x, Constant))
    alone = FunctionGraph(list(variables), node.outputs, clone=True)
    try:
        program = linker.link(alone)
    except LoweringError:
        return lower_node(node)
    # The program takes each variable once, also where the node takes it twice, and no constants.
    places = [node.inputs.index(x) for x in variables]
    single = len(node.outputs) == 1

    def run(*values: object) -> Value:
        results = program(*[values[i] for i in places])
        return results[0] if single else tuple(results)

    return run


def link_node_by_node(
    fgraph: FunctionGraph,
    linker: ProgramLinker | None,
    wrap: Callable[[Apply, Callable[..., object]], Callable[..., object]],
    allow_gc: bool = True,
) -> VMProgram:
    """Return a program that runs every node by itself and does something around each: measure, check, tell.

    Values between nodes are host values, so that they can be looked at whatever the backend is.

    Parameters
    ----------
    fgraph
        The graph.
    linker
        Lowers the nodes one at a time; None for the Python VM, which also takes those that the linker refuses.
    wrap
        Is called with each node and the function that computes it, and returns the function to use instead: one value
        for each input in, the output's value or a tuple of several out.
    allow_gc
        Whether to drop every value after its last use.
    """
    callables = {node: wrap(node, link_one_node(node, linker)) for node in fgraph.toposort()}
    return VMProgram(fgraph, generate(fgraph, callables, allow_gc))
