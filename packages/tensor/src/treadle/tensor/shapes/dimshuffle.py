"""DimShuffle: permute, add and drop dimensions, without touching the data."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from treadle.config import text_of
from treadle.graph import Form, as_flag, static_op
from treadle.tensor.arguments.axes import named_axes, normalize_axes, normalize_axis, several_axes
from treadle.tensor.errors import AxisError, ShapeError, TensorTypeError
from treadle.tensor.ops.fields import fix_axes, fix_integers
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType, as_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorNode, TensorVariable

__all__ = [
    "DimShuffle", "atleast_1d", "atleast_2d", "atleast_3d", "atleast_Nd", "dimshuffle", "expand_dims",
    "matrix_transpose", "moveaxis", "shape_padaxis", "shape_padleft", "shape_padright", "squeeze", "swapaxes",
    "transpose",
]  # fmt: skip

NEW = "x"


@static_op
class DimShuffle(TensorOp):
    """Rearrange dimensions; the result is a view.

    Parameters
    ----------
    order
        For each dimension of the result, the input's dimension that it is, or ``"x"`` for a new one of length 1.
        Dimensions of the input that do not occur are dropped and must have length 1.
    ndim
        Rank of the input.
    new_order, input_ndim
        The same by their documented names.
    """

    promises_structure = False

    linear = "jointly"

    order: tuple[int | str, ...]
    ndim: int

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def __init__(
        self,
        order: Sequence[int | str] | None = None,
        ndim: int | None = None,
        *,
        new_order: Sequence[int | str] | None = None,
        input_ndim: int | None = None,
    ) -> None:
        """Take the fields, or the parameters as the documentation has them; bring them to one form."""
        dimensions, rank = new_order if order is None else order, input_ndim if ndim is None else ndim
        if dimensions is None or rank is None:
            msg = (
                "DimShuffle: the order and the rank of the input are needed, got "
                f"order {text_of(dimensions)} and rank {text_of(rank)}. Pass new_order and input_ndim."
            )
            raise TensorTypeError(msg)
        object.__setattr__(self, "order", dimensions)
        object.__setattr__(self, "ndim", rank)
        fix_axes(self, "order")
        fix_integers(self, "ndim")

    @property
    def new_order(self) -> tuple[int | str, ...]:
        """The order."""
        return self.order

    @property
    def input_ndim(self) -> int:
        """The rank of the input."""
        return self.ndim

    @property
    def shuffle(self) -> tuple[int, ...]:
        """The input's dimensions that the result has, in its order."""
        return tuple(d for d in self.order if isinstance(d, int))

    @property
    def drop(self) -> tuple[int, ...]:
        """The input's dimensions that the result does not have."""
        return self.dropped

    @property
    def augment(self) -> tuple[int, ...]:
        """Where the result has dimensions that the input does not have."""
        return tuple(at for at, d in enumerate(self.order) if d == NEW)

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise what holds for every element of the input."""
        return fact == "nonnegative" and output.owner is not None and holds(fact, output.owner.inputs[0])

    @property
    def dropped(self) -> tuple[int, ...]:
        """The input's dimensions that the result does not have."""
        return tuple(d for d in range(self.ndim) if d not in self.order)

    @property
    def adds_dimensions(self) -> bool:
        """Whether the result has dimensions that the input does not have."""
        return NEW in self.order

    @property
    def is_transpose(self) -> bool:
        """Whether dimensions are permuted only."""
        return len(self.order) == self.ndim and NEW not in self.order

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type with its dimensions rearranged."""
        (x,) = types
        if not isinstance(x, TensorType) or x.ndim != self.ndim:
            msg = f"{self}: an input of rank {self.ndim} is needed, got {x}. Use x.dimshuffle(...), which fits itself."
            raise ShapeError(msg)
        for d in self.dropped:
            if x.shape[d] not in {1, None}:
                msg = f"{self}: dimension {d} has length {x.shape[d]} and cannot be dropped. Index or reduce it."
                raise ShapeError(msg)
        return [TensorType(x.dtype, tuple(x.shape[d] if isinstance(d, int) else 1 for d in self.order))]

    @property
    def adds_in_front_only(self) -> bool:
        """Whether dimensions are added in front and nothing else happens: what broadcasting does by itself."""
        kept = tuple(range(self.ndim))
        return len(self.order) > self.ndim and self.order[len(self.order) - self.ndim :] == kept

    def printed_form(self, node: Apply) -> Form:
        """Write ``x.T``, ``x.mT``, ``x[None, :]``, ``x.squeeze(0)`` or, for anything else, ``x.dimshuffle(...)``.

        A product that only had to be squeezed because it is of vectors is written as the product itself.
        """
        x = node.inputs[0]
        if x.owner is not None and not self.adds_dimensions:
            form_of = getattr(x.owner.op, "squeezed_form", None)
            squeezed: Form | None = None if form_of is None else form_of(x.owner, self.dropped)
            if squeezed is not None:
                return squeezed
        if self.is_transpose:
            return _transposed_form(x, self.order)
        kept = [d for d in self.order if d != NEW]
        if self.adds_dimensions and kept == list(range(self.ndim)):
            return Form.index(x, [("None",) if d == NEW else (":",) for d in self.order]).in_latex("#1", [x])
        if not self.adds_dimensions and kept == sorted(kept, key=int):
            dropped = str(self.dropped[0] if len(self.dropped) == 1 else self.dropped)
            return Form.method(x, "squeeze", [dropped]).in_latex("#1", [x])
        return Form.method(x, "dimshuffle", [repr(d) for d in self.order])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return a view of the array."""
        output_storage[0][0] = self.apply(inputs[0])

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return the same elements: of a scalar or vector they keep their order."""
        return known(node.inputs[0])

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Return the view of a NumPy array.

        Raises
        ------
        ValueError
            If a dropped dimension does not have length 1.
        """
        kept = [d for d in self.order if isinstance(d, int)]
        for d in self.dropped:
            if x.shape[d] != 1:
                msg = f"dimension {d} must have length 1 to be dropped, got shape {x.shape}"
                raise ValueError(msg)
        view = x.transpose(*kept, *self.dropped) if self.ndim else x
        return (
            view.reshape(tuple(x.shape[d] if isinstance(d, int) else 1 for d in self.order))
            if self.dropped
            else (view[tuple(np.newaxis if d == NEW else slice(None) for d in self.order)])
        )

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Rearrange the lengths."""
        own = shapes.of(node.inputs[0])
        return [own[d] if isinstance(d, int) else shapes.fixed(1) for d in self.order]

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> Apply:
        """Rearrange the dimensions behind the batch."""
        batch = x.ndim - self.ndim
        order = (*range(batch), *(d + batch if isinstance(d, int) else d for d in self.order))
        return DimShuffle(order, x.ndim).make_node(x)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Rearrange the cotangent back."""
        inverse: list[int | str] = [NEW] * self.ndim
        for at, d in enumerate(self.order):
            if isinstance(d, int):
                inverse[d] = at
        (ct,) = cotangents
        if ct.owner is not None and isinstance(ct.owner.op, DimShuffle):
            # One rearrangement for the two: sums over dimensions that were new are brought back to rank twice.
            first = ct.owner.op.order
            return [dimshuffle(ct.owner.inputs[0], *(first[d] if isinstance(d, int) else NEW for d in inverse))]
        return [DimShuffle(tuple(inverse), len(self.order))(ct)]

    def __str__(self) -> str:
        return f"DimShuffle{{{','.join(map(str, self.order))}}}"


