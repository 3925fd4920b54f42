"""What layers do beside products: normalization, dropout, embeddings, attention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treadle.config import text_of
from treadle.graph import SharedVariable, as_flag, composed
from treadle.tensor.arguments.axes import normalize_axes, normalize_axis
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.control.gradient_control import disconnected_grad
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, le
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.nn.arguments import drawn, float_tensor, integer_tensor
from treadle.tensor.products.product import matmul
from treadle.tensor.reductions.moments import mean, var
from treadle.tensor.reductions.normalization import softmax
from treadle.tensor.reductions.reduction import prod
from treadle.tensor.shapes.dimshuffle import dimshuffle, expand_dims, swapaxes
from treadle.tensor.shapes.shape import lengths, reshape
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Variable
    from treadle.tensor.random.generators.stream import RandomStream
    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = [
    "batch_norm", "dropout", "embedding", "group_norm", "instance_norm", "layer_norm", "multi_head_attention",
    "rms_norm", "scaled_dot_product_attention",
]  # fmt: skip

Place: TypeAlias = "Callable[[TensorVariable], TensorVariable]"


def _scaled(
    value: TensorVariable, weight: TensorLike | None, bias: TensorLike | None, place: Place = lambda p: p
) -> TensorVariable:
    if weight is not None:
        value = value * place(as_tensor_variable(weight))
    return value if bias is None else value + place(as_tensor_variable(bias))


def _normalized(value: TensorVariable, axes: tuple[int, ...], epsilon: float) -> TensorVariable:
    """Return the value with mean 0 and variance 1 along axes."""
    center = mean(value, axis=axes, keepdims=True)
    spread = var(value, axis=axes, keepdims=True)
    return (value - center) / sqrt(spread + epsilon)


@composed
def layer_norm(
    x: TensorLike, weight: TensorLike | None = None, bias: TensorLike | None = None, axis: AxisLike = -1,
    epsilon: float = 1e-5,
) -> TensorVariable:  # fmt: skip
    """Return a tensor with mean 0 and variance 1 along axes (as torch.nn.functional.layer_norm).

    Parameters
    ----------
    x
        A tensor.
    weight, bias
        What the result is multiplied by, and what is added then: tensors of the lengths of the axes, which are the last
        ones, or any that broadcast.
    axis
        The axis, or a tuple of them.
    epsilon
        What is added to the variance, which is that of a population.

    Raises
    ------
    AxisError
        If there is no such axis.

    Notes
    -----
    J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization", 2016.

    Examples
    --------
    >>> from treadle.tensor.nn import layer_norm
    >>> layer_norm([1.0, 2.0, 3.0]).eval().round(4).tolist()
    [-1.2247, 0.0, 1.2247]
    """
    value = float_tensor("layer_norm", x)
    return _scaled(_normalized(value, normalize_axes("layer_norm", axis, value.ndim), epsilon), weight, bias)


@composed
def rms_norm(
    x: TensorLike, weight: TensorLike | None = None, axis: AxisLike = -1, epsilon: float | None = None
) -> TensorVariable:
    """Return a tensor divided by the root of the mean of its squares along axes (as torch.nn.functional.rms_norm).

    Parameters
    ----------
    x, weight, axis
        As for `layer_norm`.
    epsilon
        What is added to the mean of the squares; the spacing of floats at 1 in the dtype if None.

    Notes
    -----
    B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", 2019.

    Examples
    --------
    >>> from treadle.tensor.nn import rms_norm
    >>> rms_norm([3.0, 4.0]).eval().round(4).tolist()
    [0.8485, 1.1314]
    """
    value = float_tensor("rms_norm", x)
    small = float(np.finfo(value.dtype).eps) if epsilon is None else epsilon
    axes = normalize_axes("rms_norm", axis, value.ndim)
    return _scaled(value / sqrt(mean(value**2, axis=axes, keepdims=True) + small), weight, None)


def _along(value: TensorVariable, at: int) -> Place:
    """Return a function that puts a vector along an axis of a tensor."""

    def place(vector: TensorVariable) -> TensorVariable:
        if vector.ndim != 1:
            return vector
        return dimshuffle(vector, [0 if axis == at else "x" for axis in range(value.ndim)])

    return place


@composed
def batch_norm(
    x: TensorLike, running_mean: TensorLike, running_variance: TensorLike, weight: TensorLike | None = None,
    bias: TensorLike | None = None, training: bool = False, momentum: float = 0.1, epsilon: float = 1e-5, axis: int = 1,
) -> Any:  # fmt: skip
    """Return a tensor with mean 0 and variance 1 in each channel (as torch.nn.functional.batch_norm).

    Parameters
    ----------
    x
        A tensor.
    running_mean, running_variance
        Vectors with a number for each channel. In training they must be shared variables, and get new values.
    weight, bias
        Vectors: what each channel is multiplied by, and what is added then.
    training
        Whether mean and variance are those of the batch. Else the running ones are taken.
    momentum
        The part of the batch in the new running values, m in (1 - m) old + m new.
    epsilon
        What is added to the variance.
    axis
        The axis of the channels.

    Returns
    -------
    The result; in training, a pair of it and the updates of `running_mean` and `running_variance`, a dictionary that
    `function` takes. The running variance is that of a sample, with n - 1, as in torch.

    Raises
    ------
    AxisError
        If there is no such axis.
    ArgumentError
        If the running values are not shared variables, in training.

    Notes
    -----
    S. Ioffe and C. Szegedy, "Batch Normalization", 2015.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> mean, variance = tt.shared([0.0]), tt.shared([1.0])
    >>> y, updates = tt.nn.batch_norm([[1.0], [3.0]], mean, variance, training=True)
    >>> tt.function([], y, updates=updates)().round(4).tolist(), mean.get_value().tolist()
    ([[-1.0], [1.0]], [0.2])
    """
    value = float_tensor("batch_norm", x)
    at = normalize_axis("batch_norm", axis, value.ndim)
    place = _along(value, at)
    if not as_flag("batch_norm: training", training):
        center, spread = place(float_tensor("batch_norm", running_mean)), place(as_tensor_variable(running_variance))
        return _scaled((value - center) / sqrt(spread + epsilon), weight, bias, place)
    for what, variable in (("running_mean", running_mean), ("running_variance", running_variance)):
        if not isinstance(variable, SharedVariable):
            msg = (
                f"batch_norm: {what} must be a shared variable in training, got {text_of(variable)}. Make it with "
                "tt.shared(np.zeros(channels)), or ones for the variance."
            )
            raise ArgumentError(msg)
    axes = tuple(i for i in range(value.ndim) if i != at)
    center, spread = mean(value, axis=axes, keepdims=True), var(value, axis=axes, keepdims=True)
    result = _scaled((value - center) / sqrt(spread + epsilon), weight, bias, place)
    count = cast(prod(as_tensor_variable([lengths(value)[i] for i in axes])), value.dtype)
    flat = {"running_mean": reshape(center, (-1,)), "running_variance": reshape(spread * count / (count - 1), (-1,))}
    updates: dict[TensorLike, TensorVariable] = {}
    for variable, new in zip((running_mean, running_variance), flat.values(), strict=True):
        moved = (1 - momentum) * variable + momentum * new  # type: ignore[operator]  # a tensor
        updates[variable] = cast(moved, variable.dtype)  # type: ignore[union-attr]  # a shared variable
    return result, updates


@composed
def group_norm(
    x: TensorLike, num_groups: int, weight: TensorLike | None = None, bias: TensorLike | None = None,
    epsilon: float = 1e-5,
) -> TensorVariable:  # fmt: skip
    """Return a tensor with mean 0 and variance 1 in each group of channels (as torch.nn.functional.group_norm).

    Parameters
    ----------
    x
        A tensor of samples, channels and further axes.
    num_groups
        How many groups the channels make, which divides their number.
    weight, bias, epsilon
        As for `batch_norm`.

    Raises
    ------
    ShapeError
        If the tensor has fewer than two axes, or the channels are known not to make the groups.

    Notes
    -----
    Y. Wu and K. He, "Group Normalization", 2018.

    Examples
    --------
    >>> from treadle.tensor.nn import group_norm
    >>> group_norm([[1.0, 3.0, 5.0, 9.0]], 2).eval().round(3).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    value = float_tensor("group_norm", x)
    groups = as_integer("group_norm: num_groups", num_groups)
    if value.ndim < 2:
        msg = f"group_norm: samples and channels are needed, got {value} of type {value.type}."
        raise ShapeError(msg)
    known = value.type.shape[1]
    if groups < 1 or (known is not None and known % groups):
        msg = f"group_norm: num_groups must divide the number of channels, got {groups} and {known}."
        raise ShapeError(msg)
    length = lengths(value)
    grouped = reshape(value, (length[0], groups, -1), ndim=3)
    result = reshape(_normalized(grouped, (2,), epsilon), length, ndim=value.ndim)
    return _scaled(result, weight, bias, _along(value, 1))


