"""Numbers at even distances, and grids of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from treadle.config import text_of
from treadle.graph import Constant, Variable, as_count, as_flag, composed
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.arguments.values import as_choice, check_flags, known_integer
from treadle.tensor.control.assertion import checked_length
from treadle.tensor.elementwise.arithmetic import add, maximum, mul, sign, sub, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, gt
from treadle.tensor.elementwise.exponential import log10, power
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.elementwise.rounding import floor
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.common_shapes import broadcast_arrays
from treadle.tensor.joins.joining import concatenate, stack
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.reductions.reduction import any_
from treadle.tensor.shapes.broadcasting import ones_like
from treadle.tensor.shapes.dimshuffle import expand_dims, moveaxis, shape_padleft, shape_padright
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["geomspace", "linspace", "logspace", "meshgrid", "mgrid", "ogrid", "vander"]


def _count(what: str, num: TensorLike) -> int | TensorVariable:
    """Return a number of samples: an integer, or an int64 scalar."""
    known = known_integer(num)
    if known is None:
        var = as_tensor_variable(num)
        if var.ndim or var.type.numpy_dtype.kind not in "iu":
            msg = f"{what}: num must be an integer, got {text_of(num)} of type {var.type}. Cast it."
            raise TensorTypeError(msg)
    least = known_value(as_tensor_variable(num)) if known is None else known
    if least is not None and least < 0:
        msg = f"{what}: num must be 0 or more, got {least}."
        raise ShapeError(msg)
    if known is None:
        return checked_length(cast(as_tensor_variable(num), "int64"), "the number of samples must be non-negative")
    return known


def _common_float(*bounds: TensorLike) -> np.dtype:
    """Return the dtype of floats or complex numbers that bounds are counted in; Python numbers have none themselves."""
    known = [x if isinstance(x, bool | int | float | complex) else as_tensor_variable(x).dtype for x in bounds]
    if not any(isinstance(x, str) for x in known):
        known.append(TensorType("floatX").dtype)
    # Python's True and False are numbers of the kind of integers here.
    return np.result_type(*(int(x) if isinstance(x, bool) else x for x in known), 1.0)


@composed
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: TensorLike = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
    """Return numbers at even distances from start to stop (as numpy.linspace).

    Parameters
    ----------
    start, stop
        Tensors, broadcast together.
    num
        How many: an integer or an integer scalar.
    endpoint
        Whether the last one is `stop`; else one more would be.
    retstep
        Whether the distance is returned too.
    dtype
        Dtype of the result; numbers are rounded down to integers.
    axis
        The dimension of the result that they lie along.

    Raises
    ------
    ShapeError
        If `num` is known to be negative.

    Examples
    --------
    >>> tt.linspace(0.0, 1.0, 5).eval()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    count = _count("linspace", num)
    ends = as_flag("linspace: endpoint", endpoint)
    inner = _common_float(start, stop)
    first, last = (cast(as_tensor_variable(x), inner) for x in (start, stop))
    delta = sub(last, first)
    at = shape_padright(arange(count), delta.ndim)
    places = cast(at, inner)
    gaps = count - 1 if ends else count
    if isinstance(gaps, int) and gaps <= 0:
        step: TensorVariable = constant(np.full((), np.nan, inner))
        numbers = add(mul(places, delta), first)
    else:
        wide: TensorLike = np.asarray(gaps, inner) if isinstance(gaps, int) else cast(maximum(gaps, 1), inner)
        step = true_div(delta, wide)
        # Where a step is too small for the dtype, the places are divided first.
        numbers = switch(any_(eq(step, 0)), mul(true_div(places, wide), delta), mul(places, step))
        numbers = add(numbers, first)
        if not isinstance(gaps, int):
            step = switch(gt(gaps, 0), step, np.full((), np.nan, inner))
    if ends and not (isinstance(count, int) and count <= 1):
        is_last = eq(at, count - 1) if isinstance(count, int) else bitwise_and(eq(at, count - 1), gt(count, 1))
        numbers = switch(is_last, last, numbers)
    if dtype is not None:
        target = TensorType(dtype).numpy_dtype
        numbers = cast(floor(numbers) if target.kind in "iu" else numbers, target)
    at_axis = normalize_axis("linspace", axis, numbers.ndim)
    result = moveaxis(numbers, 0, at_axis) if at_axis else numbers
    return (result, step) if as_flag("linspace: retstep", retstep) else result


