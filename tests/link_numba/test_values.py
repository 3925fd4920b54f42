"""Values at which NumPy's rules are delicate."""

import re
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link
from treadle.graph import FunctionGraph
from treadle.link.numba.program import NumbaProgram
from treadle.link.vm import PythonLinker
from treadle.rewrite import rewrite_graph
from treadle.tensor import SCALAR_OPS, Composite, DtypeError, Elemwise, Step, TensorType


def sample(dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random((3, 5)) < 0.5
    if kind.kind in "iu":
        value = rng.integers(0 if kind.kind == "u" else -7, 9, (3, 5)).astype(kind)
        value[0, :2] = np.iinfo(kind).min, np.iinfo(kind).max
        return value
    value = (rng.normal(size=(3, 5)) * 2).astype(kind)
    value[0] = np.nan, np.inf, -np.inf, 0.0, -0.0
    return value


def expressions_for(dtype: str) -> tuple[list[Any], list[Any]]:
    """Return inputs of a dtype and every scalar op that takes them applied to these."""
    numbers = [TensorType(dtype, (None, None))(f"x{i}") for i in range(6)]
    truth = tt.TensorType("bool", (None, None))("truth")
    outputs = []
    undefined = {"int32", "uint8", "int8", "uint32", "int16", "uint16", "int64", "uint64"}
    for name in SCALAR_OPS.names():
        scalar_op = SCALAR_OPS[name]
        # C leaves the cast of a NaN to an integer undefined, and NumPy raises for integers to negative powers.
        if np.dtype(dtype).kind == "f" and name.removeprefix("cast_") in undefined:
            continue
        if name == "pow" and np.dtype(dtype).kind == "i":
            continue
        args = [truth, *numbers[:2]] if name == "switch" else numbers[: scalar_op.nin]
        try:
            out = Elemwise(scalar_op)(*args)
        except DtypeError:
            continue
        if out.type.numpy_dtype.kind != "c":
            outputs.append(out)
    return [*numbers, truth], outputs


# The contract checks float64 by default, and these two with -m slow.
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "int32", "float64"])
def test_every_scalar_op_agrees_with_numpy(link: Link, dtype: str) -> None:
    inputs, outputs = expressions_for(dtype)
    values = [sample(dtype, 1), sample(dtype, 2)[:, ::-1], *(sample(dtype, k) for k in range(3, 7))]
    values.append(sample("bool", 4))
    results = link(inputs, outputs)(*values)
    wanted = PythonLinker().link(FunctionGraph(inputs, outputs))(*values)
    for out, got, want in zip(outputs, results, wanted, strict=True):
        label = str(out.owner.op)
        assert got.dtype == want.dtype, label
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want, err_msg=label)
            continue
        rtol = {2: 2e-3, 4: 1e-5, 8: 1e-13}[want.dtype.itemsize]
        np.testing.assert_allclose(
            got.astype("float64"), want.astype("float64"), rtol=rtol, atol=rtol / 100, err_msg=label
        )


