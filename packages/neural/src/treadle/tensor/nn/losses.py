"""Losses: how far predictions are from what is wanted. Each has the mean, the sum or all of the terms as its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import composed
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.elementwise.arithmetic import maximum, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, le, neq
from treadle.tensor.elementwise.exponential import exp, softplus, sqrt
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.nn.arguments import float_tensor, integer_tensor, reduced, word
from treadle.tensor.reductions.moments import mean
from treadle.tensor.reductions.normalization import log_softmax
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.dimshuffle import expand_dims, moveaxis, squeeze
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.special_functions.entropy import xlog1py, xlogy
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity", "cross_entropy", "hinge", "huber",
    "kl_divergence", "mae", "mse", "nll", "smooth_l1",
]  # fmt: skip


@composed
def mse(
    prediction: TensorLike, target: TensorLike, weight: TensorLike | None = None, reduction: str = "mean"
) -> TensorVariable:
    """Return the mean of squared differences (as torch.nn.functional.mse_loss).

    Parameters
    ----------
    prediction, target
        Tensors of floats, whose shapes broadcast.
    weight
        What each term is multiplied by; the mean is over the number of terms all the same.
    reduction
        ``mean``, ``sum`` or ``none`` for all terms.

    Raises
    ------
    ArgumentError
        If `reduction` is another word.

    Examples
    --------
    >>> from treadle.tensor.nn import mse
    >>> float(mse([1.0, 2.0], [1.0, 4.0]).eval())
    2.0
    """
    difference = float_tensor("mse", prediction) - float_tensor("mse", target)
    return reduced("mse", difference**2, reduction, weight)


@composed
def mae(
    prediction: TensorLike, target: TensorLike, weight: TensorLike | None = None, reduction: str = "mean"
) -> TensorVariable:
    """Return the mean of absolute differences (as torch.nn.functional.l1_loss). The arguments are those of `mse`.

    >>> from treadle.tensor.nn import mae
    >>> float(mae([1.0, 2.0], [1.0, 4.0]).eval())
    1.0
    """
    return reduced("mae", abs(float_tensor("mae", prediction) - float_tensor("mae", target)), reduction, weight)


def _positive(what: str, value: TensorLike) -> TensorLike:
    if isinstance(value, int | float) and not value > 0:
        msg = f"{what} must be positive, got {value}."
        raise ArgumentError(msg)
    return value


@composed
def huber(
    prediction: TensorLike, target: TensorLike, delta: TensorLike = 1.0, weight: TensorLike | None = None,
    reduction: str = "mean",
) -> TensorVariable:  # fmt: skip
    """Return the mean of Huber's loss: d^2 / 2 of differences up to delta, delta (abs(d) - delta / 2) beyond.

    As torch.nn.functional.huber_loss. The arguments are those of `mse`, and `delta`, which is positive.

    P. J. Huber, "Robust Estimation of a Location Parameter", 1964.

    Raises
    ------
    ArgumentError
        If `delta` is a number that is not positive, or `reduction` is not one of its words.

    Examples
    --------
    >>> from treadle.tensor.nn import huber
    >>> huber([0.5, 3.0], 0.0, reduction="none").eval().tolist()
    [0.125, 2.5]
    """
    bound = _positive("huber: delta", delta)
    distance = abs(float_tensor("huber", prediction) - float_tensor("huber", target))
    terms = switch(le(distance, bound), distance**2 / 2, mul(bound, sub(distance, mul(0.5, bound))))
    return reduced("huber", terms, reduction, weight)


@composed
def smooth_l1(
    prediction: TensorLike, target: TensorLike, beta: TensorLike = 1.0, weight: TensorLike | None = None,
    reduction: str = "mean",
) -> TensorVariable:  # fmt: skip
    """Return the mean of `huber` divided by beta: d^2 / (2 beta) up to beta, abs(d) - beta / 2 beyond.

    As torch.nn.functional.smooth_l1_loss. The arguments are those of `mse`, and `beta`, which is positive.

    Raises
    ------
    ArgumentError
        If `beta` is a number that is not positive, or `reduction` is not one of its words.

    Examples
    --------
    >>> from treadle.tensor.nn import smooth_l1
    >>> smooth_l1([0.5, 3.0], 0.0, beta=2.0, reduction="none").eval().tolist()
    [0.0625, 2.0]
    """
    bound = _positive("smooth_l1: beta", beta)
    distance = abs(float_tensor("smooth_l1", prediction) - float_tensor("smooth_l1", target))
    terms = switch(le(distance, bound), distance**2 / mul(2, bound), sub(distance, mul(0.5, bound)))
    return reduced("smooth_l1", terms, reduction, weight)


@composed
def hinge(
    prediction: TensorLike, target: TensorLike, margin: TensorLike = 1.0, weight: TensorLike | None = None,
    reduction: str = "mean",
) -> TensorVariable:  # fmt: skip
    """Return the mean of max(0, margin - target prediction), for targets -1 and 1 (as optax.losses.hinge_loss).

    The arguments are those of `mse`, and `margin`.

    >>> from treadle.tensor.nn import hinge
    >>> hinge([0.5, 3.0, 1.0], [1.0, 1.0, -1.0], reduction="none").eval().tolist()
    [0.5, 0.0, 2.0]
    """
    terms = maximum(0, sub(margin, float_tensor("hinge", target) * float_tensor("hinge", prediction)))
    return reduced("hinge", terms, reduction, weight)


@composed
def binary_cross_entropy(
    probability: TensorLike, target: TensorLike, weight: TensorLike | None = None, reduction: str = "mean"
) -> TensorVariable:
    """Return the mean of -t log(p) - (1 - t) log(1 - p), of probabilities (as torch's binary_cross_entropy).

    Parameters
    ----------
    probability
        Probabilities of 1. Where they come from `sigmoid`, `binary_cross_entropy_with_logits` is exact and this is not.
    target
        What is wanted: 0, 1 or probabilities.
    weight, reduction
        As for `mse`.

    Returns
    -------
    A scalar, or all terms. A certain prediction that is wrong costs infinity, where torch stops at 100.

    Examples
    --------
    >>> from treadle.tensor.nn import binary_cross_entropy
    >>> binary_cross_entropy([0.5, 1.0, 0.0], [1, 1, 1], reduction="none").eval().round(4).tolist()
    [0.6931, -0.0, inf]
    """
    p, t = float_tensor("binary_cross_entropy", probability), float_tensor("binary_cross_entropy", target)
    return reduced("binary_cross_entropy", -(xlogy(t, p) + xlog1py(1 - t, -p)), reduction, weight)


@composed
def binary_cross_entropy_with_logits(
    logit: TensorLike, target: TensorLike, weight: TensorLike | None = None, positive_weight: TensorLike | None = None,
    reduction: str = "mean",
) -> TensorVariable:  # fmt: skip
    """Return `binary_cross_entropy` of the probabilities sigmoid(x), without overflow or loss of digits.

    As torch.nn.functional.binary_cross_entropy_with_logits.

    Parameters
    ----------
    logit
        Logarithms of odds.
    target, weight, reduction
        As for `binary_cross_entropy`.
    positive_weight
        What the terms of the targets 1 are multiplied by.

    Examples
    --------
    >>> from treadle.tensor.nn import binary_cross_entropy_with_logits
    >>> binary_cross_entropy_with_logits([0.0, 1000.0, -1000.0], [1, 1, 1], reduction="none").eval().round(4).tolist()
    [0.6931, 0.0, 1000.0]
    """
    name = "binary_cross_entropy_with_logits"
    x, t = float_tensor(name, logit), float_tensor(name, target)
    if positive_weight is None:
        # Of either sign one of the two terms is exactly 0, so that nothing cancels.
        terms = t * softplus(-x) + (1 - t) * softplus(x)
    else:
        terms = mul(positive_weight, t) * softplus(-x) + (1 - t) * softplus(x)
    return reduced(name, terms, reduction, weight)


def _class_weights(name: str, weight: TensorLike | None, like: TensorVariable) -> TensorVariable | None:
    if weight is None:
        return None
    weights = float_tensor(name, weight)
    if weights.ndim != 1:
        msg = f"{name}: weight must be a vector, with one number for each class, got rank {weights.ndim}."
        raise ShapeError(msg)
    return cast(weights, like.dtype)


def _of_labels(
    name: str, scores: TensorVariable, target: TensorLike, weights: TensorVariable | None, ignore_index: int | None,
    smoothing: float, reduction: str,
) -> TensorVariable:  # fmt: skip
    """Return the loss of log-probabilities, classes last, by integers."""
    labels = integer_tensor(f"{name}: target", target)
    if labels.ndim != scores.ndim - 1:
        msg = (
            f"{name}: targets of integers must have the rank {scores.ndim - 1}, that of the predictions without the "
            f"axis of the classes, got {labels.ndim}."
        )
        raise ShapeError(msg)
    kept = None if ignore_index is None else neq(labels, ignore_index)
    safe = labels if kept is None else switch(kept, labels, cast(0, labels.dtype))
    picked = -squeeze(take_along_axis(scores, expand_dims(safe, -1), axis=-1), axis=-1)
    factor = None if weights is None else weights[safe]
    terms = picked if factor is None else picked * factor
    if smoothing:
        spread = -sum_(scores if weights is None else scores * weights, axis=-1) / lengths(scores)[-1]
        terms = (1 - smoothing) * terms + smoothing * spread
    if kept is not None:
        terms = switch(kept, terms, cast(0, terms.dtype))
    if reduction != "mean":
        return terms if reduction == "none" else sum_(terms)
    if factor is None and kept is None:
        return mean(terms)
    counted: TensorLike = 1 if factor is None else factor
    if kept is not None:
        counted = counted * cast(kept, terms.dtype)
    return sum_(terms) / sum_(counted)


@composed
def cross_entropy(
    logits: TensorLike, target: TensorLike, weight: TensorLike | None = None, axis: int = -1,
    ignore_index: int | None = None, label_smoothing: float = 0.0, reduction: str = "mean",
) -> TensorVariable:  # fmt: skip
    """Return the mean of the negative logarithms of the probabilities softmax(x) of what is wanted.

    As torch.nn.functional.cross_entropy, where the classes stand along axis 1.

    Parameters
    ----------
    logits
        Scores of the classes, along `axis`.
    target
        Integers from 0 to the number of classes, of the shape of `logits` without `axis`; or a tensor of floats of the
        shape of `logits`: probabilities of the classes, such as `one_hot` vectors.
    weight
        A vector with a weight for each class. The mean is then a weighted one, for targets of integers.
    axis
        The axis of the classes.
    ignore_index
        An integer among the targets whose terms are left out, also of the mean. None of them if None.
    label_smoothing
        From 0 to 1: how much of the probability wanted is spread evenly over all classes (C. Szegedy et al.,
        "Rethinking the Inception Architecture for Computer Vision", 2016).
    reduction
        ``mean``, ``sum`` or ``none``.

    Raises
    ------
    ArgumentError
        If `label_smoothing` is not from 0 to 1, `reduction` is another word, or `ignore_index` is given for targets of
        floats.
    AxisError
        If there is no such axis.
    ShapeError
        If the target is not of the rank it must have.

    Examples
    --------
    >>> from treadle.tensor.nn import cross_entropy
    >>> logits = [[2.0, 0.0, 0.0], [0.0, 1000.0, 0.0]]
    >>> cross_entropy(logits, [0, 2], reduction="none").eval().round(4).tolist()
    [0.2395, 1000.0]
    """
    scores = float_tensor("cross_entropy", logits)
    at = normalize_axis("cross_entropy", axis, scores.ndim)
    return _cross_entropy(
        "cross_entropy", log_softmax(scores, axis=at), target, weight, at, ignore_index, label_smoothing, reduction
    )


@composed
def nll(
    log_probability: TensorLike, target: TensorLike, weight: TensorLike | None = None, axis: int = -1,
    ignore_index: int | None = None, reduction: str = "mean",
) -> TensorVariable:  # fmt: skip
    """Return the mean of the negative log-probabilities of what is wanted (as torch.nn.functional.nll_loss).

    The arguments are those of `cross_entropy`, with the logarithms of probabilities in place of scores.

    >>> from treadle.tensor.nn import log_softmax, nll
    >>> float(nll(log_softmax([[2.0, 0.0, 0.0]], axis=-1), [0]).eval().round(4))
    0.2395
    """
    scores = float_tensor("nll", log_probability)
    at = normalize_axis("nll", axis, scores.ndim)
    return _cross_entropy("nll", scores, target, weight, at, ignore_index, 0.0, reduction)


def _cross_entropy(
    name: str, scores: TensorVariable, target: TensorLike, weight: TensorLike | None, at: int,
    ignore_index: int | None, smoothing: float, reduction: str,
) -> TensorVariable:  # fmt: skip
    how = word(f"{name}: reduction", reduction, ("mean", "sum", "none"))
    if not 0 <= smoothing <= 1:
        msg = f"{name}: label_smoothing must be from 0 to 1, got {smoothing}."
        raise ArgumentError(msg)
    wanted = as_tensor_variable(target)
    rows = moveaxis(scores, at, -1)
    weights = _class_weights(name, weight, scores)
    if wanted.type.numpy_dtype.kind != "f":
        return _of_labels(name, rows, wanted, weights, ignore_index, smoothing, how)
    if ignore_index is not None:
        msg = f"{name}: ignore_index is for targets of integers, got {wanted} of type {wanted.type}. Use weights of 0."
        raise ArgumentError(msg)
    if wanted.ndim != scores.ndim:
        msg = (
            f"{name}: targets of floats must have the rank of the predictions, {scores.ndim}, got {wanted.ndim}. Cast "
            "labels to integers."
        )
        raise ShapeError(msg)
    shares = moveaxis(wanted, at, -1)
    if smoothing:
        shares = (1 - smoothing) * shares + smoothing / lengths(rows)[-1]
    # What is not wanted costs nothing, even where it is impossible.
    products = switch(eq(shares, 0), cast(0, rows.dtype), shares * rows)
    terms = -sum_(products if weights is None else products * weights, axis=-1)
    return terms if how == "none" else sum_(terms) if how == "sum" else mean(terms)


@composed
def kl_divergence(
    log_probability: TensorLike, target: TensorLike, log_target: bool = False, reduction: str = "mean",
    axis: int | None = -1,
) -> TensorVariable:  # fmt: skip
    """Return the divergence of Kullback and Leibler of predictions from what is wanted: sums of t (log(t) - log(p)).

    Parameters
    ----------
    log_probability
        Logarithms of the predicted probabilities.
    target
        The probabilities wanted.
    log_target
        Whether `target` has their logarithms.
    reduction
        ``mean`` over all sums, ``sum`` of them, or ``none``. torch's ``batchmean`` is ``mean`` for matrices.
    axis
        The axis of one distribution; None for the terms themselves (as torch.nn.functional.kl_div).

    Examples
    --------
    >>> import numpy as np
    >>> from treadle.tensor.nn import kl_divergence
    >>> kl_divergence(np.log([[0.5, 0.5], [0.25, 0.75]]), [[1.0, 0.0], [0.25, 0.75]], reduction="none").eval().round(4)
    array([0.6931, 0.    ])
    """
    p, t = float_tensor("kl_divergence", log_probability), float_tensor("kl_divergence", target)
    terms = exp(t) * (t - p) if log_target else xlogy(t, t) - switch(eq(t, 0), cast(0, p.dtype), t * p)
    if axis is not None:
        terms = sum_(terms, axis=normalize_axis("kl_divergence", axis, terms.ndim))
    return reduced("kl_divergence", terms, reduction)


@composed
def cosine_similarity(x: TensorLike, y: TensorLike, axis: int = -1, epsilon: float = 1e-8) -> TensorVariable:
    """Return the cosine of the angle between vectors along an axis (as torch.nn.functional.cosine_similarity).

    Parameters
    ----------
    x, y
        Tensors of floats, whose shapes broadcast.
    axis
        The axis of the vectors.
    epsilon
        The least length of a vector that it is divided by, so that vectors of zeros give 0.

    Examples
    --------
    >>> from treadle.tensor.nn import cosine_similarity
    >>> cosine_similarity([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0]).eval().round(4).tolist()
    [0.7071, 0.0]
    """
    a, b = float_tensor("cosine_similarity", x), float_tensor("cosine_similarity", y)

    def clear(value: TensorVariable) -> TensorVariable:
        # The root of a value that is cut from below: its slope at zeros is 0, not NaN.
        squares = maximum(sum_(value**2, axis=axis, keepdims=True), epsilon**2)
        return value / sqrt(squares)

    return sum_(clear(a) * clear(b), axis=axis)