@composed
def instance_norm(
    x: TensorLike, weight: TensorLike | None = None, bias: TensorLike | None = None, epsilon: float = 1e-5
) -> TensorVariable:
    """Return a tensor with mean 0 and variance 1 in each channel of each sample (as torch's instance_norm).

    Parameters
    ----------
    x
        A tensor of samples, channels and at least one further axis.
    weight, bias, epsilon
        As for `batch_norm`.

    Raises
    ------
    ShapeError
        If there are fewer than three axes.

    Notes
    -----
    D. Ulyanov, A. Vedaldi and V. Lempitsky, "Instance Normalization", 2016.

    Examples
    --------
    >>> from treadle.tensor.nn import instance_norm
    >>> instance_norm([[[1.0, 3.0], [5.0, 9.0]]]).eval().round(3).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    value = float_tensor("instance_norm", x)
    if value.ndim < 3:
        msg = f"instance_norm: samples, channels and a further axis are needed, got {value} of type {value.type}."
        raise ShapeError(msg)
    return _scaled(_normalized(value, tuple(range(2, value.ndim)), epsilon), weight, bias, _along(value, 1))


@composed
def dropout(x: TensorLike, rate: float = 0.5, rng: RandomStream | Variable | None = None, training: bool = True) -> Any:
    """Return a tensor whose elements are 0 with a probability, and are divided by that of the others else.

    As torch.nn.functional.dropout.

    Parameters
    ----------
    x
        A tensor.
    rate
        The probability of 0, a number from 0 to 1; 1 gives zeros.
    rng
        A `RandomStream`, or a generator.
    training
        Whether to do so; `x` itself is returned otherwise.

    Returns
    -------
    The tensor; with a generator in training, a pair of the generator after it and the tensor.

    Raises
    ------
    ArgumentError
        If `rate` is not from 0 to 1, or `rng` draws no numbers.

    Notes
    -----
    N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> kept = tt.nn.dropout(tt.ones(1000), 0.25, tt.random.RandomStream(1))
    >>> float(tt.function([], kept.mean())().round(1)), sorted(set(tt.function([], kept)().round(4).tolist()))
    (1.0, [0.0, 1.3333])
    """
    value = float_tensor("dropout", x)
    if not isinstance(rate, int | float) or not 0 <= rate <= 1:
        msg = f"dropout: rate must be a number from 0 to 1, got {text_of(rate)}."
        raise ArgumentError(msg)
    if not as_flag("dropout: training", training):
        return value
    after, draw = drawn("dropout", "uniform", rng, 0.0, 1.0, size=lengths(value))
    kept = switch(ge(draw, rate), value / (1 - rate if rate < 1 else 1.0), cast(0, value.dtype))
    return kept if after is None else (after, kept)


@composed
def embedding(indices: TensorLike, table: TensorLike, padding_index: int | None = None) -> TensorVariable:
    """Return the row of a table for each integer (as torch.nn.functional.embedding).

    Parameters
    ----------
    indices
        Integers, of any shape.
    table
        A matrix with a vector in each row.
    padding_index
        A row that no gradient flows to. None for all that get it.

    Returns
    -------
    A tensor of the shape of `indices`, and the length of a row.

    Raises
    ------
    DtypeError
        If `indices` are no integers.
    ShapeError
        If the table is not a matrix.

    Examples
    --------
    >>> from treadle.tensor.nn import embedding
    >>> embedding([2, 0], [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]).eval().tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """
    places, rows = integer_tensor("embedding: indices", indices), as_tensor_variable(table)
    if rows.ndim != 2:
        msg = f"embedding: the table must be a matrix, got {rows} of type {rows.type}."
        raise ShapeError(msg)
    picked = rows[places]
    if padding_index is None:
        return picked
    return switch(expand_dims(eq(places, padding_index), -1), disconnected_grad(picked), picked)


def _masked(
    scores: TensorVariable, mask: TensorLike | None, causal: bool, queries: TensorVariable, keys: TensorVariable
) -> tuple[TensorVariable, TensorVariable | None]:
    """Return scores with a mask of numbers added, and which of them take part."""
    takes_part: TensorVariable | None = None
    if mask is not None:
        given = as_tensor_variable(mask)
        kind = given.type.numpy_dtype.kind
        if kind == "b":
            takes_part = given
        elif kind == "f":
            scores = scores + given
            takes_part = gt(given, -math.inf)
        else:
            msg = (
                f"attention: a mask must be of booleans (True takes part) or of floats to add, got {given} of type "
                f"{given.type}. Compare it with 0."
            )
            raise ArgumentError(msg)
    if causal:
        earlier = le(expand_dims(arange(keys), 0), expand_dims(arange(queries), 1))
        takes_part = earlier if takes_part is None else takes_part & earlier
    return scores, takes_part


@composed
def scaled_dot_product_attention(
    query: TensorLike, key: TensorLike, value: TensorLike, mask: TensorLike | None = None, causal: bool = False,
    scale: float | None = None,
) -> TensorVariable:  # fmt: skip
    """Return means of values, weighted by how well their keys fit queries: softmax(q k^T / sqrt(d)) v.

    As torch.nn.functional.scaled_dot_product_attention.

    Parameters
    ----------
    query
        A tensor of shape (..., L, d).
    key, value
        Tensors of shapes (..., S, d) and (..., S, e). Leading axes broadcast.
    mask
        Booleans that broadcast to (..., L, S), True where a key takes part; or floats that are added to the scores.
    causal
        Whether a query sees keys up to its own position only.
    scale
        What the scores are multiplied by; 1 / sqrt(d) if None.

    Returns
    -------
    A tensor of shape (..., L, e). A query that no key takes part for gets zeros, where torch has NaN.

    Raises
    ------
    ShapeError
        If an argument is not at least a matrix.
    ArgumentError
        If the mask is of integers.

    Notes
    -----
    A. Vaswani et al., "Attention Is All You Need", 2017.

    Examples
    --------
    >>> from treadle.tensor.nn import scaled_dot_product_attention
    >>> q = k = [[1.0, 0.0], [0.0, 1.0]]
    >>> scaled_dot_product_attention(q, k, [[1.0], [3.0]], causal=True).eval().round(4).tolist()
    [[1.0], [2.3395]]
    """
    q, k, v = (float_tensor("scaled_dot_product_attention", x) for x in (query, key, value))
    for what, x in (("query", q), ("key", k), ("value", v)):
        if x.ndim < 2:
            msg = f"scaled_dot_product_attention: {what} must be at least a matrix, got {x} of type {x.type}."
            raise ShapeError(msg)
    factor = 1 / sqrt(cast(lengths(q)[-1], q.dtype)) if scale is None else scale
    scores = mul(matmul(q, swapaxes(k, -1, -2)), factor)
    scores, takes_part = _masked(
        scores, mask, as_flag("scaled_dot_product_attention: causal", causal), lengths(q)[-2], lengths(k)[-2]
    )
    if takes_part is None:
        return matmul(softmax(scores, axis=-1), v)
    # Finite scores in masked places: softmax and its slope then stay finite in rows where nothing takes part.
    lowest = cast(float(np.finfo(scores.dtype).min) / 2, scores.dtype)
    weights = softmax(switch(takes_part, scores, lowest), axis=-1)
    return matmul(switch(takes_part, weights, cast(0, weights.dtype)), v)


@composed
def multi_head_attention(
    query: TensorLike, key: TensorLike, value: TensorLike, params: Mapping[str, TensorLike], num_heads: int,
    mask: TensorLike | None = None, causal: bool = False,
) -> TensorVariable:  # fmt: skip
    """Return attention in several heads, each on a part of the features, between linear maps.

    As torch.nn.MultiheadAttention with ``batch_first=True``.

    Parameters
    ----------
    query
        A tensor of shape (..., L, d).
    key, value
        Tensors of shapes (..., S, d_k) and (..., S, d_v); the query again for self-attention.
    params
        Matrices ``query``, ``key``, ``value`` from the features to those of all heads, and ``output`` from these to the
        features of the result; vectors ``query_bias``, ``key_bias``, ``value_bias`` and ``output_bias`` where wanted.
        (torch keeps the transposed matrices.)
    num_heads
        How many heads the features are cut into; it divides their number.
    mask, causal
        As for `scaled_dot_product_attention`, for all heads; a mask with an axis of heads stands before the last two.

    Raises
    ------
    ArgumentError
        If a matrix is missing in `params`, or there is another name in it.

    Examples
    --------
    >>> import numpy as np
    >>> from treadle.tensor.nn import multi_head_attention
    >>> x, eye = np.eye(4), np.eye(4)
    >>> params = {"query": eye, "key": eye, "value": eye, "output": eye}
    >>> multi_head_attention(x, x, x, params, num_heads=2).eval().shape
    (4, 4)
    """
    needed = ("query", "key", "value", "output")
    allowed = {*needed, *(f"{name}_bias" for name in needed)}
    if not isinstance(params, Mapping) or not set(needed) <= set(params) <= allowed:
        got = sorted(map(str, params)) if isinstance(params, Mapping) else text_of(params)
        msg = (
            f"multi_head_attention: params must be a dict with the matrices {', '.join(needed)}, and biases such as "
            f"query_bias if wanted, got {got}."
        )
        raise ArgumentError(msg)
    heads = as_integer("multi_head_attention: num_heads", num_heads)

    def projected(name: str, x: TensorLike) -> TensorVariable:
        result = matmul(float_tensor("multi_head_attention", x), as_tensor_variable(params[name]))
        bias = params.get(f"{name}_bias")
        return result if bias is None else add(result, bias)

    def split_heads(x: TensorVariable) -> TensorVariable:
        length = lengths(x)
        return swapaxes(reshape(x, (*length[:-1], heads, length[-1] // heads), ndim=x.ndim + 1), -2, -3)

    q, k, v = (split_heads(projected(name, x)) for name, x in (("query", query), ("key", key), ("value", value)))
    if mask is not None:
        masked = as_tensor_variable(mask)
        # The axis of the heads stands third from the end.
        mask = expand_dims(masked, -3) if masked.ndim == q.ndim - 1 and masked.ndim > 2 else masked
    joined = swapaxes(scaled_dot_product_attention(q, k, v, mask, causal), -2, -3)
    length = lengths(joined)
    return projected("output", reshape(joined, (*length[:-2], length[-2] * length[-1]), ndim=joined.ndim - 1))
