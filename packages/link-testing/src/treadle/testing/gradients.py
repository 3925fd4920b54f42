"""verify_grad: a symbolic gradient against finite differences."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle import tensor as tt
from treadle.compile import function
from treadle.testing.errors import GradientError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.compile import Mode
    from treadle.tensor import TensorLike
    from treadle.testing.domain import Array

# Step and error allowed, relative and absolute, by dtype: the step balances truncation and rounding.
STEPS = {"float16": 1e-1, "float32": 3e-3, "float64": 1e-6}
ALLOWED = {"float16": 1e-1, "float32": 1e-2, "float64": 1e-4}


def verify_grad(
    fun: Callable[..., TensorLike],
    pt: Sequence[object],
    n_tests: int = 2,
    rng: np.random.Generator | None = None,
    eps: float | None = None,
    out_type: DTypeLike | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Mode | str | None = None,
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
        Mode to compile in.
    cast_to_output_type
        Whether to compute the projection in the dtype of the result.
    no_debug_ref
        Accepted for compatibility: without meaning here.

    Raises
    ------
    GradientError
        If an element of the gradient differs; the message names the argument, the element and both numbers.
    TypeError
        If the point holds something other than floats and complex numbers.
    """
    del no_debug_ref
    points = [np.array(p) for p in pt]
    _check_points(points)
    rng = np.random.default_rng(87654) if rng is None else rng
    inputs = [tt.tensor(f"input {i}", dtype=p.dtype, shape=p.shape) for i, p in enumerate(points)]
    output = tt.as_tensor(fun(*inputs))
    compiled = partial(function, mode=mode, on_unused_input="ignore", accept_inplace=True)
    shape = compiled(inputs, output.shape)(*points)
    loosest = _loosest([*(p.dtype.name for p in points), str(out_type or output.dtype)])
    step = STEPS[loosest] if eps is None else eps
    allowed = (ALLOWED[loosest] if abs_tol is None else abs_tol, ALLOWED[loosest] if rel_tol is None else rel_tol)
    exact = "complex128" if output.dtype.startswith("complex") else "float64"
    projection = tt.tensor("projection", dtype=output.dtype if cast_to_output_type else exact, ndim=output.ndim)
    cost = tt.sum(output * projection).real
    value = compiled([*inputs, projection], cost)
    slopes = compiled([*inputs, projection], tt.grad(cost, inputs, disconnected_inputs="ignore"))
    for _ in range(n_tests):
        weights = _drawn(rng, projection.dtype, tuple(shape))
        found = slopes(*points, weights)
        for at in range(len(points)):
            expected = _differences(lambda *p, w=weights: float(value(*p, w)), points, at, step)
            _compare(at, found[at], expected, *allowed)


def _drawn(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    numbers = rng.uniform(0.5, 1.5, shape)
    return np.asarray(numbers + 1j * rng.uniform(0.5, 1.5, shape) if dtype.startswith("complex") else numbers, dtype)


def _check_points(points: Sequence[Array]) -> None:
    for at, point in enumerate(points):
        if point.dtype.kind not in "fc":
            msg = f"verify_grad: argument {at} must be a float or complex array, got dtype {point.dtype}. Cast it."
            raise TypeError(msg)


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


def _compare(at: int, found: Array, expected: Array, abs_tol: float, rel_tol: float) -> None:
    if found.shape != expected.shape:
        msg = f"verify_grad: the gradient of argument {at} has shape {found.shape}, expected {expected.shape}."
        raise GradientError(msg)
    absolute = np.abs(found - expected)
    relative = absolute / np.maximum(np.maximum(np.abs(found), np.abs(expected)), 1e-8)
    # Either may be small; a NaN is neither.
    wrong = ~((absolute <= abs_tol) | (relative <= rel_tol))
    if not wrong.any():
        return
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    msg = (
        f"verify_grad: {int(wrong.sum())} of {wrong.size} elements of the gradient of argument {at} differ from finite "
        f"differences, the first at {place}: {found[place]!r}, expected {expected[place]!r} (absolute error "
        f"{absolute[place]:.3g}, allowed {abs_tol:.3g}; relative {relative[place]:.3g}, allowed {rel_tol:.3g}). "
        "Correct the pullback, or choose a point away from kinks."
    )
    raise GradientError(msg)
