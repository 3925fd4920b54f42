"""Cumulative sums, products and extrema along an axis, and the linear recurrence that differentiates them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from treadle.graph import DisconnectedType, Form, as_flag, static_op
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.elementwise.arithmetic import add, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, neq
from treadle.tensor.elementwise.exponential import exp
from treadle.tensor.elementwise.logic import logical_and, logical_not
from treadle.tensor.errors import AxisError, DtypeError, ShapeError, TensorTypeError
from treadle.tensor.joins.joining import join
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import most_batch
from treadle.tensor.shapes.broadcasting import alloc, full, zeros_like
from treadle.tensor.shapes.dimshuffle import dimshuffle
from treadle.tensor.shapes.shape import flatten, lengths
from treadle.tensor.types.conversion import as_tensor_variable, cotangent_of, tensors
from treadle.tensor.types.dtype_rules import check_conversion
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = [
    "ACCUMULATIONS", "Accumulation", "LinearRecurrence", "cummax", "cummin", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "logcumsumexp",
]  # fmt: skip

# Kinds of accumulation, each with the NumPy ufunc whose ``accumulate`` it is.
ACCUMULATIONS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "logaddexp": "logaddexp"}


def _cut(
    x: TensorVariable, axis: int, start: int | None = None, stop: int | None = None, step: int = 1
) -> TensorVariable:
    """Return a slice of one dimension."""
    return x[at_axis(axis, slice(start, stop, None if step == 1 else step))]


class AlongAxis(TensorOp):
    """Base of ops whose first input and result have one shape, and which walk along an axis."""

    axis: int

    integer_fields = ("axis",)

    def checked(self, x: Type) -> TensorType:
        """Return the type of an input, which must be a tensor that has the axis."""
        if not isinstance(x, TensorType) or not 0 <= self.axis < x.ndim:
            msg = f"{self}: a tensor with axis {self.axis} is needed, got {x}. Use the function of that name."
            raise TensorTypeError(msg)
        return x

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths of the last input, which the result has too."""
        return list(shapes.of(node.inputs[-1]))

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Variable | Apply:
        """Walk along the axis behind the batch dimensions, which every input is broadcast to."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        shifted: AlongAxis = replace(self, axis=self.axis + most_batch(pairs))  # type: ignore[type-var]  # a dataclass
        return shifted.make_node(*spread_all(pairs))


@static_op
class Accumulation(AlongAxis):
    """Each element combined with all before it along an axis.

    Parameters
    ----------
    kind
        ``sum``, ``prod``, ``max``, ``min`` or ``logaddexp``.
    axis
        The axis, 0 or more.
    dtype
        Dtype of the result, which elements are converted to first.
    """

    promises_structure = False

    kind: str
    axis: int
    dtype: str

    dtype_fields = ("dtype",)

    @property
    def mode(self) -> str:
        """The kind, as ``add`` or ``mul`` where it is that of sums or products."""
        return {"sum": "add", "prod": "mul"}.get(self.kind, self.kind)

    @property
    def linear(self) -> Literal["jointly"] | None:  # type: ignore[override]  # depends on the kind
        """A sum is linear."""
        return "jointly" if self._is_smooth and self.kind == "sum" else None

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type in the dtype of the result."""
        x = self.checked(types[0])
        if self.kind not in ACCUMULATIONS:
            msg = f"{self}: the kind must be one of {', '.join(ACCUMULATIONS)}, got {self.kind!r}."
            raise TensorTypeError(msg)
        check_conversion(f"cum{self.kind}", x.numpy_dtype, np.dtype(self.dtype))
        return [TensorType(self.dtype, x.shape)]

    def printed_form(self, node: Apply) -> Form:
        """Write a call such as ``cumsum(x, axis=0)``."""
        name = "logcumsumexp" if self.kind == "logaddexp" else f"cum{self.kind}"
        return Form.call(name, list(node.inputs), {"axis": self.axis})

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Accumulate with NumPy."""
        ufunc: np.ufunc = getattr(np, ACCUMULATIONS[self.kind])
        with np.errstate(all="ignore"):
            result = ufunc.accumulate(inputs[0], axis=self.axis, dtype=self.dtype)
        output_storage[0][0] = result

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that nothing but numbers of 0 or more makes 0 or more; integers wrap around."""
        if fact != "nonnegative" or output.owner is None or self.kind == "logaddexp":
            return False
        (x,) = tensors(output.owner.inputs)
        return {x.type.numpy_dtype.kind, np.dtype(self.dtype).kind} == {"f"} and holds(fact, x)

    @property
    def _is_smooth(self) -> bool:
        return np.dtype(self.dtype).kind in "fc"

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the input is connected, unless the result holds truth values or integers."""
        return [[self._is_smooth]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Sum from the end what flows back, each term faded by what it passes.

        A product fades by the factors passed, so that zeros need no care; an extremum by whether a new one came; the
        logarithm of a sum of exponentials by the part of the sum that came before.
        """
        x, out, ct = tensors([inputs[0], outputs[0], cotangents[0]])
        if not self._is_smooth or x.type.numpy_dtype.kind not in "fc":
            return [None]
        at = self.axis
        if self.kind == "sum":
            return [cotangent_of(x, _cut(Accumulation("sum", at, ct.dtype)(_cut(ct, at, step=-1)), at, step=-1))]
        before, after = _cut(out, at, stop=-1), _cut(out, at, start=1)
        wide = cast(x, self.dtype)
        own = _cut(wide, at, start=1)
        if self.kind == "prod":
            passed = _from_the_end(own.conj(), ct, at)
            later = mul(_cut(passed, at, start=1), before.conj())
        elif self.kind == "logaddexp":
            passed = _from_the_end(exp(_difference(before, after)), ct, at)
            return [cotangent_of(x, mul(passed, exp(_difference(wide, out))))]
        else:
            new = logical_and(eq(own, after), neq(before, after))
            passed = _from_the_end(cast(logical_not(new), self.dtype), ct, at)
            later = switch(new, _cut(passed, at, start=1), 0)
        return [cotangent_of(x, join(at, _cut(passed, at, stop=1), later))]

    def __str__(self) -> str:
        return f"Cumulative{self.kind.capitalize()}{{axis={self.axis}}}"


