"""The Python VM: every node runs in Python, in one straight-line generated function."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.graph import FunctionGraph, LoweringTable, MissingInputError, explicit_graph_inputs, node_error
from treadle.link.vm.cells import has_own_thunk, through_thunk
from treadle.link.vm.generation import generate
from treadle.link.vm.interface import Backend, Linker, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from treadle.graph import Apply, Variable
    from treadle.link.vm.generation import Listing

VM = LoweringTable("vm")


def through_perform(node: Apply) -> Callable[..., Any]:
    """Return a function of the node's input values that runs `perform`."""
    op = node.op
    perform = op.perform
    op.prepare_node(node, None, None, "py")
    if len(node.outputs) == 1:

        def run_one(*values: Any) -> Any:
            cell: list[Any] = [None]
            perform(node, values, [cell])
            return cell[0]

        return run_one

    def run(*values: Any) -> tuple[Any, ...]:
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        perform(node, values, cells)
        return tuple(cell[0] for cell in cells)

    return run


def lower_node(node: Apply) -> Callable[..., Any]:
    """Return a function of the node's input values: its rule's, its own thunk's, or `perform`'s.

    A rule ``rule(op, node)`` registered in `VM` returns such a function (one value, or a tuple of values for
    several outputs), or None to leave the node to `perform`.
    """
    if has_own_thunk(node):
        return through_thunk(node)
    rule = VM.find(node.op)
    found: Callable[..., Any] | None = None if rule is None else rule(node.op, node)
    return through_perform(node) if found is None else found


class VMProgram(Program):
    """A graph as one generated Python function."""

    __slots__ = ("_listing", "_run", "_scope", "fgraph")

    def __init__(self, fgraph: FunctionGraph, listing: Listing) -> None:
        VM.load()
        self._scope = VM.scope or nullcontext
        self.fgraph = fgraph
        self._listing = listing
        self._run = listing.run

    @property
    def source(self) -> str:
        """Text of the generated function."""
        return self._listing.source

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        """Compute the outputs."""
        try:
            with self._scope():
                result: Sequence[Any] = self._run(*inputs)
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

    def _value(self, var: Variable, local: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
        name = self._listing.names[var]
        return local[name] if name in local else scope[name]


class VMLinker(Linker):
    """Links graphs to the Python VM.

    Parameters
    ----------
    allow_gc
        Whether to free intermediate values after their last use; option ``allow_gc`` if None.
    """

    def __init__(self, allow_gc: bool | None = None) -> None:
        self.allow_gc = allow_gc

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> VMProgram:
        """Return a program for the graph; every op has `perform`, so nothing is refused."""
        del native_outputs
        free = config.allow_gc if self.allow_gc is None else self.allow_gc
        callables = {node: lower_node(node) for node in fgraph.toposort()}
        return VMProgram(fgraph, generate(fgraph, callables, bool(free)))


BACKEND = Backend(name="vm", linker=VMLinker, exclude=("fusion",), priority=0, aliases=("py", "vm_nogc"))


def replay(fgraph: FunctionGraph, inputs: Sequence[Any], error: Exception) -> Exception:
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
        VMLinker().link(fgraph)(*host)
    except Exception as found:  # noqa: BLE001 - whatever it is, it is the answer
        return found
    return error


def evaluate(variable: Variable, values: Mapping[Any, Any], mode: Any = None, **kwargs: Any) -> Any:
    """Compute a variable on the Python VM, unrewritten: the evaluator where `compile` is not installed."""
    del mode, kwargs
    inputs = list(explicit_graph_inputs([variable]))
    given: list[Any] = []
    for var in inputs:
        if var in values or var.name in values:
            given.append(var.type.filter(values[var] if var in values else values[var.name]))
        else:
            msg = f"eval: no value is given for {var} of type {var.type}. Add it to the dictionary of values."
            raise MissingInputError(msg)
    return VMLinker().link(FunctionGraph(inputs, [variable]))(*given)[0]