def _samples(start: TensorLike, stop: TensorLike, num: TensorLike, endpoint: bool, axis: int = 0) -> TensorVariable:
    samples = linspace(start, stop, num, endpoint, axis=axis)
    return samples if isinstance(samples, Variable) else samples[0]


def _in_order(endpoint: object, base: object) -> tuple[bool, TensorLike]:
    """Return endpoint and base, which may be given in either order: one of them is a truth value."""
    if not isinstance(endpoint, bool | np.bool_) or isinstance(base, bool | np.bool_):
        endpoint, base = (base if isinstance(base, bool | np.bool_) else True), endpoint
    as_tensor_variable(base)  # type: ignore[arg-type]  # refuses anything but a number
    return bool(endpoint), base  # type: ignore[return-value]  # anything but a number is refused where it is used


@composed
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: TensorLike = 50,
    endpoint: bool | TensorLike = True,
    base: TensorLike | bool = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> TensorVariable:
    """Return powers of a base, their exponents at even distances from start to stop (as numpy.logspace).

    The parameters are those of `linspace`. By position, base and endpoint are taken in either order.

    Examples
    --------
    >>> tt.logspace(0.0, 2.0, 3).eval()
    array([  1.,  10., 100.])
    """
    ends, radix = _in_order(endpoint, base)
    root = as_tensor_variable(radix)
    kind = _common_float(start, stop)
    first, last = (cast(as_tensor_variable(x), kind) for x in (start, stop))
    if root.ndim:
        ndim = max(x.ndim for x in (first, last, root))
        first, last, root = (shape_padleft(x, ndim - x.ndim) for x in (first, last, root))
        root = expand_dims(root, axis)
    elif not isinstance(radix, Variable | np.ndarray | np.generic):
        # A Python number has no dtype of its own.
        root = constant(radix, dtype=np.result_type(kind, radix))  # type: ignore[arg-type]  # a Python number
    powers = power(root, _samples(first, last, num, ends, axis))
    return powers if dtype is None else cast(powers, TensorType(dtype).dtype)


@composed
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: TensorLike = 50,
    endpoint: bool | float = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    base: float | bool = 10.0,
) -> TensorVariable:
    """Return numbers from start to stop, each a constant multiple of the last one (as numpy.geomspace).

    The parameters are those of `linspace`; start and stop may be negative or complex. The base that is counted in may
    be given, and is taken in place of `endpoint`: it changes no more than rounding.

    Raises
    ------
    ShapeError
        If `num` is known to be negative, or a bound to be zero.

    Examples
    --------
    >>> tt.geomspace(1.0, 100.0, 3).eval()
    array([  1.,  10., 100.])
    """
    ends, radix = _in_order(endpoint, base)
    del radix
    first, last = as_tensor_variable(start), as_tensor_variable(stop)
    for bound in (first, last):
        if isinstance(bound, Constant) and not bound.data.all():
            msg = f"geomspace: a geometric sequence cannot include zero, got {bound}. Give other bounds."
            raise ShapeError(msg)
    inner = np.result_type(_common_float(start, stop), *([] if dtype is None else [TensorType(dtype).numpy_dtype]))
    target = inner if dtype is None else TensorType(dtype).numpy_dtype
    first, last = cast(first, inner), cast(last, inner)
    # Turned so that the sequence starts with a positive number.
    turn = sign(first)
    begin, end = true_div(first, turn), true_div(last, turn)
    count = _count("geomspace", num)
    numbers = power(np.full((), 10.0, inner), _samples(log10(begin), log10(end), count, ends))
    at = shape_padright(arange(count), numbers.ndim - 1)
    numbers = switch(eq(at, 0), begin, numbers)
    if ends:
        numbers = switch(bitwise_and(eq(at, count - 1), gt(at, 0)), end, numbers)
    numbers = mul(numbers, turn)
    at_axis = normalize_axis("geomspace", axis, numbers.ndim)
    if at_axis:
        numbers = moveaxis(numbers, 0, at_axis)
    return cast(numbers, target)


