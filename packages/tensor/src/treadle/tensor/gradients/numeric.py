"""Gradients by finite differences, and symbolic gradients compared with them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import config, text_of
from treadle.graph import GraphTypeError
from treadle.tensor.arguments.values import as_callable, as_items
from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import DtypeError, GradientError, ShapeError
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.joins.joining import join
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.shape import flatten, shape
from treadle.tensor.types.constructors import tensor
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Array = NDArray[Any]

__all__ = ["mode_not_slow", "numeric_grad", "verify_grad"]

# Step and error allowed, relative and absolute, by dtype: the step balances truncation and rounding.
STEPS = {"float16": 1e-1, "float32": 3e-3, "float64": 1e-6}
ALLOWED = {"float16": 1e-1, "float32": 1e-2, "float64": 1e-4}
# Modes that check every node or rewrite little are too slow to call a function thousands of times.
SLOW_MODES = ("DebugMode", "DEBUG_MODE", "FAST_COMPILE")


def mode_not_slow(mode: object = None) -> object:
    """Return a mode to verify gradients in: the given one, or ``FAST_RUN`` in place of a slow one.

    Parameters
    ----------
    mode
        A mode or its name; that of the option ``mode`` if None.
    """
    chosen = getattr(config, "mode", None) if mode is None else mode
    if not isinstance(chosen, str | None) and not hasattr(type(chosen), "including"):
        msg = f"mode_not_slow: mode must be a mode or its name, got {text_of(mode)}. Pass one."
        raise GraphTypeError(msg)
    return "FAST_RUN" if chosen in SLOW_MODES or type(chosen).__name__ in SLOW_MODES else chosen


def verify_grad(
    fun: Callable[..., TensorLike],
    pt: Sequence[object],
    n_tests: int = 2,
    rng: np.random.Generator | None = None,
    eps: float | None = None,
    out_type: DTypeLike | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: object = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Compare the symbolic gradient of a function with central differences at a point.

    The results are multiplied by random numbers and summed; each element of each input is then moved on its own,
    complex ones in both directions. The function may work in place: it is given copies then.

    Parameters
    ----------
    fun
        Takes variables, returns a float or complex variable.
    pt
        The point: a float or complex array for each argument.
    n_tests
        How many random projections to try.
    rng
        Where random numbers come from; a fixed seed if None.
    eps
        Step of the differences; chosen by dtype if None.
    out_type
        Dtype of the result, as far as precision goes; the least precise dtype that occurs if None.
    abs_tol, rel_tol
        Error allowed; one of the two must be kept. Chosen by dtype if None.
    mode
        Mode to compile in, see `mode_not_slow`.
    cast_to_output_type
        Whether to compute the projection in the dtype of the result.
    no_debug_ref
        Accepted for compatibility: without meaning here.

    Raises
    ------
    GradientError
        If an element of the gradient differs; the message names the argument, the element and both numbers.
    DtypeError
        If the point holds something other than floats and complex numbers.

    Examples
    --------
    >>> tt.verify_grad(lambda x: tt.exp(x), [np.array([0.5, 1.0])], rng=np.random.default_rng(1))
    """
    del no_debug_ref
    as_callable("verify_grad: fun", fun)
    points = [np.array(p) for p in as_items("verify_grad: pt", pt)]
    _check_points(points)
    rng = np.random.default_rng(87654) if rng is None else rng
    inputs = [tensor(f"input {i}", dtype=p.dtype, shape=p.shape) for i, p in enumerate(points)]
    output = as_tensor_variable(fun(*inputs))
    options: dict[str, Any] = {"mode": mode_not_slow(mode), "on_unused_input": "ignore", "accept_inplace": True}
    lengths = shape(output).eval(dict(zip(inputs, points, strict=True)), **options)
    loosest = _loosest([*(p.dtype.name for p in points), str(out_type or output.dtype)])
    step = STEPS[loosest] if eps is None else eps
    allowed = (ALLOWED[loosest] if abs_tol is None else abs_tol, ALLOWED[loosest] if rel_tol is None else rel_tol)
    exact = "complex128" if output.dtype.startswith("complex") else "float64"
    projection = tensor("projection", dtype=output.dtype if cast_to_output_type else exact, ndim=output.ndim)
    cost = sum_(mul(output, projection)).real
    slopes = _joined(grad(cost, inputs, disconnected_inputs="ignore"))
    for _ in range(n_tests):
        weights = _random_numbers(rng, projection.dtype, tuple(lengths))

        def values(at: Sequence[Array], w: Array = weights) -> dict[TensorVariable, Array]:
            return dict(zip([*inputs, projection], [*at, w], strict=True))

        symbolic = _separated(slopes.eval(values(points), **options), points)
        expected = numeric_grad(lambda *at: cost.eval(values(at), **options), points, step)
        for i, (own, by_differences) in enumerate(zip(symbolic, expected.gf, strict=True)):
            _compare(i, own, by_differences, *allowed)


def _joined(gradients: Sequence[TensorVariable]) -> TensorVariable:
    """Return the shapes and elements of gradients in one vector, so that they are compiled as one function."""
    parts = [part for g in gradients for part in (shape(g), flatten(g))]
    widest = reduce(np.promote_types, [part.dtype for part in parts], np.dtype("float64"))
    return join(0, *[cast(part, widest) for part in parts])


