"""Interpolation, compared with NumPy's and SciPy's."""

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import interp1d

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import ShapeError, interp, interpolate1d

RNG = np.random.default_rng(11)
XP = np.sort(RNG.normal(size=6))
FP = RNG.normal(size=6)
PLACES = np.r_[RNG.normal(size=12) * 2, XP]
OUTSIDE = np.r_[PLACES, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize(
    ("at", "xp", "fp", "options"),
    [
        (OUTSIDE, XP, FP, {}),
        (OUTSIDE, XP, FP, {"left": -9.0, "right": 9.0}),
        (PLACES, RNG.permutation(XP), FP, {"period": -1.5}),
        (OUTSIDE, XP[:1], FP[:1], {"right": 2.0}),
        (OUTSIDE, np.r_[0.0, 1, 1, 2], FP[:4], {}),
        (OUTSIDE, XP, np.r_[1, np.inf, 2, np.inf, np.inf, 1], {}),
        (OUTSIDE, np.r_[-np.inf, 0, 1, np.inf], FP[:4], {}),
        (np.array([[1, 2]]), np.array([0, 4]), np.array([3, 4]), {}),
        (np.float32(1), XP, FP * 1j, {}),
    ],
)
def test_interp_is_that_of_numpy(at: Any, xp: Any, fp: Any, options: dict[str, float]) -> None:
    with np.errstate(all="ignore"):
        expected = np.interp(at, xp, fp, **options)
    value = interp(at, xp, fp, **options).eval(mode="VM")
    assert value.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)


def test_interp_has_gradients_by_places_points_and_values() -> None:
    x, xp, fp = tt.dvectors("x", "xp", "fp")
    slopes = function([x, xp, fp], tt.grad((interp(x, xp, fp) ** 2).sum(), [x, xp, fp]), mode="VM")
    arguments = [RNG.uniform(XP[0], XP[-1], 5), XP, FP]
    for i, slope in enumerate(slopes(*arguments)):
        for j in range(arguments[i].size):
            ends = []
            for step in (1e-6, -1e-6):
                moved: list[Any] = [np.array(v) for v in arguments]
                moved[i][j] += step
                ends.append((np.interp(*moved) ** 2).sum())
            assert slope[j] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-5)


def test_interp_has_the_slope_to_the_right_at_points_and_that_before_the_last() -> None:
    x, xp, fp = tt.dvectors("x", "xp", "fp")
    arguments = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 3.0]), np.array([1.0, 4.0, 2.0])
    np.testing.assert_array_equal(
        function([x, xp, fp], tt.grad(interp(x, xp, fp).sum(), x), mode="VM")(*arguments), [3, -1, -1]
    )
    repeated = interp(x, xp, fp, period=4.0)
    np.testing.assert_allclose(function([x, xp, fp], tt.grad(repeated.sum(), x), mode="VM")(*arguments), [3, -1, -1])


@pytest.mark.parametrize("method", ["linear", "nearest", "first", "last"])
def test_interpolate1d_is_that_of_scipy(method: Any) -> None:
    kind = {"first": "previous", "last": "next"}.get(method, method)
    # At a point, SciPy's "previous" gives its value; PyTensor's "first" that of the point before (tests/from_pytensor).
    between = (XP[1:] + XP[:-1]) / 2 + 0.01
    at = PLACES if method == "linear" else between if method == "first" else np.r_[XP, between]
    theirs = interp1d(XP, FP, kind=kind, fill_value="extrapolate")(at)
    np.testing.assert_allclose(interpolate1d(XP, FP, method)(at).eval(mode="VM"), theirs)


def test_interpolate1d_pads_where_it_may_not_extrapolate() -> None:
    mean = interpolate1d([0.0, 1.0], [2.0, 3.0], "mean", left_pad=-1, extrapolate=False)
    assert mean([-1.0, 0.5, 3.0]).eval(mode="VM").tolist() == [-1.0, 2.5, 3.0]


@pytest.mark.parametrize(
    ("xp", "fp", "message"),
    [(np.ones((2, 2)), FP, "1-D"), (XP, FP[:3], "not of the same length"), ([], [], "sample points is empty")],
)
def test_points_that_do_not_fit_are_refused(xp: Any, fp: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        interp(1.0, xp, fp)


def test_value_that_is_not_a_method_or_period_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of linear, nearest"):
        interpolate1d(XP, FP, "cubic")  # type: ignore[arg-type]  # the error that is tested
    with pytest.raises(ShapeError, match="non-zero"):
        interp(1.0, XP, FP, period=0)
    with pytest.raises(TypeError, match="complex"):
        interp(1j, XP, FP)
