"""Programs made of thunks, for linkers that make only thunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.graph import NodeError, memory_roots, roots_of
from treadle.link.vm import Program, replay, sharing_outputs, vm_scope
from treadle.link.vm.generation import unprotected_inputs
from treadle.surface.thunks.containers import cell_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Value

    Triple = tuple[Callable[[], Any], Sequence[Any], Sequence[Any]]


class ThunkProgram(Program):
    """A program that runs a thunk on cells.

    Each call that runs at the same time as others has cells of its own: another thunk is made where all are in use.
    Arguments are never overwritten, and what is returned shares no memory with them, with constants or with another
    output: values are copied where what the ops declare does not exclude it.

    Parameters
    ----------
    fgraph
        The graph.
    make
        Returns a new triple: thunk, input containers, output containers.
    """

    def __init__(self, fgraph: FunctionGraph, make: Callable[[], Triple]) -> None:
        self.fgraph = fgraph
        self._make = make
        self._options = config.snapshot()
        self._idle: list[Triple] = [make()]
        self._saved = _overwritten_inputs(fgraph)
        self._copied = sharing_outputs(fgraph, memory_roots(fgraph.toposort()))

    @property
    def vm(self) -> Any:
        """The thunk of one of the triples, idle at the moment."""
        if not self._idle:
            self._idle.append(self._new())
        return self._idle[-1][0]

    def _new(self) -> Triple:
        with config.using(self._options):
            return self._make()

    def __call__(self, *inputs: object) -> Sequence[Value]:
        """Compute the outputs."""
        try:
            triple = self._idle.pop()
        except IndexError:
            triple = self._new()
        thunk, ins, outs = triple
        into, out_of = [cell_of(c) for c in ins], [cell_of(c) for c in outs]
        for i, (cell, value) in enumerate(zip(into, inputs, strict=True)):
            cell[0] = self.fgraph.inputs[i].type.copy_value(value) if i in self._saved else value
        try:
            with vm_scope():
                thunk()
        except NodeError:
            raise
        except Exception as error:  # noqa: BLE001 - raised again, with the node
            # The thunk does not say which node has failed.
            explained = replay(self.fgraph, inputs, error)
            try:
                if explained is error:
                    raise
                raise explained from error
            finally:
                del explained  # it leads to this frame
        results = []
        for i, (cell, var) in enumerate(zip(out_of, self.fgraph.outputs, strict=True)):
            value = var.type.to_host(cell[0])
            results.append(var.type.copy_value(value) if i in self._copied else value)
        for cell in (*into, *out_of):
            cell[0] = None
        # A thunk that failed is not used again: its cells may hold anything.
        self._idle.append(triple)
        return results


def _overwritten_inputs(fgraph: FunctionGraph) -> frozenset[int]:
    """Return the positions of the inputs that a node may overwrite, although they belong to the caller."""
    order = fgraph.toposort()
    roots = memory_roots(order)
    destroyed = {
        root
        for node in order
        for inputs in node.op.destroy_map.values()
        for i in inputs
        for root in roots_of(node.inputs[i], roots)
    }
    destroyed -= unprotected_inputs(fgraph)
    return frozenset(i for i, var in enumerate(fgraph.inputs) if var in destroyed)