def meshgrid(
    *xi: TensorLike, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[TensorVariable, ...]:
    """Return coordinates on a grid, one tensor for each vector of coordinates along an axis (as numpy.meshgrid).

    Parameters
    ----------
    xi
        The vectors; tensors of other ranks are flattened.
    copy
        As in NumPy; results are new tensors in any case.
    sparse
        Whether the results keep length 1 in all dimensions but their own.
    indexing
        ``"xy"``: the first two dimensions are exchanged. ``"ij"``: dimensions stand in the order of the vectors.

    Examples
    --------
    >>> [grid.eval().shape for grid in tt.meshgrid([1, 2, 3], [4, 5])]
    [(2, 3), (2, 3)]
    """
    check_flags("meshgrid", copy=copy)
    swapped = as_choice("meshgrid: indexing", indexing, ("xy", "ij")) == "xy" and len(xi) > 1
    grids = []
    for at, x in enumerate(xi):
        place = 1 - at if swapped and at < 2 else at
        flat = as_tensor_variable(x).flatten()
        grids.append(expand_dims(flat, [d for d in range(len(xi)) if d != place]))
    return tuple(grids) if as_flag("meshgrid: sparse", sparse) else broadcast_arrays(*grids)


class _Grid:
    """What makes grids of slices: ``mgrid[0:n, 0:1:5j]``; the step of a slice is a distance, or 1j times a number."""

    __slots__ = ("sparse",)

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    @composed
    def __getitem__(self, key: slice | tuple[slice, ...]) -> TensorVariable | tuple[TensorVariable, ...]:
        """Return the grid of one slice or several."""
        name = "ogrid" if self.sparse else "mgrid"
        slices = key if isinstance(key, tuple) else (key,)
        axes = [_coordinates(name, item) for item in slices]
        if not isinstance(key, tuple):
            return axes[0]
        dtype = np.result_type("int64", *(x.dtype for x in axes))
        grids = meshgrid(*(cast(x, dtype) for x in axes), sparse=self.sparse, indexing="ij")
        return grids if self.sparse else stack(grids)

    def __repr__(self) -> str:
        return "ogrid" if self.sparse else "mgrid"


def _coordinates(name: str, item: object) -> TensorVariable:
    """Return what one slice of a grid stands for."""
    if not isinstance(item, slice) or item.stop is None:
        msg = f"{name}: slices with an end are needed, got {text_of(item)}. Write {name}[0:n, 0:m]."
        raise TensorTypeError(msg)
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex | np.complexfloating):
        return _samples(start, item.stop, int(abs(step)), True)
    return arange(start, item.stop, step)


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


@composed
def vander(x: TensorLike, N: TensorLike | None = None, increasing: bool = False) -> TensorVariable:  # noqa: N803 - NumPy's name
    """Return a matrix with the powers of a vector as columns, the highest first (as numpy.vander).

    Parameters
    ----------
    x
        A vector.
    N
        How many powers; as many as elements by default.
    increasing
        Whether the lowest comes first.

    Raises
    ------
    ShapeError
        If `x` is not a vector.

    Examples
    --------
    >>> tt.vander([1, 2, 3]).eval()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    var = as_tensor_variable(x)
    if var.ndim != 1:
        msg = f"vander: a vector is needed, got {var} of type {var.type}. Flatten it."
        raise ShapeError(msg)
    columns = None if N is None else as_count("vander: N", N)
    base = expand_dims(cast(var, np.promote_types(var.dtype, "int64")), 1)
    if columns is None:
        rising = arange(var.shape[0])
        return power(base, rising if as_flag("vander: increasing", increasing) else rising[::-1])
    powers = [ones_like(base)]
    while len(powers) < columns:
        powers.append(mul(powers[-1], base))
    if not columns:
        return base[:, :0]
    return concatenate(powers if as_flag("vander: increasing", increasing) else powers[::-1], 1)
