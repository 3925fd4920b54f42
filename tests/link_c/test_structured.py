"""Every structured op against its `perform`, for every dtype: shapes, reductions, products, joining, indexing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import FunctionGraph
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip
FLOATS = ("float16", "float32", "float64")


def sample(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype[0] in "iu":
        return random.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


def layouts(x: Any) -> list[Any]:
    """Return arrays of the same rank and dtype in other memory layouts, and of other lengths."""
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    strided = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    strided[...] = x
    backwards = x[tuple(slice(None, None, -1) for _ in x.shape)]
    return [x, np.asfortranarray(x), strided, backwards]


def compare(inputs: list[Any], outputs: list[Any], values: list[Any], program: Any) -> None:
    expected = PythonLinker().link(FunctionGraph(inputs, outputs))(*values)
    for out, result, wanted in zip(outputs, program(*values), expected, strict=True):
        assert result.dtype == wanted.dtype == np.dtype(out.dtype)
        assert result.shape == wanted.shape
        tolerance = {"float16": 6e-3, "float32": 1e-5, "float64": 1e-12}.get(result.dtype.name, 0)
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance, err_msg=str(out.owner))


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_over_every_set_of_axes(dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None, None))
    axes: list[Any] = [None, (), 0, 1, 2, (0, 1), (1, 2), (0, 2)]
    functions = (tt.sum, tt.prod, tt.max, tt.min, tt.all, tt.any, tt.argmax, tt.argmin)
    outputs = [f(x, axis=a) for f in functions for a in axes]
    program = link([x], outputs)
    for shape in ((3, 4, 5), (1, 70, 3), (40, 2, 300), (2, 1, 1)):
        data = sample(dtype, shape)
        if dtype in FLOATS and max(shape) > 9:
            data = np.sign(data)
        if dtype == "bool":
            data |= sample(dtype, shape, 5)
        for values in layouts(data) if max(shape) < 9 else [data, np.asfortranarray(data)]:
            compare([x], outputs, [values], program)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_wins_in_extrema_wherever_it_stands(dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    outputs = [f(x, axis=a) for f in (tt.max, tt.min, tt.argmax, tt.argmin) for a in (None, 0, 1)]
    program = link([x], outputs)
    for place in [(0, 0), (0, 99), (3, 50), (1, 64), (6, 7)]:
        data = sample(dtype, (7, 100))
        data[place] = np.nan
        compare([x], outputs, [data], program)


@pytest.mark.parametrize("kind", ["max", "min", "argmax", "argmin"])
def test_extremum_of_no_elements_names_the_line(kind: str, link: Callable[..., Any]) -> None:
    x = tt.dmatrix("x")
    program = link([x], [getattr(tt, kind)(x, axis=0)])
    assert program(np.zeros((4, 0)))[0].shape == (0,)
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        program(np.zeros((0, 4)))


def test_sums_of_no_elements_are_the_identity(link: Callable[..., Any]) -> None:
    x = tt.dmatrix("x")
    results = link([x], [x.sum(axis=0), x.prod(axis=0), tt.sum(x)])(np.zeros((0, 2)))
    assert [f.tolist() for f in results] == [[0, 0], [1, 1], 0]


@pytest.mark.parametrize("layout", ["C", "F"])
def test_sum_is_as_accurate_as_numpys(layout: str, link: Callable[..., Any]) -> None:
    x = tt.fmatrix("x")
    data = np.asarray(np.random.default_rng(0).random((1000, 1001), dtype="float32"), order=layout)  # type: ignore[call-overload]
    exact = data.astype("float64").sum()
    assert abs(link([x], [x.sum()])(data)[0] - exact) <= max(abs(data.sum() - exact), exact * 1e-7)


def test_sum_with_infinities_is_ieee(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    program = link([x], [x.sum()])
    for values in ([np.inf, 1.0, 2.0], [np.inf, -np.inf, 1.0], [1.0, np.nan]):
        with np.errstate(all="ignore"):
            expected = np.sum(np.array(values * 50))
        np.testing.assert_array_equal(program(np.array(values * 50))[0], expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_matrices(dtype: str, link: Callable[..., Any]) -> None:
    a, b = (tt.tensor(dtype=dtype, shape=(None, None)) for _ in range(2))
    program = link([a, b], [a @ b])
    for m, k, n in ((3, 4, 5), (1, 4, 5), (3, 4, 1), (1, 4, 1), (3, 1, 2), (0, 2, 3), (3, 0, 2), (17, 33, 9)):
        for x in layouts(sample(dtype, (m, k))):
            for y in layouts(sample(dtype, (k, n), 1)):
                compare([a, b], [a @ b], [x, y], program)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_stacks_of_matrices_broadcast(dtype: str, link: Callable[..., Any]) -> None:
    a, b = (tt.tensor(dtype=dtype, shape=(None,) * 4) for _ in range(2))
    program = link([a, b], [a @ b])
    for s, t in (((2, 3), (2, 3)), ((1, 3), (2, 1)), ((0, 3), (1, 1))):
        x, y = sample(dtype, (*s, 4, 5)), sample(dtype, (*t, 5, 6), 1)
        compare([a, b], [a @ b], [x, y], program)
        compare([a, b], [a @ b], [x[::-1], np.asfortranarray(y)], program)


def test_vectors_multiply_as_in_numpy(link: Callable[..., Any]) -> None:
    x, y, a = tt.dvector("x"), tt.dvector("y"), tt.dmatrix("a")
    program = link([x, y, a], [x @ y, a @ x, x @ a.T, tt.outer(x, y)])
    values = [np.arange(8.0)[::2], np.arange(4.0)[::-1], np.random.default_rng(0).normal(size=(6, 4))]
    compare([x, y, a], [x @ y, a @ x, x @ a.T, tt.outer(x, y)], values, program)


def test_factors_of_different_dtypes_are_converted(link: Callable[..., Any]) -> None:
    a, b = tt.imatrix("a"), tt.fmatrix("b")
    values = [sample("int32", (3, 4)), sample("float32", (4, 2))]
    compare([a, b], [a @ b], values, link([a, b], [a @ b]))


def test_inner_lengths_that_differ_name_the_line(link: Callable[..., Any]) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        link([a, b], [a @ b])(np.zeros((2, 3)), np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_shape_ops_of_every_layout(dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    n, m = tt.shape_i(x, 0), tt.shape_i(x, 1)
    row = tt.tensor(dtype=dtype, shape=(None,))
    outputs = [
        x.T, x.dimshuffle(1, "x", 0), tt.shape(x), n, x.reshape((-1,)), x.reshape((m, n)), x.reshape((m, 1, n)),
        tt.alloc(row, n, m), tt.SumTo()(x, tt.constant(1), m), tt.SumTo()(x, m), tt.SumTo()(x, n, tt.constant(1)),
        tt.SumTo()(x, n, m), tt.concatenate([x, x[::-1]], axis=0), tt.concatenate([x, x[:, :1]], axis=1),
    ]  # fmt: skip
    program = link([x, row], outputs)
    for values in layouts(sample(dtype, (3, 4))):
        compare([x, row], outputs, [values, sample(dtype, (4,))], program)


def test_join_converts_to_the_common_dtype(link: Callable[..., Any]) -> None:
    x, y, z = tt.bvector("x"), tt.fvector("y"), tt.lvector("z")
    outputs = [tt.concatenate([x, y]), tt.concatenate([x, z]), tt.concatenate([y, z])]
    values = [sample("int8", (3,)), sample("float32", (0,)), sample("int64", (2,))]
    compare([x, y, z], outputs, values, link([x, y, z], outputs))


def test_joined_parts_of_joins_are_written_once(link: Callable[..., Any]) -> None:
    x, y = tt.dmatrix("x"), tt.fmatrix("y")
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6, 12, dtype="float32").reshape(2, 3)
    for xp, p, q in ((tt, x, y), (np, a, b)):
        row = xp.concatenate([p, xp.exp(p)[:, 1:]], 1)
        deep = xp.concatenate([xp.concatenate([row, row], 0), xp.concatenate([row, row], 0)], 1)
        outputs = [
            xp.concatenate([xp.concatenate([p, p[:0]], 0), p, xp.concatenate([q, q], 0)], 0),
            xp.concatenate([xp.concatenate([q, q], 0), p], 0),
            xp.concatenate([deep, deep + 1], 1),
            xp.concatenate([xp.concatenate([xp.sin(p), xp.cos(p)], 0), xp.concatenate([xp.sin(p) * 2, p], 0)], 1),
        ]
        if xp is tt:
            results = link([x, y], outputs)(a, b)
    for got, wanted in zip(results, outputs, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-15)
    with pytest.raises(ValueError, match=r"[Jj]oin|concatenate"):
        link([x], [tt.concatenate([tt.concatenate([x, x.T], 0), x], 1)])(a)
    _, counts = link([x], [tt.concatenate([tt.concatenate([x, x], 0), tt.concatenate([x, x], 0)], 1)]).counted(a)
    assert counts.made <= 1


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128"])
@pytest.mark.parametrize("few", [1, 2, 3, 8, 9])
def test_short_last_dimensions_are_written_as_others_are(dtype: str, few: int, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    data = np.random.default_rng(few).normal(scale=9, size=(3, 1500)).astype(dtype)
    outputs = [tt.repeat(x, few, 1), tt.repeat(x, few), tt.stack([x.T] * few, -1), tt.tile(x[:, :few], (2, 700))]
    wanted = [
        np.repeat(data, few, 1), np.repeat(data, few), np.stack([data.T] * few, -1), np.tile(data[:, :few], (2, 700)),
    ]  # fmt: skip
    for result, expected in zip(link([x], outputs)(data), wanted, strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_ranges_of_every_dtype(dtype: str, link: Callable[..., Any]) -> None:
    start, stop, step = (tt.tensor(dtype=dtype, shape=()) for _ in range(3))
    program = link([start, stop, step], [tt.arange(start, stop, step)])
    for numbers in ((0, 7, 2), (3, 3, 1), (1, 8, 3), *(((5, 1, 1), (5, 1, -2)) if dtype[0] != "u" else ())):
        values = [np.array(v, dtype) for v in numbers]
        compare([start, stop, step], [tt.arange(start, stop, step)], values, program)


def test_range_with_step_zero_is_an_error(link: Callable[..., Any]) -> None:
    step = tt.lscalar("step")
    with pytest.raises((ValueError, ZeroDivisionError), match=r"test_structured\.py"):
        link([step], [tt.arange(0, 5, step)])(np.array(0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_and_related_functions_over_every_axis(dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None, None))
    axes: list[Any] = [None, 0, 1, 2, (0, 2), (1, 2)]
    outputs = [f(x, axis=a) for f in (tt.softmax, tt.log_softmax, tt.logsumexp) for a in axes]
    program = link([x], outputs)
    for data in (sample(dtype, (3, 4, 5)) * 5, sample(dtype, (2, 2, 1500)) * 5):
        for values in layouts(data.astype(dtype)):
            compare([x], outputs, [values], program)


def test_softmax_of_infinities_and_of_nothing(link: Callable[..., Any]) -> None:
    x = tt.dmatrix("x")
    outputs = [tt.softmax(x, axis=1), tt.log_softmax(x, axis=1), tt.logsumexp(x, axis=1)]
    program = link([x], outputs)
    inf = np.inf
    compare([x], outputs, [np.array([[1, inf, 2], [-inf, -inf, -inf], [0, -inf, 1], [np.nan, 1, 2]])], program)
    assert program(np.zeros((2, 0)))[2].tolist() == [-inf, -inf]


@pytest.mark.parametrize("dtype", DTYPES)
def test_basic_indexing(dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None, None))
    i, j = tt.lscalar("i"), tt.bscalar("j")
    parts = [
        x[1], x[-1, :, 2], x[i], x[:, i:], x[i:j], x[j:i:-1], x[::2, ::-1], x[..., -3:100], x[5:2], x[i, j, -1],
        x[:, ::j], x[None, 1:2, ..., None],
    ]  # fmt: skip
    outputs = parts[:]
    for part in parts[:-1]:
        y = tt.ones_like(part)
        outputs += [tt.set_subtensor(part, y), tt.inc_subtensor(part, y)]
    program = link([x, i, j], outputs)
    for values in layouts(sample(dtype, (3, 4, 5))):
        compare([x, i, j], outputs, [values, np.array(1), np.array(2, "int8")], program)
        compare([x, i, j], outputs, [values, np.array(-2), np.array(-1, "int8")], program)


@pytest.mark.parametrize("dtype", DTYPES)
def test_indexing_with_arrays(dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None, None))
    i, j, k = tt.lvector("i"), tt.bmatrix("j"), tt.lscalar("k")
    parts = [x[i], x[:, i], x[:, :, j], x[i, j], x[i, :, j], x[:, i, j], x[1:, j, ::-1], x[k, i], x[i, i, i], x[j, k:]]
    outputs = parts[:]
    for part in parts:
        outputs.append(tt.inc_subtensor(part, tt.ones_like(part)))
        outputs.append(tt.inc_subtensor(part, part))
    program = link([x, i, j, k], outputs)
    index = [np.array([0, 2, 0]), np.array([[1, -1, 0], [0, 0, 2]], "int8"), np.array(-1)]
    for values in layouts(sample(dtype, (4, 4, 4))):
        compare([x, i, j, k], outputs, [values, *index], program)
        compare([x, i, j, k], outputs, [values, index[0][:0], index[1][:, :0], index[2]], program)


def test_setting_by_arrays_broadcasts_values(link: Callable[..., Any]) -> None:
    x, y, i = tt.dmatrix("x"), tt.tensor(dtype="float64", shape=(1, None)), tt.lvector("i")
    outputs = [tt.set_subtensor(x[i], y), tt.set_subtensor(x[:, i], 7.0), tt.inc_subtensor(x[i, i], 1.0)]
    values = [sample("float64", (4, 3)), sample("float64", (1, 3)), np.array([2, 0])]
    compare([x, y, i], outputs, values, link([x, y, i], outputs))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_positions_of_every_integer_dtype(dtype: str, link: Callable[..., Any]) -> None:
    x, i = tt.dvector("x"), tt.tensor(dtype=dtype, shape=(None,))
    values = [sample("float64", (5,)), np.array([4, 0, 4], dtype)]
    compare([x, i], [x[i]], values, link([x, i], [x[i]]))


@pytest.mark.parametrize("position", [5, -6, 2**40])
def test_position_out_of_bounds_names_the_line(position: int, link: Callable[..., Any]) -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    programs = [link([x, i], [out]) for out in (x[i], x[i.dimshuffle("x")], tt.set_subtensor(x[i], 1.0))]
    for program in programs:
        with pytest.raises(IndexError, match=r"test_structured\.py"):
            program(np.zeros(5), np.array(position))


@pytest.mark.parametrize("lengths", [(4, 2), (-1, -1), (-2, 3), (-1, 4)])
def test_lengths_that_do_not_fit_name_the_line(lengths: tuple[int, int], link: Callable[..., Any]) -> None:
    x, n, m = tt.dvector("x"), tt.lscalar("n"), tt.lscalar("m")
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        link([x, n, m], [x.reshape((n, m))])(np.zeros(6), *map(np.array, lengths))


def test_run_time_shape_clashes_name_the_line(link: Callable[..., Any]) -> None:
    x, y, n = tt.dvector("x"), tt.dvector("y"), tt.lscalar("n")
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        link([x, n], [tt.alloc(x, n)])(np.zeros(3), np.array(4))
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        link([x, n], [tt.SumTo()(x, n)])(np.zeros(3), np.array(2))
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        link([a, b], [tt.concatenate([a, b])])(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        link([x, y], [tt.set_subtensor(x[1:], y)])(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match=r"test_structured\.py"):
        link([a], [tt.squeeze(a, 0)])(np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128"])
def test_long_rows_are_copied_wherever_they_stand(link: Callable[..., Any], dtype: str) -> None:
    # Targets a little ahead of the source, but for multiples of 4096, are written in pieces.
    x = tt.tensor("x", dtype=dtype, shape=(None,))
    y = tt.tensor("y", dtype=dtype, shape=(None,))
    join = link([x, y], [tt.concatenate([x, y])])
    for first in (0, 1, 3, 70):
        for length in (0, 1, 255, 2049, 8192, 70_001):
            values = np.arange(first).astype(dtype), np.arange(length).astype(dtype)
            np.testing.assert_array_equal(join(*values)[0], np.concatenate(values))
