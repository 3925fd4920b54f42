"""Ops that find positions: of values among sorted ones, of rows in order; and that count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Apply, static_op, vectorize_graph
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.control.assertion import CheckAndRaise, checked_length
from treadle.tensor.elementwise.arithmetic import maximum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, lt
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.indexing import inc_subtensor, subtensor
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.ops.tensor_op import Derivatives, Discrete, Natural, TensorOp, Variables
from treadle.tensor.reductions.reduction import max_
from treadle.tensor.shapes.batch_dims import batch_ndim, refuse_batched
from treadle.tensor.shapes.broadcasting import broadcast_to, ones_like, zeros
from treadle.tensor.shapes.shape import LENGTH, lengths, shape_i
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Type, Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["BinCount", "IsIn", "RowOrder", "SearchSorted"]


@static_op
class SearchSorted(Natural, TensorOp):
    """Where values would be inserted among sorted ones to keep the order, by binary search.

    Inputs are the sorted values, along their last dimension, and the values searched for, of the same dtype; the
    leading dimensions of the first are a batch that both have. NaN counts as larger than every number.

    Parameters
    ----------
    side
        Whether among equal values the first (``"left"``) or the position after the last (``"right"``) counts.
    """

    side: str

    def __post_init__(self) -> None:
        """Check the side."""
        as_choice("searchsorted: side", self.side, ("left", "right"))

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return positions in the shape of the values searched for."""
        x, v = types
        kinds = [t for t in types if isinstance(t, TensorType) and t.numpy_dtype.kind != "c"]
        if len(kinds) < len(types) or not kinds[0].ndim or kinds[0].dtype != kinds[1].dtype:
            msg = f"{self}: two tensors of one real dtype are needed, the first of rank 1 or more, got {x} and {v}."
            raise TensorTypeError(msg)
        x, v = kinds
        batch = x.ndim - 1
        lengths = zip(x.shape[:batch], v.shape[:batch], strict=False)
        if v.ndim < batch or any(n != m for n, m in lengths if n is not None and m is not None):
            msg = f"{self}: the batch of sorted values of type {x} and of values of type {v} differs. Broadcast them."
            raise ShapeError(msg)
        return [TensorType(LENGTH, v.shape)]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Search with NumPy, each part of the batch on its own."""
        x, v = inputs
        batch = x.shape[:-1]
        if v.shape[: len(batch)] != batch:
            msg = f"sorted values of shape {x.shape} and values of shape {v.shape} do not have the same batch"
            raise ValueError(msg)
        positions = np.empty(v.shape, LENGTH)
        for at in np.ndindex(batch):
            positions[at] = np.searchsorted(x[at], v[at], "right" if self.side == "right" else "left")
        output_storage[0][0] = positions

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths of the values searched for."""
        return shapes.of(node.inputs[1])

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> TensorVariable:
        """Search for all values of a batch at once; each part may have its own sorted values."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        if node.inputs[0].ndim > 1 or batch_ndim(*pairs[0]):
            inputs = tuple(spread_all(pairs))
        positions: TensorVariable = self(*inputs)
        return positions


@static_op
class IsIn(Discrete, TensorOp):
    """Which elements are equal to one of some sorted values.

    Inputs are a tensor, and a vector of the same real dtype in ascending order. NaN is equal to nothing.
    """

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return booleans in the shape of the tensor."""
        x, values = types
        kinds = [t for t in types if isinstance(t, TensorType) and t.numpy_dtype.kind != "c"]
        if len(kinds) < len(types) or kinds[1].ndim != 1 or kinds[0].dtype != kinds[1].dtype:
            msg = f"{self}: a tensor and a vector of one real dtype are needed, got {x} and {values}. Use isin."
            raise TensorTypeError(msg)
        return [TensorType("bool", kinds[0].shape)]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Look up with NumPy."""
        output_storage[0][0] = np.isin(inputs[0], inputs[1])

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return whether the value where an element would be inserted is equal to it."""
        x, values = tensors(inputs)
        place: TensorVariable = SearchSorted("left")(values, x)
        padded = concatenate([values, np.zeros(1, values.dtype)])
        return [bitwise_and(lt(place, shape_i(values, 0)), eq(subtensor(padded, place), x))]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths of the tensor."""
        return shapes.of(node.inputs[0])

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> TensorVariable | Sequence[Variable]:
        """Look up all elements of a batch at once; search where each part has its own values."""
        (x, values), (wide, own) = node.inputs, inputs
        if batch_ndim(values, own):
            return vectorize_graph(list(self.decompose(x, values)), {x: wide, values: own})
        found: TensorVariable = self(wide, values)
        return found


_COUNTABLE = CheckAndRaise(ValueError, "integers from 0 on can be counted, and not the largest of int64")


@static_op
class BinCount(TensorOp):
    """How often each integer from 0 on occurs in a vector, or the sum of the weights of where it does.

    Inputs are a vector of int64, a number of bins, and the weights, a vector of float64, if there are any.

    Parameters
    ----------
    weighted
        Whether there are weights.
    bounded
        True: there are as many bins as given, and other integers are not counted. False: there are as many at least,
        and enough for the largest integer; negative ones are refused.
    """

    promises_structure = False

    weighted: bool
    bounded: bool
    _output_type_depends_on_input_value = True

    @property
    def static_inputs(self) -> tuple[int, ...]:  # type: ignore[override]  # depends on the parameters
        """The number of bins, where it decides the shape alone."""
        return (1,) if self.bounded else ()

    def make_node(self, *inputs: object) -> Apply:
        """Return the node."""
        variables = [self.as_input(v) for v in inputs]
        expected = [(LENGTH, 1), (LENGTH, 0), ("float64", 1)][: 3 if self.weighted else 2]
        if [(v.dtype, v.ndim) for v in variables] != expected:
            types = ", ".join(str(v.type) for v in variables)
            msg = f"{self}: inputs of dtype and rank {expected} are needed, got {types}."
            raise TensorTypeError(msg)
        lengths = {v.type.shape[0] for v in variables if v.ndim} - {None}
        if len(lengths) > 1:
            msg = f"bincount: as many weights as integers are needed, got vectors of {sorted(map(int, lengths))}."  # type: ignore[arg-type]  # None is left out
            raise ShapeError(msg)
        length = known_value(variables[1]) if self.bounded else None
        kind = TensorType("float64" if self.weighted else LENGTH, (length,))
        return Apply(self, variables, [kind.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Count with NumPy."""
        x, least, *optional = inputs
        weights = optional[0] if optional else None
        count = int(least)
        if count < 0:
            msg = f"the number of bins must not be negative, got {count}"
            raise ValueError(msg)
        if weights is not None and weights.shape != x.shape:
            msg = f"there are {x.size} integers and {weights.size} weights"
            raise ValueError(msg)
        if self.bounded:
            inside = (x >= 0) & (x < count)
            x, weights = x[inside], None if weights is None else weights[inside]
        if x.size and x.max() == np.iinfo(np.int64).max:
            # One bin more than that: NumPy counts on from the smallest integer, and gives none.
            msg = f"there would be {x.max()} + 1 bins"
            raise ValueError(msg)
        counts = np.bincount(x, weights, minlength=count)
        output_storage[0][0] = counts.astype("float64" if self.weighted else LENGTH, copy=False)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Add the weights, or ones, where the integers say; what is not counted goes to a bin of its own."""
        x, least, *optional = tensors(inputs)
        bins = checked_length(least, "the number of bins must not be negative")
        if not self.bounded:
            largest = max_(x, initial=-1)
            x = _COUNTABLE(x, ge(x, 0), lt(largest, np.iinfo(LENGTH).max))
            bins = maximum(bins, largest + 1)
        places = switch((x >= 0) & (x < bins), x, bins)
        kind = "float64" if self.weighted else LENGTH
        values = broadcast_to(optional[0], lengths(x)) if optional else ones_like(x)
        counts = inc_subtensor(zeros(bins + 1, dtype=kind)[places], values)[:bins]
        return [self(*inputs).type.filter_variable(counts)]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the number of bins, if it is a parameter of the op."""
        return [shapes.given(node.inputs[1]) if self.bounded else None]

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that counts are not negative."""
        return fact == "nonnegative" and not self.weighted

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that weights alone are connected."""
        return [[False], [False], [True]][: len(node.inputs)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return to each weight the cotangent of its bin.

        Through `decompose`: 32 nodes in place of 1.
        """
        if not self.weighted:
            return [None, None]
        x, count, _ = tensors(inputs)
        (ct,) = tensors(cotangents)
        return [None, None, _of_bins(ct, x, count if self.bounded else None)]


def _of_bins(values: TensorVariable, x: TensorVariable, bins: TensorVariable | None) -> TensorVariable:
    """Return for each integer the value of its bin, 0 for those that have none; `bins` is None if all have one."""
    if bins is None:
        return values[x]
    inside = (x >= 0) & (x < bins)
    return concatenate([values, np.zeros(1, values.dtype)])[switch(inside, x, bins)]


@static_op
class RowOrder(Natural, TensorOp):
    """The positions that sort the rows of a matrix, by their first elements, among equal ones by the next, and so on.

    Equal rows keep their order; NaN counts as larger than every number.
    """

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a position for each row."""
        (x,) = types
        if not isinstance(x, TensorType) or x.ndim != 2 or x.numpy_dtype.kind == "c":
            msg = f"{self}: a real matrix is needed, got a tensor of type {x}."
            raise TensorTypeError(msg)
        return [TensorType(LENGTH, x.shape[:1])]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Sort with NumPy, whose last key decides first."""
        (x,) = inputs
        output_storage[0][0] = np.lexsort(x.T[::-1]) if x.shape[1] else np.arange(x.shape[0])

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the number of rows."""
        return shapes.of(node.inputs[0])[:1]

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> Apply:
        """Refuse a batch: what the order is for, distinct rows, differs in number.

        Raises
        ------
        VectorizeError
            If the matrix has batch dimensions.
        """
        refuse_batched([(node.inputs[0], x)], "the number of distinct rows")
        return self.make_node(x)
