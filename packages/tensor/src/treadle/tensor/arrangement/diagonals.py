"""Diagonals: taking them out of matrices, putting vectors there, and what is built on that."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from treadle.graph import Apply, Form, as_flag, composed, static_op
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.elementwise.arithmetic import mod
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.errors import AxisError, ShapeError, TensorTypeError
from treadle.tensor.indexing.expressions import SYMBOLIC, Span
from treadle.tensor.indexing.indexing import IncSubtensor, set_subtensor
from treadle.tensor.indexing.ranges import arange, eye
from treadle.tensor.lengths.numbers import as_scalar, diagonal_length, least, number, plus, times
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.batch_dims import batch_ndim, checked_lengths
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import moveaxis
from treadle.tensor.shapes.shape import LENGTH, length_inputs, lengths, reshape, shape_i, static_lengths
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import Type, Variable
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = [
    "AllocDiag", "ExtractDiag", "diag", "diagflat", "diagonal", "extract_diag", "fill_diagonal", "fill_diagonal_offset",
    "identity_like", "trace",
]  # fmt: skip


@static_op
class ExtractDiag(TensorOp):
    """A diagonal of the matrices in two dimensions of a tensor, as its last dimension; the result is a view.

    Parameters
    ----------
    offset
        Which diagonal: 0 for the main one, above it if positive, below it if negative.
    axis1, axis2
        The dimensions of the rows and the columns.
    """

    linear = "jointly"

    offset: int = 0
    axis1: int = 0
    axis2: int = 1

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op
    integer_fields = ("offset", "axis1", "axis2")

    def kept(self, ndim: int) -> tuple[int, ...]:
        """Return the other dimensions of a tensor, which stand before the diagonal in the result."""
        return tuple(d for d in range(ndim) if d not in {self.axis1, self.axis2})

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of the diagonals."""
        (x,) = types
        if not isinstance(x, TensorType) or x.ndim < 2:
            msg = f"{self}: a tensor of rank 2 or more is needed, got {x}. diag puts a vector on a diagonal."
            raise TensorTypeError(msg)
        if not (0 <= self.axis1 < x.ndim and 0 <= self.axis2 < x.ndim) or self.axis1 == self.axis2:
            msg = f"{self}: two different axes from 0 to {x.ndim - 1} are needed. Use diagonal, which finds them."
            raise AxisError(msg)
        n, m = x.shape[self.axis1], x.shape[self.axis2]
        length = None if n is None or m is None else diagonal_length(n, m, self.offset)
        return [TensorType(x.dtype, (*(x.shape[d] for d in self.kept(x.ndim)), length))]

    def printed_form(self, node: Apply) -> Form:
        """Write ``x.diagonal(offset)``."""
        axes = [self.axis1, self.axis2]
        arguments = [self.offset, *axes] if axes != [0, 1] else [self.offset] * (self.offset != 0)
        return Form.method(node.inputs[0], "diagonal", [str(n) for n in arguments])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return a view with NumPy."""
        (x,) = inputs
        view = x.diagonal(self.offset, self.axis1, self.axis2)
        # NumPy makes it read-only for its users only.
        view.flags.writeable = x.flags.writeable
        output_storage[0][0] = view

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise what holds for every element of the input."""
        return fact == "nonnegative" and output.owner is not None and holds(fact, output.owner.inputs[0])

    def symbolic_shape(self, node: TensorNode, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the other lengths, and that of the diagonal."""
        own = shapes.of(node.inputs[0])
        n, m = own[self.axis1], own[self.axis2]
        length = n if n == m and self.offset == 0 else shapes.atom("diagonal", n, m, self.offset)
        return [*(own[d] for d in self.kept(len(own))), length]

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> Apply:
        """Take the diagonals behind the batch."""
        batch = batch_ndim(node.inputs[0], x)
        return ExtractDiag(self.offset, self.axis1 + batch, self.axis2 + batch).make_node(x)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Put the cotangent on the diagonal of zeros."""
        x = as_tensor_variable(inputs[0])
        own = lengths(x)
        matrices = AllocDiag(self.offset)(cotangents[0], own[self.axis1], own[self.axis2])
        return [moveaxis(matrices, (-2, -1), (self.axis1, self.axis2))]


@static_op
class AllocDiag(TensorOp):
    """Zeros with vectors on a diagonal: the transpose of `ExtractDiag`.

    Inputs: the vectors, along the last dimension of a tensor; then the numbers of rows and columns, int64 scalars.

    Parameters
    ----------
    offset
        Which diagonal.
    """

    linear = "jointly"

    offset: int = 0

    static_inputs = (1, 2)
    smooth_count = 1
    # Inputs that the shape depends on.
    shape_inputs = slice(None)
    _output_type_depends_on_input_value = True
    integer_fields = ("offset",)

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; lengths that are constant become part of the type."""
        x, *size = (self.as_input(v) for v in inputs)
        length_inputs(self, size)
        if len(size) != 2 or x.ndim < 1:
            msg = f"{self}: vectors and two lengths are needed, got {', '.join(map(str, inputs))}."
            raise TensorTypeError(msg)
        n, m = static_lengths(size)
        own = x.type.shape[-1]
        if n is not None and m is not None and own not in {None, 1, diagonal_length(n, m, self.offset)}:
            msg = f"{self}: {x} of type {x.type} does not fit the diagonal of a matrix of {n} rows and {m} columns."
            raise ShapeError(msg)
        return Apply(self, [x, *size], [TensorType(x.dtype, (*x.type.shape[:-1], n, m)).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Write the vectors into zeros."""
        x, n, m = inputs
        matrices = np.zeros((*x.shape[:-1], int(n), int(m)), x.dtype)
        part = matrices.diagonal(self.offset, -2, -1)
        part.flags.writeable = True
        part[...] = x
        output_storage[0][0] = matrices

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise what holds for every element of the vectors, as it holds for zeros."""
        return fact == "nonnegative" and output.owner is not None and holds(fact, output.owner.inputs[0])

    def symbolic_shape(self, node: TensorNode, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths of the batch and those that are given."""
        x, *size = node.inputs
        return [*shapes.of(x)[:-1], *(shapes.given(n) for n in size)]

    def vectorize_node(self, node: TensorNode, x: TensorVariable, *size: TensorVariable) -> Apply:
        """Put each vector of the batch on a diagonal."""
        return self.make_node(x, *checked_lengths(node, size))

    @composed
    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Write into every (m + 1)-th element of zeros of the right number, and cut these into rows."""
        x, *size = map(as_tensor_variable, inputs)
        n, m = map(number, size)
        batch = lengths(x)[:-1]
        start = self.offset if self.offset >= 0 else times(m, -self.offset)
        step = plus(m, 1)
        # Not past the last row, where the diagonal would wrap to the other side.
        stop = least(plus(start, times(number(shape_i(x, -1)), step)), times(n, m))
        bounds = (start, stop, step)
        span = Span(*(b if isinstance(b, int) else SYMBOLIC for b in bounds))
        symbolic = [b for b in bounds if not isinstance(b, int)]
        zeros = alloc(np.zeros((), x.dtype), *batch, times(n, m))
        filled = IncSubtensor((*[Span()] * len(batch), span), set=True, inplace=True)(zeros, x, *symbolic)
        return [reshape(filled, [*batch, *size], ndim=len(batch) + 2)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Take the diagonal of the cotangent.

        Through `decompose`: no gradient at all, as it writes into zeros in place.
        """
        ct = as_tensor_variable(cotangents[0])
        return [ExtractDiag(self.offset, ct.ndim - 2, ct.ndim - 1)(ct), *(None for _ in inputs[1:])]


def diagonal(a: TensorLike, offset: SupportsIndex = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
    """Return a diagonal of the matrices in two dimensions, as the last dimension (as numpy.diagonal).

    Raises
    ------
    AxisError
        If the axes are the same one, or out of range.
    TensorTypeError
        If the rank is less than 2.

    Examples
    --------
    >>> tt.diagonal([[1, 2], [3, 4]]).eval()
    array([1, 4])
    """
    var = as_tensor_variable(a)
    if var.ndim < 2:
        msg = f"diagonal: a tensor of rank 2 or more is needed, got {var} of type {var.type}. Use diag for a vector."
        raise TensorTypeError(msg)
    first, second = (normalize_axis("diagonal", axis, var.ndim) for axis in (axis1, axis2))
    if first == second:
        msg = f"diagonal: two different axes are needed, got {axis1} and {axis2}. Name the rows' and the columns' axis."
        raise AxisError(msg)
    result: TensorVariable = ExtractDiag(as_integer("diagonal: offset", offset), first, second)(var)
    return result


def diag(v: TensorLike, k: SupportsIndex = 0) -> TensorVariable:
    """Return the k-th diagonal of a matrix, or a matrix with a vector on its k-th diagonal (as numpy.diag).

    Raises
    ------
    TensorTypeError
        If the rank is neither 1 nor 2.

    Examples
    --------
    >>> tt.diag([1, 2]).eval()
    array([[1, 0],
           [0, 2]])
    """
    var = as_tensor_variable(v)
    offset = as_integer("diag: k", k)
    if var.ndim == 2:
        return diagonal(var, offset)
    if var.ndim != 1:
        msg = f"diag: a vector or a matrix is needed, got {var} of type {var.type}. Use diagonal for more dimensions."
        raise TensorTypeError(msg)
    size = as_scalar(plus(number(shape_i(var, 0)), abs(offset)))
    result: TensorVariable = AllocDiag(offset)(var, size, size)
    return result


def extract_diag(x: TensorLike) -> TensorVariable:
    """Return the main diagonals in the first two dimensions (as `diagonal`).

    Examples
    --------
    >>> tt.extract_diag([[1, 2], [3, 4]]).eval()
    array([1, 4])
    """
    return diagonal(x)


def diagflat(v: TensorLike, k: SupportsIndex = 0) -> TensorVariable:
    """Return a matrix with all elements of a tensor on its k-th diagonal (as numpy.diagflat).

    Examples
    --------
    >>> tt.diagflat([[1, 2]]).eval()
    array([[1, 0],
           [0, 2]])
    """
    return diag(as_tensor_variable(v).flatten(), k)


def trace(
    a: TensorLike, offset: SupportsIndex = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None
) -> TensorVariable:
    """Sum a diagonal (as numpy.trace).

    Examples
    --------
    >>> tt.trace([[1, 2], [3, 4]]).eval()
    array(5)
    """
    return sum_(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def identity_like(x: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return ones on the main diagonal and zeros elsewhere, of the shape of a matrix, and its dtype unless given.

    Examples
    --------
    >>> tt.identity_like(np.zeros((2, 2))).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    var = as_tensor_variable(x)
    if var.ndim != 2:
        msg = f"identity_like: a matrix is needed, got {var} of type {var.type}. Take one out of it."
        raise TensorTypeError(msg)
    n, m = lengths(var)
    return eye(n, m, dtype=var.dtype if dtype is None else dtype)


@composed
def fill_diagonal(a: TensorLike, val: TensorLike, wrap: bool = False) -> TensorVariable:
    """Return a copy of a tensor with the main diagonal replaced (as numpy.fill_diagonal, which writes in place).

    Parameters
    ----------
    a
        A matrix; or a tensor of more dimensions, all of one length, of which ``a[i, i, ..., i]`` are replaced.
    val
        The values, repeated from the beginning where they are too few.
    wrap
        Whether the diagonal of a tall matrix starts again below its end, after a row that is left out.

    Raises
    ------
    ShapeError
        If the rank is less than 2, or the lengths of more than two dimensions are known and differ.

    Examples
    --------
    >>> tt.fill_diagonal(np.zeros((2, 2)), 5.0).eval()
    array([[5., 0.],
           [0., 5.]])
    """
    var = as_tensor_variable(a)
    if var.ndim < 2:
        msg = f"fill_diagonal: a tensor of rank 2 or more is needed, got {var} of type {var.type}. Set the elements."
        raise ShapeError(msg)
    if var.ndim > 2 and len({n for n in var.type.shape if n is not None}) > 1:
        msg = f"fill_diagonal: all dimensions must be of equal length, got shape {var.type.shape}. Fill a part."
        raise ShapeError(msg)
    own = [number(n) for n in lengths(var)]
    step: Number = 1
    stride: Number = 1
    for n in own[:0:-1]:
        stride = times(stride, n)
        step = plus(step, stride)
    size = times(stride, own[0])
    # Without wrapping, the diagonal of a tall matrix ends with its columns.
    stop = least(times(own[1], own[1]), size) if not as_flag("fill_diagonal: wrap", wrap) and var.ndim == 2 else size
    part = var.flatten()[0:stop:step]
    values = as_tensor_variable(val)
    if values.ndim:
        values = values.flatten()
        values = values[mod(arange(shape_i(part, 0)), shape_i(values, 0))]
    return reshape(set_subtensor(part, values), lengths(var), ndim=var.ndim)


@composed
def fill_diagonal_offset(a: TensorLike, val: TensorLike, offset: TensorLike) -> TensorVariable:
    """Return a copy of a matrix with the elements of a diagonal replaced by a number.

    Parameters
    ----------
    a
        A matrix.
    val
        A scalar, converted to the dtype of the matrix.
    offset
        Which diagonal: an integer or a symbolic one; above the main one if positive, below it if negative.

    Raises
    ------
    TensorTypeError
        If an argument is of another rank.

    Examples
    --------
    >>> tt.fill_diagonal_offset(np.zeros((2, 2)), 5.0, 1).eval()
    array([[0., 5.],
           [0., 0.]])
    """
    var, value, shift = (as_tensor_variable(x) for x in (a, val, offset))
    if var.ndim != 2 or value.ndim or shift.ndim or shift.type.numpy_dtype.kind not in "iu":
        msg = (
            "fill_diagonal_offset: a matrix, a scalar and an integer are needed, got "
            f"{', '.join(f'{x} of type {x.type}' for x in (var, value, shift))}. Pass these."
        )
        raise TensorTypeError(msg)
    n, m = lengths(var)
    there = (arange(m)[None, :] - arange(n)[:, None]).eq(cast(shift, LENGTH))
    return switch(there, cast(value, var.dtype), var)
