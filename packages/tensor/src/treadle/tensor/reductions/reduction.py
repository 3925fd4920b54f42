"""Reductions over axes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from treadle.config import alias, config, dataclass
from treadle.graph import Form, Variable, as_flag, static_op
from treadle.tensor.arguments.axes import axis_keyword, normalize_axes
from treadle.tensor.elementwise.arithmetic import add, maximum, minimum, mul, true_div
from treadle.tensor.elementwise.cast import cast, second, switch
from treadle.tensor.elementwise.comparison import eq, isnan, neq
from treadle.tensor.elementwise.complex_numbers import complex_
from treadle.tensor.elementwise.logic import bitwise_or
from treadle.tensor.errors import ArgumentError, DtypeError, ShapeError, TensorTypeError
from treadle.tensor.joins.joining import join
from treadle.tensor.ops.fields import fix_axes
from treadle.tensor.ops.tensor_op import Derivatives, Discrete, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import batch_ndim
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle, squeeze
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import as_tensor_variable, constant, cotangent_of, tensors
from treadle.tensor.types.dtype_rules import check_conversion
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorNode, TensorVariable

__all__ = ["KINDS", "ArgReduction", "Kind", "Reduction", "argmax", "argmin", "max_and_argmax", "prod"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a reduction combines elements with.

    Attributes
    ----------
    name
        Its name.
    ufunc
        Name of the NumPy ufunc whose ``reduce`` it is.
    identity
        Result over no elements; None where there is none, so that an empty axis is an error.
    """

    name: str
    ufunc: str
    identity: int | None


KINDS = {
    kind.name: kind
    for kind in (
        Kind("sum", "add", 0),
        Kind("prod", "multiply", 1),
        Kind("max", "maximum", None),
        Kind("min", "minimum", None),
        Kind("all", "logical_and", 1),
        Kind("any", "logical_or", 0),
    )
}


def expanded(x: TensorLike, axes: Sequence[int], ndim: int) -> TensorVariable:
    """Put the reduced axes back into a result, with length 1; `ndim` is the rank before the reduction."""
    kept = iter(range(ndim - len(axes)))
    return dimshuffle(x, *(NEW if d in axes else next(kept) for d in range(ndim)))


def summed_along(x: TensorVariable, axes: Sequence[int], dropped: int = 0) -> TensorVariable:
    """Return a sum in the tensor's own dtype over axes, which are kept with length 1 but for the first `dropped`."""
    if not axes:
        return x
    total = _sum_of(tuple(axes), x.type.dtype)(x)
    kept = iter(range(x.ndim - len(axes)))
    return dimshuffle(total, *(NEW if d in axes else next(kept) for d in range(dropped, x.ndim)))


@lru_cache(maxsize=256)
def _sum_of(axes: tuple[int, ...], dtype: str) -> Reduction:
    """Return the sum in a dtype, as an op that graphs have again and again."""
    return Reduction("sum", axes, dtype, "float32" if dtype == "float16" else dtype)


def _without(x: TensorType, axes: Sequence[int]) -> tuple[int | None, ...]:
    return tuple(n for d, n in enumerate(x.shape) if d not in axes)


