"""Sorting along an axis, the positions that sort, and order statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.graph import Form, Variable, as_flag, static_op, vectorize_graph
from treadle.tensor.arguments.axes import at_axis, normalize_axis, several_axes
from treadle.tensor.arguments.values import as_choice, as_integer, known_integer
from treadle.tensor.elementwise.arithmetic import add, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, isnan, le, lt
from treadle.tensor.elementwise.logic import logical_and, logical_not, logical_or
from treadle.tensor.errors import AxisError, DtypeError, ShapeError, TensorTypeError
from treadle.tensor.indexing.gathering import put_along_axis, take_along_axis
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.ops.tensor_op import Derivatives, Discrete, Variables
from treadle.tensor.reductions.accumulation import AlongAxis
from treadle.tensor.shapes.batch_dims import aligned, batch_ndim, most_batch
from treadle.tensor.shapes.broadcasting import zeros, zeros_like
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, flatten, shape_i
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.types.conversion import as_tensor_variable, cotangent_of, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = [
    "ArgSort", "OrderStatistics", "Partition", "Sort", "argpartition", "argsort", "lexsort", "partition", "sort",
    "sort_complex", "topk",
]  # fmt: skip


class _Ordering(AlongAxis):
    """Base of ops that order one tensor of real numbers along an axis; NaN comes last."""

    axis: int

    def checked(self, x: Type) -> TensorType:
        """Return the type of an input, which holds no complex numbers."""
        kind = super().checked(x)
        if kind.numpy_dtype.kind == "c":
            msg = f"{self}: complex numbers have no order of their own, got {kind}. Use sort or argsort."
            raise DtypeError(msg)
        return kind


def _sorted(x: np.ndarray, axis: int) -> np.ndarray:
    """Sort with NumPy, whose fast way is wrong for float16 with NaN on some processors (see `treadle.kernels`)."""
    return np.sort(x, axis=axis, kind="stable" if x.dtype == np.float16 else None)


@static_op
class Sort(_Ordering):
    """The elements in ascending order along an axis, NaN last.

    Parameters
    ----------
    axis
        The axis, 0 or more.
    """

    axis: int

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return [self.checked(types[0])]

    def printed_form(self, node: Apply) -> Form:
        """Write ``sort(x, axis=0)``."""
        return Form.call("sort", list(node.inputs), {"axis": self.axis})

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Sort with NumPy."""
        output_storage[0][0] = _sorted(inputs[0], self.axis)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Put the cotangent back where the elements came from."""
        x = tensors(inputs)[0]
        if x.type.numpy_dtype.kind != "f":
            return [None]
        back = put_along_axis(zeros_like(x), argsort(x, self.axis), tensors(cotangents)[0], self.axis)
        return [cotangent_of(x, back)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that floats are connected."""
        return [[tensors(node.inputs)[0].type.numpy_dtype.kind == "f"]]