def _difference(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    """Return the difference of two tensors, 0 where both are the same infinity."""
    return switch(eq(a, b), 0, sub(a, b))


def _from_the_end(decay: TensorVariable, x: TensorVariable, axis: int) -> TensorVariable:
    """Return the linear recurrence that runs from the end of an axis to its start."""
    turned: TensorVariable = LinearRecurrence(axis)(_cut(decay, axis, step=-1), _cut(x, axis, step=-1))
    return _cut(turned, axis, step=-1)


@static_op
class LinearRecurrence(AlongAxis):
    """h[t] = decay[t - 1] * h[t - 1] + x[t] along an axis, from h[0] = x[0].

    Inputs: the decays, of which there is one less than elements along the axis, and x; both of one float or complex
    dtype. Its gradient is the same recurrence from the end.

    Parameters
    ----------
    axis
        The axis, 0 or more.
    """

    axis: int

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of x, with the lengths that the decays know."""
        decay, x = map(self.checked, types)
        if decay.dtype != x.dtype or x.numpy_dtype.kind not in "fc" or decay.ndim != x.ndim:
            msg = f"{self}: decays and x must have one rank and one float or complex dtype, got {decay} and {x}."
            raise TensorTypeError(msg)
        shape = list(x.shape)
        for d, (m, n) in enumerate(zip(decay.shape, x.shape, strict=True)):
            needed = n if d != self.axis or n is None else max(n - 1, 0)
            if m is not None and needed is not None and m != needed:
                msg = f"{self}: the decays have length {m} along axis {d}, where x of type {x} needs {needed}."
                raise ShapeError(msg)
            if d != self.axis and n is None:
                shape[d] = m
        return [TensorType(x.dtype, tuple(shape))]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Step along the axis with NumPy."""
        decay, x = (np.moveaxis(v, self.axis, 0) for v in inputs)
        if decay.shape != (max(len(x) - 1, 0), *x.shape[1:]):
            msg = f"{self}: decays of shape {inputs[0].shape} do not fit x of shape {inputs[1].shape}."
            raise ValueError(msg)
        result = np.array(inputs[1])
        h = np.moveaxis(result, self.axis, 0)
        with np.errstate(all="ignore"):
            for t in range(1, len(x)):
                h[t] = decay[t - 1] * h[t - 1] + x[t]
        output_storage[0][0] = result

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Step along the axis in a loop, of which the first step has nothing to carry."""
        decay, x = tensors(inputs)
        order = [self.axis, *(d for d in range(x.ndim) if d != self.axis)]
        decays = dimshuffle(join(self.axis, zeros_like(_cut(x, self.axis, stop=1)), decay), *order)
        rows = dimshuffle(x, *order)

        def step(h: TensorVariable, row: tuple[TensorVariable, TensorVariable]) -> tuple[TensorVariable, ...]:
            new = add(mul(row[0], h), row[1])
            return new, new

        first = alloc(np.zeros((), x.dtype), *lengths(rows)[1:])
        _, stacked = upward.scan_with_carry(step, first, (decays, rows))
        return [self(*inputs).type.filter_variable(dimshuffle(stacked, *(order.index(d) for d in range(x.ndim))))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Run the recurrence from the end; a decay multiplies the value before.

        Through `decompose`: 25 nodes in place of 8, and a loop of single steps.
        """
        decay, out, ct = tensors([inputs[0], outputs[0], cotangents[0]])
        passed = _from_the_end(decay.conj(), ct, self.axis)
        return [mul(_cut(passed, self.axis, start=1), _cut(out, self.axis, stop=-1).conj()), passed]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Run the recurrence on how x moves, and on how a decay that moves changes what it multiplies.

        Through `decompose`: a loop of single steps, where backends have one for the whole recurrence.
        """
        decay, out = inputs[0], tensors(outputs)[0]
        of_decay, of_x = (None if t is None or isinstance(t.type, DisconnectedType) else t for t in tangents)
        added = of_x
        if of_decay is not None:
            changed = mul(of_decay, _cut(out, self.axis, stop=-1))
            first = zeros_like(_cut(out, self.axis, stop=1))
            changed = join(self.axis, first, changed)
            added = changed if of_x is None else add(of_x, changed)
        return [None if added is None else LinearRecurrence(self.axis)(decay, added)]


def accumulated(
    kind: str, name: str, x: TensorLike, axis: int | None, dtype: DTypeLike | None = None
) -> TensorVariable:
    """Return an accumulation of some `kind`; short integers are summed and multiplied in int64 or uint64, as in NumPy.

    The tensor is flattened if `axis` is None, and where it is a scalar. `name` names the function in messages.
    """
    var = as_tensor_variable(x)
    if axis is None or var.ndim == 0:
        var = flatten(var)
    at = 0 if axis is None else normalize_axis(name, axis, var.ndim)
    own = var.type.numpy_dtype
    if own.kind == "c" and kind not in {"sum", "prod"}:
        msg = f"{name}: complex numbers have no order, got {var} of type {var.type}. Take abs(x) or x.real."
        raise DtypeError(msg)
    if dtype is not None:
        result = TensorType(dtype).dtype
    elif kind == "logaddexp":
        result = own.name if own.kind == "f" else "float64"
    elif kind in {"sum", "prod"}:
        result = {"b": "int64", "i": "int64", "u": "uint64"}.get(own.kind, own.name)
    else:
        result = own.name
    accumulation: TensorVariable = Accumulation(kind, at, result)(var)
    return accumulation


def cumsum(x: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return the sums of the elements up to each along an axis; of all in C order if None (as numpy.cumsum).

    Examples
    --------
    >>> tt.cumsum([1, 2, 3]).eval()
    array([1, 3, 6])
    """
    return accumulated("sum", "cumsum", x, axis, dtype)


def cumprod(x: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return the products of the elements up to each (as numpy.cumprod; parameters as for `cumsum`).

    Derivatives of every order are right, also where factors are zero.

    Examples
    --------
    >>> tt.cumprod([1, 2, 3]).eval()
    array([1, 2, 6])
    """
    return accumulated("prod", "cumprod", x, axis, dtype)


def cummax(x: TensorLike, axis: int | None = None) -> TensorVariable:
    """Return the largest of the elements up to each along an axis (as numpy.maximum.accumulate); a NaN stays.

    Examples
    --------
    >>> tt.cummax([1, 3, 2]).eval()
    array([1, 3, 3])
    """
    return accumulated("max", "cummax", x, axis)


def cummin(x: TensorLike, axis: int | None = None) -> TensorVariable:
    """Return the smallest of the elements up to each along an axis (as numpy.minimum.accumulate); a NaN stays.

    Examples
    --------
    >>> tt.cummin([3, 1, 2]).eval()
    array([3, 1, 1])
    """
    return accumulated("min", "cummin", x, axis)


def logcumsumexp(x: TensorLike, axis: int | None = None) -> TensorVariable:
    """Return log(cumsum(exp(x))), without overflow (as numpy.logaddexp.accumulate); integers become float64.

    Examples
    --------
    >>> tt.logcumsumexp([0.0, 0.0]).eval().round(6)
    array([0.      , 0.693147])
    """
    return accumulated("logaddexp", "logcumsumexp", x, axis)


def cumulative_sum(
    x: TensorLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> TensorVariable:
    """Return the sums of the elements up to each along an axis (as numpy.cumulative_sum).

    Parameters
    ----------
    x
        A tensor of rank 1 or more.
    axis
        The axis; may be left out for a vector only.
    dtype
        Dtype of the result; by default that of `x`, but bool and integers become int64 or uint64.
    include_initial
        Whether to put the empty sum, 0, in front.

    Examples
    --------
    >>> tt.cumulative_sum([1, 2, 3]).eval()
    array([1, 3, 6])
    """
    return _cumulative("sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: TensorLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> TensorVariable:
    """Return the products of the elements up to each (as numpy.cumulative_prod; parameters as for `cumulative_sum`).

    Examples
    --------
    >>> tt.cumulative_prod([1, 2, 3]).eval()
    array([1, 2, 6])
    """
    return _cumulative("prod", x, axis, dtype, include_initial)


def _cumulative(
    kind: str, x: TensorLike, axis: int | None, dtype: DTypeLike | None, include_initial: bool
) -> TensorVariable:
    name = f"cumulative_{kind}"
    var = as_tensor_variable(x)
    if var.ndim == 0 or (axis is None and var.ndim != 1):
        msg = f"{name}: an axis is needed for a tensor of rank {var.ndim}. Pass axis=, and a tensor of rank 1 or more."
        raise AxisError(msg)
    at = normalize_axis(name, 0 if axis is None else axis, var.ndim)
    result = accumulated(kind, name, var, at, dtype)
    if not as_flag(f"{name}: include_initial", include_initial):
        return result
    shape = [1 if d == at else n for d, n in enumerate(lengths(var))]
    return join(at, full(shape, int(kind == "prod"), dtype=result.dtype), result)
