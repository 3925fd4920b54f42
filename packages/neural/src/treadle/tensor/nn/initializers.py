"""Values that parameters start with, drawn from a generator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

from treadle.config import config, text_of
from treadle.graph import composed
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.arrangement.diagonals import diagonal
from treadle.tensor.elementwise.arithmetic import sign
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.linalg import qr
from treadle.tensor.nn.arguments import drawn
from treadle.tensor.shapes.shape import reshape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.random.generators.stream import RandomStream
    from treadle.tensor.variables.variable import TensorVariable

Source: TypeAlias = "RandomStream | Variable"
Shape: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"

__all__ = [
    "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal",
    "lecun_uniform", "orthogonal", "truncated_normal", "xavier_normal", "xavier_uniform",
]  # fmt: skip


def _shape(name: str, shape: Shape, least: int) -> tuple[int, ...]:
    items = shape if isinstance(shape, list | tuple) else (shape,)
    lengths = tuple(as_integer(f"{name}: shape", item) for item in items)
    if len(lengths) < least or any(length < 0 for length in lengths):
        msg = f"{name}: a shape of at least {least} lengths is needed, got {text_of(shape)}."
        raise ShapeError(msg)
    return lengths


def _fans(name: str, shape: Shape, in_axis: int, out_axis: int) -> tuple[tuple[int, ...], float, float]:
    """Return the shape, and how many elements lead into an output and out of an input."""
    lengths = _shape(name, shape, 2)
    if not all(-len(lengths) <= axis < len(lengths) for axis in (in_axis, out_axis)):
        msg = f"{name}: in_axis and out_axis must be axes of the shape {lengths}, got {in_axis} and {out_axis}."
        raise ShapeError(msg)
    field = math.prod(lengths) / max(lengths[in_axis] * lengths[out_axis], 1)
    return lengths, lengths[in_axis] * field, lengths[out_axis] * field


def _given(after: Variable | None, draw: TensorVariable) -> Any:
    return draw if after is None else (after, draw)


def _scaled(
    name: str, rng: Source, variance: float, is_uniform: bool, dtype: str | None, lengths: Sequence[int]
) -> Any:
    kind = dtype or config.floatX
    if is_uniform:
        bound = math.sqrt(3 * variance)
        return _given(*drawn(name, "uniform", rng, -bound, bound, size=tuple(lengths), dtype=kind))
    return _given(*drawn(name, "normal", rng, 0.0, math.sqrt(variance), size=tuple(lengths), dtype=kind))


@composed
def glorot_uniform(
    rng: Source, shape: Shape, gain: float = 1.0, dtype: str | None = None, in_axis: int = -2, out_axis: int = -1
) -> Any:
    """Return uniform numbers of the variance 2 gain^2 / (inputs + outputs) (as torch.nn.init.xavier_uniform_).

    Parameters
    ----------
    rng
        A `RandomStream`, or a generator.
    shape
        The shape of the parameter, of at least two lengths.
    gain
        What the standard deviation is multiplied by.
    dtype
        The dtype; floatX if None.
    in_axis, out_axis
        The axes of inputs and outputs; the others are those of a window. torch has outputs first: in_axis=1,
        out_axis=0.

    Returns
    -------
    A tensor; with a generator, a pair of the generator after it and the tensor.

    Raises
    ------
    ShapeError
        If the shape has fewer than two lengths, or not these axes.
    ArgumentError
        If `rng` draws no numbers.

    Notes
    -----
    X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> w = tt.shared(tt.nn.glorot_uniform(tt.random.RandomStream(1), (3, 4)).eval(), name="w")
    >>> w.get_value().shape
    (3, 4)
    """
    lengths, ins, outs = _fans("glorot_uniform", shape, in_axis, out_axis)
    return _scaled("glorot_uniform", rng, 2 * gain**2 / max(ins + outs, 1), True, dtype, lengths)


@composed
def glorot_normal(
    rng: Source, shape: Shape, gain: float = 1.0, dtype: str | None = None, in_axis: int = -2, out_axis: int = -1
) -> Any:
    """Return normal numbers of the variance 2 gain^2 / (inputs + outputs) (as torch.nn.init.xavier_normal_).

    The arguments are those of `glorot_uniform`.

    >>> import treadle.tensor as tt
    >>> tt.nn.glorot_normal(tt.random.RandomStream(1), (3, 4)).eval().shape
    (3, 4)
    """
    lengths, ins, outs = _fans("glorot_normal", shape, in_axis, out_axis)
    return _scaled("glorot_normal", rng, 2 * gain**2 / max(ins + outs, 1), False, dtype, lengths)


@composed
def he_uniform(
    rng: Source, shape: Shape, negative_slope: float = 0.0, dtype: str | None = None, in_axis: int = -2,
    out_axis: int = -1,
) -> Any:  # fmt: skip
    """Return uniform numbers of the variance 2 / ((1 + slope^2) inputs) (as torch.nn.init.kaiming_uniform_).

    Parameters
    ----------
    negative_slope
        That of the `leaky_relu` that follows; 0 for `relu`.
    rng, shape, dtype, in_axis, out_axis
        As for `glorot_uniform`.

    Notes
    -----
    K. He et al., "Delving Deep into Rectifiers", 2015.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> tt.nn.he_uniform(tt.random.RandomStream(1), (3, 4)).eval().shape
    (3, 4)
    """
    lengths, ins, _ = _fans("he_uniform", shape, in_axis, out_axis)
    return _scaled("he_uniform", rng, 2 / ((1 + negative_slope**2) * max(ins, 1)), True, dtype, lengths)


@composed
def he_normal(
    rng: Source, shape: Shape, negative_slope: float = 0.0, dtype: str | None = None, in_axis: int = -2,
    out_axis: int = -1,
) -> Any:  # fmt: skip
    """Return normal numbers of the variance 2 / ((1 + slope^2) inputs) (as torch.nn.init.kaiming_normal_).

    The arguments are those of `he_uniform`.

    >>> import treadle.tensor as tt
    >>> tt.nn.he_normal(tt.random.RandomStream(1), (3, 4)).eval().shape
    (3, 4)
    """
    lengths, ins, _ = _fans("he_normal", shape, in_axis, out_axis)
    return _scaled("he_normal", rng, 2 / ((1 + negative_slope**2) * max(ins, 1)), False, dtype, lengths)


@composed
def lecun_uniform(rng: Source, shape: Shape, dtype: str | None = None, in_axis: int = -2, out_axis: int = -1) -> Any:
    """Return uniform numbers of the variance 1 / inputs; the arguments are those of `glorot_uniform`.

    Y. LeCun et al., "Efficient BackProp", 1998.

    >>> import treadle.tensor as tt
    >>> tt.nn.lecun_uniform(tt.random.RandomStream(1), (3, 4)).eval().shape
    (3, 4)
    """
    lengths, ins, _ = _fans("lecun_uniform", shape, in_axis, out_axis)
    return _scaled("lecun_uniform", rng, 1 / max(ins, 1), True, dtype, lengths)


@composed
def lecun_normal(rng: Source, shape: Shape, dtype: str | None = None, in_axis: int = -2, out_axis: int = -1) -> Any:
    """Return normal numbers of the variance 1 / inputs; the arguments are those of `glorot_uniform`.

    >>> import treadle.tensor as tt
    >>> tt.nn.lecun_normal(tt.random.RandomStream(1), (3, 4)).eval().shape
    (3, 4)
    """
    lengths, ins, _ = _fans("lecun_normal", shape, in_axis, out_axis)
    return _scaled("lecun_normal", rng, 1 / max(ins, 1), False, dtype, lengths)


# The names that torch's users know.
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


@composed
def truncated_normal(
    rng: Source, shape: Shape, mean: float = 0.0, std: float = 1.0, lower: float = -2.0, upper: float = 2.0,
    dtype: str | None = None,
) -> Any:  # fmt: skip
    """Return normal numbers, of those that lie between two bounds (as torch.nn.init.trunc_normal_).

    Parameters
    ----------
    mean, std
        Mean and standard deviation of the distribution that is cut.
    lower, upper
        The bounds of the numbers.
    rng, shape, dtype
        As for `glorot_uniform`; any shape will do.

    Raises
    ------
    ArgumentError
        If the lower bound is not below the upper one, `std` is not positive, or `rng` draws no numbers.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> values = tt.nn.truncated_normal(tt.random.RandomStream(1), 100, std=3.0, lower=-1.0, upper=1.0).eval()
    >>> bool(abs(values).max() <= 1.0)
    True
    """
    if not (lower < upper and std > 0):
        msg = (
            f"truncated_normal: lower < upper and std > 0 are needed, got {text_of((lower, upper))} and {text_of(std)}."
        )
        raise ArgumentError(msg)
    return _given(
        *drawn(
            "truncated_normal", "truncated_normal", rng, mean, std, lower, upper,
            size=_shape("truncated_normal", shape, 0), dtype=dtype or config.floatX,
        )
    )  # fmt: skip


@composed
def orthogonal(rng: Source, shape: Shape, gain: float = 1.0, dtype: str | None = None) -> Any:
    """Return a matrix with orthonormal rows or columns, whichever are fewer, times a gain (as torch's orthogonal_).

    Parameters
    ----------
    rng, shape, dtype
        As for `glorot_uniform`. Of more than two lengths, all but the first make the columns.
    gain
        What the matrix is multiplied by.

    Notes
    -----
    The factor Q of a matrix of normal numbers, with the signs that make it uniform (F. Mezzadri, "How to Generate
    Random Matrices from the Classical Compact Groups", 2007); A. M. Saxe, J. L. McClelland and S. Ganguli, "Exact
    solutions to the nonlinear dynamics of learning in deep linear neural networks", 2013.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> q = tt.nn.orthogonal(tt.random.RandomStream(1), (2, 3)).eval()
    >>> abs(q @ q.T).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    lengths = _shape("orthogonal", shape, 2)
    rows, columns = lengths[0], math.prod(lengths[1:])
    size = (max(rows, columns), min(rows, columns))
    after, normals = drawn("orthogonal", "normal", rng, 0.0, 1.0, size=size, dtype=dtype or config.floatX)
    q: Any
    q, r = qr(normals, mode="reduced")
    along = sign(diagonal(r))
    q = q * switch(eq(along, 0), cast(1, normals.dtype), along)
    matrix = q if rows >= columns else q.T
    return _given(after, gain * reshape(matrix, lengths, ndim=len(lengths)))
