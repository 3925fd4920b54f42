"""Ops that pass a tensor on as it is, and decide what flows back through it."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import DisconnectedType, NullType, static_op
from treadle.tensor.elementwise.arithmetic import clip, mul
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import as_tensor_variable, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from treadle.graph import Apply, SymbolicShape, Type, Variable
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = [
    "DisconnectedGrad", "GradClip", "GradScale", "GradientControl", "UndefinedGrad", "ZeroGrad", "consider_constant",
    "disconnected_grad", "grad_clip", "grad_scale", "undefined_grad", "zero_grad",
]  # fmt: skip


class GradientControl(TensorOp):
    """An op whose result is its input; its class says what flows back, and with `_moved` what flows forward.

    Rewriting leaves it out.
    """

    view_map: dict[int, list[int]] = {0: [0]}  # noqa: RUF012 - the documented contract of Op

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return the input."""
        output_storage[0][0] = inputs[0]

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the input's shape."""
        return shapes

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> Apply:
        """Pass the batch on."""
        return self.make_node(x)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the input."""
        return inputs

    @abstractmethod
    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return what flows back.

        Through `decompose`: what flows back as if the op were not there.
        """

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Return how the result moves: with the input, unless the class says otherwise.

        Through `decompose`: tangents as if the op were not there.
        """
        (tangent,) = tangents
        absent = tangent is None or isinstance(tangent.type, DisconnectedType)
        return [None if absent else self._moved(*tensors(inputs), *tensors(tangents))]  # type: ignore[arg-type]  # see absent

    def _moved(self, x: TensorVariable, tangent: TensorVariable) -> Variable | None:
        """Return how the result moves with the input."""
        return tangent


@static_op
class DisconnectedGrad(GradientControl):
    """Nothing flows back, as if the result did not depend on the input."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that there is no connection."""
        return [[False]]

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the result counts as a constant, of whatever dtype."""
        return self.connection_pattern(node)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return nothing.

        Through `decompose`: the gradient that this op is there to leave out.
        """
        return [DisconnectedType()()]

    def _moved(self, x: TensorVariable, tangent: TensorVariable) -> None:
        """Return nothing."""


@static_op
class ZeroGrad(GradientControl):
    """Zeros flow back."""

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the result counts as a constant, of whatever dtype."""
        return [[False]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return zeros.

        Through `decompose`: the gradient that this op is there to leave out.
        """
        return [zeros_like(tensors(inputs)[0])]

    def _moved(self, x: TensorVariable, tangent: TensorVariable) -> Variable:
        """Return zeros."""
        return zeros_like(x)


@static_op
class UndefinedGrad(GradientControl):
    """What flows back is not defined: asking for it is an error."""

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return what is not defined.

        Through `decompose`: the gradient that this op is there to refuse.
        """
        return [NullType(f"it flows through undefined_grad({inputs[0]})")()]

    def _moved(self, x: TensorVariable, tangent: TensorVariable) -> Variable:
        """Return what is not defined."""
        return NullType(f"it goes through undefined_grad({x})")()


@static_op
class GradScale(GradientControl):
    """What flows back is multiplied by a number."""

    multiplier: float

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Multiply.

        Through `decompose`: the gradient that this op is there to scale.
        """
        return [mul(tensors(cotangents)[0], self.multiplier)]

    def _moved(self, x: TensorVariable, tangent: TensorVariable) -> Variable:
        """Multiply."""
        return mul(tangent, self.multiplier)


@static_op
class GradClip(GradientControl):
    """What flows back is clipped to an interval."""

    lower: float
    upper: float

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Clip.

        Through `decompose`: the gradient that this op is there to clip.
        """
        return [clip(tensors(cotangents)[0], self.lower, self.upper)]


def disconnected_grad(x: TensorLike) -> TensorVariable:
    """Return x, as if it depended on nothing: no gradient flows through it.

    A cost that depends on a variable only so is disconnected from it: see `disconnected_inputs` of `grad`.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.grad(x * tt.disconnected_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return _passed(DisconnectedGrad(), x)


def zero_grad(x: TensorLike) -> TensorVariable:
    """Return x; the gradient that flows through it is zero.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.grad(x * tt.zero_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return _passed(ZeroGrad(), x)


def consider_constant(x: TensorLike) -> TensorVariable:
    """Return `zero_grad`, by its documented older name.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.grad(x * tt.consider_constant(x), x).eval({x: 3.0})
    array(3.)
    """
    return zero_grad(x)


def undefined_grad(x: TensorLike) -> TensorVariable:
    """Return x; to ask for a gradient that flows through it is an error (`NullTypeGradError`).

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.undefined_grad(x).eval({x: 3.0})
    array(3.)
    """
    return _passed(UndefinedGrad(), x)


def grad_scale(x: TensorLike, multiplier: float) -> TensorVariable:
    """Return x; the gradient that flows through it is multiplied.

    Parameters
    ----------
    x
        A tensor.
    multiplier
        A number, known when the graph is built; -1 reverses the gradient.

    Raises
    ------
    TensorTypeError
        If the multiplier is not a number.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.grad(tt.grad_scale(x, 10), x).eval({x: 3.0})
    array(10.)
    """
    return _passed(GradScale(_number("grad_scale: the multiplier", multiplier)), x)


def grad_clip(x: TensorLike, lower_bound: float, upper_bound: float) -> TensorVariable:
    """Return x; each element of the gradient that flows through it is clipped to an interval.

    Parameters
    ----------
    x
        A tensor.
    lower_bound, upper_bound
        Numbers, known when the graph is built.

    Raises
    ------
    TensorTypeError
        If a bound is not a number, or the lower one is above the upper one.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.grad(5 * tt.grad_clip(x, -1, 1), x).eval({x: 3.0})
    array(1.)
    """
    lower = _number("grad_clip: the lower bound", lower_bound)
    upper = _number("grad_clip: the upper bound", upper_bound)
    if not lower <= upper:
        msg = f"grad_clip: the lower bound must not be above the upper one, got {lower} and {upper}. Exchange them."
        raise TensorTypeError(msg)
    return _passed(GradClip(lower, upper), x)


def _passed(op: GradientControl, x: TensorLike) -> TensorVariable:
    passed: TensorVariable = op(as_tensor_variable(x))
    return passed


def _number(what: str, value: object) -> float:
    # NumPy would leave out the imaginary part.
    if getattr(getattr(value, "dtype", None), "kind", "") != "c":
        with suppress(TypeError, ValueError):
            return float(value)  # type: ignore[arg-type]  # refuses anything else
    msg = f"{what} must be a real number that is known when the graph is built, got {text_of(value)}."
    raise TensorTypeError(msg)
