"""Functions that Numba's jit made, called from generated code, and Python functions by way of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from treadle.graph import Apply, Variable
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.kinds import kind_of
from treadle.link.numba.status import SHAPE, VALUE
from treadle.link.numba.text.values import ArrayValue
from treadle.link.numba.text.writer import GraphWriter


class JittedFunction:
    """The address of compiled code that calls a function of Numba's on arrays that stand in a table of words.

    The table has the address and the lengths of every argument, then for every result room for its owner, its address
    and its lengths. The code returns 0, or 1 where the function raises.

    Parameters
    ----------
    function
        What ``numba.njit`` returns, or a Python function that is given to it. It takes arrays in C order, and returns
        an array or a number, or for several outputs a tuple of them.
    node
        What it computes.
    """

    # The code is in the memory of one process.
    is_storable = False

    def __init__(self, function: Callable[..., Any], node: Apply) -> None:
        self.function = function
        self.takes = [kind_of(v, node) for v in node.inputs]
        self.returns = [kind_of(v, node) for v in node.outputs]
        self.name = f"{node.op}{node.where()}"

    @cached_property
    def _code(self) -> Any:
        from treadle.link.numba.bridges import bridge

        return bridge(self.function, self.takes, self.returns, self.name)

    def address(self) -> int:
        """Return the address of the code, which is compiled at the first call.

        Raises
        ------
        LoweringError
            If Numba does not compile the function for arrays of these types, or it returns something else.
        """
        return int(self._code.address)


def call_jitted(writer: GraphWriter, node: Apply, function: Callable[..., Any]) -> None:
    """Write that a function of Numba's computes a node: all that a rule has to do.

    Parameters
    ----------
    writer
        Writes the graph.
    node
        The node.
    function
        As for `JittedFunction`.

    Raises
    ------
    Unsupported
        If the node has inputs or outputs that are no arrays of dtypes that Numba has.
    """
    pointer = JittedFunction(function, node)
    words: list[str] = []
    for var in node.inputs:
        value = writer.in_memory(var)
        packed = writer.packed(value) if value.ndim else value
        words += [packed.address, *packed.dims]
    count = len(words) + sum(2 + kind.ndim for kind in pointer.returns)
    table = writer.allocate([str(count)], STORAGES["int64"]).address
    writer.add(*(f"as_i8({table})[{at}] = {word}" for at, word in enumerate(words)))
    status = writer.let(f"call_i8_i8({writer.pointer(pointer)}, {table})", "status")
    writer.stop_if(f"{status} != 0", VALUE)
    at = len(words)
    for var, kind in zip(node.outputs, pointer.returns, strict=True):
        _take(writer, var, [f"as_i8({table})[{k}]" for k in range(at, at + 2 + kind.ndim)])
        at += 2 + kind.ndim


def _take(writer: GraphWriter, var: Variable, words: list[str]) -> None:
    """Write that a result is copied to where the program keeps its values."""
    owner, address, *lengths = words
    storage = writer.storage(var)
    if not lengths:
        writer.bind_scalar(var, storage.first(address))
    else:
        dims = [writer.let(length, "n") for length in lengths]
        for known, dim in zip(var.type.shape, dims, strict=True):  # type: ignore[attr-defined]  # a tensor
            if known is not None:
                writer.stop_if(f"{dim} != {known}", SHAPE)
        own = writer.new_output(var, dims)
        strides = writer.packed_strides(dims)
        source = ArrayValue(writer.let(address), tuple(dims), strides, storage, packed=True)
        writer.copy_into(own, source)
    writer.add(f"buffer_free({owner})")
