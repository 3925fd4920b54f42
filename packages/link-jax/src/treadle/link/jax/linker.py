"""The linker: which nodes are compiled, and the programs of graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from treadle.graph import Apply, FunctionGraph, NodeTypeError, Type, Value
from treadle.link.jax.placement import DEVICES
from treadle.link.jax.programs.executables import ExecutableCache
from treadle.link.jax.programs.program import JaxProgram, ProgramSpec, device_form
from treadle.link.jax.scalars import SCALARS
from treadle.link.jax.table import JAX, Lowered
from treadle.link.vm import Program, ProgramGraph
from treadle.tensor import DeviceLinker, Scan

if TYPE_CHECKING:
    from treadle.link.jax.programs.tracing import StagedGraph


def _staged(fgraph: FunctionGraph) -> StagedGraph:
    # What is imported to link a graph, a program that comes out of the compile cache does without.
    from treadle.link.jax.programs.staging import stage_graph

    return stage_graph(fgraph)


class JAXLinker(DeviceLinker):
    """Links graphs to programs compiled by ``jax.jit``.

    Parameters
    ----------
    allow_gc
        As for every linker.
    device_outputs
        Whether calls return every output as a ``jax.Array``; option ``jax__device_outputs`` if None.
    device
        The device that programs run on, such as ``gpu:1``; option ``jax__device`` if None.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> from treadle.compile import function, get_mode
    >>> x = tt.dvector("x")
    >>> f = function([x], x + 1, mode=get_mode("JAX").clone(link_kwargs={"device_outputs": True}))
    >>> isinstance(f(f([1.0, 2.0])), jax.Array)
    True
    """

    table = JAX
    scalars = "treadle.link.jax.SCALARS"
    device_option = "jax__device_outputs"
    devices = DEVICES

    def lacks_rule(self, node: Apply) -> bool:
        """Whether there is no rule for a node's op, or no function for an elementwise function of it."""
        return super().lacks_rule(node) or not SCALARS.covers(node.op)

    def expanded(self, fgraph: FunctionGraph, *, whole: bool = False) -> FunctionGraph:
        """Return the graph with simpler ops in place of what the rules do not lower, cut where data decides lengths."""
        from treadle.link.jax.programs.counts import cut_at_counts

        return cut_at_counts(super().expanded(fgraph, whole=whole))

    def inside(self, node: Apply) -> Iterable[Apply]:
        """Return the nodes of a loop's body."""
        return node.op.fgraph.toposort() if isinstance(node.op, Scan) else ()

    def plain_argument(self, value: Value) -> Value:
        """Return an argument of a call as it is.

        Raises
        ------
        NodeTypeError
            If JAX is tracing it.
        """
        if isinstance(value, jax.core.Tracer):
            msg = (
                "jax: an argument is being traced by JAX (jit, grad, vmap …), which cannot look into a compiled "
                "function. Call its attribute jax_function, which JAX traces."
            )
            raise NodeTypeError(msg)
        return value

    def to_native(self, value: Any, kind: Type) -> Any:
        """Return a NumPy array as a ``jax.Array``."""
        with jax.enable_x64(True):
            return jax.device_put(value, self._place()) if isinstance(value, np.ndarray) else value

    def device_form(self, kind: Type) -> tuple[type, Callable[[np.ndarray], jax.Array]] | None:
        """Return the class of JAX's arrays, and a function that makes one of a NumPy array; None for other values."""
        return device_form(kind, self._place())

    def _place(self) -> jax.Device | None:
        with self.placed():
            return DEVICES.chosen()

    def check(self, node: Apply) -> Lowered:
        """Return what the node's rule makes of it."""
        from treadle.link.jax.programs.staging import lower

        return lower(node)

    def link_whole(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> JaxProgram:
        """Return a program for the graph; the outputs at `native_outputs` are returned as ``jax.Array``."""
        staged = _staged(fgraph)
        spec = ProgramSpec(staged.by_value, staged.arguments, device=self.device)
        return JaxProgram(ProgramGraph.of(fgraph, native_outputs), spec, _staged, staged)

    def dump_whole(self, program: Program) -> Any:
        """Return how to call the program, and where its compiled forms are kept from now on."""
        known: Any = program
        known.spec = replace(known.spec, cache=ExecutableCache())
        return known.spec

    def load_whole(self, data: Any, graph: ProgramGraph) -> JaxProgram:
        """Return the program; it compiles only for shapes that it did not meet before."""
        return JaxProgram(graph, data, _staged)