class OverAxes(TensorOp):
    """Base of ops that reduce one tensor over axes."""

    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_axes(self)
        super().__post_init__()

    @property
    def axis(self) -> tuple[int, ...]:
        """The axes."""
        return self.axes

    def checked(self, x: Type) -> TensorType:
        """Return the input's type, which must be a tensor that has the axes."""
        if not isinstance(x, TensorType):
            msg = f"{self}: a tensor is needed, got {x}."
            raise TensorTypeError(msg)
        if normalize_axes(str(self), self.axes, x.ndim) != self.axes or list(self.axes) != sorted(self.axes):
            msg = f"{self}: the op's axes must be non-negative and ascending. Use the function of that name."
            raise TensorTypeError(msg)
        return x

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths of the other dimensions; where the axes are kept, the result has all dimensions."""
        own = shapes.of(node.inputs[0])
        kept = getattr(out.type, "ndim", 0) == len(own)
        return own if kept else [n for d, n in enumerate(own) if d not in self.axes]

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> Apply:
        """Shift the axes behind the batch."""
        batch = batch_ndim(node.inputs[0], x)
        shifted: OverAxes = replace(self, axes=tuple(axis + batch for axis in self.axes))  # type: ignore[type-var]  # a dataclass
        return shifted.make_node(x)


# What LaTeX shows of those that have a sign of their own.
SYMBOLS = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min"}


@static_op
class Reduction(OverAxes):
    """Combine all elements along axes.

    Parameters
    ----------
    kind
        ``sum``, ``prod``, ``max``, ``min``, ``all`` or ``any``.
    axes
        Axes to reduce, ascending.
    dtype
        Dtype of the result.
    acc_dtype
        Dtype to combine in: elements are converted to it first.
    """

    promises_structure = False

    kind: str
    axes: tuple[int, ...]
    dtype: str
    acc_dtype: str

    dtype_fields = ("dtype", "acc_dtype")

    @property
    def linear(self) -> Literal["jointly"] | None:  # type: ignore[override]  # depends on the kind
        """A sum is linear."""
        return "jointly" if self._is_smooth and (self.kind == "sum" or not self.axes) else None

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type without the reduced axes."""
        x = self.checked(types[0])
        if x.dtype.startswith("complex") or self.acc_dtype.startswith("complex"):
            inner = np.dtype(self.acc_dtype)
            check_conversion(self.kind, x.numpy_dtype, inner)
            check_conversion(self.kind, inner, np.dtype(self.dtype))
        return [TensorType(self.dtype, _without(x, self.axes))]

    def printed_form(self, node: Apply) -> Form:
        """Write a call such as ``sum(x, axis=0)``."""
        (x,) = node.inputs
        axis = axis_keyword(self.axes, getattr(x.type, "ndim", 0))
        form = Form.call(self.kind, [x], axis)
        symbol = SYMBOLS.get(self.kind)
        if symbol is None:
            return form
        below = f"_{{{','.join(map(str, self.axes))}}}" if axis else ""
        return form.in_latex(rf"{symbol}{below}\left(#1\right)", [x])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Reduce with NumPy, which sums pairwise."""
        output_storage[0][0] = self.apply(inputs[0])

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that nothing but numbers of 0 or more makes 0 or more; integers wrap around."""
        if fact != "nonnegative" or output.owner is None:
            return False
        (x,) = tensors(output.owner.inputs)
        return {x.type.numpy_dtype.kind, np.dtype(self.dtype).kind} == {"f"} and holds(fact, x)

    def known_values(self, node: TensorNode, known: Callable[[Variable], Known]) -> Known:
        """Return the reduction of a vector that is known."""
        kind = node.inputs[0].type
        elements = known(node.inputs[0])
        if not elements or None in elements or kind.ndim != 1 or np.dtype(self.dtype).kind not in "iu":
            return None
        return [int(self.apply(np.array(elements, kind.dtype)))]

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Return the reduction of a NumPy array."""
        if not self.axes:
            return x.astype(self.acc_dtype).astype(self.dtype)
        ufunc = getattr(np, KINDS[self.kind].ufunc)
        # Where the dtypes differ, NumPy converts a buffer at a time. Truth values need no conversion.
        acc = None if self.kind in {"all", "any"} else np.dtype(self.acc_dtype)
        with np.errstate(all="ignore"):
            return np.asarray(ufunc.reduce(x, axis=self.axes, dtype=acc)).astype(self.dtype, copy=False)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the input is connected, unless what is combined are truth values or integers."""
        return [[self._is_smooth]]

    @property
    def _is_smooth(self) -> bool:
        return all(np.dtype(d).kind in "fc" for d in (self.acc_dtype, self.dtype))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Spread the cotangent over what was combined; ties of an extremum share it evenly."""
        x = tensors(inputs)[0]
        if not self._is_smooth or x.type.numpy_dtype.kind not in "fc":
            return [None]
        ct = expanded(cotangents[0], self.axes, x.ndim)
        if self.kind == "sum" or not self.axes:
            return [cotangent_of(x, second(x, ct))]
        if self.kind == "prod":
            others = upward.product_of_others(cast(x, self.acc_dtype), (), self.axes)
            return [cotangent_of(x, mul(ct, others.conj()))]
        hit = eq(x, expanded(outputs[0], self.axes, x.ndim))
        if config.gradient_at_ties == "first":
            return [switch(hit, ct, 0)]
        count = sum_(cast(hit, x.dtype), axis=self.axes, keepdims=True)
        return [switch(hit, cast(true_div(ct, count), x.dtype), 0)]

    def __str__(self) -> str:
        return f"{self.kind.capitalize()}{{axes={list(self.axes)}}}"


@static_op
class ArgReduction(Discrete, OverAxes):
    """Position of the first extremum along axes, counted in C order over them; the first NaN wins.

    Parameters
    ----------
    kind
        ``argmax`` or ``argmin``.
    axes
        Axes to reduce, ascending.
    """

    kind: str
    axes: tuple[int, ...]

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return an int64 type without the reduced axes."""
        x = self.checked(types[0])
        return [TensorType("int64", _without(x, self.axes))]

    def printed_form(self, node: Apply) -> Form:
        """Write a call such as ``argmax(x, axis=0)``."""
        (x,) = node.inputs
        return Form.call(self.kind, [x], axis_keyword(self.axes, getattr(x.type, "ndim", 0)))

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Search with NumPy."""
        x = inputs[0]
        kept = [d for d in range(x.ndim) if d not in self.axes]
        moved = x.transpose(*kept, *self.axes)
        flat = moved.reshape(*moved.shape[: len(kept)], math.prod(moved.shape[len(kept) :]))
        output_storage[0][0] = np.asarray(getattr(np, self.kind)(flat, axis=-1), dtype="int64")

    def __str__(self) -> str:
        return f"{self.kind.capitalize()}{{axes={list(self.axes)}}}"


def reduced_axes(kind: str, axis: AxisLike, x: TensorVariable) -> tuple[int, ...]:
    """Return an axis argument as ascending numbers."""
    return tuple(sorted(normalize_axes(kind, axis, x.ndim, of_scalar=True)))


def _finish(
    kind: str, result: TensorVariable, x: TensorVariable, axes: tuple[int, ...], keepdims: bool
) -> TensorVariable:
    kept = as_flag(f"{kind}: keepdims", keepdims)
    return expanded(result, axes, x.ndim) if kept else result


def _reduce(kind: str, x: TensorVariable, axis: AxisLike, keepdims: bool, dtype: str, acc_dtype: str) -> TensorVariable:
    axes = reduced_axes(kind, axis, x)
    return _finish(kind, Reduction(kind, axes, dtype, acc_dtype)(x), x, axes, keepdims)


def _sum_dtypes(x: TensorVariable, dtype: DTypeLike | None, acc_dtype: DTypeLike | None) -> tuple[str, str]:
    """Return result and accumulator dtypes of sums and products, as NumPy has them.

    Bool and short integers become int64 or uint64; float16 is accumulated in float32.
    """
    own = x.type.numpy_dtype
    wide = {"b": "int64", "i": "int64", "u": "uint64"}.get(own.kind, own.name)
    result = TensorType(dtype).dtype if dtype is not None else wide
    return result, accumulator(result, acc_dtype)


def accumulator(result: str, acc_dtype: DTypeLike | None) -> str:
    """Return the dtype in which sums are computed whose result is of a dtype."""
    if acc_dtype is not None:
        return TensorType(acc_dtype).dtype
    if config.accumulation == "wide":
        return {"float16": "float32", "float32": "float64", "complex64": "complex128"}.get(result, result)
    return "float32" if result == "float16" else result


def mask_of(what: str, x: TensorVariable, where: TensorLike | None) -> TensorVariable | None:
    """Return which elements count, as bool tensor that broadcasts to `x`; None for all."""
    if where is None or where is True:
        return None
    mask = truth(where)
    if mask.ndim > x.ndim:
        msg = f"{what}: where has rank {mask.ndim}, more than the tensor's {x.ndim}. It must broadcast to the tensor."
        raise ShapeError(msg)
    return mask


def with_others(x: TensorVariable, mask: TensorVariable | None, value: TensorLike) -> TensorVariable:
    """Return a tensor with a value in place of the elements that do not count."""
    if mask is None:
        return x
    return switch(mask, x, cast(as_tensor_variable(value), x.dtype))


def sum_(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Sum over axes (as numpy.sum).

    Parameters
    ----------
    x
        A tensor.
    axis
        Axis or axes; all if None.
    dtype
        Dtype of the result; by default that of `x`, but bool and integers become int64 or uint64.
    keepdims
        Whether to keep the summed axes with length 1.
    acc_dtype
        Dtype to add in.
    initial
        What to start from: a scalar.
    where
        Which elements to include: bool, broadcast to `x`; all if None.

    Examples
    --------
    >>> tt.sum([[1, 5], [3, 2]], axis=1).eval()
    array([6, 5])
    """
    var = as_tensor_variable(x)
    total = _reduce(
        "sum", with_others(var, mask_of("sum", var, where), 0), axis, keepdims, *_sum_dtypes(var, dtype, acc_dtype)
    )
    return total if initial is None else add(total, cast(initial, total.dtype))


