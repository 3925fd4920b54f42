"""Sorting, quantiles, statistics and differences beyond the records: edge cases, errors, NumPy's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import vectorize_graph

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip
CUBE = np.random.default_rng(3).standard_normal((3, 4, 5))
HOLES = np.where(CUBE < -0.7, np.nan, CUBE)


def assert_all_equal(x: np.ndarray[Any, Any], *builds: Callable[[Any, Any], Any]) -> None:
    """Compare expressions of one tensor with NumPy's, compiled as one function."""
    var = tt.tensor(dtype=x.dtype, shape=(None,) * x.ndim)
    compiled = function([var], [build(tt, var) for build in builds], mode="VM")
    for actual, build in zip(compiled(x), builds, strict=True):
        wanted = np.asarray(build(np, x))
        assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=1e-14)


def test_quantiles_follow_every_method_of_numpy() -> None:
    q = np.array([0.0, 0.1, 0.5, 0.77, 1.0])
    assert_all_equal(CUBE, *(lambda xp, x, m=m: xp.quantile(x, q, axis=1, method=m) for m in METHODS))
    assert_all_equal(
        HOLES, *(lambda xp, x, m=m: xp.nanquantile(x, 0.3, axis=(0, 2), method=m, keepdims=True) for m in METHODS)
    )


def test_weights_count_elements() -> None:
    weights = np.array([1.0, 0.0, 2.5, 1.0])
    assert_all_equal(
        CUBE,
        lambda xp, x: xp.quantile(x, np.array([0.0, 0.4, 1.0]), axis=1, method="inverted_cdf", weights=weights),
        lambda xp, x: xp.average(x, axis=1, weights=weights),
        lambda xp, x: xp.average(x, axis=(2, 0), weights=np.arange(15.0).reshape(5, 3)),
    )


def test_a_median_of_integers_is_a_float_and_of_a_nan_is_nan() -> None:
    assert_all_equal(np.array([3, 1, 2, 9], "int8"), lambda xp, x: xp.median(x), lambda xp, x: xp.quantile(x, 1))
    assert_all_equal(HOLES, lambda xp, x: xp.median(x, axis=0), lambda xp, x: xp.nanmedian(x, axis=(0, 1)))


