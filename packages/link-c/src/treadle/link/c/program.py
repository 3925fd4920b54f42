"""A compiled graph, and what its status codes mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from treadle.graph import NodeError, node_error
from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.conventions.convention import LARGE, MANY, MOST_ARGUMENTS, NODES, STEPS, USER, Status
from treadle.link.c.support.interrupts import WATCH
from treadle.link.c.support.libraries import SUPPORT
from treadle.link.c.support.pool import POOL
from treadle.link.vm import Program, replay
from treadle.tensor import MatrixError, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from treadle.graph import Apply, FunctionGraph
    from treadle.link.c.conventions.abi import SharedLibrary
    from treadle.link.c.loading import Recipe
    from treadle.link.vm import ProgramGraph
    from treadle.tensor import TensorType

_ERRORS: dict[int, tuple[type[Exception], str]] = {
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


# Guesses of lengths that failed, after which lengths are told in every call.
MOST_MISSES = 3


@dataclass(frozen=True, slots=True)
class Binary:
    """A graph's C library, loaded.

    Attributes
    ----------
    library
        The library.
    run
        Its entry point: arguments one by one if there are few, else as an array.
    entry
        Address of the entry point that takes them as an array.
    fixed
        Address of the table of fixed values: NumPy's array type, BLAS, constants, descriptors.
    keep
        What must live as long as the program: the library, the table, the constants.
    recipe
        What the program consists of beside it.
    """

    library: SharedLibrary
    run: Callable[..., int]
    entry: int
    fixed: int
    keep: tuple[object, ...]
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """What a call did about memory for intermediate results, and for results that the caller made no place for.

    Attributes
    ----------
    made
        Blocks that were asked of the C library or the pool.
    reused
        Blocks of this call that had served another value before.
    overwritten
        Results that took over the block of an operand which nothing needed any more.
    peak
        The most bytes that were in use at one time.
    """

    made: int
    reused: int
    overwritten: int
    peak: int


class CProgram(Program):
    """A graph as one C function, called without the interpreter lock.

    The lengths of the outputs of the last call are kept as a guess: if they are right, results are written straight
    into arrays made by NumPy; if not, into memory that arrays are then made from. Large results always are: their
    memory comes out of the pool.
    """

    __slots__ = ("_binary", "_direct", "_graph", "_kinds", "_misses", "_quick", "_shapes", "_told", "recipe")

    def __init__(self, graph: ProgramGraph, binary: Binary) -> None:
        self._graph = graph
        self._binary = binary
        self.recipe = binary.recipe
        kinds: Sequence[TensorType] = graph.outputs  # type: ignore[assignment]  # C has no others
        self._kinds = [t.numpy_dtype for t in kinds]
        self._shapes = [tuple(n or 0 for n in t.shape) for t in kinds]
        self._direct = len(graph.inputs) + len(kinds) <= MOST_ARGUMENTS
        self._misses = 0
        # Whether calls have lengths told: the first does, and all where guesses fail or large results are expected.
        self._told = not self._direct or any(None in t.shape for t in kinds)
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
        """Return this program for an equal graph of other origin; `data` is its recipe, naming the other's nodes."""
        return CProgram(graph, replace(self._binary, recipe=data))

    def __call__(self, *inputs: object) -> Sequence[np.ndarray]:
        """Compute the outputs."""
        if not self._told:
            outputs = self._quick(*inputs)
            if outputs is not None:
                return outputs
        return self._general(inputs)[0]

    def counted(self, *inputs: object) -> tuple[Sequence[np.ndarray], BlockCounts]:
        """Compute the outputs, and say how many blocks of memory that took."""
        outputs, counts = self._general(inputs)
        return outputs, BlockCounts(*counts)

    def free(self) -> None:
        """Give back the memory that is kept for the next call, and the pool's."""
        if self.recipe.keeps_blocks:
            kind = BRIDGE.ffi.typeof("void(*)(void)")
            self._binary.library.load_function(kind, "treadle_free")()
        POOL.release()

    def offer_caller(
        self, fallback: Callable[..., object], single: bool, take: Callable[[Callable[..., object]], None]
    ) -> None:
        """Hand `take` a caller of the helper extension: now, or when the extension is made, or never."""
        results = [*zip(self._kinds, self._shapes, strict=True)]
        release = self.recipe.has_arrays
        binary, inputs = self._binary, len(self._graph.inputs)

        def make(extension: ModuleType) -> None:
            take(
                extension.caller(
                    binary.entry, binary.fixed, POOL.cell, inputs, self.recipe.info_length, results, fallback, single,
                    release, binary.keep,
                )
            )  # fmt: skip

        SUPPORT.when_ready(make)

    def _general(self, inputs: Sequence[object], again: bool = True) -> tuple[Sequence[np.ndarray], Sequence[int]]:
        """Run with a place for lengths to be told; explain a failure. Return the outputs, and counts of blocks."""
        binary = self._binary
        if len(inputs) != len(self.recipe.inputs):
            msg = f"c: the program takes {len(self.recipe.inputs)} values, got {len(inputs)}. Give one for each input."
            raise TypeError(msg)
        outputs = [
            None if POOL.ready and _size(shape, kind) >= LARGE else np.empty(shape, kind)
            for shape, kind in zip(self._shapes, self._kinds, strict=True)
        ]
        told = len(outputs) * self.recipe.info_length
        info = BRIDGE.ffi.new("int64_t[]", told + 4)
        addresses = [*map(id, inputs), *(0 if x is None else id(x) for x in outputs)]
        if not self._direct:
            packed = BRIDGE.words(addresses)
            addresses = [BRIDGE.address(packed)]
        status = binary.run(binary.fixed, *addresses, BRIDGE.address(info))
        if status == Status.CHECK and again:
            return self._general(self._plain(inputs), again=False)
        if status not in {Status.OK, Status.WRAPPED}:
            self._fail(status, inputs)
        if status == Status.WRAPPED:
            self._wrap(outputs, info)
        elif self._direct and self._misses <= MOST_MISSES:
            self._told = False
        return cast("list[np.ndarray]", outputs), info[told : told + 4]

    def _wrap(self, outputs: list[np.ndarray | None], info: Sequence[int]) -> None:
        """Make arrays of the results that the program itself made; remember their lengths."""
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
        self._told = large or not self._direct or self._misses > MOST_MISSES

    def _plain(self, inputs: Sequence[object]) -> list[np.ndarray]:
        """Return the inputs as plain, aligned arrays of their types."""
        values = []
        for var, x in zip(tensors(self.fgraph.inputs), inputs, strict=True):
            kind = var.type
            array = np.asarray(x)
            known = all(n is None or n == m for n, m in zip(kind.shape, array.shape, strict=False))
            if array.ndim != kind.ndim or array.dtype != kind.numpy_dtype or not known:
                msg = (
                    f"c: the program's input {var} is of type {kind}, got {array.dtype} of shape {array.shape}. "
                    "Convert it first."
                )
                raise TypeError(msg)
            # Unpickled arrays have a dtype object of their own: np.array would keep it, astype does not.
            values.append(array.astype(np.dtype(kind.dtype), order="C"))
        return values

    def _fail(self, status: int, inputs: Sequence[object]) -> None:
        """Raise what the status says, with the node and the user's line."""
        code, number = status & 0xFF, status >> 8 & NODES
        if code == Status.INTERRUPT:
            raise WATCH.take()
        if code > USER:
            unknown = (RuntimeError, f"its C function returned {code - USER}, which no error of it explains")
            kind, text = self.recipe.errors.get((number, code - USER), unknown)
        else:
            kind, text = _ERRORS.get(code, (RuntimeError, f"the program ended with status {status}"))
        original: Exception = kind(text)
        found = original
        # Python finds out more, but not by millions of steps.
        if code <= USER and not (status > 0 and status >> MANY & 1):
            found = replay(self.fgraph, inputs, original)
        node = self.nodes[number] if number < len(self.nodes) else None
        if found is original and node is not None:
            found = node_error(node, original)
            if isinstance(found, NodeError):
                found = self._in_steps(found, number, (status >> 32 & STEPS) - 1)
        try:
            raise found from original
        finally:
            del found, original  # they lead to this frame

    def _in_steps(self, error: NodeError, number: int, step: int) -> NodeError:
        """Return the error of a node with the loops around it; `step` is the number of the innermost one's step."""
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
    """Return an array on a block of C memory, which is given back with its last view."""
    size = _size(shape, kind)
    memory = BRIDGE.owned(block, max(size, 1), POOL.give() if pooled else None)
    return np.frombuffer(memory, kind).reshape(shape) if size else np.empty(shape, kind)


def quick_call(
    run: Callable[..., int], fixed: int, shapes: Sequence[tuple[int, ...]], kinds: Sequence[np.dtype], inputs: int
) -> Callable[..., list[np.ndarray] | None]:
    """Write the function that calls an entry point with results of the shapes of that moment; None if it fails."""
    takes = [f"x{i}" for i in range(inputs)]
    makes = [f"y{k}" for k in range(len(kinds))]
    lines = [f"def call({', '.join(takes)}):"]
    lines += [f"    {y} = empty(shapes[{k}], kinds[{k}])" for k, y in enumerate(makes)]
    addresses = "".join(f"id({name}), " for name in (*takes, *makes))
    lines += [f"    if run(fixed, {addresses}0): return None", f"    return [{', '.join(makes)}]"]
    scope: dict[str, Any] = {"run": run, "fixed": fixed, "shapes": shapes, "kinds": tuple(kinds), "empty": np.empty}
    exec(compile("\n".join(lines), "<treadle C call>", "exec"), scope)
    made: Callable[..., list[np.ndarray] | None] = scope["call"]
    return made