def prod(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
    no_zeros_in_input: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Multiply over axes (as numpy.prod; parameters as for `sum_`).

    Derivatives of every order are right, also where factors are zero; `no_zeros_in_input` promises that none is, which
    changes nothing.

    Examples
    --------
    >>> tt.prod([[1, 5], [3, 2]], axis=1).eval()
    array([5, 6])
    """
    as_flag("prod: no_zeros_in_input", no_zeros_in_input)
    var = as_tensor_variable(x)
    total = _reduce(
        "prod", with_others(var, mask_of("prod", var, where), 1), axis, keepdims, *_sum_dtypes(var, dtype, acc_dtype)
    )
    return total if initial is None else mul(total, cast(initial, total.dtype))


def _complex_extremum(kind: str, z: TensorVariable, axis: AxisLike, keepdims: bool) -> TensorVariable:
    """Return the extremum in NumPy's order of complex numbers: by the real parts, then by the imaginary ones."""
    axes = reduced_axes(kind, axis, z)
    part, none = z.real.dtype, -math.inf if kind == "max" else math.inf
    first = _reduce(kind, switch(isnan(z), math.nan, z.real), axes, True, part, part)
    second_part = _reduce(kind, switch(eq(z.real, first), z.imag, none), axes, True, part, part)
    extremum = complex_(first, switch(isnan(first), math.nan, second_part))
    return extremum if as_flag(f"{kind}: keepdims", keepdims) else squeeze(extremum, axes)


def _extremum(
    kind: str, x: TensorLike, axis: AxisLike, keepdims: bool, initial: TensorLike | None, where: TensorLike | None
) -> TensorVariable:
    var = as_tensor_variable(x)
    if var.type.numpy_dtype.kind == "c":
        if initial is not None or where is not None:
            msg = f"{kind}: initial= and where= are for real numbers, got {var} of type {var.type}. Leave them out."
            raise DtypeError(msg)
        return _complex_extremum(kind, var, axis, keepdims)
    mask = mask_of(kind, var, where)
    if initial is None:
        if mask is not None:
            msg = f"{kind}: there is no result over no elements, so that where= needs initial=. Pass it."
            raise ArgumentError(msg)
        return _reduce(kind, var, axis, keepdims, var.dtype, var.dtype)
    first = constant(initial, dtype=var.dtype) if isinstance(initial, int | float) else cast(initial, var.dtype)
    var = with_others(var, mask, first)
    axes = reduced_axes(kind, axis, var)
    for left, d in enumerate(axes, 1 - len(axes)):
        # There may be no elements along it: one more is put in front.
        lengths = [1 if k == d else shape_i(var, k) for k in range(var.ndim)]
        longer = join(d, alloc(first, *lengths), var)
        over, kept = ((d,), True) if left else (axes, keepdims)
        var = _reduce(kind, longer, over, kept, var.dtype, var.dtype)
    if axes:
        return var
    extremum = _reduce(kind, var, axes, keepdims, var.dtype, var.dtype)
    return (maximum if kind == "max" else minimum)(extremum, first)


def max_(
    x: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Return the largest element along axes; a NaN wins (as numpy.max; parameters as for `sum_`).

    No elements are an error, unless there is `initial`; `where` needs it.

    Examples
    --------
    >>> tt.max([[1, 5], [3, 2]], axis=1).eval()
    array([5, 3])
    """
    return _extremum("max", x, axis, keepdims, initial, where)


def min_(
    x: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """Return the smallest element along axes; a NaN wins (as numpy.min; parameters as for `max_`).

    Examples
    --------
    >>> tt.min([[1, 5], [3, 2]], axis=1).eval()
    array([1, 2])
    """
    return _extremum("min", x, axis, keepdims, initial, where)


def all_(
    x: TensorLike, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
) -> TensorVariable:
    """Whether all elements along axes are true, that is not zero (as numpy.all; parameters as for `sum_`).

    Examples
    --------
    >>> tt.all([[True, False], [True, True]], axis=1).eval()
    array([False,  True])
    """
    var = truth(x)
    return _reduce("all", with_others(var, mask_of("all", var, where), True), axis, keepdims, "bool", "bool")


def any_(
    x: TensorLike, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
) -> TensorVariable:
    """Whether any element along axes is true, that is not zero (as numpy.any; parameters as for `sum_`).

    Examples
    --------
    >>> tt.any([[True, False], [False, False]], axis=1).eval()
    array([ True, False])
    """
    var = truth(x)
    return _reduce("any", with_others(var, mask_of("any", var, where), False), axis, keepdims, "bool", "bool")


def truth(x: TensorLike) -> TensorVariable:
    """Return whether elements are true, that is not zero."""
    var = as_tensor_variable(x)
    return var if var.dtype == "bool" else neq(var, 0)


def _position(kind: str, x: TensorLike, axis: AxisLike, keepdims: bool) -> TensorVariable:
    var = as_tensor_variable(x)
    axes = reduced_axes(kind, axis, var)
    if var.type.numpy_dtype.kind == "c":
        # The first that equals the extremum, or is NaN.
        extremum = _complex_extremum(kind.removeprefix("arg"), var, axes, keepdims=True)
        return _position("argmax", bitwise_or(isnan(var), eq(var, extremum)), axes, keepdims)
    return _finish(kind, ArgReduction(kind, axes)(var), var, axes, keepdims)


def argmax(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the first largest element along axes, int64; several axes count in C order.

    Examples
    --------
    >>> tt.argmax([1, 5, 3]).eval()
    array(1)
    """
    return _position("argmax", x, axis, keepdims)


def argmin(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the first smallest element along axes, int64; several axes count in C order.

    Examples
    --------
    >>> tt.argmin([1, 5, 3]).eval()
    array(0)
    """
    return _position("argmin", x, axis, keepdims)


amax = alias(max_, "amax")
amin = alias(min_, "amin")


def max_and_argmax(
    x: TensorLike, axis: AxisLike = None, keepdims: bool = False
) -> tuple[TensorVariable, TensorVariable]:
    """Return the largest element along axes and its position.

    Examples
    --------
    >>> [x.eval() for x in tt.max_and_argmax([1, 5, 3])]
    [array(5), array(1)]
    """
    return max_(x, axis, keepdims), argmax(x, axis, keepdims)
