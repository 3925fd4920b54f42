"""A compiled graph, and what its status codes mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import node_error
from treadle.link.c.abi import BRIDGE
from treadle.link.c.runtime.core import CHECK, EMPTY, INDEX, LENGTH, MEMORY, OK, POWER, SHAPE, TOO_LONG, WRAPPED
from treadle.link.c.unit import MOST_ARGUMENTS
from treadle.link.vm import Program, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, FunctionGraph

_ERRORS: dict[int, tuple[type[Exception], str]] = {
    SHAPE: (ValueError, "the shapes of the inputs do not fit together"),
    INDEX: (IndexError, "a position is out of bounds"),
    MEMORY: (MemoryError, "there is not enough memory"),
    EMPTY: (ValueError, "no elements are reduced, and there is no result for none"),
    POWER: (ValueError, "integers to negative integer powers are not allowed"),
    TOO_LONG: (ValueError, "a matrix has more rows or columns than BLAS can count (2147483647)"),
    LENGTH: (ValueError, "a length or step is not possible"),
}


@dataclass(frozen=True, slots=True)
class Binary:
    """A graph's C library, loaded.

    Attributes
    ----------
    run
        Its entry point.
    fixed
        Address of the table of fixed values: NumPy's array type, BLAS, constants, descriptors.
    keep
        What must live as long as the program: the library, the table, the constants.
    info_length
        Numbers that the entry point tells about each output.
    source
        The C text.
    """

    run: Callable[..., int]
    fixed: int
    keep: tuple[Any, ...]
    info_length: int
    source: str


class CProgram(Program):
    """A graph as one C function, called without the interpreter lock.

    The lengths of the outputs of the last call are kept as a guess: if they are right, results are written straight
    into arrays made by NumPy; if not, into memory that arrays are then made from.
    """

    __slots__ = ("_binary", "_direct", "_fixed", "_guess", "_info", "_run", "fgraph", "nodes")

    def __init__(self, fgraph: FunctionGraph, nodes: Sequence[Apply], binary: Binary) -> None:
        self.fgraph = fgraph
        self.nodes = nodes
        self._binary = binary
        self._run = binary.run
        self._fixed = binary.fixed
        kinds: list[Any] = [v.type for v in fgraph.outputs]
        self._guess = [(tuple(n or 0 for n in t.shape), t.numpy_dtype) for t in kinds]
        # Where all lengths are known beforehand, none need be told.
        self._info = any(None in t.shape for t in kinds)
        self._direct = len(fgraph.inputs) + len(kinds) <= MOST_ARGUMENTS

    @property
    def source(self) -> str:
        """The C text."""
        return self._binary.source

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        """Compute the outputs."""
        empty = np.empty
        outputs = [empty(shape, dtype) for shape, dtype in self._guess]
        if self._direct and not self._info:
            status = self._run(self._fixed, *map(id, inputs), *map(id, outputs), 0)
            if status == OK:
                return outputs
        return self._general(inputs, outputs)

    def _general(self, inputs: Sequence[Any], outputs: list[Any], again: bool = True) -> Sequence[Any]:
        """Run with a place for lengths to be told; explain a failure."""
        ffi = BRIDGE.ffi
        info = ffi.new("int64_t[]", len(outputs) * self._binary.info_length)
        addresses = [*map(id, inputs), *map(id, outputs)]
        if not self._direct:
            packed = BRIDGE.words(addresses)
            addresses = [BRIDGE.address(packed)]
        status = self._run(self._fixed, *addresses, BRIDGE.address(info))
        if status == OK:
            return outputs
        if status == WRAPPED:
            return self._wrapped(outputs, info)
        if status == CHECK and again:
            return self._general(self._plain(inputs), outputs, again=False)
        self._fail(status, inputs)
        return outputs

    def _wrapped(self, outputs: list[Any], info: Any) -> list[Any]:
        """Make arrays of the results that did not fit the arrays they were to go to."""
        length = self._binary.info_length
        guess = []
        for k, (out, var) in enumerate(zip(list(outputs), self.fgraph.outputs, strict=True)):
            kind: Any = var.type
            block = info[k * length]
            if block:
                shape = tuple(info[k * length + 1 : k * length + 1 + kind.ndim])
                outputs[k] = _array(block, shape, kind.numpy_dtype)
            guess.append((outputs[k].shape, out.dtype))
        self._guess = guess
        return outputs

    def _plain(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the inputs as plain, aligned arrays of their types.

        Raises
        ------
        TypeError
            If one is not of its type.
        """
        values = []
        for var, x in zip(self.fgraph.inputs, inputs, strict=True):
            kind: Any = var.type
            array = np.asarray(x)
            if array.ndim != kind.ndim or array.dtype != kind.numpy_dtype:
                msg = (
                    f"c: the program's input {var} is of type {kind}, got {array.dtype} of shape {array.shape}. "
                    "Convert it first."
                )
                raise TypeError(msg)
            # Unpickled arrays have a dtype object of their own: np.array would keep it, astype does not.
            values.append(array.astype(np.dtype(kind.dtype), order="C"))
        return values

    def _fail(self, status: int, inputs: Sequence[Any]) -> None:
        """Raise what the status says, with the node and the user's line."""
        code, index = status & 0xFF, status >> 8
        kind, text = _ERRORS.get(code, (RuntimeError, f"the program ended with status {status}"))
        original = kind(text)
        found = replay(self.fgraph, inputs, original)
        if found is original and 0 <= index < len(self.nodes):
            found = node_error(self.nodes[index], original)
        raise found from original


def _array(block: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array on a block of C memory, which is freed with its last view."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = BRIDGE.owned(block, size)
    return np.frombuffer(memory, dtype).reshape(shape) if size else np.empty(shape, dtype)