@static_op
class ArgSort(Discrete, _Ordering):
    """The positions of the elements in ascending order along an axis, NaN last; equal ones keep their order.

    Parameters
    ----------
    axis
        The axis, 0 or more.
    """

    axis: int

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return an int64 type of the input's shape."""
        return [TensorType("int64", self.checked(types[0]).shape)]

    def printed_form(self, node: Apply) -> Form:
        """Write ``argsort(x, axis=0)``."""
        return Form.call("argsort", list(node.inputs), {"axis": self.axis})

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Sort with NumPy."""
        output_storage[0][0] = np.argsort(inputs[0], axis=self.axis, kind="stable").astype("int64", copy=False)


@static_op
class OrderStatistics(_Ordering):
    """The elements that sorting along an axis puts at some positions.

    Inputs: a tensor, and an int64 vector of positions from 0 on. The result has the vector's length along the axis.

    Parameters
    ----------
    axis
        The axis, 0 or more.
    """

    axis: int

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type with as many elements along the axis as there are positions."""
        x, positions = self.checked(types[0]), types[1]
        if not isinstance(positions, TensorType) or positions.dtype != "int64" or positions.ndim != 1:
            msg = f"{self}: the positions must be an int64 vector, got {positions}."
            raise TensorTypeError(msg)
        return [TensorType(x.dtype, tuple(positions.shape[0] if d == self.axis else n for d, n in enumerate(x.shape)))]

    def printed_form(self, node: Apply) -> Form:
        """Write ``sort(x, axis=0)[positions]``."""
        return Form.call("order_statistics", list(node.inputs), {"axis": self.axis})

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Select with NumPy's partition."""
        x, positions = inputs
        n = x.shape[self.axis]
        if positions.size and not (positions.min() >= 0 and positions.max() < n):
            msg = f"{self}: positions {positions} are out of range for {n} elements. They run from 0 to {n - 1}."
            raise IndexError(msg)
        parted = x
        if positions.size and x.dtype == np.float16:
            parted = _sorted(x, self.axis)
        elif positions.size:
            parted = np.partition(x, positions, axis=self.axis)
        output_storage[0][0] = np.take(parted, positions, axis=self.axis)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the elements at the positions of the sorted tensor."""
        x, positions = tensors(inputs)
        ordered: TensorVariable = Sort(self.axis)(x)
        return [ordered[at_axis(self.axis, positions)]]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the tensor's lengths, and the number of positions along the axis."""
        result: list[Length | None] = list(shapes.of(node.inputs[0]))
        result[self.axis] = shapes.of(node.inputs[1])[0]
        return result

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Variable | Apply:
        """Select along the axis behind the batch; sort where the positions differ along it."""
        (x, positions), (wide, picked) = node.inputs, inputs
        if not batch_ndim(positions, picked):
            return OrderStatistics(self.axis + batch_ndim(x, wide)).make_node(wide, picked)
        batch = most_batch([(x, wide), (positions, picked)])
        ordered = Sort(batch + self.axis)(aligned(x, wide, batch))
        places = aligned(positions, picked, batch)
        order = [*range(batch), *(batch if d == self.axis else NEW for d in range(x.ndim))]
        return take_along_axis(ordered, dimshuffle(places, *order), batch + self.axis)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that floats are connected, positions are not."""
        return [[tensors(node.inputs)[0].type.numpy_dtype.kind == "f"], [False]]


@static_op
class Partition(_Ordering):
    """The elements along an axis around one that is where sorting puts it, and the positions where they were.

    Inputs: a tensor, and an int64 scalar, a position along the axis, which counts from the end where it is negative.
    Smaller elements come first, then equal ones, then larger ones, each in the order that they had; NaN is the largest.

    Parameters
    ----------
    axis
        The axis, 0 or more.
    """

    axis: int

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the tensor's type, and an int64 type of its shape."""
        x, at = self.checked(types[0]), types[1]
        if not isinstance(at, TensorType) or at.dtype != "int64" or at.ndim:
            msg = f"{self}: the position must be an int64 scalar, got {at}."
            raise TensorTypeError(msg)
        return [TensorType(x.dtype, x.shape), TensorType("int64", x.shape)]

    def printed_form(self, node: Apply) -> Form:
        """Write ``partition(x, at, axis=0)``."""
        return Form.call("partition", list(node.inputs), {"axis": self.axis})

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Select with NumPy's partition, and sort by what is smaller, equal and larger."""
        x, at = inputs[0], int(inputs[1])
        n = x.shape[self.axis]
        if x.size and not -n <= at < n:
            msg = f"{self}: position {at} is out of range for {n} elements. Positions run from {-n} to {n - 1}."
            raise IndexError(msg)
        sides = np.zeros(x.shape, "int8")
        if x.size:
            ordered = _sorted(x, self.axis) if x.dtype == np.float16 else np.partition(x, at, axis=self.axis)
            middle = np.take(ordered, [at], axis=self.axis)
            is_nan = np.isnan(middle)
            sides += ~(x <= middle) & ~is_nan
            sides -= (x < middle) | (is_nan & ~np.isnan(x))
        order = np.argsort(sides, axis=self.axis, kind="stable")
        output_storage[0][0] = np.take_along_axis(x, order, self.axis)
        output_storage[1][0] = order.astype("int64", copy=False)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Sort by what is smaller, equal and larger."""
        x, at = tensors(inputs)
        n = shape_i(x, self.axis)
        place = switch(lt(at, 0), add(at, n), at)
        # Where there are no elements any position will do, for which there is one more; others are beyond that.
        inside = switch(logical_and(ge(place, 0), lt(place, n)), place, add(n, 1))
        spare = zeros([1 if d == self.axis else shape_i(x, d) for d in range(x.ndim)], x.dtype)
        ordered = concatenate([Sort(self.axis)(x), spare], self.axis)
        middle = ordered[at_axis(self.axis, dimshuffle(switch(eq(x.size, 0), 0, inside), NEW))]
        is_before, is_behind = lt(x, middle), logical_not(le(x, middle))
        if x.type.numpy_dtype.kind == "f":
            is_before = logical_or(is_before, logical_and(isnan(middle), logical_not(isnan(x))))
            is_behind = logical_and(is_behind, logical_not(isnan(middle)))
        order: TensorVariable = ArgSort(self.axis)(sub(cast(is_behind, "int8"), cast(is_before, "int8")))
        return [take_along_axis(x, order, self.axis), order]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Put the cotangent of the elements back where they came from.

        Through `decompose` a gradient selects and sorts once more, to find positions that the outputs have.
        """
        x = tensors(inputs)[0]
        if x.type.numpy_dtype.kind != "f":
            return [None, None]
        back = put_along_axis(zeros_like(x), tensors(outputs)[1], tensors(cotangents)[0], self.axis)
        return [cotangent_of(x, back), None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that floats are connected to the elements, positions to nothing."""
        return [[tensors(node.inputs)[0].type.numpy_dtype.kind == "f", False], [False, False]]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the tensor's lengths, which both results have."""
        return list(shapes.of(node.inputs[0]))

    def vectorize_node(  # type: ignore[override]  # two results
        self, node: TensorNode, *inputs: TensorVariable
    ) -> Sequence[Variable]:
        """Select along the axis behind the batch; element by element where the position differs along it."""
        (x, at), (wide, position) = node.inputs, inputs
        if batch_ndim(at, position):
            return vectorize_graph(list(self.decompose(x, at)), {x: wide, at: position})
        return Partition(self.axis + batch_ndim(x, wide)).make_node(wide, position).outputs


_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _ordered_along(
    name: str, a: TensorLike, axis: int | None, kind: str | None, order: object, stable: bool | None
) -> tuple[TensorVariable, int]:
    """Return the tensor and axis to sort; check arguments that change nothing here: every sort is stable."""
    as_choice(f"{name}: kind", kind, _KINDS)
    if order is not None:
        msg = f"{name}: order names fields of records, and tensors have none, got {text_of(order)}. Leave it out."
        raise TensorTypeError(msg)
    if stable is not None:
        as_flag(f"{name}: stable", stable)
        if kind is not None:
            msg = f"{name}: kind and stable say the same, got both. Pass one of them."
            raise TensorTypeError(msg)
    x = as_tensor_variable(a)
    if axis is None:
        return flatten(x), 0
    if x.ndim == 0:
        msg = f"{name}: a scalar has no axis to sort along, got {x}. Pass axis=None."
        raise AxisError(msg)
    return x, normalize_axis(name, axis, x.ndim)


def sort(
    a: TensorLike, axis: int | None = -1, kind: str | None = None, order: object = None, *, stable: bool | None = None
) -> TensorVariable:
    """Return the elements in ascending order along an axis; of all elements if None (as numpy.sort).

    NaN comes last. Complex numbers are sorted by their real, then by their imaginary parts. Derivatives flow back
    through the permutation.

    Parameters
    ----------
    a
        A tensor.
    axis
        The axis; None flattens first.
    kind, stable
        As in NumPy, without effect: equal elements always keep their order.
    order
        None.

    Examples
    --------
    >>> tt.sort([3, 1, 2]).eval()
    array([1, 2, 3])
    """
    x, at = _ordered_along("sort", a, axis, kind, order, stable)
    if x.type.numpy_dtype.kind == "c":
        return take_along_axis(x, _complex_order(x, at), at)
    result: TensorVariable = Sort(at)(x)
    return result


def argsort(
    a: TensorLike, axis: int | None = -1, kind: str | None = None, order: object = None, *, stable: bool | None = None
) -> TensorVariable:
    """Return the positions that sort a tensor along an axis, int64 (as numpy.argsort; parameters as for `sort`).

    Examples
    --------
    >>> tt.argsort([3, 1, 2]).eval()
    array([1, 2, 0])
    """
    x, at = _ordered_along("argsort", a, axis, kind, order, stable)
    if x.type.numpy_dtype.kind == "c":
        return _complex_order(x, at)
    result: TensorVariable = ArgSort(at)(x)
    return result


def _complex_order(x: TensorVariable, axis: int) -> TensorVariable:
    """Return the positions that sort complex numbers: first those without NaN, then by real and imaginary part."""
    missing = add(mul(cast(isnan(x.real), "int8"), 2), cast(isnan(x.imag), "int8"))
    return lexsort((x.imag, x.real, missing), axis)


def lexsort(keys: TensorLike | Sequence[TensorLike], axis: int = -1) -> TensorVariable:
    """Return the positions that sort by several keys, the last of which decides first (as numpy.lexsort).

    Parameters
    ----------
    keys
        A sequence of tensors of one shape, or a tensor whose rows they are.
    axis
        The axis to sort along.

    Examples
    --------
    >>> tt.lexsort([[1, 2, 3], [1, 0, 0]]).eval()
    array([1, 2, 0])
    """
    rows: list[TensorVariable]
    if isinstance(keys, list | tuple):
        rows = [as_tensor_variable(key) for key in keys]
    else:
        stacked = as_tensor_variable(keys)
        count = stacked.type.shape[0] if stacked.ndim else None
        if count is None:
            msg = f"lexsort: the number of keys must be known, got {stacked} of type {stacked.type}. List the keys."
            raise TensorTypeError(msg)
        stacked = held(stacked, 0)
        rows = [stacked[i] for i in range(count)]
    if not rows or len({row.ndim for row in rows}) != 1:
        msg = f"lexsort: one key or more, all of one rank, are needed, got {[str(row.type) for row in rows]}."
        raise TensorTypeError(msg)
    for row in rows:
        if any(
            n is not None and m is not None and n != m for n, m in zip(row.type.shape, rows[0].type.shape, strict=True)
        ):
            msg = f"lexsort: all keys need to be the same shape, got {[str(row.type) for row in rows]}."
            raise ShapeError(msg)
    at = normalize_axis("lexsort", axis, rows[0].ndim)
    order = argsort(rows[0], at)
    for row in rows[1:]:
        order = take_along_axis(order, argsort(take_along_axis(row, order, at), at), at)
    return order


def sort_complex(a: TensorLike) -> TensorVariable:
    """Return the elements sorted along the last axis, as complex numbers (as numpy.sort_complex).

    Examples
    --------
    >>> tt.sort_complex([2.0, 1.0]).eval()
    array([1.+0.j, 2.+0.j])
    """
    x = sort(a)
    short = {"int8", "uint8", "int16", "uint16"}
    return x if x.type.numpy_dtype.kind == "c" else cast(x, "complex64" if x.dtype in short else "complex128")


def _check_kth(name: str, x: TensorVariable, kth: object, axis: int) -> None:
    """Refuse positions known to lie outside the axis; NumPy takes any for a tensor without elements."""
    several = several_axes(kth)
    n = None if 0 in x.type.shape else x.type.shape[axis]
    for item in [kth] if several is None else several:
        known = known_integer(item)
        if known is not None and n is not None and not -n <= known < n:
            msg = f"{name}: kth(={known}) out of bounds ({n}). Positions run from {-n} to {n - 1}."
            raise ShapeError(msg)
        kind = getattr(item, "type", None)
        symbolic = isinstance(item, Variable) and isinstance(kind, TensorType) and kind.numpy_dtype.kind in "iu"
        if known is None and not symbolic:
            msg = f"{name}: kth must be an integer or integers, got {text_of(item)}. Pass positions along the axis."
            raise TensorTypeError(msg)


def partition(
    a: TensorLike, kth: object, axis: int | None = -1, kind: str = "introselect", order: object = None
) -> TensorVariable:
    """Return the elements with those at positions `kth` where sorting puts them (as numpy.partition).

    No element before a position is larger, and none behind it is smaller; NaN comes last. NumPy leaves open in which
    order the others are: around one position they keep the order that they had, around several they are sorted.

    Parameters
    ----------
    a
        A tensor.
    kth
        A position, or several; negative ones count from the end.
    axis
        The axis; None flattens first.
    kind, order
        As in NumPy, without effect: ``introselect`` or None.

    Examples
    --------
    >>> tt.partition([3, 1, 2], 0).eval()[0]
    np.int64(1)
    """
    as_choice("partition: kind", kind, ("introselect",))
    x, at = _ordered_along("partition", a, axis, None, order, None)
    _check_kth("partition", x, kth, at)
    return _parted(x, kth, at, 0)


def argpartition(
    a: TensorLike, kth: object, axis: int | None = -1, kind: str = "introselect", order: object = None
) -> TensorVariable:
    """Return the positions that partition a tensor (as numpy.argpartition; parameters as for `partition`).

    Examples
    --------
    >>> tt.argpartition([3, 1, 2], 0).eval()[0]
    np.int64(1)
    """
    as_choice("argpartition: kind", kind, ("introselect",))
    x, at = _ordered_along("argpartition", a, axis, None, order, None)
    _check_kth("argpartition", x, kth, at)
    return _parted(x, kth, at, 1)


def _parted(x: TensorVariable, kth: object, axis: int, which: int) -> TensorVariable:
    """Return the elements around a position, or their positions: in order where there are several, and if complex."""
    several = several_axes(kth)
    if x.type.numpy_dtype.kind == "c" or (several is not None and len(several) != 1):
        return (sort, argsort)[which](x, axis)
    place: Any = kth if several is None else several[0]
    position = cast(as_tensor_variable(place), LENGTH)
    parted: tuple[TensorVariable, TensorVariable] = Partition(axis)(x, position)
    return parted[which]


def topk(
    x: TensorLike, k: TensorLike, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[TensorVariable, TensorVariable]:
    """Return the `k` largest elements along an axis in descending order, and their positions (as torch.topk).

    The first of equal elements comes first, NaN counts as the largest. Derivatives flow back through the permutation.

    Parameters
    ----------
    x
        A tensor.
    k
        How many: an integer, or an integer scalar.
    axis
        The axis.
    largest
        Whether to return the largest; else the smallest, in ascending order.
    sorted
        As in PyTorch, without effect: the elements are in order in any case.

    Examples
    --------
    >>> [x.eval() for x in tt.topk([3, 1, 2], 2)]
    [array([3, 2]), array([0, 2])]
    """
    as_flag("topk: sorted", sorted)
    var, at = _ordered_along("topk", x, axis, None, None, None)
    known, n = known_integer(k), var.type.shape[at]
    if known is not None:
        as_integer("topk: k", k, 0)
        if n is not None and known > n:
            msg = f"topk: there are {n} elements along axis {at} of {var}, got k = {known}. Take at most {n}."
            raise ShapeError(msg)
    backwards = at_axis(at, slice(None, None, -1))
    if as_flag("topk: largest", largest):
        from_end = argsort(var[backwards], at)[backwards]
        order = sub(sub(shape_i(var, at), 1), from_end)
    else:
        order = argsort(var, at)
    positions = order[at_axis(at, slice(None, k))]
    return take_along_axis(var, positions, at), positions
