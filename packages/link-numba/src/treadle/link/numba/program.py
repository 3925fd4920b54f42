"""NumbaProgram: a graph as one compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treadle.graph import Constant, FunctionGraph, NodeError, NodeIndexError, NodeMemoryError, NodeValueError, Type
from treadle.link.numba.interrupts import WATCH
from treadle.link.numba.status import ASSERTION, INDEX, INTERRUPT, MATRIX, MEMORY, OK, PARAMETER, SHAPE, TOO_LONG, VALUE
from treadle.link.vm import Program, ProgramGraph, replay
from treadle.tensor import MatrixError, TensorType

if TYPE_CHECKING:
    from treadle.kernels import Address

# The error for each status of the compiled code, if running the graph again on the Python VM does not raise one.
ERRORS = {
    SHAPE: (NodeValueError, "shapes do not fit together"),
    INDEX: (NodeIndexError, "a position is out of bounds"),
    VALUE: (NodeValueError, "a value is refused"),
    MEMORY: (NodeMemoryError, "there is not enough memory"),
    ASSERTION: (NodeError, "a condition is false"),
    MATRIX: (MatrixError, "there is no result for a matrix"),
    TOO_LONG: (NodeValueError, "a matrix has more rows or columns than BLAS can count (2147483647)"),
    PARAMETER: (NodeValueError, "a parameter is not one that the distribution can have"),
}


class Recipe(NamedTuple):
    """What another process needs to load a program, whose machine code is in the compile cache."""

    # The key of the machine code in the cache, and what the code depends on besides its text.
    key: str
    stamp: str
    # Name, text and argument types of the function that is called.
    name: str
    entry: str
    signature: tuple[str, ...]
    # The whole generated text.
    source: str
    # The constants that the table holds.
    constants: tuple[Constant | Address, ...]
    # Whether the table holds addresses of BLAS routines.
    uses_blas: bool


class NumbaProgram(Program):
    """A graph as one function compiled by Numba, called without the interpreter's lock."""

    __slots__ = ("_graph", "_halves", "_kept", "_run", "_table", "_where", "recipe")

    def __init__(
        self,
        graph: ProgramGraph,
        run: Callable[..., Sequence[Any]],
        table: NDArray[np.int64],
        kept: Sequence[np.ndarray],
        recipe: Recipe,
    ) -> None:
        self._graph = graph
        # What it can be loaded from again.
        self.recipe = recipe
        # The compiled function, from the table of constants and the input arrays to a status and the outputs.
        self._run = run
        # Addresses of routines and constants.
        self._table = table
        self._where = int(table.ctypes.data)
        # What the table points to.
        self._kept = tuple(kept)
        # Numba has no float16 arrays: they are passed as arrays of uint16.
        self._halves = _halves(graph.inputs), _halves(graph.outputs)

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""
        return self._graph.get()

    @property
    def compiled(self) -> Any:
        """Numba's function: from the address of the table and the inputs to a status and the outputs."""
        return self._run

    @property
    def ends(self) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
        """The types of the inputs, and of the outputs."""
        return self._graph.inputs, self._graph.outputs  # type: ignore[return-value]  # it has tensors only

    @property
    def source(self) -> str:
        """The generated text."""
        return self.recipe.source

    def rebound(self, graph: ProgramGraph, data: object) -> NumbaProgram:
        """Return this program for an equal graph of other origin."""
        return NumbaProgram(graph, self._run, self._table, self._kept, self.recipe)

    def __call__(self, *inputs: Any) -> Sequence[np.ndarray]:
        """Compute the outputs."""
        halves, out_halves = self._halves
        arguments: Sequence[np.ndarray] = inputs
        if halves:
            arguments = [x.view(np.uint16) if i in halves else x for i, x in enumerate(inputs)]
        status, *outputs = self._run(self._where, *arguments)
        if status == INTERRUPT:
            WATCH.raise_taken()
        if status != OK:
            raise self._failure(status, inputs)
        for i in out_halves:
            outputs[i] = outputs[i].view(np.float16)
        return outputs

    def _failure(self, status: int, inputs: Sequence[np.ndarray]) -> Exception:
        kind, text = ERRORS.get(status, (NodeError, f"the program stopped with status {status}"))
        msg = f"numba: {text}. Run the graph on the Python VM (mode FAST_COMPILE) to see where."
        return replay(self.fgraph, inputs, kind(msg))


def _halves(kinds: Sequence[Type]) -> tuple[int, ...]:
    """Return the positions of the float16 types."""
    return tuple(i for i, kind in enumerate(kinds) if isinstance(kind, TensorType) and kind.dtype == "float16")
