"""Values that rules used to change: in short dtypes, near the ends of the range, at NaN, infinities and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import EVERYTHING, rewrite, run, text
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, GraphTypeError
from treadle.rewrite import EquilibriumGraphRewriter, RewriteDatabaseQuery, RewriteError
from treadle.surface.rewriters import PatternNodeRewriter, graph_rewriter, node_rewriter

NAN, INF = float("nan"), float("inf")


def assert_kept(inputs: list[Any], out: Any, values: list[Any], expected: Any) -> None:
    """Check the value of an expression as written, and rewritten."""
    for query in (RewriteDatabaseQuery(), EVERYTHING):
        fgraph, _ = rewrite(inputs, [out], query)
        (result,) = run(fgraph, values)
        np.testing.assert_allclose(result, expected, rtol=1e-5)
        assert (np.signbit(result) == np.signbit(expected)).all() or np.isnan(expected).any()


def vectors(**dtypes: str) -> list[Any]:
    """Return vectors by name and dtype."""
    return [tt.vector(name, dtype=dtype) for name, dtype in dtypes.items()]


def of_a_function(fgraph: FunctionGraph, new: Any) -> Any:
    """Return a rewriter that puts a variable in the place of an exponential: a function of nodes."""
    del fgraph

    @node_rewriter([tt.exp])
    def wrong(_fgraph: FunctionGraph, _node: Apply) -> Any:
        """exp(x) -> something else."""
        return [new]

    return EquilibriumGraphRewriter([wrong])


def of_a_pattern(fgraph: FunctionGraph, new: Any) -> Any:
    """Return the same as a pattern."""
    del fgraph
    return EquilibriumGraphRewriter([PatternNodeRewriter((tt.exp, "x"), lambda *_: new, name="wrong")])


def of_a_pass(fgraph: FunctionGraph, new: Any) -> Any:
    """Return the same as a pass over the graph."""

    @graph_rewriter
    def wrong(_graph: FunctionGraph) -> None:
        """exp(x) -> something else."""
        fgraph.replace(fgraph.outputs[0], new, "wrong")

    return wrong


# Dtypes


def test_choice_between_constants_is_computed_in_the_dtype_of_the_choice() -> None:
    (c,) = vectors(c="bool")
    assert_kept([c], tt.switch(c, True, 0) + tt.switch(c, True, 0), [np.array([True])], [2])
    wide = tt.switch(c, np.int8(100), np.int64(5)) + tt.switch(c, np.int8(100), np.int64(7))
    assert_kept([c], wide, [np.array([True])], [200])


def test_product_with_a_choice_is_computed_in_the_dtype_of_the_choice() -> None:
    c, a, b = vectors(c="bool", a="int8", b="int8")
    values = [np.array([False]), np.array([100], "int8"), np.array([100], "int8")]
    assert_kept([c, a, b], tt.switch(c, np.int64(0), a) * b, values, [10000])
    f, g = vectors(f="float32", g="float32")
    product = tt.switch(c, tt.constant(0.0), f) * g
    fgraph, _ = rewrite([c, f, g], [product])
    (result,) = run(fgraph, [np.array([False]), np.array([1.1], "float32"), np.array([1.1], "float32")])
    assert result == np.float64(np.float32(1.1)) ** 2


@pytest.mark.parametrize(("inner", "value", "expected"), [(tt.sqr, 100, 256.0), (tt.reciprocal, 2, 0.25)])
def test_power_of_a_power_of_integers_wraps_around_first(inner: Any, value: int, expected: float) -> None:
    (a,) = vectors(a="int8")
    assert_kept([a], tt.power(inner(a), 2.0), [np.array([value], "int8")], [expected])


@pytest.mark.parametrize(("dtype", "base", "count"), [("int8", 3, 200), ("uint8", 2, 256), ("uint8", 3, 300)])
def test_product_of_a_repeated_short_integer_wraps_around(dtype: str, base: int, count: int) -> None:
    s = tt.scalar("s", dtype=dtype)
    with np.errstate(over="ignore"):
        expected = np.prod(np.full(count, base, dtype), dtype=dtype)
    assert_kept([s], tt.prod(tt.alloc(s, count), dtype=dtype), [np.array(base, dtype)], expected)


def test_cast_that_makes_a_function_take_its_operands_stays() -> None:
    a, b = vectors(a="bool", b="bool")
    assert_kept([a, b], a - b.astype("int64"), [np.array([True]), np.array([True])], [0])


def test_zero_of_integers_takes_no_sign() -> None:
    (x,) = vectors(x="float64")
    out = -x * tt.zeros_like(x, dtype="int64")
    assert_kept([x], out, [np.array([2.0])], [-0.0])


# Ranges


def test_scale_stays_inside_a_product_of_half_precision() -> None:
    x = tt.matrix("x", dtype="float16")
    scores = tt.softmax(tt.dot(x / 8, x.T), axis=-1)
    assert_kept([x], scores, [np.full((2, 64), 60, "float16")], np.full((2, 2), 0.5))
    fgraph, _ = rewrite([x], [tt.dot(x * 4, x.T)])
    assert text(fgraph.outputs[0]).startswith("matmul(")


@pytest.mark.parametrize(
    ("dtype", "scale", "value", "count"), [("float16", 0.01, 100, 2000), ("float32", 0.01, 1e38, 20)]
)
@pytest.mark.parametrize("divides", [False, True])
def test_scale_that_shrinks_stays_inside_a_sum(
    dtype: str, scale: float, value: float, count: int, divides: bool
) -> None:
    (x,) = vectors(x=dtype)
    total = tt.sum(x / (1 / scale)) if divides else tt.sum(x * scale)
    fgraph, _ = rewrite([x], [total])
    (result,) = run(fgraph, [np.full(count, value, dtype)])
    np.testing.assert_allclose(result, count * value * scale, rtol=1e-3)


def test_scale_that_shrinks_stays_inside_a_product_of_matrices() -> None:
    a = tt.matrix("a", dtype="float32")
    assert_kept([a], tt.dot(0.01 * a, a), [np.full((4, 4), 1e19, "float32")], np.full((4, 4), 4e36))


@pytest.mark.parametrize("scales", [(1e30, 1e30), (1e-30, 1e-30)])
def test_scales_of_an_accumulated_product_are_not_multiplied_out_of_range(scales: tuple[float, float]) -> None:
    a, c = tt.matrix("a", dtype="float32"), tt.matrix("c", dtype="float32")
    first, second = scales
    value = np.eye(2, dtype="float32") * np.float32(1e-15 if first > 1 else 1e15)
    expected = np.eye(2) * (1e30 if first > 1 else 1e-30)
    assert_kept([a, c], c + tt.dot(a, a) * first * second, [value, np.zeros((2, 2), "float32")], expected)


def test_scale_that_enlarges_leaves_a_sum() -> None:
    (x,) = vectors(x="float64")
    fgraph, _ = rewrite([x], [tt.sum(x * 3), tt.sum(x / 0.3)])
    assert [text(v)[:3] for v in fgraph.outputs] == ["mul", "tru"]


def test_constants_of_half_precision_are_not_multiplied_out_of_range() -> None:
    (x,) = vectors(x="float16")
    assert_kept([x], (x * 4096.0) * 4096.0, [np.zeros(1, "float16")], [0.0])
    assert_kept([x], (x * 1e-4) * 1e-4, [np.array([INF], "float16")], [INF])


def test_constant_is_not_moved_past_what_keeps_it_in_range() -> None:
    x, y = vectors(x="float64", y="float64")
    values = [np.array([1e305]), np.array([1e-250])]
    assert_kept([x, y], (x * 1e-10) * (y / 1e-18), values, [1e63])


@pytest.mark.parametrize(("dtype", "x", "y"), [("float64", 1e-20, -745.0), ("float32", 1e-5, -90.0)])
def test_quotient_by_an_exponential_does_not_overflow(dtype: str, x: float, y: float) -> None:
    a, b = vectors(a=dtype, b=dtype)
    values = [np.array([x], dtype), np.array([y], dtype)]
    with np.errstate(all="ignore"):
        assert_kept([a, b], a / tt.exp(b), values, values[0] / np.exp(values[1]))


# NaN, infinities, zeros


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
@pytest.mark.parametrize("compare", [tt.lt, tt.le, tt.gt, tt.ge, tt.eq])
def test_nothing_compares_with_nan(compare: Any, dtype: str) -> None:
    (u,) = vectors(u=dtype)
    for out in (compare(u, NAN), compare(NAN, u), compare(u.shape[0], NAN)):
        assert_kept([u], out, [np.zeros(1, dtype)], np.zeros(out.ndim * (1,), bool))


def test_extremum_of_complex_numbers_and_a_bound_of_bool_stays() -> None:
    (z,) = vectors(z="complex128")
    for out, value, expected in (
        (tt.minimum(z, np.int64(1)), 2 + 1j, 1),
        (tt.maximum(z, np.float64(0)), -3, 0),
    ):
        fgraph, _ = rewrite([z], [out])
        assert run(fgraph, [np.array([value], "complex128")])[0] == expected


def test_powers_that_meet_at_zero_or_below_are_not_added() -> None:
    x, y = vectors(x="float64", y="float64")
    assert_kept([x, y], x**y * x ** (y + 0.1), [np.array([-4.0]), np.array([0.45])], [NAN])
    assert_kept([x], tt.power(0.0, x) * 0.0, [np.array([-1.0])], [NAN])
    assert_kept([x], 0 / tt.power(0.0, x), [np.array([1.0])], [NAN])
    assert_kept([x, y], x**y * x, [np.array([0.0]), np.array([-1.0])], [NAN])


@pytest.mark.parametrize("exponent", [-0.5, 1.5, 2.5, -1.5, -2.5, -2.0, -3.0, 3.0, 7.5, -64.0])
def test_power_by_roots_and_squares_is_that_of_numpy(exponent: float) -> None:
    (x,) = vectors(x="float64")
    value = np.array([-0.0, 0.0, -INF, INF, NAN, -4.0, 4.0, 5e-324, 1e160, 1e-170])
    with np.errstate(all="ignore"):
        assert_kept([x], x**exponent, [value], np.power(value, exponent))


def test_size_of_a_root_of_a_negative_zero_is_not_a_negative_zero() -> None:
    (x,) = vectors(x="float64")
    assert_kept([x], abs(tt.sqrt(x)), [np.array([-0.0])], [0.0])
    assert_kept([x], tt.exp(x**-0.5), [np.array([-0.0])], [INF])


def test_empty_sum_of_negative_numbers_is_not_a_negative_zero() -> None:
    n = tt.lscalar("n")
    assert_kept([n], tt.sum(tt.alloc(-1.0, n)), [np.array(0)], 0.0)


@pytest.mark.parametrize("build", [lambda z: z * 1, lambda z: z / 1, lambda z: z * -1.0, lambda z: z / -1])
def test_complex_infinity_times_one_has_a_part_that_is_nan(build: Any) -> None:
    (z,) = vectors(z="complex128")
    value = np.array([complex(INF, 1.0)])
    plain, _ = rewrite([z], [build(z)], RewriteDatabaseQuery())
    fgraph, _ = rewrite([z], [build(z)])
    np.testing.assert_array_equal(run(fgraph, [value])[0], run(plain, [value])[0])


# What the engine takes


@pytest.mark.parametrize(
    "wrong", [tt.fvector("f"), tt.vector("v", shape=(4,)), tt.vector("v", shape=(None,)), tt.dmatrix("m")]
)
@pytest.mark.parametrize("declare", [of_a_function, of_a_pattern, of_a_pass])
def test_replacement_of_another_dtype_rank_or_length_is_refused(declare: Any, wrong: Any) -> None:
    x = tt.vector("x", shape=(3,))
    fgraph = FunctionGraph([x, wrong], [tt.exp(x)], clone=False)
    with pytest.raises((RewriteError, GraphTypeError), match=r"neither equals nor refines|cannot become"):
        declare(fgraph, wrong).rewrite(fgraph)
    assert text(fgraph.outputs[0]) == "exp(x)"


@pytest.mark.parametrize("declare", [of_a_function, of_a_pattern, of_a_pass])
def test_lengths_of_a_less_known_replacement_are_checked_where_the_option_says_so(declare: Any) -> None:
    x, less_known = tt.vector("x", shape=(3,)), tt.vector("v", shape=(None,))
    fgraph = FunctionGraph([x, less_known], [tt.exp(x)], clone=False)
    with config.change_flags(less_known_replacements="check"):
        declare(fgraph, less_known).rewrite(fgraph)
    assert fgraph.outputs[0].type == x.type
    assert run(fgraph, [np.zeros(3), np.ones(3)])[0].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="length"):
        run(fgraph, [np.zeros(3), np.ones(2)])


@pytest.mark.parametrize("wrong", [tt.fvector("f"), tt.vector("v", shape=(4,)), tt.dmatrix("m")])
@pytest.mark.parametrize("declare", [of_a_function, of_a_pass])
def test_replacement_of_another_dtype_rank_or_length_stays_refused_where_lengths_are_checked(
    declare: Any, wrong: Any
) -> None:
    x = tt.vector("x", shape=(3,))
    fgraph = FunctionGraph([x, wrong], [tt.exp(x)], clone=False)
    with (
        config.change_flags(less_known_replacements="check"),
        pytest.raises((RewriteError, GraphTypeError), match=r"neither equals nor refines|cannot become"),
    ):
        declare(fgraph, wrong).rewrite(fgraph)
