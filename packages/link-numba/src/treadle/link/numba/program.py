"""NumbaProgram: a graph as one compiled function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treadle.graph import Constant, FunctionGraph, NodeError, NodeIndexError, NodeMemoryError, NodeValueError
from treadle.link.numba.routines.objects import FALLBACK, SINGLE, python_function
from treadle.link.numba.status import ASSERTION, CHECK, INDEX, MATRIX, MEMORY, PARAMETER, SHAPE, TOO_LONG, VALUE
from treadle.link.vm import Program, ProgramGraph, replay
from treadle.tensor import MatrixError, TensorType, plain_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    # The name of the function that is called.
    name: str
    # The whole generated text.
    source: str
    # The constants that the table holds.
    constants: tuple[Constant | Address, ...]
    # Whether an argument may be overwritten, so that a call that fails must not compute anything again.
    overwrites: bool


class NumbaProgram(Program):
    """A graph as one compiled function, called without the interpreter's lock."""

    __slots__ = ("_code", "_graph", "_kept", "_run", "_table", "recipe")

    def __init__(
        self,
        graph: ProgramGraph,
        code: int,
        table: NDArray[np.int64],
        kept: Sequence[np.ndarray],
        recipe: Recipe,
    ) -> None:
        self._graph = graph
        # What it can be loaded from again.
        self.recipe = recipe
        self._code = code
        # Addresses of routines and constants.
        self._table = table
        # What the table points to.
        self._kept = tuple(kept)
        # From arrays to the list of outputs, or to a status.
        self._run = python_function(code, table, self._kept)

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""
        return self._graph.get()

    @property
    def code(self) -> int:
        """Address of the machine code, which compiled code calls as `treadle.link.numba.text.entry.entry` says."""
        return self._code

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
        return NumbaProgram(graph, self._code, self._table, self._kept, self.recipe)

    def __call__(self, *inputs: Any) -> Sequence[np.ndarray]:
        """Compute the outputs."""
        outputs = self._run(*inputs)
        if outputs == CHECK:
            outputs = self._run(*plain_arrays("numba", self.fgraph.inputs, inputs))
        if isinstance(outputs, int):
            raise self._failure(outputs, inputs)
        return cast("list[np.ndarray]", outputs)

    def offer_caller(
        self, fallback: Callable[..., object], single: bool, take: Callable[[Callable[..., object]], None]
    ) -> None:
        """Pass the compiled function itself to `take`, which calls `fallback` in place of returning a status.

        Not if it overwrites arguments, which `fallback` would compute with again.
        """
        if self.recipe.overwrites:
            return
        table = self._table.copy()
        table[FALLBACK], table[SINGLE] = id(fallback), single
        take(python_function(self._code, table, (self._kept, fallback)))

    def _failure(self, status: int, inputs: Sequence[np.ndarray]) -> Exception:
        kind, text = ERRORS.get(status, (NodeError, f"the program stopped with status {status}"))
        msg = f"numba: {text}. Run the graph on the Python VM (mode FAST_COMPILE) to see where."
        error = replay(self.fgraph, inputs, kind(msg))
        try:
            # Of arguments that are overwritten, it may find another failure.
            is_other = self.recipe.overwrites and status != ASSERTION and not isinstance(error, kind)
            return kind(msg) if is_other else error
        finally:
            del error  # it leads to this frame
