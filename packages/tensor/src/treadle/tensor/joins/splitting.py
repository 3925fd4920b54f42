"""Split: a tensor cut into parts along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from treadle.graph import Apply, Form, as_count, composed, static_op
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.arguments.values import known_integer
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.joins.joining import Join
from treadle.tensor.lengths.numbers import number, plus, whole_quotient
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import batch_ndim, checked_lengths
from treadle.tensor.shapes.shape import as_lengths, length_inputs, shape_i, static_lengths
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import as_tensor_variable, cotangent_of
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from treadle.graph import Variable
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["Split", "array_split", "dsplit", "hsplit", "split", "vsplit"]


@static_op
class Split(TensorOp):
    """The parts of a tensor along an axis, as views.

    Inputs: the tensor, then the length of each part, int64 scalars. They add up to the length of the axis.

    Parameters
    ----------
    len_splits
        The number of parts.
    axis
        The axis, 0 or more.
    """

    linear = "jointly"
    smooth_count = 1

    len_splits: int
    axis: int = 0

    # Inputs that the shape depends on.
    shape_inputs = slice(1, None)
    _output_type_depends_on_input_value = True
    integer_fields = ("len_splits", "axis")

    @property
    def static_inputs(self) -> tuple[int, ...]:  # type: ignore[override]  # depends on the number of parts
        """Positions of the lengths."""
        return tuple(range(1, self.len_splits + 1))

    @property
    def view_map(self) -> dict[int, list[int]]:  # type: ignore[override]  # depends on the number of parts
        """Every part may be a view of the tensor."""
        return {i: [0] for i in range(self.len_splits)}

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; lengths that are constant become part of the types."""
        x, *sizes = (self.as_input(v) for v in inputs)
        length_inputs(self, sizes)
        if len(sizes) != self.len_splits or not sizes or not 0 <= self.axis < x.ndim:
            msg = f"{self}: a tensor with this axis and the length of each part are needed, got {[x, *sizes]}."
            raise TensorTypeError(msg)
        known = static_lengths(sizes)
        length = x.type.shape[self.axis]
        total = sum(n for n in known if n is not None)
        too_long = length is not None and (total > length or (None not in known and total != length))
        if too_long or any(n is not None and n < 0 for n in known):
            msg = (
                f"split: parts of lengths {str(list(known)).replace('None', '?')} do not make up dimension {self.axis} "
                f"of {x} of type {x.type}. Give lengths that add up to it."
            )
            raise ShapeError(msg)
        before, after = x.type.shape[: self.axis], x.type.shape[self.axis + 1 :]
        types = [TensorType(x.dtype, (*before, n, *after)) for n in known]
        return Apply(self, [x, *sizes], [t.make_variable() for t in types])

    def printed_form(self, node: Apply) -> Form:
        """Write ``split(x, n, m, axis=1)``."""
        return Form.call("split", [*node.inputs, f"axis={self.axis}"] if self.axis else node.inputs)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Cut with NumPy."""
        x, *sizes = inputs
        lengths = [int(n) for n in sizes]
        if min(lengths) < 0 or sum(lengths) != x.shape[self.axis]:
            msg = f"parts of lengths {lengths} do not make up dimension {self.axis} of shape {x.shape}"
            raise ShapeError(msg)
        start = 0
        for cell, n in zip(output_storage, lengths, strict=True):
            cell[0] = x[at_axis(self.axis, slice(start, start + n))]
            start += n

    def symbolic_shape(self, node: TensorNode, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the part's own length along the axis, the tensor's others."""
        x, *sizes = node.inputs
        result = list(shapes.of(x))
        result[self.axis] = shapes.given(sizes[node.outputs.index(out)])  # type: ignore[arg-type]  # one of them
        return result

    def vectorize_node(self, node: TensorNode, x: TensorVariable, *sizes: TensorVariable) -> Apply:
        """Cut behind the batch."""
        batch = batch_ndim(node.inputs[0], x)
        return Split(self.len_splits, self.axis + batch).make_node(x, *checked_lengths(node, sizes))

    @composed
    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return slices, whose lengths are checked."""
        x, *sizes = map(as_tensor_variable, inputs)
        before = (slice(None),) * self.axis
        total: Number = 0
        bounds: list[Number] = [0]
        for n in sizes:
            total = plus(total, number(n))
            bounds.append(total)
        x = specify_shape(x, [total if d == self.axis else None for d in range(x.ndim)])
        parts = []
        for (start, stop), n in zip(pairwise(bounds), sizes, strict=True):
            part = x[(*before, slice(start, stop))]
            parts.append(specify_shape(part, [n if d == self.axis else None for d in range(x.ndim)]))
        return parts

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Join the cotangents.

        Through `decompose`: 11 nodes in a gradient of two parts in place of 10.
        """
        x = as_tensor_variable(inputs[0])
        back = cotangent_of(x, Join(self.axis)(*cotangents)) if x.type.numpy_dtype.kind in "fc" else None
        return [back, *(None for _ in inputs[1:])]


