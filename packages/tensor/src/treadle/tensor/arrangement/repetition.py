"""Repeating elements and whole tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Constant, Form, composed, static_op
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.control.assertion import CheckAndRaise, checked_length
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import ge, lt
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.gathering import take
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.indexing.searching import SearchSorted
from treadle.tensor.lengths.numbers import greatest, minus, number, plus, product, times, whole_quotient
from treadle.tensor.ops.tensor_op import Natural, TensorOp
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.batch_dims import refuse_batched
from treadle.tensor.shapes.broadcasting import alloc, broadcast_to, full
from treadle.tensor.shapes.dimshuffle import dimshuffle, expand_dims
from treadle.tensor.shapes.shape import LENGTH, as_lengths, length_inputs, lengths, reshape, shape_i, static_lengths
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.types.conversion import as_tensor_variable, constant, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable


__all__ = ["RepeatedPositions", "repeat", "resize", "tile"]

# So many elements of eight bytes cannot be addressed.
_TOO_MANY = 2**60
_REPEATABLE = CheckAndRaise(ValueError, "the numbers of repetitions must be 0 or more, and add up to less than 2**60")


@static_op
class RepeatedPositions(Natural, TensorOp):
    """The positions 0 to n - 1, each repeated a given number of times, as a vector of int64.

    Inputs: how often, a vector of int64 of length n or 1; and n, an int64 scalar.
    """

    # The length of the result is the sum of the first.
    static_inputs = (0, 1)
    _output_type_depends_on_input_value = True

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; the length is known where both inputs are constant."""
        counts, *length = (self.as_input(v) for v in inputs)
        length_inputs(self, length)
        if len(length) != 1 or counts.type.ndim != 1 or counts.dtype != LENGTH:
            msg = f"{self}: a vector of int64 and a length are needed, got {[counts, *length]}."
            raise TensorTypeError(msg)
        (n,) = static_lengths(length)
        m = counts.type.shape[0]
        if n is not None and m not in {None, 1, n}:
            msg = f"repeat: {m} numbers of repetitions do not fit a dimension of length {n}. Give one for each element."
            raise ShapeError(msg)
        total = None
        if isinstance(counts, Constant) and n is not None:
            total = int(np.broadcast_to(_checked(counts.data, n), (n,)).sum())
        return Apply(self, [counts, *length], [TensorType(LENGTH, (total,)).make_variable()])

    def printed_form(self, node: Apply) -> Form:
        """Write ``repeat(arange(n), counts)``."""
        counts, n = node.inputs
        return Form.call("repeat", [Form.call("arange", [n]), counts])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Repeat with NumPy."""
        output_storage[0][0] = self.of(inputs[0], int(inputs[1]))

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Search for the positions of the result among the ends of the repetitions."""
        counts, n = tensors(inputs)
        counts = broadcast_to(counts, [n])
        is_small = lt(sum_(cast(counts, "float64")), _TOO_MANY)
        ends = cumsum(_REPEATABLE(counts, ge(counts, 0), is_small))
        total = sum_(counts)
        return [self(*inputs).type.filter_variable(SearchSorted("right")(ends, arange(total)))]

    @staticmethod
    def of(counts: np.ndarray, n: int) -> np.ndarray:
        """Return the positions, for counts and length as values.

        Raises
        ------
        ShapeError
            If the counts do not fit the length, or one of them is negative, or they are too large.
        """
        if counts.shape[0] not in {1, n}:
            msg = f"repeat: {counts.shape[0]} numbers of repetitions do not fit a dimension of length {n}."
            raise ShapeError(msg)
        return np.repeat(np.arange(n, dtype=LENGTH), _checked(counts, n))

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Return the positions, which must be the same for the whole batch."""
        refuse_batched(zip(node.inputs, inputs, strict=True), "the numbers of repetitions")
        return self.make_node(*inputs)


def _checked(counts: np.ndarray, n: int) -> np.ndarray:
    """Return numbers of repetitions, one for each of n positions or one for all, that NumPy can be given.

    NumPy adds them in int64: past its range it takes the wrapped sum for the length, and writes beyond it.
    """
    if (counts < 0).any():
        msg = f"repeat: the numbers of repetitions must be 0 or more, got {text_of(counts.tolist())}."
        raise ShapeError(msg)
    total = float(counts.sum(dtype=np.float64)) * (n if counts.size == 1 else 1)
    if total >= _TOO_MANY:
        msg = (
            f"repeat: the result would have {total:.3g} elements, with {text_of(counts.tolist())} as the numbers of "
            "repetitions. Give smaller ones."
        )
        raise ShapeError(msg)
    return counts


@composed
def repeat(a: TensorLike, repeats: TensorLike, axis: int | None = None) -> TensorVariable:
    """Repeat each element of a tensor along an axis (as numpy.repeat); of the flattened tensor if no axis is given.

    Parameters
    ----------
    a
        A tensor.
    repeats
        How often: an integer or an integer scalar; or a vector with a number for each element along the axis, whose
        values decide the length of the result. (Backends with shapes known before take such a vector as a constant.)
    axis
        The axis.

    Raises
    ------
    TensorTypeError
        If `repeats` are not integers, or of rank 2 or more.
    ShapeError
        If they are known to be negative, or not as many as elements.

    Examples
    --------
    >>> tt.repeat([1, 2], 2).eval()
    array([1, 1, 2, 2])
    """
    var, counts = as_tensor_variable(a), as_tensor_variable(repeats)
    if axis is None:
        var, axis = var.flatten(), 0
    at = normalize_axis("repeat", axis, var.ndim)
    if counts.ndim > 1 or counts.type.numpy_dtype.kind not in "iub":
        msg = f"repeat: repeats must be integers, in a vector at most, got {text_of(repeats)} of type {counts.type}."
        raise TensorTypeError(msg)
    if isinstance(counts, Constant):
        _checked(counts.data, 1)
        counts = constant(counts.data, dtype=LENGTH)
    counts = cast(counts, LENGTH)
    if isinstance(counts, Constant) and counts.data.size == 1:
        counts = constant(counts.data.reshape(()), dtype=LENGTH)
    if counts.ndim == 0:
        n = checked_length(as_lengths("repeat: repeats", counts)[0])
        own = lengths(var)
        spread = alloc(expand_dims(var, at + 1), *own[: at + 1], n, *own[at + 1 :])
        return reshape(spread, [*own[:at], times(number(own[at]), number(n)), *own[at + 1 :]], ndim=var.ndim)
    return take(var, RepeatedPositions()(counts, shape_i(var, at)), at)


@composed
def tile(A: TensorLike, reps: TensorLike) -> TensorVariable:  # noqa: N803 - NumPy's name
    """Repeat a tensor along its dimensions (as numpy.tile).

    Parameters
    ----------
    A
        A tensor.
    reps
        How often along each dimension: an integer or integer scalar for the last one, a sequence of them, or a vector
        of known length. Where they are fewer or more than dimensions, those in front are repeated once, or added.

    Raises
    ------
    ShapeError
        If a number of repetitions is known to be negative.

    Examples
    --------
    >>> tt.tile([1, 2], 2).eval()
    array([1, 2, 1, 2])
    """
    var = as_tensor_variable(A)
    times_each = as_lengths("tile: reps", reps)
    if any(n is not None and n < 0 for n in static_lengths(times_each)):
        msg = f"tile: the numbers of repetitions must be 0 or more, got {text_of(reps)}."
        raise ShapeError(msg)
    ndim = max(var.ndim, len(times_each))
    counts: list[Number] = [*[1] * (ndim - len(times_each)), *(number(checked_length(n)) for n in times_each)]
    own: list[Number] = [*[1] * (ndim - var.ndim), *map(number, lengths(var))]
    # Each dimension as a pair: which copy, and the position in it.
    spread: list[Number] = []
    order: list[int | str] = []
    for d, (count, n) in enumerate(zip(counts, own, strict=True)):
        at = d - (ndim - var.ndim)
        if count != 1:
            spread.append(count)
            order.append("x")
        spread.append(n)
        order.append(at if at >= 0 else "x")
    arranged = dimshuffle(var, *order)
    if len(spread) == ndim:
        return arranged
    copies = alloc(arranged, *spread)
    return reshape(copies, [times(count, n) for count, n in zip(counts, own, strict=True)], ndim=ndim)


@composed
def resize(a: TensorLike, new_shape: TensorLike) -> TensorVariable:
    """Return a tensor of a shape, filled with the elements of another in C order, repeated (as numpy.resize).

    Raises
    ------
    ShapeError
        If a length is known to be negative.

    Examples
    --------
    >>> tt.resize([1, 2, 3], (2, 2)).eval()
    array([[1, 2],
           [3, 1]])
    """
    var = as_tensor_variable(a).flatten()
    shape = as_lengths("resize", new_shape)
    if any(n is not None and n < 0 for n in static_lengths(shape)):
        msg = f"resize: all lengths must be 0 or more, got {text_of(new_shape)}."
        raise ShapeError(msg)
    shape = [checked_length(n) for n in shape]
    if var.type.shape[0] == 0:
        return full(shape, sum_(held(var, 0), dtype=var.dtype), var.dtype)
    size = product(shape)
    own = greatest(number(shape_i(var, 0)), 1)
    copies = whole_quotient(plus(size, minus(own, 1)), own)
    return reshape(tile(var, copies)[:size], shape, ndim=len(shape))