def _transposed_form(x: Variable, order: Sequence[int | str]) -> Form:
    ndim = len(order)
    if tuple(order) == tuple(reversed(range(ndim))):
        return Form.member(x, ".T").in_latex(r"#1^{\mathsf{T}}", [x])
    if tuple(order) == (*range(ndim - 2), ndim - 1, ndim - 2):
        return Form.member(x, ".mT").in_latex(r"#1^{\mathsf{T}}", [x])
    return Form.method(x, "transpose", list(map(str, order)))


def dimshuffle(x: TensorLike, *order: int | str | Sequence[int | str]) -> TensorVariable:
    """Rearrange dimensions.

    Parameters
    ----------
    x
        A tensor.
    order
        For each dimension of the result, a dimension of `x`, or ``"x"`` for a new one of length 1. May be given as
        one sequence.

    Raises
    ------
    AxisError
        If a dimension is out of range or named twice.
    ShapeError
        If a dimension left out does not have length 1.

    Examples
    --------
    >>> tt.dimshuffle([1, 2], (0, "x")).eval()
    array([[1],
           [2]])
    """
    var = as_tensor_variable(x)
    several = several_axes(order[0]) if len(order) == 1 else None
    entries = order if several is None else tuple(several)
    for d in entries:
        if isinstance(d, str) and d != NEW:
            msg = f'dimshuffle: dimensions are integers or "x", got {text_of(d)}.'
            raise AxisError(msg)
    numbers = iter(normalize_axes("dimshuffle", tuple(d for d in entries if not isinstance(d, str)), var.ndim))
    full = tuple(NEW if isinstance(d, str) else next(numbers) for d in entries)
    if full == tuple(range(var.ndim)):
        return var
    result: TensorVariable = _shuffle(full, var.ndim)(var)
    return result


