"""Reductions over axes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import lazy_module
from treadle.graph import Form, Variable, as_flag, composed, static_op
from treadle.tensor.arguments import as_number
from treadle.tensor.axes import axis_keyword, normalize_axes
from treadle.tensor.conversion import as_tensor_variable, constant, cotangent_of, tensors
from treadle.tensor.dimshuffle import NEW, dimshuffle
from treadle.tensor.dtype_rules import check_conversion
from treadle.tensor.errors import DtypeError, TensorTypeError
from treadle.tensor.fields import fix_axes, fix_dtypes
from treadle.tensor.from_graph import OpFromGraph
from treadle.tensor.scalar.arithmetic import add, maximum, mul, sub, true_div
from treadle.tensor.scalar.cast import cast, second, switch
from treadle.tensor.scalar.comparison import eq, neq
from treadle.tensor.scalar.exponential import sqr, sqrt
from treadle.tensor.shape import shape_i
from treadle.tensor.tensor_op import TensorOp
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor import batching
    from treadle.tensor.known_values import Known
    from treadle.tensor.rewrites.analysis.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variable import AxisLike, TensorLike, TensorNode, TensorVariable
else:
    batching = lazy_module("treadle.tensor.batching")

__all__ = [
    "KINDS",
    "ArgReduction",
    "Kind",
    "Reduction",
    "argmax",
    "argmin",
    "max_and_argmax",
    "mean",
    "prod",
    "ptp",
    "std",
    "var",
]


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


def _without(x: TensorType, axes: Sequence[int]) -> tuple[int | None, ...]:
    return tuple(n for d, n in enumerate(x.shape) if d not in axes)


class OverAxes(TensorOp):
    """Base of ops that reduce one tensor over axes."""

    axes: tuple[int, ...]

    def checked(self, x: Type) -> TensorType:
        """Return the input's type.

        Raises
        ------
        TensorTypeError
            If it is no tensor, or does not have the axes.
        """
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
        batch = batching.batch_ndim(node.inputs[0], x)
        shifted: OverAxes = replace(self, axes=tuple(axis + batch for axis in self.axes))  # type: ignore[type-var]  # a dataclass
        return shifted.make_node(x)


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

    kind: str
    axes: tuple[int, ...]
    dtype: str
    acc_dtype: str

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_axes(self)
        fix_dtypes(self, "dtype", "acc_dtype")

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
        return Form.call(self.kind, [x], axis_keyword(self.axes, getattr(x.type, "ndim", 0)))

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Reduce with NumPy, which sums pairwise."""
        del node
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
        found = known(node.inputs[0])
        if not found or None in found or kind.ndim != 1 or np.dtype(self.dtype).kind not in "iu":
            return None
        return [int(self.apply(np.array(found, kind.dtype)))]

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
        del node
        return [[self._is_smooth]]

    @property
    def _is_smooth(self) -> bool:
        return all(np.dtype(d).kind in "fc" for d in (self.acc_dtype, self.dtype))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Spread the cotangent over what was combined; ties of an extremum share it evenly."""
        x = tensors(inputs)[0]
        if not self._is_smooth or x.type.numpy_dtype.kind not in "fc":
            return [None]
        ct = expanded(cotangents[0], self.axes, x.ndim)
        if self.kind == "sum" or not self.axes:
            return [cotangent_of(x, second(x, ct))]
        if self.kind == "prod":
            others = _product_of_others(cast(x, self.acc_dtype), (), self.axes)
            return [cotangent_of(x, mul(ct, others.conj()))]
        hit = eq(x, expanded(outputs[0], self.axes, x.ndim))
        count = sum_(cast(hit, x.dtype), axis=self.axes, keepdims=True)
        return [switch(hit, cast(true_div(ct, count), x.dtype), 0)]

    def __str__(self) -> str:
        """Show kind and axes."""
        return f"{self.kind.capitalize()}{{axes={list(self.axes)}}}"


class ProductOfOthers(OpFromGraph):
    """For each element the product of the others along axes, differentiated in some directions.

    The formula takes zeros apart, so that its own derivative would be wrong there. But the product is linear in each
    factor: its derivative in a direction leaves out one more element. So the gradient of this op is the same op with
    one more direction, and derivatives of every order are right, each in linear time.

    Parameters
    ----------
    elements, directions
        Tensors of one type and shape.
    axes
        Axes of the product.
    """

    __props__ = (*(OpFromGraph.__props__ or ()), "axes")

    def __init__(self, elements: Variable, directions: Sequence[Variable], axes: tuple[int, ...]) -> None:
        x, *along = tensors([v.type.make_variable() for v in (elements, *directions)])
        super().__init__([x, *along], [_value_of_others(x, along, axes)], inline=True, name="product_of_others")
        self.axes = axes

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> list[Variable]:
        """Shift the axes behind the batch, of which every input gets a copy."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        x, *directions = batching.spread_all(pairs)
        axes = tuple(axis + batching.most_batch(pairs) for axis in self.axes)
        return ProductOfOthers(x, directions, axes).make_node(x, *directions).outputs

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Take the cotangent as one more direction, and in place of each; which elements are left out is symmetric."""
        del outputs
        x, *directions = tensors(inputs)
        ct = tensors(cotangents)[0].conj()
        replaced = [[*directions[:i], ct, *directions[i + 1 :]] for i in range(len(directions))]
        return [_product_of_others(x, along, self.axes).conj() for along in ([*directions, ct], *replaced)]


def _product_of_others(
    x: TensorVariable, directions: Sequence[TensorVariable], axes: tuple[int, ...]
) -> TensorVariable:
    result: TensorVariable = ProductOfOthers(x, directions, axes)(x, *directions)
    return result


def _value_of_others(x: TensorVariable, directions: Sequence[TensorVariable], axes: tuple[int, ...]) -> TensorVariable:
    """Sum over all choices of different other elements, one for each direction, which leave the product.

    The product is zero unless the zeros leave it, all of them: each is chosen for one of the directions, and any of
    the other elements for the rest.
    """
    zero = eq(x, 0)
    safe = switch(zero, 1, x)
    product = prod(safe, axis=axes, keepdims=True)
    zeros = cast(zero, "int64")
    others = switch(zero, product, true_div(product, safe))
    other_zeros = sub(sum_(zeros, axis=axes, keepdims=True), zeros)
    at_zeros = [switch(zero, d, 0) for d in directions]
    elsewhere = [switch(zero, 0, true_div(d, safe)) for d in directions]
    terms: list[TensorVariable] = []
    for count in range(len(directions) + 1):
        ways: list[TensorVariable] = []
        for chosen in combinations(range(len(directions)), count):
            rest = [d for i, d in enumerate(elsewhere) if i not in chosen]
            ways.append(
                _over_different_others([at_zeros[i] for i in chosen], axes, _over_different_others(rest, axes, others))
            )
        terms.append(switch(eq(other_zeros, count), reduce(add, ways), 0))
    return reduce(add, terms)


def _over_different_others(
    values: Sequence[TensorVariable], axes: tuple[int, ...], factor: TensorVariable
) -> TensorVariable:
    """Sum the product of values, times a factor, over all choices of different other elements, one for each value."""
    if not values:
        return factor
    *first, last = values
    alone = sub(sum_(last, axis=axes, keepdims=True), last)
    total = mul(alone, _over_different_others(first, axes, factor))
    for i, value in enumerate(first):
        # Those in which two of the elements are the same are taken out again.
        total = sub(total, _over_different_others([*first[:i], mul(value, last), *first[i + 1 :]], axes, factor))
    return total


@static_op
class ArgReduction(OverAxes):
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

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_axes(self)

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
        del node
        x = inputs[0]
        kept = [d for d in range(x.ndim) if d not in self.axes]
        moved = x.transpose(*kept, *self.axes)
        flat = moved.reshape(*moved.shape[: len(kept)], math.prod(moved.shape[len(kept) :]))
        output_storage[0][0] = np.asarray(getattr(np, self.kind)(flat, axis=-1), dtype="int64")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing flows back: a position does not change smoothly."""
        del node
        return [[False]]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return that nothing flows back."""
        del inputs, outputs, cotangents
        return [None]

    def __str__(self) -> str:
        """Show kind and axes."""
        return f"{self.kind.capitalize()}{{axes={list(self.axes)}}}"


def _axes(kind: str, axis: AxisLike, x: TensorVariable) -> tuple[int, ...]:
    return tuple(sorted(normalize_axes(kind, axis, x.ndim, of_scalar=True)))


def _finish(
    kind: str, result: TensorVariable, x: TensorVariable, axes: tuple[int, ...], keepdims: bool
) -> TensorVariable:
    kept = as_flag(f"{kind}: keepdims", keepdims)
    return expanded(result, axes, x.ndim) if kept else result


def _reduce(kind: str, x: TensorVariable, axis: AxisLike, keepdims: bool, dtype: str, acc_dtype: str) -> TensorVariable:
    axes = _axes(kind, axis, x)
    return _finish(kind, Reduction(kind, axes, dtype, acc_dtype)(x), x, axes, keepdims)


def _sum_dtypes(x: TensorVariable, dtype: DTypeLike | None, acc_dtype: DTypeLike | None) -> tuple[str, str]:
    """Return result and accumulator dtypes of sums and products, as NumPy has them.

    Bool and short integers become int64 or uint64; float16 is accumulated in float32.
    """
    own = x.type.numpy_dtype
    wide = {"b": "int64", "i": "int64", "u": "uint64"}.get(own.kind, own.name)
    result = TensorType(dtype).dtype if dtype is not None else wide
    if acc_dtype is not None:
        return result, TensorType(acc_dtype).dtype
    return result, "float32" if result == "float16" else result


def sum_(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
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
    """
    var = as_tensor_variable(x)
    return _reduce("sum", var, axis, keepdims, *_sum_dtypes(var, dtype, acc_dtype))


