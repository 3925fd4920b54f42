"""What a loop of PyTensor's starts with: the first rows of a state, and room for those that steps make.

The ops here are there to be looked at: what they compute is a graph of treadle's ops, which takes their place when a
function is compiled.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from treadle.graph import Apply, Constant, Variable, static_op, vectorize_graph
from treadle.surface.values.vectors import AllocEmpty
from treadle.tensor import Alloc, as_tensor_variable, cast
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.expressions import SYMBOLIC, Span
from treadle.tensor.indexing.indexing import IncSubtensor
from treadle.tensor.ops.tensor_op import TensorOp
from treadle.tensor.shapes.shape import LENGTH, ShapeI, as_lengths, lengths
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, SymbolicShape, Value
    from treadle.tensor.ops.tensor_op import Derivatives, Variables
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


class StandsForGraph(TensorOp):
    """An op whose place a graph of treadle's ops takes when a function is compiled: what `decompose` returns."""

    def vectorize_node(self, node: Apply, *inputs: Variable) -> list[Variable]:
        """Return the graph for inputs with batches."""
        own = [x.type.make_variable() for x in node.inputs]
        results = self.decompose(*own)
        if results is None:
            msg = f"{self}: it stands for no graph."
            raise NotImplementedError(msg)
        batched: list[Variable] = vectorize_graph(list(results), list(zip(own, inputs, strict=True)))
        return batched


@static_op
class StateBuffer(StandsForGraph):
    """A buffer of which the first rows are given: ``buffer[:stop]`` set to them.

    Inputs: the buffer, the rows, and their number, an integer scalar. It passes for `IncSubtensor`, as which PyTensor
    has it, and has an `idx_list` as there, in which numbers are positions of index inputs.

    Parameters
    ----------
    ndim
        The rank of the buffer.
    """

    ndim: int

    idx_list: ClassVar[tuple[slice, ...]] = (slice(None, 0, None),)
    set_instead_of_inc: ClassVar[bool] = True
    # As those of `IncSubtensor`.
    set: ClassVar[bool] = True
    inplace: ClassVar[bool] = False

    @property
    def entries(self) -> tuple[Span, ...]:
        """The index, as treadle's ops have it."""
        return (Span(None, SYMBOLIC), *[Span()] * (self.ndim - 1))

    def make_node(self, *inputs: object) -> Apply:
        """Return the node."""
        buffer, rows, stop = (self.as_input(x) for x in inputs)
        return Apply(self, [buffer, cast(rows, buffer.dtype), cast(stop, LENGTH)], [buffer.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Return a copy with the rows put in."""
        buffer, rows, stop = inputs
        filled = np.array(buffer)
        filled[: int(stop)] = rows
        output_storage[0][0] = filled

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the shape of the buffer."""
        return [shapes[0]]

    def decompose(self, *inputs: Variable) -> list[Variable]:
        """Return the buffer with the rows set."""
        return list(IncSubtensor(self.entries, set=True).make_node(*inputs).outputs)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that gradients flow to buffer and rows."""
        return [[True], [True], [False]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return the cotangent of the rows for these, and the rest for the buffer."""
        rows: Any = inputs[1]
        node = cotangents[0].owner
        if node is not None and isinstance(node.op, IncSubtensor) and is_zero(node.inputs[0]):
            # What flows back from a loop flows to the first rows alone.
            part: Any = node.inputs[1]
            first, *rest = node.op.entries
            only_first = first == Span(None, rows.type.shape[0]) and all(entry == Span() for entry in rest)
            if rows.type.shape[0] is not None and only_first and part.ndim == rows.ndim:
                return [None, part, None]
        return IncSubtensor(self.entries, set=True).pullback(inputs, outputs, cotangents)

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Keep the node, which clients look for."""
        return False

    def __str__(self) -> str:
        return "SetSubtensor{:stop}"


IncSubtensor.register(StateBuffer)


def expand_empty(tensor_var: TensorLike, size: TensorLike) -> TensorVariable:
    """Return a tensor with room for more rows behind its own, whose elements are not set.

    Parameters
    ----------
    tensor_var
        The rows that are there.
    size
        How many are added; 0 returns the tensor itself.
    """
    rows: Any = as_tensor_variable(tensor_var)
    if isinstance(size, int | np.integer) and size == 0:
        found: TensorVariable = rows
        return found
    own = lengths(rows)
    count = as_lengths("expand_empty", [size])[0]
    room = AllocEmpty(rows.dtype)(count + own[0], *own[1:])
    buffer: TensorVariable = StateBuffer(rows.ndim)(room, rows, own[0])
    return buffer


class FirstRows(NamedTuple):
    """The first rows of a buffer, and whether it has room for just as many more as a loop has steps."""

    rows: Any
    is_exact: bool


def first_rows(buffer: Variable, count: int, steps: Variable) -> FirstRows:
    """Return the first rows of a state's buffer.

    Parameters
    ----------
    buffer
        The buffer.
    count
        How many rows.
    steps
        The number of steps.
    """
    tensor: Any = buffer
    node = buffer.owner
    if node is None or not isinstance(node.op, StateBuffer):
        return FirstRows(tensor[:count], _same([tensor], [steps], count))
    room, rows = node.inputs[:2]
    own: Any = rows
    whole = room.owner
    if whole is None or not isinstance(whole.op, AllocEmpty):
        return FirstRows(tensor[:count], is_exact=False)
    known = own.type.shape[0]
    if known is not None and known != count:
        return FirstRows(tensor[:count], _same([whole.inputs[0]], [steps], count))
    exact = _same([whole.inputs[0]], [steps], count) or _same([whole.inputs[0]], [steps, lengths(own)[0]], 0)
    return FirstRows(own, exact)


def is_zero(x: Variable) -> bool:
    """Whether a tensor is certain to have no element but zeros."""
    if x.owner is not None and isinstance(x.owner.op, Alloc):
        x = x.owner.inputs[0]
    return isinstance(x, Constant) and not np.any(x.data)


def is_number_of(stored: Variable, steps: Variable) -> bool:
    """Whether a number of rows is certain to be the number of steps."""
    return _same([stored], [steps], 0)


def _same(left: Sequence[Variable], right: Sequence[Variable], more: int) -> bool:
    """Whether the sum of some lengths is certain to be that of others and a number."""
    if any(not isinstance(x.type, TensorType) for x in (*left, *right)):
        return False
    first, second = Counter[Any](), Counter[Any]({1: more})
    for variables, terms in ((left, first), (right, second)):
        for x in variables:
            _add_terms(x if x.type.ndim == 0 else lengths(x)[0], terms)  # type: ignore[attr-defined]  # tensors
    return {k: n for k, n in first.items() if n} == {k: n for k, n in second.items() if n}


def _add_terms(length: Variable, terms: Counter[Any]) -> None:
    """Add the terms of a sum: numbers under 1, others under what they are."""
    if isinstance(length, Constant):
        terms[1] += int(length.data)
        return
    node = length.owner
    if node is not None and isinstance(node.op, Elemwise):
        name = node.op.scalar_op.name
        if name == "add":
            for x in node.inputs:
                _add_terms(x, terms)
            return
        if name.startswith("cast_int") and node.inputs[0].type.numpy_dtype.kind in "iu":  # type: ignore[attr-defined]  # a tensor
            _add_terms(node.inputs[0], terms)
            return
    if node is not None and isinstance(node.op, ShapeI):
        known = node.inputs[0].type.shape[node.op.axis]  # type: ignore[attr-defined]  # a tensor
        if known is not None:
            terms[1] += known
            return
        terms[node.op, node.inputs[0]] += 1
        return
    terms[length] += 1
