"""Softmax, logsumexp and their kin: stable by construction, the largest element taken out first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Form, Op, as_flag, static_op
from treadle.tensor.axes import axis_keyword, normalize_axes
from treadle.tensor.conversion import as_tensor_variable
from treadle.tensor.fields import fix_axes
from treadle.tensor.reduction import expanded, sum_
from treadle.tensor.scalar.arithmetic import mul, sub
from treadle.tensor.scalar.cast import cast
from treadle.tensor.scalar.exponential import exp
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.variable import TensorVariable


def _shifted(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return x minus its largest element along the axes, and that element; an infinite one is not taken out."""
    top = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    return x - top, top


class _OverAxes(Op):
    """Base of ops over axes of one float tensor."""

    axes: tuple[int, ...]

    def as_input(self, value: Any) -> Variable:
        """Take anything that can be made a tensor."""
        return as_tensor_variable(value)


@static_op
class Softmax(_OverAxes):
    """exp(x) over its sum along axes."""

    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_axes(self)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def printed_form(self, node: Apply) -> Form:
        """Write ``softmax(x, axis=0)``."""
        (x,) = node.inputs
        return Form.call("softmax", [x], axis_keyword(self.axes, getattr(x.type, "ndim", 0)))

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute with NumPy."""
        del node
        with np.errstate(all="ignore"):
            e = np.exp(_shifted(inputs[0], self.axes)[0])
            output_storage[0][0] = np.asarray(e / e.sum(axis=self.axes, keepdims=True))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return s (ct - sum(ct s))."""
        del inputs
        s, ct = outputs[0], cotangents[0]
        return [mul(s, sub(ct, sum_(mul(ct, s), axis=self.axes, keepdims=True)))]


@static_op
class LogSoftmax(_OverAxes):
    """The logarithm of softmax along axes: x - logsumexp(x)."""

    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_axes(self)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def printed_form(self, node: Apply) -> Form:
        """Write ``log_softmax(x, axis=0)``."""
        (x,) = node.inputs
        return Form.call("log_softmax", [x], axis_keyword(self.axes, getattr(x.type, "ndim", 0)))

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute with NumPy."""
        del node
        with np.errstate(all="ignore"):
            shifted, _ = _shifted(inputs[0], self.axes)
            output_storage[0][0] = np.asarray(shifted - np.log(np.exp(shifted).sum(axis=self.axes, keepdims=True)))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return ct - softmax(x) sum(ct)."""
        del inputs
        ct = cotangents[0]
        return [sub(ct, mul(exp(outputs[0]), sum_(ct, axis=self.axes, keepdims=True)))]


@static_op
class LogSumExp(_OverAxes):
    """The logarithm of the sum of exponentials along axes, which are dropped."""

    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        fix_axes(self)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type without the axes."""
        x: Any = types[0]
        return [TensorType(x.dtype, tuple(n for d, n in enumerate(x.shape) if d not in self.axes))]

    def printed_form(self, node: Apply) -> Form:
        """Write ``logsumexp(x, axis=0)``."""
        (x,) = node.inputs
        return Form.call("logsumexp", [x], axis_keyword(self.axes, getattr(x.type, "ndim", 0)))

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute with NumPy."""
        del node
        with np.errstate(all="ignore"):
            shifted, top = _shifted(inputs[0], self.axes)
            total = np.log(np.exp(shifted).sum(axis=self.axes, keepdims=True)) + top
            output_storage[0][0] = np.asarray(np.squeeze(total, self.axes))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return ct softmax(x)."""
        del outputs
        x: Any = inputs[0]
        return [mul(expanded(cotangents[0], self.axes, x.ndim), Softmax(self.axes)(x))]


def _floating(x: Any) -> Any:
    """Return a tensor as real floating point of 32 bits or more precision than it needs; float16 stays."""
    var = as_tensor_variable(x)
    return var if var.type.numpy_dtype.kind == "f" else cast(var, "float64")


def _axes(what: str, axis: Any, x: Any) -> tuple[int, ...]:
    return tuple(sorted(normalize_axes(what, axis, x.ndim, of_scalar=True)))


def softmax(x: Any, axis: Any = None) -> TensorVariable:
    """Return exp(x) over its sum along an axis, or axes; over all elements if None (as scipy.special.softmax).

    Integers are converted to float64. A plus infinity makes itself NaN and all others 0; SciPy makes all of them NaN.
    """
    var = _floating(x)
    axes = _axes("softmax", axis, var)
    result: TensorVariable = Softmax(axes)(var)
    return result


def log_softmax(x: Any, axis: Any = None) -> TensorVariable:
    """Return the logarithm of `softmax`, without overflow or loss (as scipy.special.log_softmax)."""
    var = _floating(x)
    axes = _axes("log_softmax", axis, var)
    result: TensorVariable = LogSoftmax(axes)(var)
    return result


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
    """Return log(sum(exp(x))) along axes, without overflow (as scipy.special.logsumexp).

    Over no elements, or where all are minus infinity, it is minus infinity; a plus infinity makes it plus infinity.
    """
    var = _floating(x)
    axes = _axes("logsumexp", axis, var)
    kept = as_flag("logsumexp: keepdims", keepdims)
    out = LogSumExp(axes)(var)
    result: TensorVariable = expanded(out, axes, var.ndim) if kept else out
    return result
