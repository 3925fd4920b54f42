"""NumbaProgram: a graph as one compiled function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import NodeError, NodeIndexError, NodeMemoryError, NodeValueError
from treadle.link.numba.library import INDEX, MEMORY, OK, SHAPE, VALUE
from treadle.link.vm import Program, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph

# What to raise for a status of the compiled code, if running the graph again on the Python VM finds nothing wrong.
_ERRORS = {
    SHAPE: (NodeValueError, "shapes do not fit together"),
    INDEX: (NodeIndexError, "a position is out of bounds"),
    VALUE: (NodeValueError, "a value is refused"),
    MEMORY: (NodeMemoryError, "there is not enough memory"),
}


class NumbaProgram(Program):
    """A graph as one function compiled by Numba, called without the interpreter's lock.

    Parameters
    ----------
    fgraph
        The graph.
    run
        The compiled function: table of constants and input arrays in, status and output arrays out.
    table
        Addresses of routines and constants.
    kept
        What the table points to.
    source
        The generated text.
    """

    __slots__ = ("_halves", "_kept", "_run", "_table", "_where", "fgraph", "source")

    def __init__(
        self, fgraph: FunctionGraph, run: Callable[..., Any], table: Any, kept: Sequence[Any], source: str
    ) -> None:
        self.fgraph = fgraph
        self.source = source
        self._run = run
        self._table = table
        self._where = int(table.ctypes.data)
        self._kept = tuple(kept)
        inputs: list[Any] = [v.type for v in fgraph.inputs]
        outputs: list[Any] = [v.type for v in fgraph.outputs]
        # Numba has no arrays of float16: their bits travel as uint16.
        self._halves = (
            tuple(i for i, t in enumerate(inputs) if t.dtype == "float16"),
            tuple(i for i, t in enumerate(outputs) if t.dtype == "float16"),
        )

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        """Compute the outputs."""
        halves, out_halves = self._halves
        given: Any = inputs
        if halves:
            given = list(inputs)
            for i in halves:
                given[i] = given[i].view(np.uint16)
        status: int
        outputs: list[Any]
        status, *outputs = self._run(self._where, *given)
        if status != OK:
            raise self._failure(status, inputs)
        for i in out_halves:
            outputs[i] = outputs[i].view(np.float16)
        return outputs

    def _failure(self, status: int, inputs: Sequence[Any]) -> Exception:
        kind, text = _ERRORS.get(status, (NodeError, f"the program stopped with status {status}"))
        msg = f"numba: {text}. Run the graph on the Python VM (mode FAST_COMPILE) to see where."
        return replay(self.fgraph, inputs, kind(msg))
