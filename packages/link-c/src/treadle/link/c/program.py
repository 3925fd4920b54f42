"""A compiled graph as a callable program, and the errors for its status codes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from treadle.config import dataclass
from treadle.graph import NodeError, node_error
from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.conventions.convention import LARGE, MANY, MOST_ARGUMENTS, NODES, STEPS, USER, Status
from treadle.link.c.support.libraries import SUPPORT
from treadle.link.c.support.pool import POOL
from treadle.link.vm import WATCH, Program, replay
from treadle.tensor import MatrixError, plain_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from treadle.graph import Apply, FunctionGraph
    from treadle.link.c.conventions.abi import SharedLibrary
    from treadle.link.c.loading import Recipe
    from treadle.link.vm import ProgramGraph
    from treadle.tensor import TensorType

# What is raised for each status, and its text where the Python VM finds no better one.
ERRORS: dict[int, tuple[type[Exception], str]] = {
    Status.SHAPE: (ValueError, "the shapes of the inputs do not fit together"),
    Status.INDEX: (IndexError, "a position is out of bounds"),
    Status.MEMORY: (MemoryError, "there is not enough memory"),
    Status.EMPTY: (ValueError, "no elements are reduced, and there is no result for none"),
    Status.POWER: (ValueError, "integers to negative integer powers are not allowed"),
    Status.TOO_LONG: (ValueError, "a matrix has more rows or columns than BLAS can count (2147483647)"),
    Status.LENGTH: (ValueError, "a length or step is not possible"),
    Status.ASSERTION: (AssertionError, "a condition is false"),
    Status.MATRIX: (MatrixError, "there is no result for a matrix"),
    Status.PARAMETER: (ValueError, "a parameter is not one that the distribution can have"),
    Status.STEPS: (ValueError, "the number of steps must not be negative"),
    Status.SEQUENCE: (ValueError, "a sequence is shorter than the number of steps"),
    Status.ROWS: (ValueError, "a result has rows of different shapes"),
}


# After this many wrong guesses of lengths, every call returns the lengths.
MOST_MISSES = 3


@dataclass(frozen=True, slots=True)
class Binary:
    """The loaded C library of a graph."""

    library: SharedLibrary
    # Its entry point, which takes arguments one by one if there are few, otherwise as an array.
    run: Callable[..., int]
    # The address of the entry point that takes them as an array.
    entry: int
    # The address of the table of fixed values: NumPy's array type, BLAS, constants, descriptors.
    fixed: int
    # The objects that must live as long as the program: the library, the table, the constants.
    keep: tuple[object, ...]
    # The rest of the program, which is stored with the library.
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """Counts of the blocks of memory that a call used for intermediate results and for results without a place."""

    # Blocks from the C library or the pool.
    made: int
    # Blocks that had held another value in this call.
    reused: int
    # Results that took over the block of an operand that nothing else needed.
    overwritten: int
    # The largest number of bytes in use at one time.
    peak: int


class CProgram(Program):
    """A graph as one C function, called without the interpreter lock.

    The lengths of the outputs of the last call are kept as a guess: if they are right, results are written directly
    into arrays of NumPy; if not, into memory that is then wrapped as arrays. Large results are always wrapped, since
    their memory comes from the pool.
    """

    __slots__ = (
        "_binary",
        "_direct",
        "_graph",
        "_guesses",
        "_kinds",
        "_misses",
        "_quick",
        "_shapes",
        "_told",
        "recipe",
    )

    def __init__(self, graph: ProgramGraph, binary: Binary) -> None:
        self._graph = graph
        self._binary = binary
        self.recipe = binary.recipe
        kinds: Sequence[TensorType] = graph.outputs  # type: ignore[assignment]  # C has no others
        self._kinds = [t.numpy_dtype for t in kinds]
        self._shapes = [tuple(n or 0 for n in t.shape) for t in kinds]
        self._direct = len(graph.inputs) + len(kinds) <= MOST_ARGUMENTS
        # Where a guess fails, the graph runs again, which it must not with arguments that it has overwritten.
        self._guesses = self._direct and not self.recipe.overwrites
        self._misses = 0
        # Whether calls return lengths: the first one does, and all do if guesses fail or results are large.
        self._told = not self._guesses or any(None in t.shape for t in kinds)
        self._quick = quick_call(binary.run, binary.fixed, self._shapes, self._kinds, len(graph.inputs))

    @property
    def source(self) -> str:
        """The C text."""
        return self.recipe.source.get()

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""
        return self._graph.get()

    @property
    def nodes(self) -> Sequence[Apply | None]:
        """The nodes by the numbers that status codes name."""
        return self.recipe.nodes.get()

    def rebound(self, graph: ProgramGraph, data: Any) -> CProgram:
        """Return this program for an equal graph; `data` is its recipe, with the nodes of that graph."""
        return CProgram(graph, replace(self._binary, recipe=data))

    def __call__(self, *inputs: object) -> Sequence[np.ndarray]:
        """Compute the outputs."""
        if not self._told:
            outputs = self._quick(*inputs)
            if outputs is not None:
                return outputs
        return self._general(inputs)[0]

    def counted(self, *inputs: object) -> tuple[Sequence[np.ndarray], BlockCounts]:
        """Compute the outputs; return them with counts of the blocks of memory that this took."""
        outputs, counts = self._general(inputs)
        return outputs, BlockCounts(*counts)

    def free(self) -> None:
        """Release the memory that is kept for the next call, and that of the pool."""
        if self.recipe.keeps_blocks:
            kind = BRIDGE.ffi.typeof("void(*)(void)")
            self._binary.library.load_function(kind, "treadle_free")()
        POOL.release()

    def offer_caller(
        self, fallback: Callable[..., object], single: bool, take: Callable[[Callable[..., object]], None]
    ) -> None:
        """Pass a caller of the helper extension to `take`: at once, or when the extension is ready, or never."""
        if self.recipe.overwrites:
            return  # the fallback would compute again with what is overwritten
        results = [*zip(self._kinds, self._shapes, strict=True)]
        lock = ("hold", "release", "release if long").index(self.recipe.lock)
        binary, inputs = self._binary, len(self._graph.inputs)

        def make(extension: ModuleType) -> None:
            take(
                extension.caller(
                    binary.entry, binary.fixed, POOL.cell, inputs, self.recipe.info_length, results, fallback, single,
                    lock, binary.keep,
                )
            )  # fmt: skip

        SUPPORT.when_ready(make)

    def _general(self, inputs: Sequence[object], again: bool = True) -> tuple[Sequence[np.ndarray], Sequence[int]]:
        """Run with memory for the results' lengths; raise on failure. Return the outputs, and counts of blocks."""
        binary = self._binary
        if len(inputs) != len(self.recipe.inputs):
            inputs = plain_arrays("c", self.fgraph.inputs, inputs)
        outputs = [
            None if POOL.ready and _size(shape, kind) >= LARGE else np.empty(shape, kind)
            for shape, kind in zip(self._shapes, self._kinds, strict=True)
        ]
        info_count = len(outputs) * self.recipe.info_length
        info = BRIDGE.ffi.new("int64_t[]", info_count + 4)
        addresses = [*map(id, inputs), *(0 if x is None else id(x) for x in outputs)]
        if not self._direct:
            packed = BRIDGE.words(addresses)
            addresses = [BRIDGE.address(packed)]
        status = binary.run(binary.fixed, *addresses, BRIDGE.address(info))
        if status == Status.CHECK and again:
            return self._general(plain_arrays("c", self.fgraph.inputs, inputs), again=False)
        if status not in {Status.OK, Status.WRAPPED}:
            self._fail(status, inputs)
        if status == Status.WRAPPED:
            self._wrap(outputs, info)
        elif self._guesses and self._misses <= MOST_MISSES:
            self._told = False
        return cast("list[np.ndarray]", outputs), info[info_count : info_count + 4]

    def _wrap(self, outputs: list[np.ndarray | None], info: Sequence[int]) -> None:
        """Wrap results that the program allocated as arrays; remember their lengths."""
        length = self.recipe.info_length
        expected = [x is None for x in outputs]
        for k, kind in enumerate(self._kinds):
            block = info[k * length]
            if block:
                shape = tuple(info[k * length + 1 : k * length + 1 + len(self._shapes[k])])
                outputs[k] = _array(block & ~1, shape, kind, pooled=bool(block & 1))
                self._shapes[k] = shape
        large = POOL.ready and any(_size(s, d) >= LARGE for s, d in zip(self._shapes, self._kinds, strict=True))
        self._misses += not all(expected)
        self._told = large or not self._guesses or self._misses > MOST_MISSES

    def _fail(self, status: int, inputs: Sequence[object]) -> None:
        """Raise the error of a status, with the node and the user's line."""
        code, number = status & 0xFF, status >> 8 & NODES
        if code == Status.INTERRUPT:
            raise WATCH.take()
        if code > USER:
            unknown = (RuntimeError, f"its C function returned {code - USER}, which no error of it explains")
            kind, text = self.recipe.errors.get((number, code - USER), unknown)
        else:
            kind, text = ERRORS.get(code, (RuntimeError, f"the program ended with status {status}"))
        original: Exception = kind(text)
        error = original
        # Running the graph again in Python finds a better error, but would take too long for millions of steps.
        if code <= USER and not (status > 0 and status >> MANY & 1):
            error = replay(self.fgraph, inputs, original)
            # Of arguments that are overwritten, it may find another failure.
            if self.recipe.overwrites and not isinstance(error, kind):
                error = original
        node = self.nodes[number] if number < len(self.nodes) else None
        if error is original and node is not None:
            error = node_error(node, original)
            if isinstance(error, NodeError):
                error = self._in_steps(error, number, (status >> 32 & STEPS) - 1)
        try:
            raise error from original
        finally:
            del error, original  # they lead to this frame

    def _in_steps(self, error: NodeError, number: int, step: int) -> NodeError:
        """Return the error of a node with the loops around it; `step` is that of the innermost loop."""
        while True:
            loop = next((at for first, at in reversed(self.recipe.loops) if first <= number), None)
            node = None if loop is None else self.nodes[loop]
            if loop is None or node is None:
                return error
            if step >= 0:
                error = node.op.in_step(error, node, step)  # type: ignore[attr-defined]  # a loop
            number, step = loop, -1