def _separated(vector: Array, points: Sequence[Array]) -> list[Array]:
    parts = []
    for p in points:
        lengths, vector = vector[: p.ndim].real.astype(int), vector[p.ndim :]
        size = int(np.prod(lengths))
        part, vector = vector[:size].reshape(lengths), vector[size:]
        parts.append((part if p.dtype.kind == "c" else part.real).astype(p.dtype))
    return parts


class numeric_grad:  # noqa: N801 - the documented name
    """The gradient of a function of arrays by central differences.

    Parameters
    ----------
    f
        Takes arrays, returns a number.
    pt
        The point: a float or complex array for each argument; or one array.
    eps
        Step of the differences; chosen by dtype if None.
    out_type
        Dtype of the result, as far as precision goes.

    Attributes
    ----------
    gf
        The gradient by each argument; one array if `pt` is one. By a complex number a + ib it is d/da + i d/db.
    """

    gf: Any

    def __init__(
        self, f: Callable[..., Any], pt: object, eps: float | None = None, out_type: DTypeLike | None = None
    ) -> None:
        as_callable("numeric_grad: f", f)
        single = not isinstance(pt, list | tuple)
        points = [np.array(p) for p in (pt if isinstance(pt, list | tuple) else [pt])]
        _check_points(points)
        loosest = _loosest([*(p.dtype.name for p in points), str(out_type or "float64")])
        step = STEPS[loosest] if eps is None else eps
        gradients = [_differences(lambda *p: float(f(*p)), points, at, step) for at in range(len(points))]
        self.gf = gradients[0] if single else gradients

    @staticmethod
    def abs_rel_err(a: Array, b: Array) -> tuple[Array, Array]:
        """Return absolute and relative differences of two arrays."""
        absolute = np.abs(a - b)
        return absolute, absolute / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-8)

    def abs_rel_errors(self, g_pt: Sequence[Array]) -> list[tuple[Array, Array]]:
        """Return absolute and relative differences of gradients from these."""
        own = self.gf if isinstance(self.gf, list) else [self.gf]
        shapes, received = [g.shape for g in own], [np.shape(g) for g in g_pt]
        if shapes != received:
            msg = f"numeric_grad: gradients must be of shapes {shapes}, got {received}. Give one of the shape of each."
            raise ShapeError(msg)
        return [self.abs_rel_err(np.asarray(a), b) for a, b in zip(g_pt, own, strict=True)]

    def max_err(self, g_pt: Sequence[Array], abs_tol: float, rel_tol: float) -> tuple[int, int, float, float]:
        """Return argument and position of the largest difference beyond what is allowed, absolute and relative."""
        worst = (-1.0, 0, 0, 0.0, 0.0)
        for at, (absolute, relative) in enumerate(self.abs_rel_errors(g_pt)):
            beyond = np.minimum(absolute / abs_tol, relative / rel_tol)
            if beyond.size:
                i = int(np.argmax(beyond))
                worst = max(worst, (float(beyond.flat[i]), at, i, float(absolute.flat[i]), float(relative.flat[i])))
        return worst[1:]


def _random_numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    numbers = rng.uniform(0.5, 1.5, shape)
    return np.asarray(numbers + 1j * rng.uniform(0.5, 1.5, shape) if dtype.startswith("complex") else numbers, dtype)


def _check_points(points: Sequence[Array]) -> None:
    for at, point in enumerate(points):
        if point.dtype.kind not in "fc":
            msg = f"verify_grad: argument {at} must be a float or complex array, got dtype {point.dtype}. Cast it."
            raise DtypeError(msg)


def _loosest(dtypes: Sequence[str]) -> str:
    parts = ["float32" if name == "complex64" else name for name in dtypes]
    return next((name for name in STEPS if name in parts), "float64")


def _differences(value: Callable[..., float], points: Sequence[Array], at: int, step: float) -> Array:
    """Return the central difference for every element of one argument; d/da + i d/db for a complex a + ib."""
    is_complex = points[at].dtype.kind == "c"
    result = np.zeros(points[at].shape, "complex128" if is_complex else "float64")
    for place in np.ndindex(*points[at].shape):
        for way in (1, 1j) if is_complex else (1,):
            ends = []
            for side in (step, -step):
                moved = [p.copy() for p in points]
                moved[at][place] += side * way
                ends.append((value(*moved), moved[at][place].astype(result.dtype)))
            # The step that was really taken, after rounding.
            result[place] += way * (ends[0][0] - ends[1][0]) / abs(ends[0][1] - ends[1][1])
    return result


def _compare(at: int, symbolic: Array, expected: Array, abs_tol: float, rel_tol: float) -> None:
    if symbolic.shape != expected.shape:
        msg = f"verify_grad: the gradient of argument {at} has shape {symbolic.shape}, expected {expected.shape}."
        raise GradientError(msg)
    absolute, relative = numeric_grad.abs_rel_err(symbolic, expected)
    # Either may be small; a NaN is neither.
    wrong = ~((absolute <= abs_tol) | (relative <= rel_tol))
    if not wrong.any():
        return
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    msg = (
        f"verify_grad: {int(wrong.sum())} of {wrong.size} elements of the gradient of argument {at} differ from finite "
        f"differences, the first at {place}: {symbolic[place]!r}, expected {expected[place]!r} (absolute error "
        f"{absolute[place]:.3g}, allowed {abs_tol:.3g}; relative {relative[place]:.3g}, allowed {rel_tol:.3g}). "
        "Correct the pullback, or choose a point away from kinks."
    )
    raise GradientError(msg)
