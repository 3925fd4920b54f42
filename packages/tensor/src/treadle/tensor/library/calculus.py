"""Differences and sums of sampled functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.tensor.arguments.axes import at_axis, normalize_axes, normalize_axis
from treadle.tensor.arguments.values import as_choice, as_integer, known_integer
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import neq
from treadle.tensor.errors import ArgumentError, AxisError, ShapeError, TensorTypeError
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.reductions.accumulation import cumsum
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import as_dimension
from treadle.tensor.shapes.shape import flatten, lengths
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = ["cumulative_trapezoid", "diff", "ediff1d", "gradient", "trapezoid"]


def _edge(value: TensorLike, x: TensorVariable, axis: int) -> TensorVariable:
    """Return what to put next to a tensor along an axis; a scalar becomes one element in each line."""
    edge = as_tensor_variable(value)
    if edge.ndim:
        return edge
    return alloc(edge, *(1 if d == axis else n for d, n in enumerate(lengths(x))))


# Each order is a node; rounding errors exceed the differences long before this order.
_MOST_DIFFERENCES = 1000


def diff(
    a: TensorLike, n: int = 1, axis: int = -1, prepend: TensorLike | None = None, append: TensorLike | None = None
) -> TensorVariable:
    """Return the differences of neighbours along an axis (as numpy.diff); of truth values, whether they differ.

    Parameters
    ----------
    a
        A tensor of rank 1 or more.
    n
        How often to take differences.
    axis
        The axis.
    prepend, append
        What to put before and after the tensor along the axis first: a tensor, or a scalar for one element.

    Examples
    --------
    >>> tt.diff([1, 4, 9]).eval()
    array([3, 5])
    """
    times = known_integer(n)
    if times is None or not 0 <= times <= _MOST_DIFFERENCES:
        msg = (
            f"diff: order must be non-negative, and {_MOST_DIFFERENCES} at most, but got {text_of(n)}. Pass how often "
            "to take differences."
        )
        raise ArgumentError(msg)
    x = as_tensor_variable(a)
    if times == 0:
        return x
    if x.ndim == 0:
        msg = f"diff: a tensor of rank 1 or more is needed, got {x} of type {x.type}."
        raise ShapeError(msg)
    at = normalize_axis("diff", axis, x.ndim)
    edges = [None if e is None else _edge(e, x, at) for e in (prepend, append)]
    if prepend is not None or append is not None:
        x = concatenate([part for part in (edges[0], x, edges[1]) if part is not None], at)
    for _ in range(times):
        after, before = x[at_axis(at, slice(1, None))], x[at_axis(at, slice(-1))]
        x = neq(after, before) if x.dtype == "bool" else after - before
    return x


def ediff1d(ary: TensorLike, to_end: TensorLike | None = None, to_begin: TensorLike | None = None) -> TensorVariable:
    """Return the differences of neighbours of the flattened tensor (as numpy.ediff1d).

    Parameters
    ----------
    ary
        A tensor.
    to_end, to_begin
        Numbers to put after and before the differences, whose dtype they take.

    Examples
    --------
    >>> tt.ediff1d([1, 4, 9]).eval()
    array([3, 5])
    """
    inner = diff(flatten(ary))
    before, after = (
        [] if value is None else [flatten(cast(as_tensor_variable(value), inner.dtype))] for value in (to_begin, to_end)
    )
    return concatenate([*before, inner, *after]) if before or after else inner


def _spacings(name: str, varargs: Sequence[TensorLike], axes: Sequence[int], x: TensorVariable) -> list[TensorVariable]:
    """Return for each axis the distance of samples, a scalar, or the distances, a vector."""
    if not varargs:
        return [as_tensor_variable(1.0) for _ in axes]
    spacings = [as_tensor_variable(v) for v in varargs]
    if len(spacings) == 1 and spacings[0].ndim == 0:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        msg = f"{name}: invalid number of arguments, got {len(spacings)} spacings for {len(axes)} axes. Pass one each."
        raise TensorTypeError(msg)
    distances = []
    for spacing, axis in zip(spacings, axes, strict=True):
        if spacing.ndim > 1:
            msg = f"{name}: distances must be either scalars or 1d, got {spacing} of type {spacing.type}."
            raise ArgumentError(msg)
        n, m = spacing.type.shape[0] if spacing.ndim else None, x.type.shape[axis]
        if n is not None and m is not None and n != m:
            msg = f"{name}: when 1d, distances must match the length of the corresponding dimension, got {n} for {m}."
            raise ShapeError(msg)
        distances.append(diff(spacing) if spacing.ndim else spacing)
    return distances


def gradient(
    f: TensorLike, *varargs: TensorLike, axis: AxisLike = None, edge_order: int = 1
) -> TensorVariable | tuple[TensorVariable, ...]:
    """Return the gradient of a sampled function, by central differences (as numpy.gradient).

    `grad` is the derivative of an expression.

    Parameters
    ----------
    f
        The samples; integers are converted to float64.
    varargs
        The distance of samples: nothing for 1, one scalar for all axes, or for each axis a scalar or the vector of
        coordinates.
    axis
        Axis or axes; all if None.
    edge_order
        1 or 2: order of the differences at the edges.

    Returns
    -------
    A tensor for each axis: one, or a tuple of them if there is more than one axis.

    Notes
    -----
    B. Fornberg, "Generation of finite difference formulas on arbitrarily spaced grids", Mathematics of Computation
    51(184), 1988.

    Examples
    --------
    >>> tt.gradient([1.0, 4.0, 9.0]).eval()
    array([3., 4., 5.])
    """
    name = "gradient"
    x = as_tensor_variable(f)
    if x.type.numpy_dtype.kind not in "fc":
        x = cast(x, "float64")
    axes = normalize_axes(name, axis, x.ndim)
    if as_integer(f"{name}: edge_order", edge_order) not in {1, 2}:
        msg = f"{name}: 'edge_order' greater than 2 not supported, got {edge_order}. Pass 1 or 2."
        raise ArgumentError(msg)
    slopes = []
    for d, spacing in zip(axes, _spacings(name, varargs, axes, x), strict=True):
        n = x.type.shape[d]
        if n is not None and n < edge_order + 1:
            msg = (
                f"{name}: Shape of array too small to calculate a numerical gradient, got {n} elements along axis {d}. "
                f"At least (edge_order + 1) elements are required, here {edge_order + 1}."
            )
            raise ShapeError(msg)
        slopes.append(cast(_slope(x, d, spacing, edge_order), x.dtype))
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(x: TensorVariable, axis: int, spacing: TensorVariable, edge_order: int) -> TensorVariable:
    def at(start: int | None, stop: int | None) -> TensorVariable:
        return x[at_axis(axis, slice(start, stop))]

    def step(i: int) -> TensorVariable:
        return spacing[i] if spacing.ndim else spacing

    if spacing.ndim:
        shaped = as_dimension(spacing, axis, x.ndim)
        h, k = shaped[at_axis(axis, slice(-1))], shaped[at_axis(axis, slice(1, None))]
        inner = (
            at(None, -2) * (-k / (h * (h + k))) + at(1, -1) * ((k - h) / (h * k)) + at(2, None) * (h / (k * (h + k)))
        )
    else:
        inner = (at(2, None) - at(None, -2)) / (2.0 * spacing)
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / step(0)
        last = (at(-1, None) - at(-2, -1)) / step(-1)
    else:
        h, k = step(0), step(1)
        first = (
            at(0, 1) * (-(2.0 * h + k) / (h * (h + k)))
            + at(1, 2) * ((h + k) / (h * k))
            - at(2, 3) * (h / (k * (h + k)))
        )
        h, k = step(-2), step(-1)
        last = (
            at(-3, -2) * (k / (h * (h + k)))
            - at(-2, -1) * ((k + h) / (h * k))
            + at(-1, None) * ((2.0 * k + h) / (k * (h + k)))
        )
    return concatenate([first, inner, last], axis)


def _areas(name: str, y: TensorLike, x: TensorLike | None, dx: TensorLike, axis: int) -> tuple[TensorVariable, int]:
    """Return the areas under straight lines between neighbouring samples, and the axis."""
    values = as_tensor_variable(y)
    if values.ndim == 0:
        msg = f"{name}: samples of rank 1 or more are needed, got {values} of type {values.type}."
        raise AxisError(msg)
    at = normalize_axis(name, axis, values.ndim)
    # A Python number takes the dtype of the samples.
    width: Any = dx if type(dx) in {int, float, complex} else as_tensor_variable(dx)
    if x is not None:
        place = as_tensor_variable(x)
        width = diff(place, axis=at if place.ndim == values.ndim else -1)
        if place.ndim == 1:
            width = as_dimension(width, at, values.ndim)
    return width * (values[at_axis(at, slice(1, None))] + values[at_axis(at, slice(-1))]) / 2.0, at


def trapezoid(y: TensorLike, x: TensorLike | None = None, dx: TensorLike = 1.0, axis: int = -1) -> TensorVariable:
    """Integrate samples along an axis by the trapezoidal rule (as numpy.trapezoid).

    Parameters
    ----------
    y
        The samples.
    x
        Their coordinates, a vector or a tensor of the samples' rank; at the distance `dx` if None.
    dx
        Their distance.
    axis
        The axis.

    Examples
    --------
    >>> tt.trapezoid([1.0, 2.0, 3.0]).eval()
    array(4.)
    """
    areas, at = _areas("trapezoid", y, x, dx, axis)
    return sum_(areas, axis=at)


def cumulative_trapezoid(
    y: TensorLike, x: TensorLike | None = None, dx: TensorLike = 1.0, axis: int = -1, initial: int | None = None
) -> TensorVariable:
    """Integrate samples up to each of them (as scipy.integrate.cumulative_trapezoid; parameters as for `trapezoid`).

    `initial` is None or 0: whether to put the integral up to the first sample in front.

    Examples
    --------
    >>> tt.cumulative_trapezoid([1.0, 2.0, 3.0]).eval()
    array([1.5, 4. ])
    """
    as_choice("cumulative_trapezoid: initial", None if initial is None else str(initial), (None, "0", "0.0"))
    areas, at = _areas("cumulative_trapezoid", y, x, dx, axis)
    total = cumsum(areas, axis=at)
    return total if initial is None else concatenate([_edge(cast(0, total.dtype), total, at), total], at)