def prod(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
) -> TensorVariable:
    """Multiply over axes (as numpy.prod; parameters as for `sum_`).

    Derivatives of every order are right, also where factors are zero.
    """
    var = as_tensor_variable(x)
    return _reduce("prod", var, axis, keepdims, *_sum_dtypes(var, dtype, acc_dtype))


def _ordered(x: TensorLike) -> TensorVariable:
    var = as_tensor_variable(x)
    if var.type.numpy_dtype.kind == "c":
        msg = f"max/min: complex numbers have no order, got {var} of type {var.type}. Reduce abs(x) or x.real."
        raise DtypeError(msg)
    return var


def max_(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the largest element along axes; a NaN wins; no elements are an error (as numpy.max)."""
    var = _ordered(x)
    return _reduce("max", var, axis, keepdims, var.dtype, var.dtype)


def min_(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the smallest element along axes; a NaN wins; no elements are an error (as numpy.min)."""
    var = _ordered(x)
    return _reduce("min", var, axis, keepdims, var.dtype, var.dtype)


def all_(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Whether all elements along axes are true, that is not zero (as numpy.all)."""
    return _reduce("all", _truth(x), axis, keepdims, "bool", "bool")


def any_(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Whether any element along axes is true, that is not zero (as numpy.any)."""
    return _reduce("any", _truth(x), axis, keepdims, "bool", "bool")


def _truth(x: TensorLike) -> TensorVariable:
    var = as_tensor_variable(x)
    return var if var.dtype == "bool" else neq(var, 0)


def _position(kind: str, x: TensorLike, axis: AxisLike, keepdims: bool) -> TensorVariable:
    var = _ordered(x)
    axes = _axes(kind, axis, var)
    return _finish(kind, ArgReduction(kind, axes)(var), var, axes, keepdims)


def argmax(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the first largest element along axes, int64; several axes count in C order."""
    return _position("argmax", x, axis, keepdims)


def argmin(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return the position of the first smallest element along axes, int64; several axes count in C order."""
    return _position("argmin", x, axis, keepdims)


def max_and_argmax(
    x: TensorLike, axis: AxisLike = None, keepdims: bool = False
) -> tuple[TensorVariable, TensorVariable]:
    """Return the largest element along axes and its position."""
    return max_(x, axis, keepdims), argmax(x, axis, keepdims)


def _count(x: TensorVariable, axes: Sequence[int], dtype: str) -> TensorVariable:
    """Return the number of elements along axes as a scalar of a float dtype."""
    known = [n for d in axes if (n := x.type.shape[d]) is not None]
    if len(known) == len(axes):
        return constant(math.prod(known), dtype=dtype)
    first, *others = (shape_i(x, d) for d in axes)
    return cast(reduce(mul, others, first), dtype)


@composed
def mean(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
) -> TensorVariable:
    """Return the mean over axes (as numpy.mean): integers give float64, no elements give NaN.

    Parameters are those of `sum_`.
    """
    var = as_tensor_variable(x)
    own = var.type.numpy_dtype
    result = TensorType(dtype).dtype if dtype is not None else (own.name if own.kind in "fc" else "float64")
    inner = TensorType(acc_dtype).dtype if acc_dtype is not None else ("float32" if result == "float16" else result)
    axes = _axes("mean", axis, var)
    total = sum_(var, axis=axes, dtype=inner, keepdims=keepdims)
    real = inner if inner not in {"complex64", "complex128"} else {"complex64": "float32"}.get(inner, "float64")
    return cast(true_div(total, _count(var, axes, real)), result)


@composed
def var(
    x: TensorLike, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> TensorVariable:
    """Return the variance over axes (as numpy.var), computed from deviations from the mean.

    Parameters
    ----------
    x
        A tensor; of complex numbers the squares are those of absolute values.
    axis
        Axis or axes; all if None.
    ddof
        Subtracted from the number of elements in the divisor.
    keepdims
        Whether to keep the axes with length 1.
    corrected
        Whether to take out the rounding error of the mean (the corrected two-pass algorithm): it says how to compute
        the same number, and is not NumPy's `correction`, which is `ddof`.

    Notes
    -----
    T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983.
    """
    value = as_tensor_variable(x)
    if value.type.numpy_dtype.kind not in "fc":
        value = cast(value, "float64")
    inner = cast(value, "float32") if value.dtype == "float16" else value
    axes = _axes("var", axis, value)
    deviations = sub(inner, mean(inner, axis=axes, keepdims=True))
    total = sum_(_squared_size(deviations), axis=axes, keepdims=keepdims)
    count = _count(value, axes, total.dtype)
    if as_flag("var: corrected", corrected):
        total = sub(total, true_div(_squared_size(sum_(deviations, axis=axes, keepdims=keepdims)), count))
    lost = as_number("var: ddof", ddof)
    divisor = maximum(sub(count, lost), 0) if lost else count
    return cast(true_div(total, divisor), value.real.dtype)


def _squared_size(x: TensorVariable) -> TensorVariable:
    return add(sqr(x.real), sqr(x.imag)) if x.type.numpy_dtype.kind == "c" else sqr(x)


@composed
def std(
    x: TensorLike, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> TensorVariable:
    """Return the standard deviation over axes (as numpy.std; parameters as for `var`)."""
    result: TensorVariable = sqrt(var(x, axis, ddof, keepdims, corrected))
    return result


def ptp(x: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Return the range of values along an axis (as numpy.ptp)."""
    result: TensorVariable = sub(max_(x, axis), min_(x, axis))
    return result