def split(
    x: TensorLike,
    splits_size: TensorLike | None = None,
    axis: int = 0,
    *,
    n_splits: int | None = None,
    indices_or_sections: TensorLike | None = None,
) -> list[TensorVariable]:
    """Cut a tensor into parts along an axis.

    A sequence or a vector holds the lengths of the parts: ``split(x, [2, 3])`` are the first two and the next three
    rows. An integer is, as in NumPy, the number of parts of equal length. NumPy's positions of the cuts are given as
    ``indices_or_sections``, or to `array_split`.

    Parameters
    ----------
    x
        A tensor.
    splits_size
        The lengths of the parts, which add up to that of the axis; or the number of equal parts.
    axis
        The axis.
    n_splits
        The number of parts, needed where `splits_size` is a vector of unknown length.
    indices_or_sections
        What numpy.split takes, in place of `splits_size`.

    Raises
    ------
    TensorTypeError
        If not just one of the two is given, or the number of parts is not known.
    ShapeError
        If the lengths are known not to add up, or equal parts to be impossible.

    Examples
    --------
    >>> [part.eval() for part in tt.split([1, 2, 3], [1, 2], n_splits=2)]
    [array([1]), array([2, 3])]
    """
    var = as_tensor_variable(x)
    at = normalize_axis("split", axis, var.ndim)
    if (splits_size is None) == (indices_or_sections is None):
        msg = "split: either splits_size or indices_or_sections is needed. Give the lengths of the parts, for instance."
        raise TensorTypeError(msg)
    cuts = splits_size if indices_or_sections is None else indices_or_sections
    if cuts is None:
        return []
    sections = known_integer(cuts)
    if sections is not None:
        count = as_count("split: the number of parts", sections, 1)
        n = shape_i(var, at)
        (length,) = static_lengths([n])
        if length is not None and length % count:
            msg = f"split: an array split does not result in an equal division, got length {length} for {count} parts."
            raise ShapeError(msg)
        each = whole_quotient(number(n), count)
        return _parts(var, at, [each] * count)
    if indices_or_sections is not None:
        return array_split(var, indices_or_sections, at)
    sizes: TensorLike = cuts
    if n_splits is not None:
        count = as_count("split: n_splits", n_splits, 1)
        if not isinstance(cuts, list | tuple):
            vector = as_tensor_variable(cuts)
            sizes = [vector[i] for i in range(count)] if vector.type.shape == (None,) else vector
    lengths_ = as_lengths("split", sizes)
    if n_splits is not None and len(lengths_) != n_splits:
        msg = f"split: n_splits is {n_splits}, but {len(lengths_)} lengths are given. Leave it out."
        raise ShapeError(msg)
    return _parts(var, at, [number(n) for n in lengths_])


def _parts(x: TensorVariable, axis: int, sizes: Sequence[Number]) -> list[TensorVariable]:
    """Return the parts of given lengths."""
    part_lengths = as_lengths("split", list(sizes))
    parts: list[TensorVariable] = Split(len(part_lengths), axis)(x, *part_lengths, return_list=True)  # type: ignore[assignment]  # it makes tensors
    return parts


@composed
def array_split(ary: TensorLike, indices_or_sections: TensorLike, axis: int = 0) -> list[TensorVariable]:
    """Cut a tensor into parts along an axis (as numpy.array_split).

    Parameters
    ----------
    ary
        A tensor.
    indices_or_sections
        The number of parts, the first ones longer by one where they cannot be equal; or the positions of the cuts, a
        sequence of integers and integer scalars.
    axis
        The axis.

    Raises
    ------
    TensorTypeError
        If the number of parts is not known, or less than 1.

    Examples
    --------
    >>> [part.eval() for part in tt.array_split([1, 2, 3], 2)]
    [array([1, 2]), array([3])]
    """
    var = as_tensor_variable(ary)
    at = normalize_axis("array_split", axis, var.ndim)
    sections = known_integer(indices_or_sections)
    if sections is None:
        cuts: list[Number] = [number(n) for n in as_lengths("array_split", indices_or_sections)]
        bounds: list[Number | None] = [None, *cuts, None]
        return [var[at_axis(at, slice(start, stop))] for start, stop in pairwise(bounds)]
    count = as_count("array_split: the number of parts", sections, 1)
    n = number(shape_i(var, at))
    return _parts(var, at, [whole_quotient(plus(n, count - 1 - i), count) for i in range(count)])


def _split_along(what: str, ary: TensorLike, cuts: TensorLike, axis: int) -> list[TensorVariable]:
    """Cut as numpy.split does."""
    var = as_tensor_variable(ary)
    if var.ndim <= axis:
        msg = f"{what}: a tensor of rank {axis + 1} or more is needed, got {var} of type {var.type}. Add dimensions."
        raise ShapeError(msg)
    return split(var, axis=axis, indices_or_sections=cuts)


def hsplit(ary: TensorLike, indices_or_sections: TensorLike) -> list[TensorVariable]:
    """Cut along the second axis, a vector along the first (as numpy.hsplit).

    Examples
    --------
    >>> [part.eval() for part in tt.hsplit([1, 2, 3, 4], 2)]
    [array([1, 2]), array([3, 4])]
    """
    return _split_along("hsplit", ary, indices_or_sections, 1 if as_tensor_variable(ary).ndim > 1 else 0)


def vsplit(ary: TensorLike, indices_or_sections: TensorLike) -> list[TensorVariable]:
    """Cut along the first axis of two or more (as numpy.vsplit).

    Examples
    --------
    >>> [part.eval() for part in tt.vsplit([[1, 2], [3, 4]], 2)]
    [array([[1, 2]]), array([[3, 4]])]
    """
    var = as_tensor_variable(ary)
    if var.ndim < 2:
        msg = f"vsplit: a tensor of rank 2 or more is needed, got {var} of type {var.type}. Use split."
        raise ShapeError(msg)
    return _split_along("vsplit", var, indices_or_sections, 0)


def dsplit(ary: TensorLike, indices_or_sections: TensorLike) -> list[TensorVariable]:
    """Cut along the third axis (as numpy.dsplit).

    Examples
    --------
    >>> [part.eval().shape for part in tt.dsplit(np.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split_along("dsplit", ary, indices_or_sections, 2)