def test_numerical_gradients_are_numpys() -> None:
    x, place = tt.dmatrix("x"), np.array([0.0, 1.0, 1.5, 3.0, 7.0])
    for order in (1, 2):
        gradients = tt.gradient(x, 0.5, place, edge_order=order)
        values = function([x], list(gradients), mode="VM")(CUBE[0])
        for ours, theirs in zip(values, np.gradient(CUBE[0], 0.5, place, edge_order=order), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_covariances_take_numpys_weights() -> None:
    often, heavy = np.array([1, 2, 0, 3, 1]), np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    assert_all_equal(
        CUBE[0],
        lambda xp, x: xp.cov(x, fweights=often, aweights=heavy),
        lambda xp, x: xp.cov(x, rowvar=False, bias=True),
        lambda xp, x: xp.cov(x[0], x[1] ** 2, ddof=0),
        lambda xp, x: xp.corrcoef(x),
    )


def test_differences_take_what_is_put_beside() -> None:
    assert_all_equal(
        CUBE,
        lambda xp, x: xp.diff(x, 2, axis=1, prepend=0, append=np.ones((3, 2, 5))),
        lambda xp, x: xp.diff(x > 0, axis=0),
        lambda xp, x: xp.ediff1d(x, to_begin=-1.0, to_end=np.array([1.0, 2.0])),
        lambda xp, x: xp.trapezoid(x, x**2, axis=1),
    )


def test_the_most_frequent_element_is_the_smallest_of_several() -> None:
    x = tt.lmatrix("x")
    results = function([x], [*tt.mode(x, axis=1), *tt.mode(x, axis=None)], mode="VM")(
        np.array([[3, 1, 3, 1], [2, 5, 4, 4]])
    )
    np.testing.assert_array_equal(results[0], [1, 4])
    np.testing.assert_array_equal(results[1], [2, 2])
    assert (int(results[2]), int(results[3])) == (1, 2)


def test_lines_and_axes_are_handed_to_functions() -> None:
    assert_all_equal(
        CUBE,
        lambda xp, x: xp.apply_over_axes(lambda v, axis: xp.sum(v, axis=axis), x, [0, 2]),
        lambda xp, x: xp.apply_along_axis(lambda v: v[:2] * v.sum(), 1, x),
        lambda xp, x: xp.apply_along_axis(lambda v: v.max(), 0, x),
    )


def test_the_largest_elements_come_first() -> None:
    x = tt.dvector("x")
    values, positions = function([x], list(tt.topk(x, 3)), mode="VM")(np.array([2.0, 7.0, 7.0, 1.0]))
    np.testing.assert_array_equal(values, [7.0, 7.0, 2.0])
    np.testing.assert_array_equal(positions, [1, 2, 0])


def test_order_statistics_and_accumulations_take_a_batch() -> None:
    x, batch = tt.dvector("x"), tt.dmatrix("batch")
    outs = [tt.median(x), tt.cumsum(x), tt.sort(x), tt.logcumsumexp(x)]
    compiled = function([batch], vectorize_graph(outs, {x: batch}), mode="VM")
    results = compiled(CUBE[0])
    for ours, theirs in zip(
        results, (np.median(CUBE[0], 1), np.cumsum(CUBE[0], 1), np.sort(CUBE[0]), np.logaddexp.accumulate(CUBE[0], 1)),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_position_among_nothing_but_nan_is_an_error() -> None:
    x = tt.dmatrix("x")
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        function([x], tt.nanargmax(x, axis=1), mode="VM")(np.array([[1.0, 2.0], [np.nan, np.nan]]))


X, Z = tt.dmatrix("x"), tt.zvector("z")
REFUSED: tuple[tuple[Callable[[], object], type[Exception], str], ...] = (
    (lambda: tt.quantile(X, 1.5), ValueError, r"Quantiles must be in the range \[0, 1\]"),
    (lambda: tt.percentile(X, [50, 101]), ValueError, r"Percentiles must be in the range \[0, 100\]"),
    (lambda: tt.quantile(X, 0.5, method="best"), ValueError, "'best' is not a valid method"),
    (lambda: tt.median(Z), TypeError, "complex numbers have no order"),
    (lambda: tt.max(X, where=X > 0), ValueError, "needs initial="),
    (lambda: tt.sum(X[0], where=X > 0), ValueError, "where has rank 2"),
    (lambda: tt.var(X, ddof=1, correction=1), ValueError, "ddof and correction"),
    (lambda: tt.sort(X[0, 0]), ValueError, "a scalar has no axis to sort along"),
    (lambda: tt.lexsort([np.zeros(3), np.zeros(4)]), ValueError, "need to be the same shape"),
    (lambda: tt.sort(X, kind="fastest"), ValueError, "must be one of"),
    (lambda: tt.partition(tt.as_tensor([1.0, 2.0]), 5), ValueError, r"kth\(=5\) out of bounds \(2\)"),
    (lambda: tt.topk(tt.as_tensor([1.0, 2.0]), 3), ValueError, "Take at most 2"),
    (lambda: tt.cummax(Z), TypeError, "complex numbers have no order"),
    (lambda: tt.cumulative_sum(X), ValueError, "an axis is needed"),
    (lambda: tt.diff(X, -1), ValueError, "order must be non-negative"),
    (lambda: tt.norm(X, 3), ValueError, "Invalid norm order for matrices"),
    (lambda: tt.norm(X[0], "fro"), ValueError, "Invalid norm order 'fro' for vectors"),
    (lambda: tt.average(X, weights=[1.0, 2.0]), TypeError, "Axis must be specified"),
    (lambda: tt.gradient(tt.as_tensor([1.0])), ValueError, "too small to calculate"),
    (lambda: tt.exp.reduce(X), NotImplementedError, r"exp\.reduce"),
)


@pytest.mark.parametrize(("build", "error", "words"), REFUSED)
def test_arguments_that_mean_nothing_are_refused_in_numpys_words(
    build: Callable[[], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        build()


def test_elementwise_ops_have_the_methods_of_ufuncs() -> None:
    x = tt.dmatrix("x")
    results = [tt.maximum.accumulate(x, axis=1), tt.add.reduce(x, initial=2.0), tt.mul.outer(x[0], x[1])]
    values = function([x], results, mode="VM")(CUBE[0])
    a = CUBE[0]
    wanted = (np.maximum.accumulate(a, axis=1), np.add.reduce(a, initial=2.0), np.multiply.outer(a[0], a[1]))
    for ours, theirs in zip(values, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_norms_and_deviations_have_slope_0_where_they_are_0() -> None:
    x = tt.dmatrix("x")
    rows = (tt.norm(x - x[:, :1], axis=1), tt.std(x, axis=1), tt.nanstd(x, axis=1))
    slopes = function([x], [tt.grad(f.sum(), x) for f in rows], mode="VM")(np.array([[2.0, 2.0], [1.0, 3.0]]))
    expected = ([[0, 0], [-1, 1]], [[0, 0], [-0.5, 0.5]], [[0, 0], [-0.5, 0.5]])
    for slope, wanted in zip(slopes, expected, strict=True):
        assert slope == pytest.approx(np.array(wanted))


def test_quantiles_take_probabilities_that_differ_along_a_batch() -> None:
    x, q, wide, many = tt.dmatrix(), tt.dvector(), tt.dtensor3(), tt.dmatrix()
    values, levels = CUBE, np.array([[0.1, 0.5], [0.9, 0.2], [0.0, 1.0]])
    y = tt.quantile(x, q, axis=1)
    by_both = vectorize_graph(y, {x: wide, q: many})
    by_levels = vectorize_graph(y, {q: many})
    quantiles = function([wide, many], by_both, mode="VM")(values, levels)
    np.testing.assert_allclose(quantiles, [np.quantile(v, p, axis=1) for v, p in zip(values, levels, strict=True)])
    quantiles = function([x, many], by_levels, mode="VM")(values[0], levels)
    np.testing.assert_allclose(quantiles, [np.quantile(values[0], p, axis=1) for p in levels])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_partition_of_no_elements_takes_any_position(shape: tuple[int, ...]) -> None:
    for x in (tt.zeros(shape), tt.tensor(dtype="float64", shape=shape)):
        assert tt.partition(x, 5).type.shape == tt.argpartition(x, 5).type.shape == shape


@pytest.mark.parametrize("axis", [(0, 1), (1, 2), None, (0, 2), 1])
def test_largest_of_nothing_is_the_first_given_however_many_axes_have_no_elements(axis: Any) -> None:
    x = tt.dtensor3("x")
    f = function([x], [tt.max(x, axis=axis, initial=3.0), tt.min(x, axis=axis, initial=-3.0, keepdims=True)])
    for shape in ((2, 0, 0), (0, 0, 3), (0, 2, 0), (2, 3, 4)):
        value = np.random.default_rng(0).normal(size=shape) * 4
        wanted = np.max(value, axis=axis, initial=3.0), np.min(value, axis=axis, initial=-3.0, keepdims=True)
        for ours, theirs in zip(f(value), wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_trapezoids_have_the_dtype_of_the_samples(dtype: str) -> None:
    x, values = tt.vector(dtype=dtype), np.arange(4).astype(dtype)
    for options in ({}, {"dx": 2}, {"dx": 0.5}, {"dx": np.float64(2)}):
        assert tt.trapezoid(x, **options).dtype == np.trapezoid(values, **options).dtype
        assert tt.cumulative_trapezoid(x, **options).dtype == np.trapezoid(values, **options).dtype


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8"])
def test_histograms_of_few_values_or_none_are_those_of_numpy(mode: str, dtype: str) -> None:
    x = tt.vector(dtype=dtype)
    f = function([x], [*tt.histogram(x, 3), tt.histogram_bin_edges(x, 4)], mode=mode)
    for values in (np.array([], dtype), np.array([3], dtype), np.array([1, 2, 2, 5], dtype)):
        counts, edges, further = f(values)
        expected = np.histogram(values, 3)
        np.testing.assert_array_equal(counts, expected[0], strict=True)
        for actual, wanted in ((edges, expected[1]), (further, np.histogram_bin_edges(values, 4))):
            assert actual.dtype == wanted.dtype
            np.testing.assert_allclose(actual, wanted, rtol=1e-3)


def test_norms_along_empty_axes_are_those_of_numpy() -> None:
    library: Any = tt.linalg
    x = tt.dmatrix()
    for order, axis in ((np.inf, 0), (np.inf, None), (1, None), (2, 0), (1, 0)):
        norm = function([x], library.norm(x, order, axis), mode="VM")
        for shape in ((0, 3), (3, 0)) if axis is None else ((0, 3),):
            empty = np.zeros(shape)
            np.testing.assert_array_equal(norm(empty), np.linalg.norm(empty, order, axis))


def test_extrema_of_complex_rows_that_are_nan_are_nan() -> None:
    z = tt.zmatrix()
    values = np.array([[np.nan, np.nan], [1, np.nan], [1 + 2j, 3]])
    largest, least = function([z], [tt.nanmax(z, axis=1), tt.nanmin(z, axis=1)], mode="VM")(values)
    np.testing.assert_array_equal(np.isnan(largest), [True, False, False])
    np.testing.assert_array_equal([largest[1:], least[1:]], [[1, 3], [1, 1 + 2j]])
    assert np.isnan(least[0])


# Functions of one vector that NumPy has by the same name.
NUMPY = """
    abs sign negative positive square sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arctan sinh tanh
    floor ceil trunc rint reciprocal deg2rad rad2deg sinc nan_to_num fabs spacing conj real imag angle sum prod mean var
    std min max ptp median cumsum cumprod nansum nanmean nanvar nanstd nanmedian nanmin nanmax diff ediff1d gradient
    trapezoid sort average cov corrcoef unwrap vander roots flip roll
""".split()  # noqa: SIM905 - as a text it can be read
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "clip": lambda xp, x: xp.clip(x, 0.5, 2),
    "quantile": lambda xp, x: xp.quantile(x, 0.25),
    "percentile": lambda xp, x: xp.percentile(x, 30.0),
    "nan_to_num": lambda xp, x: xp.nan_to_num(x, nan=2.0),
    "where": lambda xp, x: xp.where(x > 1, x, 0.5),
    "power": lambda xp, x: xp.power(x, 2.5),
    "hypot": lambda xp, x: xp.hypot(x, 1.0),
    "heaviside": lambda xp, x: xp.heaviside(x, 0.5),
    "gradient": lambda xp, x: xp.gradient(x, 0.5),
    "trapezoid": lambda xp, x: xp.trapezoid(x, dx=0.5),
    "interp": lambda xp, x: xp.interp(x, x, x),
    "pad": lambda xp, x: xp.pad(x, 1, constant_values=0.5),
    "full_like": lambda xp, x: xp.full_like(x, 0.5),
    "polyval": lambda xp, x: xp.polyval(x, 0.5),
    "convolve": lambda xp, x: xp.convolve(x, x),
    "diff": lambda xp, x: xp.diff(x, prepend=0.5),
}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_functions_of_short_floats_have_the_dtypes_of_numpy(dtype: str) -> None:
    x, values = tt.tensor(dtype=dtype, shape=(4,)), np.array([0.5, 0.75, 0.25, 1.0], dtype)

    def by_name(name: str) -> Callable[[Any, Any], Any]:
        return lambda xp, x: getattr(xp, name)(x)

    calls = {**{name: by_name(name) for name in NUMPY if hasattr(tt, name)}, **CALLS}
    wrong = []
    for name, call in calls.items():
        try:
            wanted = np.asarray(call(np, values)).dtype
        except TypeError:
            # NumPy's linear algebra takes no float16.
            continue
        result = call(tt, x)
        result = result[0] if isinstance(result, tuple | list) else result
        if result.dtype != wanted:
            wrong.append((name, result.dtype, wanted.name))
    assert not wrong