def _size(shape: Sequence[int], kind: np.dtype) -> int:
    return prod(shape) * int(kind.itemsize)


def _array(block: int, shape: tuple[int, ...], kind: np.dtype, pooled: bool) -> np.ndarray:
    """Return an array on a block of C memory, which is released with its last view."""
    size = _size(shape, kind)
    memory = BRIDGE.owned(block, max(size, 1), POOL.give() if pooled else None)
    return np.frombuffer(memory, kind).reshape(shape) if size else np.empty(shape, kind)


def quick_call(
    run: Callable[..., int], fixed: int, shapes: Sequence[tuple[int, ...]], kinds: Sequence[np.dtype], inputs: int
) -> Callable[..., list[np.ndarray] | None]:
    """Return a function that calls an entry point with new arrays of the current shapes; it returns None on failure."""
    operands = [f"x{i}" for i in range(inputs)]
    results = [f"y{k}" for k in range(len(kinds))]
    lines = [f"def call({', '.join(operands)}):"]
    lines += [f"    {y} = empty(shapes[{k}], kinds[{k}])" for k, y in enumerate(results)]
    addresses = "".join(f"id({name}), " for name in (*operands, *results))
    lines += [f"    if run(fixed, {addresses}0): return None", f"    return [{', '.join(results)}]"]
    scope: dict[str, Any] = {"run": run, "fixed": fixed, "shapes": shapes, "kinds": tuple(kinds), "empty": np.empty}
    exec(compile("\n".join(lines), "<treadle C call>", "exec"), scope)
    call: Callable[..., list[np.ndarray] | None] = scope["call"]
    return call
