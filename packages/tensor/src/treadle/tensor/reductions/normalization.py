"""Softmax, log-softmax and logsumexp: stable by construction, the largest element taken out first."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.graph import Form, as_flag, static_op
from treadle.tensor.arguments.axes import axis_keyword, normalize_axes
from treadle.tensor.elementwise.arithmetic import add, mul, sub, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import isfinite
from treadle.tensor.elementwise.exponential import exp, log
from treadle.tensor.joins.joining import join
from treadle.tensor.ops.tensor_op import Derivatives, Variables
from treadle.tensor.reductions.reduction import OverAxes, expanded, max_, sum_
from treadle.tensor.shapes.broadcasting import full
from treadle.tensor.shapes.dimshuffle import squeeze
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = ["LogSoftmax", "LogSumExp", "Peak", "Softmax", "log_softmax", "logsumexp", "softmax"]


@static_op
class Peak(OverAxes):
    """The largest element along axes, which are kept with length 1; minus infinity over no elements."""

    axes: tuple[int, ...]

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type with axes of length 1."""
        x = self.checked(types[0])
        return [TensorType(x.dtype, tuple(1 if d in self.axes else n for d, n in enumerate(x.shape)))]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Compute with NumPy."""
        output_storage[0][0] = np.asarray(np.max(inputs[0], axis=self.axes, keepdims=True, initial=-np.inf))

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the maximum, with minus infinity added where there may be no elements."""
        x = tensors(inputs)[0]
        for axis in self.axes:
            if not x.type.shape[axis]:
                shape = [1 if d == axis else n for d, n in enumerate(lengths(x))]
                x = join(axis, x, full(shape, -np.inf, dtype=x.dtype))
        return [max_(x, axis=self.axes, keepdims=True)]


class _Normalization(OverAxes):
    """Base of the ops over axes of one float tensor."""

    user_name: ClassVar[str]

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return [self.checked(types[0])]

    def printed_form(self, node: Apply) -> Form:
        """Write ``softmax(x, axis=0)``."""
        (x,) = node.inputs
        return Form.call(self.user_name, [x], axis_keyword(self.axes, getattr(x.type, "ndim", 0)))

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Compute with NumPy; an infinite element is not taken out."""
        x = inputs[0]
        with np.errstate(all="ignore"):
            top = np.max(x, axis=self.axes, keepdims=True, initial=-np.inf)
            top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
            output_storage[0][0] = np.asarray(self.compute(x - top, top))

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the formula, computed in float32 for float16; an infinite element is not taken out."""
        x = tensors(inputs)[0]
        wide = cast(x, "float32") if x.dtype == "float16" else x
        top: TensorVariable = Peak(self.axes)(wide)
        top = switch(isfinite(top), top, constant(0, dtype=wide.dtype))
        return [cast(self.formula(sub(wide, top), top), x.dtype)]

    @abstractmethod
    def compute(self, shifted: np.ndarray, top: np.ndarray) -> np.ndarray:
        """Return the result for NumPy arrays: x less its largest element, and that element."""

    @abstractmethod
    def formula(self, shifted: TensorVariable, top: TensorVariable) -> TensorVariable:
        """Return the result as an expression of the same."""