def test_float16_is_rounded_after_every_operation(link: Link) -> None:
    x: Any = TensorType("float16", (None,))("x")
    program = link([x], [(x + 0.0005) - x, x * 60000, x.astype("float32").astype("float16")])
    every = np.arange(65536, dtype="uint16").view("float16")
    finite = every[np.isfinite(every)]
    small = np.float16(0.0005)
    with np.errstate(all="ignore"):
        wanted = [(finite + small) - finite, finite * np.float16(60000), finite]
    for got, want in zip(program(finite), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_sums_are_no_less_accurate_than_numpys(link: Link) -> None:
    x = tt.fmatrix("x")
    program = link([x], [x.sum(), x.sum(axis=1)])
    value = np.random.default_rng(0).random((3, 1_000_003), dtype="float32")
    exact = value.astype("float64").sum(axis=1)
    total, rows = program(value)
    ours = np.abs(rows - exact) / exact
    theirs = np.abs(value.sum(axis=1) - exact) / exact
    assert ours.max() <= max(theirs.max(), 1e-7)
    assert abs(total - exact.sum()) / exact.sum() < 1e-6


def test_sums_keep_infinities_and_nans(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [x.sum(), x.max(), x.min()])
    value = np.zeros(2000)
    value[700] = np.inf
    assert program(value)[0] == np.inf
    value[900] = -np.inf
    assert np.isnan(program(value)[0])
    value[1900] = np.nan
    assert all(np.isnan(r) for r in program(value))


def _fused(link: Link, inputs: list[Any], outputs: list[Any]) -> NumbaProgram:
    """Return the program of a graph whose reductions are fused."""
    graph = FunctionGraph(inputs, outputs)
    rewrite_graph(graph, include=("fusion",))
    assert any(isinstance(node.op, tt.FusedReduction) for node in graph.apply_nodes)
    return link(graph.inputs, graph.outputs)


def test_sums_of_functions_are_as_accurate_as_sums_and_store_nothing(link: Link) -> None:
    x = tt.fmatrix("x")
    program = _fused(link, [x], [(x * np.float32(3) + np.float32(0.5)).sum()])
    assert "= new(frame, " not in program.source
    value = np.random.default_rng(0).random((3, 1_000_003), dtype="float32")
    elements = value * np.float32(3) + np.float32(0.5)
    exact = elements.astype("float64").sum()
    for layout in (value, np.asfortranarray(value), value[:, ::-1]):
        assert abs(program(layout)[0] - exact) / exact < 2e-7


def test_sums_of_functions_keep_infinities_and_nans(link: Link) -> None:
    x = tt.dvector("x")
    program = _fused(link, [x], [(x * 2 + 1).sum(), (x * 3 - 1).max()])
    value = np.zeros(2000)
    value[700] = np.inf
    assert [float(r) for r in program(value)] == [np.inf, np.inf]
    value[900] = -np.inf
    assert np.isnan(program(value)[0])
    value[1900] = np.nan
    assert all(np.isnan(r) for r in program(value))


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_functions_are_stored_and_reduced_over_any_axes_in_one_loop(link: Link, axes: tuple[int, ...]) -> None:
    x, y = tt.dtensor3("x"), tt.dtensor3("y")
    z = x * y + 0.5
    program = _fused(link, [x, y], [z, z.sum(axis=axes), z.max(axis=axes)])
    random = np.random.default_rng(1)
    for a, b in (((4, 5, 700), (4, 5, 700)), ((4, 1, 7), (1, 5, 7)), ((2, 3, 1), (2, 3, 1300))):
        first, second = random.normal(size=a), random.normal(size=b)
        wanted = first * second + 0.5
        stored, total, top = program(first, second)
        np.testing.assert_array_equal(stored, wanted)
        np.testing.assert_allclose(total, wanted.sum(axis=axes), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(top, wanted.max(axis=axes))


def test_an_array_of_one_number_gets_memory_only_where_it_is_needed(link: Link) -> None:
    x, s = tt.dvector("x"), tt.dscalar("s")
    row = tt.expand_dims(s * 2, 0)
    assert "new(frame, 2" not in link([x, s], [x * row]).source
    results = link([x, s], [x * row, row, tt.concatenate([row, x])])(np.ones(2), np.array(3.0))
    for got, want in zip(results, ([6.0, 6.0], [6.0], [6.0, 1.0, 1.0]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_repeated_positions_are_added_each_time(link: Link) -> None:
    x, y, i = tt.dvector("x"), tt.dvector("y"), tt.lvector("i")
    program = link([x, y, i], [tt.inc_subtensor(x[i], y)])
    sums = program(np.zeros(3), np.array([1.0, 2.0, 4.0]), np.array([1, 1, -1]))[0]
    np.testing.assert_array_equal(sums, [0, 3, 4])


def test_a_buffer_is_written_over_only_where_nothing_else_reads_it(link: Link) -> None:
    x = tt.dvector("x")
    exponential = tt.exp(x)
    changed = tt.set_subtensor(exponential[0], -1.0)
    again = tt.set_subtensor(changed[1], -2.0)
    program = link([x], [again, exponential + 0.0])
    changed_twice, kept = program(np.zeros(3))
    np.testing.assert_array_equal(changed_twice, [-1, -2, 1])
    np.testing.assert_array_equal(kept, np.ones(3))


def test_matrix_product_takes_any_strides(link: Link) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    program = link([a, b], [tt.dot(a, b)])
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 8)), rng.normal(size=(8, 10))
    wide = rng.normal(size=(12, 16))
    lefts = [x, np.asfortranarray(x), wide[::2, ::2], x[::-1, ::-1], np.broadcast_to(x[:1], (6, 8)), x[:1], x[:0]]
    rights = [y, np.asfortranarray(y), y[:, ::-1], y[:, :1], y[:, ::3], np.broadcast_to(y[:, :1], (8, 4))]
    for left in lefts:
        for right in rights:
            np.testing.assert_allclose(program(left, right)[0], left @ right, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(program(np.ones((2, 0)), np.ones((0, 3)))[0], np.zeros((2, 3)))


def test_fused_function_of_two_results(link: Link) -> None:
    add, exp, eq = SCALAR_OPS["add"], SCALAR_OPS["exp"], SCALAR_OPS["eq"]
    steps = (
        Step(add, (0, 1), ("float32", "float32"), "float32"),
        Step(exp, (2,), ("float64",), "float64"),
        Step(eq, (0, 1), ("float32", "float32"), "bool"),
    )
    op = Elemwise(Composite(2, ("float32", "float32"), steps, (3, 4)))
    x, y = tt.fmatrix("x"), tt.fmatrix("y")
    value, other = np.ones((3, 1), "float32"), np.arange(4, dtype="float32")[None]
    first, second = link([x, y], op(x, y, return_list=True))(value, other)
    np.testing.assert_allclose(first, np.exp((value + other).astype("float64")), rtol=1e-14)
    np.testing.assert_array_equal(second, value == other)


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64", "bool", "int8"])
@pytest.mark.parametrize("count", [1, 2, 8, 9])
def test_an_element_that_is_repeated_a_few_times_is_read_once(link: Link, dtype: str, count: int) -> None:
    x = TensorType(dtype, (None, None))("x")
    repeated = tt.alloc(x[:, :, None], x.shape[0], x.shape[1], count)
    program = link([x], [repeated])
    assert ("o_q + d2" in program.source) == (count == 9)
    value = np.arange(42).reshape(6, 7).astype(dtype)
    for each in (value, value[::-2, 1::3], value.T, value[:0], value[:, :1]):
        np.testing.assert_array_equal(program(each)[0], np.repeat(each[:, :, None], count, 2), strict=True)


def test_an_element_is_repeated_a_few_times_in_any_order_of_dimensions(link: Link) -> None:
    x, y = TensorType("float64", (None, None, 3))("x"), TensorType("float64", (None, None, 1))("y")
    program = link([x, y], [tt.set_subtensor(x[::2], tt.alloc(y, (x.shape[0] + 1) // 2, x.shape[1], 3))])
    a, b = np.arange(60.0).reshape(5, 4, 3), -np.arange(12.0).reshape(3, 4, 1)
    expected = a.copy()
    expected[::2] = b
    np.testing.assert_array_equal(program(a, b)[0], expected)


@pytest.mark.parametrize("order", [(2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)])
def test_what_is_smaller_is_transposed_where_functions_are_computed_on_vectors(
    link: Link, order: tuple[int, ...]
) -> None:
    z = tt.tensor("z", dtype="complex128", shape=(None, None, None))
    program = link([z], [abs(z.transpose(order)), abs(z.transpose(order)).sum(axis=0)])
    copies = re.findall(r"^ +copy_\w+\(.*", program.source, re.MULTILINE)
    assert copies
    assert not any("c16" in line for line in copies)
    random = np.random.default_rng(0)
    value = random.normal(size=(3, 4, 5)) + 1j * random.normal(size=(3, 4, 5))
    for each in (value, np.asfortranarray(value), value[:, ::-1], value[:0], value[:, :1], value[:1]):
        lengths, total = program(each)
        np.testing.assert_allclose(lengths, abs(each.transpose(order)), rtol=1e-14)
        np.testing.assert_allclose(total, abs(each.transpose(order)).sum(axis=0), rtol=1e-14)


def test_what_is_smaller_is_transposed_without_dimensions_of_length_1(link: Link) -> None:
    z, w = TensorType("complex128", (None, 1, None))("z"), TensorType("complex128", (None, None))("w")
    program = link([z, w], [abs(z.dimshuffle(2, 0)), abs(w.dimshuffle("x", 1, "x", 0))])
    value = np.arange(12.0).reshape(4, 1, 3) * (1 + 2j)
    without, spread = program(value, value[:, 0])
    np.testing.assert_allclose(without, abs(value[:, 0].T), rtol=1e-14)
    np.testing.assert_allclose(spread, abs(value[:, 0].T)[None, :, None], rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_transposed_operand_is_copied_where_functions_are_computed_on_vectors(link: Link, dtype: str) -> None:
    x, y = TensorType(dtype, (None, None))("x"), TensorType(dtype, (None, None, None))("y")
    outputs = [tt.exp(x.T) * 2, tt.tanh(y.transpose(2, 0, 1)), tt.exp(y.transpose(1, 0, 2))]
    copies = [link([v], [out]).source.count("def copy_") for v, out in zip([x, y, y], outputs, strict=True)]
    assert copies == [1, 1, 0]
    assert "def copy_" not in link([x], [x.T * 2]).source
    a, b = np.linspace(-1, 1, 35, dtype=dtype).reshape(5, 7), np.linspace(-2, 1, 60, dtype=dtype).reshape(3, 4, 5)
    rtol = 1e-6 if dtype == "float32" else 1e-15
    for m in (a, np.asfortranarray(a), a[::2, ::-1], a[:0]):
        np.testing.assert_allclose(link([x], [outputs[0]])(m)[0], np.exp(m.T) * 2, rtol=rtol)
    program = link([x, y], outputs[1:])
    results = program(a, b)
    np.testing.assert_allclose(results[0], np.tanh(b.transpose(2, 0, 1)), rtol=rtol)
    np.testing.assert_allclose(results[1], np.exp(b.transpose(1, 0, 2)), rtol=rtol)


def test_a_transposed_matrix_is_copied_for_sums_of_functions(link: Link) -> None:
    x = TensorType("float64", (None, None))("x")
    graph = FunctionGraph([x], [tt.exp(x.T).sum(0), (tt.tanh(x.T) * x.T).sum()])
    rewrite_graph(graph)
    program = link(graph.inputs, graph.outputs)
    a = np.linspace(-1, 1, 600).reshape(20, 30)
    for m in (a, np.asfortranarray(a), a[::3, ::-2]):
        first, second = program(m)
        np.testing.assert_allclose(first, np.exp(m.T).sum(0), rtol=1e-14)
        np.testing.assert_allclose(second, (np.tanh(m.T) * m.T).sum(), rtol=1e-13)
