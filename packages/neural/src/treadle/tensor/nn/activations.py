"""Activations: functions of each element that stand between the layers of a network."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import composed
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.elementwise.arithmetic import add, minimum, mul
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, le
from treadle.tensor.elementwise.exponential import expm1, sigmoid
from treadle.tensor.elementwise.exponential import softplus as _softplus
from treadle.tensor.elementwise.trigonometric import tanh
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.splitting import split
from treadle.tensor.nn.arguments import float_tensor, integer_tensor
from treadle.tensor.shapes.dimshuffle import expand_dims, moveaxis
from treadle.tensor.special_functions.error_functions import ndtr
from treadle.tensor.special_functions.stable_quotients import log_expit
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_swish", "hard_tanh", "leaky_relu", "log_sigmoid", "mish",
    "one_hot", "relu", "relu6", "selu", "silu", "softplus", "softsign", "swish",
]  # fmt: skip

# G. Klambauer et al., "Self-Normalizing Neural Networks", 2017: the fixed point of mean 0 and variance 1.
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


@composed
def relu(x: TensorLike) -> TensorVariable:
    """Return each element where it is positive, 0 elsewhere (as torch.nn.functional.relu); the slope at 0 is 0.

    >>> from treadle.tensor.nn import relu
    >>> relu([-1.0, 2.0]).eval().tolist()
    [0.0, 2.0]
    """
    value = as_tensor_variable(x)
    return switch(le(value, 0), cast(0, value.dtype), value)


@composed
def relu6(x: TensorLike) -> TensorVariable:
    """Return each element, brought between 0 and 6 (as torch.nn.functional.relu6).

    >>> from treadle.tensor.nn import relu6
    >>> relu6([-1.0, 2.0, 9.0]).eval().tolist()
    [0.0, 2.0, 6.0]
    """
    return hard_tanh(x, 0, 6)


@composed
def hard_tanh(x: TensorLike, low: float = -1.0, high: float = 1.0) -> TensorVariable:
    """Return each element, brought between two bounds (as torch.nn.functional.hardtanh); the slope at both is 0.

    Raises
    ------
    ArgumentError
        If the bounds are numbers and the lower one is not below the other.

    Examples
    --------
    >>> from treadle.tensor.nn import hard_tanh
    >>> hard_tanh([-3.0, 0.5, 9.0]).eval().tolist()
    [-1.0, 0.5, 1.0]
    """
    value = as_tensor_variable(x)
    if isinstance(low, int | float) and isinstance(high, int | float) and not low < high:
        msg = f"hard_tanh: low must be below high, got {text_of(low)} and {text_of(high)}. Exchange them."
        raise ArgumentError(msg)
    return switch(le(value, low), cast(low, value.dtype), switch(ge(value, high), cast(high, value.dtype), value))


@composed
def hard_sigmoid(x: TensorLike) -> TensorVariable:
    """Return x / 6 + 1/2, brought between 0 and 1 (as torch.nn.functional.hardsigmoid).

    >>> from treadle.tensor.nn import hard_sigmoid
    >>> hard_sigmoid([-3.0, 0.0, 9.0]).eval().tolist()
    [0.0, 0.5, 1.0]
    """
    return relu6(float_tensor("hard_sigmoid", x) + 3) / 6


@composed
def hard_swish(x: TensorLike) -> TensorVariable:
    """Return each element times its `hard_sigmoid` (as torch.nn.functional.hardswish).

    >>> from treadle.tensor.nn import hard_swish
    >>> hard_swish([-3.0, 0.0, 9.0]).eval().tolist()
    [0.0, 0.0, 9.0]
    """
    value = float_tensor("hard_swish", x)
    return value * hard_sigmoid(value)


@composed
def leaky_relu(x: TensorLike, negative_slope: TensorLike = 0.01) -> TensorVariable:
    """Return each element where it is positive, a part of it elsewhere (as torch.nn.functional.leaky_relu).

    Parameters
    ----------
    x
        A tensor.
    negative_slope
        The part, a number; a tensor that broadcasts gives the parametric function (as torch.nn.functional.prelu).

    Examples
    --------
    >>> from treadle.tensor.nn import leaky_relu
    >>> leaky_relu([-1.0, 2.0]).eval().tolist()
    [-0.01, 2.0]
    """
    value = float_tensor("leaky_relu", x)
    return switch(gt(value, 0), value, mul(negative_slope, value))


@composed
def elu(x: TensorLike, alpha: TensorLike = 1.0) -> TensorVariable:
    """Return each element where it is positive, alpha (exp(x) - 1) elsewhere (as torch.nn.functional.elu).

    >>> from treadle.tensor.nn import elu
    >>> elu([-1.0, 2.0]).eval().round(4).tolist()
    [-0.6321, 2.0]
    """
    value = float_tensor("elu", x)
    # The branch that is not taken must not overflow: its slope would be NaN.
    return switch(gt(value, 0), value, mul(alpha, expm1(minimum(value, 0))))


@composed
def celu(x: TensorLike, alpha: TensorLike = 1.0) -> TensorVariable:
    """Return each element where it is positive, alpha (exp(x / alpha) - 1) elsewhere (as torch.nn.functional.celu).

    >>> from treadle.tensor.nn import celu
    >>> celu([-1.0, 2.0], alpha=2.0).eval().round(4).tolist()
    [-0.7869, 2.0]
    """
    value = float_tensor("celu", x)
    return switch(gt(value, 0), value, mul(alpha, expm1(minimum(value, 0) / alpha)))


@composed
def selu(x: TensorLike) -> TensorVariable:
    """Return `elu` with the two constants that keep mean 0 and variance 1 (as torch.nn.functional.selu).

    The constants are those of G. Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    >>> from treadle.tensor.nn import selu
    >>> selu([-1.0, 2.0]).eval().round(4).tolist()
    [-1.1113, 2.1014]
    """
    return mul(_SELU_SCALE, elu(x, _SELU_ALPHA))


@composed
def gelu(x: TensorLike, approximate: str = "none") -> TensorVariable:
    """Return each element times the normal distribution function of it (as torch.nn.functional.gelu).

    Parameters
    ----------
    x
        A tensor.
    approximate
        ``none`` for x Phi(x); ``tanh`` for the approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.

    Raises
    ------
    ArgumentError
        If `approximate` is another word.

    Notes
    -----
    D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units", 2016.

    Examples
    --------
    >>> from treadle.tensor.nn import gelu
    >>> gelu([-1.0, 2.0]).eval().round(4).tolist()
    [-0.1587, 1.9545]
    """
    value = float_tensor("gelu", x)
    if approximate == "none":
        return value * ndtr(value)
    if approximate == "tanh":
        return value / 2 * (1 + tanh(math.sqrt(2 / math.pi) * value * (1 + 0.044715 * value**2)))
    msg = f"gelu: approximate must be 'none' or 'tanh', got {text_of(approximate)}."
    raise ArgumentError(msg)


@composed
def swish(x: TensorLike, beta: TensorLike = 1.0) -> TensorVariable:
    """Return each element times the logistic function of beta times it.

    P. Ramachandran, B. Zoph and Q. V. Le, "Searching for Activation Functions", 2017.

    >>> from treadle.tensor.nn import swish
    >>> swish([-1.0, 2.0], beta=2.0).eval().round(4).tolist()
    [-0.1192, 1.964]
    """
    value = float_tensor("swish", x)
    return value * sigmoid(mul(beta, value))


@composed
def silu(x: TensorLike) -> TensorVariable:
    """Return each element times the logistic function of it (as torch.nn.functional.silu).

    >>> from treadle.tensor.nn import silu
    >>> silu([-1.0, 2.0]).eval().round(4).tolist()
    [-0.2689, 1.7616]
    """
    value = float_tensor("silu", x)
    return value * sigmoid(value)


@composed
def log_sigmoid(x: TensorLike) -> TensorVariable:
    """Return the logarithm of the logistic function, -log(1 + exp(-x)) (as torch.nn.functional.logsigmoid).

    >>> from treadle.tensor.nn import log_sigmoid
    >>> log_sigmoid([-1000.0, 0.0]).eval().round(4).tolist()
    [-1000.0, -0.6931]
    """
    return log_expit(float_tensor("log_sigmoid", x))


@composed
def mish(x: TensorLike) -> TensorVariable:
    """Return x tanh(softplus(x)) (as torch.nn.functional.mish).

    D. Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.

    >>> from treadle.tensor.nn import mish
    >>> mish([-1.0, 2.0]).eval().round(4).tolist()
    [-0.3034, 1.944]
    """
    value = float_tensor("mish", x)
    return value * tanh(_softplus(value))


@composed
def softplus(x: TensorLike, beta: TensorLike = 1.0) -> TensorVariable:
    """Return log(1 + exp(beta x)) / beta, which does not overflow (as torch.nn.functional.softplus).

    >>> from treadle.tensor.nn import softplus
    >>> softplus([-1.0, 2000.0], beta=2.0).eval().round(4).tolist()
    [0.0635, 2000.0]
    """
    value = float_tensor("softplus", x)
    return _softplus(mul(beta, value)) / beta


@composed
def softsign(x: TensorLike) -> TensorVariable:
    """Return x / (1 + abs(x)) (as torch.nn.functional.softsign).

    >>> from treadle.tensor.nn import softsign
    >>> softsign([-1.0, 3.0]).eval().tolist()
    [-0.5, 0.75]
    """
    value = float_tensor("softsign", x)
    return value / add(1, abs(value))


@composed
def glu(x: TensorLike, axis: int = -1) -> TensorVariable:
    """Return the first half along an axis times the logistic function of the second (as torch.nn.functional.glu).

    Parameters
    ----------
    x
        A tensor.
    axis
        The axis, of an even length.

    Raises
    ------
    AxisError
        If there is no such axis.
    ShapeError
        If its length is known to be odd. At run time that is an error too.

    Notes
    -----
    Y. N. Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2016.

    Examples
    --------
    >>> from treadle.tensor.nn import glu
    >>> glu([2.0, 4.0, 0.0, 0.0]).eval().tolist()
    [1.0, 2.0]
    """
    value = float_tensor("glu", x)
    at = normalize_axis("glu", axis, value.ndim)
    known = value.type.shape[at]
    if known is not None and known % 2:
        msg = f"glu: the length of axis {at} must be even, got {known}. The halves are values and gates."
        raise ShapeError(msg)
    values, gates = split(value, axis=at, indices_or_sections=2)
    return values * sigmoid(gates)


@composed
def one_hot(x: TensorLike, num_classes: TensorLike, axis: int = -1, dtype: str = "float64") -> TensorVariable:
    """Return for each integer a vector that is 1 at this position and 0 elsewhere (as jax.nn.one_hot).

    Parameters
    ----------
    x
        A tensor of integers. Those that are negative, or not below `num_classes`, give zeros.
    num_classes
        The length of the vectors, an integer or an integer scalar.
    axis
        Where the new axis stands in the result.
    dtype
        The dtype of the result.

    Raises
    ------
    DtypeError
        If `x` is not of integers.
    AxisError
        If the result has no such axis.

    Examples
    --------
    >>> from treadle.tensor.nn import one_hot
    >>> one_hot([0, 2], 3).eval().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    positions = integer_tensor("one_hot: x", x)
    rows = eq(expand_dims(positions, -1), arange(integer_tensor("one_hot: num_classes", num_classes)))
    result = cast(rows, dtype)
    at = normalize_axis("one_hot", axis, result.ndim)
    return result if at == result.ndim - 1 else moveaxis(result, -1, at)