@static_op
class Softmax(_Normalization):
    """exp(x) over its sum along axes."""

    axes: tuple[int, ...]
    user_name = "softmax"

    def compute(self, shifted: np.ndarray, top: np.ndarray) -> np.ndarray:
        """Divide the exponentials by their sum."""
        e = np.exp(shifted)
        result: np.ndarray = e / e.sum(axis=self.axes, keepdims=True)
        return result

    def formula(self, shifted: TensorVariable, top: TensorVariable) -> TensorVariable:
        """Divide the exponentials by their sum."""
        e = exp(shifted)
        return true_div(e, sum_(e, axis=self.axes, keepdims=True))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return s (ct - sum(ct s)).

        Through `decompose`: 34 nodes in place of 9.
        """
        s, ct = outputs[0], cotangents[0]
        return [mul(s, sub(ct, sum_(mul(ct, s), axis=self.axes, keepdims=True)))]


@static_op
class LogSoftmax(_Normalization):
    """The logarithm of softmax along axes: x - logsumexp(x)."""

    axes: tuple[int, ...]
    user_name = "log_softmax"

    def compute(self, shifted: np.ndarray, top: np.ndarray) -> np.ndarray:
        """Subtract the logarithm of the sum of exponentials."""
        result: np.ndarray = shifted - np.log(np.exp(shifted).sum(axis=self.axes, keepdims=True))
        return result

    def formula(self, shifted: TensorVariable, top: TensorVariable) -> TensorVariable:
        """Subtract the logarithm of the sum of exponentials."""
        return sub(shifted, log(sum_(exp(shifted), axis=self.axes, keepdims=True)))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return ct - softmax(x) sum(ct).

        Through `decompose`: 28 nodes in place of 8.
        """
        ct = cotangents[0]
        return [sub(ct, mul(exp(outputs[0]), sum_(ct, axis=self.axes, keepdims=True)))]


@static_op
class LogSumExp(_Normalization):
    """The logarithm of the sum of exponentials along axes, which are dropped."""

    axes: tuple[int, ...]
    user_name = "logsumexp"

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type without the axes."""
        x = self.checked(types[0])
        return [TensorType(x.dtype, tuple(n for d, n in enumerate(x.shape) if d not in self.axes))]

    def compute(self, shifted: np.ndarray, top: np.ndarray) -> np.ndarray:
        """Return the logarithm of the sum of exponentials."""
        total: np.ndarray = np.log(np.exp(shifted).sum(axis=self.axes, keepdims=True)) + top
        return total.squeeze(self.axes)

    def formula(self, shifted: TensorVariable, top: TensorVariable) -> TensorVariable:
        """Return the logarithm of the sum of exponentials."""
        total = add(log(sum_(exp(shifted), axis=self.axes, keepdims=True)), top)
        return squeeze(total, self.axes)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return ct softmax(x).

        Through `decompose`: 26 nodes in place of 5.
        """
        x = tensors(inputs)[0]
        return [mul(expanded(cotangents[0], self.axes, x.ndim), Softmax(self.axes)(x))]


def _floating(x: TensorLike) -> TensorVariable:
    """Return a tensor as real floating point of 32 bits or more precision than it needs; float16 stays."""
    var = as_tensor_variable(x)
    return var if var.type.numpy_dtype.kind == "f" else cast(var, "float64")


def _axes(what: str, axis: AxisLike, x: TensorVariable) -> tuple[int, ...]:
    return tuple(sorted(normalize_axes(what, axis, x.ndim, of_scalar=True)))


def softmax(x: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Return exp(x) over its sum along an axis, or axes; over all elements if None (as scipy.special.softmax).

    Integers are converted to float64. A plus infinity makes itself NaN and all others 0; SciPy makes all of them NaN.

    Examples
    --------
    >>> tt.softmax([[0.0, 0.0], [1.0, 1.0]], axis=-1).eval()
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    var = _floating(x)
    axes = _axes("softmax", axis, var)
    result: TensorVariable = Softmax(axes)(var)
    return result


def log_softmax(x: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Return the logarithm of `softmax`, without overflow or loss (as scipy.special.log_softmax).

    Examples
    --------
    >>> tt.log_softmax([0.0, 0.0]).eval().round(6)
    array([-0.693147, -0.693147])
    """
    var = _floating(x)
    axes = _axes("log_softmax", axis, var)
    result: TensorVariable = LogSoftmax(axes)(var)
    return result


def logsumexp(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Return log(sum(exp(x))) along axes, without overflow (as scipy.special.logsumexp).

    Over no elements, or where all are minus infinity, it is minus infinity; a plus infinity makes it plus infinity.

    Examples
    --------
    >>> tt.logsumexp([0.0, 0.0]).eval().round(6)
    np.float64(0.693147)
    """
    var = _floating(x)
    axes = _axes("logsumexp", axis, var)
    kept = as_flag("logsumexp: keepdims", keepdims)
    out = LogSumExp(axes)(var)
    return expanded(out, axes, var.ndim) if kept else out