@lru_cache(maxsize=256)
def _shuffle(order: tuple[int | str, ...], ndim: int) -> DimShuffle:
    """Return an op that graphs have again and again: one object need be checked, hashed and numbered once."""
    return DimShuffle(order, ndim)


def as_dimension(vector: TensorVariable, at: int, ndim: int) -> TensorVariable:
    """Return a vector as dimension `at` of a tensor of rank `ndim` whose other dimensions have length 1."""
    return dimshuffle(vector, *(0 if d == at else NEW for d in range(ndim)))


def transpose(x: TensorLike, axes: AxisLike | Sequence[AxisLike] = None) -> TensorVariable:
    """Permute dimensions; reverse them if no axes are given (as numpy.transpose).

    Examples
    --------
    >>> tt.transpose([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    var = as_tensor_variable(x)
    if axes is None:
        return dimshuffle(var, *reversed(range(var.ndim)))
    order = normalize_axes("transpose", axes, var.ndim)
    if len(order) != var.ndim:
        msg = f"transpose: {var.ndim} axes are needed for a tensor of rank {var.ndim}, got {order}. Name every axis."
        raise AxisError(msg)
    return dimshuffle(var, *order)


def swapaxes(x: TensorLike, axis1: int, axis2: int) -> TensorVariable:
    """Exchange two dimensions (as numpy.swapaxes).

    Examples
    --------
    >>> tt.swapaxes(np.ones((2, 3)), 0, 1).eval().shape
    (3, 2)
    """
    var = as_tensor_variable(x)
    a, b = (normalize_axis("swapaxes", axis, var.ndim) for axis in (axis1, axis2))
    order = list(range(var.ndim))
    order[a], order[b] = order[b], order[a]
    return dimshuffle(var, *order)


def moveaxis(x: TensorLike, source: AxisLike, destination: AxisLike) -> TensorVariable:
    """Move dimensions to new places (as numpy.moveaxis).

    Examples
    --------
    >>> tt.moveaxis(np.ones((2, 3, 4)), 0, -1).eval().shape
    (3, 4, 2)
    """
    var = as_tensor_variable(x)
    sources = normalize_axes("moveaxis", named_axes(source), var.ndim)
    targets = normalize_axes("moveaxis", named_axes(destination), var.ndim)
    if len(sources) != len(targets):
        msg = f"moveaxis: as many destinations as sources are needed, got {text_of(source)} and {text_of(destination)}."
        raise AxisError(msg)
    order = [d for d in range(var.ndim) if d not in sources]
    for target, d in sorted(zip(targets, sources, strict=True)):
        order.insert(target, d)
    return dimshuffle(var, *order)


def matrix_transpose(x: TensorLike) -> TensorVariable:
    """Exchange the last two dimensions (as numpy.matrix_transpose).

    Examples
    --------
    >>> tt.matrix_transpose([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    var = as_tensor_variable(x)
    if var.ndim < 2:
        msg = f"matrix_transpose: a tensor of rank 2 or more is needed, got {var} of type {var.type}. Add dimensions."
        raise AxisError(msg)
    return swapaxes(var, -1, -2)


def expand_dims(x: TensorLike, axis: AxisLike) -> TensorVariable:
    """Insert dimensions of length 1 (as numpy.expand_dims).

    Examples
    --------
    >>> tt.expand_dims([1, 2], 1).eval()
    array([[1],
           [2]])
    """
    var = as_tensor_variable(x)
    positions = named_axes(axis)
    count = len(positions)
    new = normalize_axes("expand_dims", positions, var.ndim + count)
    old = iter(range(var.ndim))
    return dimshuffle(var, *(NEW if d in new else next(old) for d in range(var.ndim + count)))


def squeeze(x: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Drop dimensions of length 1 (as numpy.squeeze).

    Without `axis`, those known to have length 1 are dropped: the rank of the result cannot depend on values.

    Examples
    --------
    >>> tt.squeeze(np.ones((1, 3))).eval()
    array([1., 1., 1.])
    """
    var = as_tensor_variable(x)
    drop = (
        tuple(d for d, n in enumerate(var.type.shape) if n == 1)
        if axis is None
        else normalize_axes("squeeze", axis, var.ndim, of_scalar=True)
    )
    return dimshuffle(var, *(d for d in range(var.ndim) if d not in drop))


def shape_padleft(x: TensorLike, n_ones: int = 1) -> TensorVariable:
    """Put dimensions of length 1 in front.

    Examples
    --------
    >>> tt.shape_padleft(np.ones(3), 2).eval().shape
    (1, 1, 3)
    """
    var = as_tensor_variable(x)
    return dimshuffle(var, *[NEW] * as_rank("shape_padleft: n_ones", n_ones), *range(var.ndim))


def shape_padright(x: TensorLike, n_ones: int = 1) -> TensorVariable:
    """Put dimensions of length 1 at the end.

    Examples
    --------
    >>> tt.shape_padright(np.ones(3), 2).eval().shape
    (3, 1, 1)
    """
    var = as_tensor_variable(x)
    return dimshuffle(var, *range(var.ndim), *[NEW] * as_rank("shape_padright: n_ones", n_ones))


def shape_padaxis(t: TensorLike, axis: int) -> TensorVariable:
    """Insert a dimension of length 1 (as `expand_dims`).

    Examples
    --------
    >>> tt.shape_padaxis(np.ones((2, 3)), 1).eval().shape
    (2, 1, 3)
    """
    return expand_dims(t, axis)


def atleast_Nd(arry: TensorLike, *, n: int = 1, left: bool = True) -> TensorVariable:  # noqa: N802 - the documented name
    """Put dimensions of length 1 in front, or at the end, until the rank is `n`.

    Examples
    --------
    >>> tt.atleast_Nd([1, 2], n=3).eval().shape
    (1, 1, 2)
    """
    var = as_tensor_variable(arry)
    missing = max(0, as_rank("atleast_Nd: n", n) - var.ndim)
    return (shape_padleft if as_flag("atleast_Nd: left", left) else shape_padright)(var, missing)


def _each(
    arys: Sequence[TensorLike], change: Callable[[TensorVariable], TensorVariable]
) -> TensorVariable | tuple[TensorVariable, ...]:
    """Apply a change to each tensor; for one tensor alone, return its result by itself."""
    results = tuple(change(as_tensor_variable(x)) for x in arys)
    return results[0] if len(results) == 1 else results


@overload
def atleast_1d(arry: TensorLike, /, *, left: bool = True) -> TensorVariable: ...


@overload
def atleast_1d(*arys: TensorLike, left: bool = True) -> TensorVariable | tuple[TensorVariable, ...]: ...


def atleast_1d(*arys: TensorLike, left: bool = True) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return scalars as vectors of length 1, anything else unchanged (as numpy.atleast_1d).

    Examples
    --------
    >>> tt.atleast_1d(3.0).eval()
    array([3.])
    """
    in_front = as_flag("atleast_1d: left", left)
    return _each(arys, lambda x: atleast_Nd(x, n=1, left=in_front))


@overload
def atleast_2d(arry: TensorLike, /, *, left: bool = True) -> TensorVariable: ...


@overload
def atleast_2d(*arys: TensorLike, left: bool = True) -> TensorVariable | tuple[TensorVariable, ...]: ...


def atleast_2d(*arys: TensorLike, left: bool = True) -> TensorVariable | tuple[TensorVariable, ...]:
    """Put dimensions of length 1 in front, or at the end, until the rank is 2 (as numpy.atleast_2d).

    Examples
    --------
    >>> tt.atleast_2d([1, 2]).eval()
    array([[1, 2]])
    """
    in_front = as_flag("atleast_2d: left", left)
    return _each(arys, lambda x: atleast_Nd(x, n=2, left=in_front))


@overload
def atleast_3d(arry: TensorLike, /, *, left: bool | None = None) -> TensorVariable: ...


@overload
def atleast_3d(*arys: TensorLike, left: bool | None = None) -> TensorVariable | tuple[TensorVariable, ...]: ...


def atleast_3d(*arys: TensorLike, left: bool | None = None) -> TensorVariable | tuple[TensorVariable, ...]:
    """Add dimensions of length 1 until the rank is 3 (as numpy.atleast_3d).

    A vector becomes the middle dimension, a matrix the first two, unless `left` says where dimensions are added.

    Examples
    --------
    >>> tt.atleast_3d([1, 2]).eval().shape
    (1, 2, 1)
    """
    if left is not None:
        in_front = as_flag("atleast_3d: left", left)
        return _each(arys, lambda x: atleast_Nd(x, n=3, left=in_front))
    new = ((0, 1, 2), (0, 2), (2,))
    return _each(arys, lambda x: expand_dims(x, new[x.ndim]) if x.ndim < 3 else x)
