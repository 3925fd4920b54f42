"""Index expressions: how they are parsed, and what is refused."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import toposort
from treadle.tensor import At, IndexingError, Positions, Span, gather_plan
from treadle.tensor.indexing.expressions import SYMBOLIC, parse

CUBE = tt.tensor("x", dtype="float64", shape=(4, None, 5))
I = tt.lscalar("i")  # noqa: E741 - an index
V = tt.lvector("v")


@pytest.mark.parametrize(
    ("index", "entries"),
    [
        (0, (At(0), Span(), Span())),
        ((..., -1), (Span(), Span(), At(-1))),
        ((slice(1, None, 2), 3), (Span(1, None, 2), At(3), Span())),
        ((I, slice(I, None)), (At(SYMBOLIC), Span(SYMBOLIC), Span())),
        ((slice(None), V), (Span(), Positions(), Span())),
        (np.int8(2), (At(2), Span(), Span())),
        (np.array(2), (At(2), Span(), Span())),
        ([0, 1], (Positions(), Span(), Span())),
        (np.zeros((4, 3), bool), (Positions(4), Positions(3), Span())),
        (range(2), (Positions(), Span(), Span())),
        (slice(-(2**64), 2**64, 2**63), (Span(-(2**62), 2**62, 2**62), Span(), Span())),
    ],
)
def test_index_is_split_into_static_entries(index: Any, entries: Any) -> None:
    assert parse(CUBE, index).entries == entries


def test_symbolic_parts_are_inputs_in_order() -> None:
    j = tt.lscalar("j")
    parsed = parse(CUBE, (slice(I, j), V, j))
    assert parsed.inputs == (I, j, V, j)
    assert not parsed.is_basic


def test_new_axes_stand_where_they_do_in_the_index() -> None:
    assert parse(CUBE, (None, 0, None, slice(None))).order == ("x", "x", 0, 1)


@pytest.mark.parametrize(
    ("index", "order"),
    [
        ((V, None, V), (0, "x", 1)),
        ((None, V, V), ("x", 0, 1)),
        ((slice(None), 0, ..., V), (1, 0)),
        ((slice(None), 0, V, ...), (0, 1)),
        ((..., 0, V), (0, 1)),
    ],
)
def test_new_axis_or_empty_ellipsis_parts_arrays_as_in_numpy(index: Any, order: Any) -> None:
    assert parse(CUBE, index).order == order


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (4, "position 4 is out of bounds for dimension 0 of length 4"),
        ((0, 0, -6), "position -6 is out of bounds"),
        ((0, 0, 0, 0), "4 indices are too many"),
        ((..., ...), "one ellipsis"),
        (slice(None, None, 0), "step of a slice cannot be 0"),
        (1.5, "must be an integer scalar"),
        (tt.dscalar("f"), "must be an integer scalar"),
        (tt.dvector("f"), "positions must be integers"),
        (tt.tensor("m", dtype="bool", shape=(3,)), "a mask of length 3 is given for dimension 0 of length 4"),
        (True, "True and False are no indices"),
        (np.array(True), "True and False are no indices"),
        (2**63, "out of bounds for dimension 0"),
        ((0, -(2**63) - 1), "out of bounds for dimension 1 of"),
        (np.ones(3, bool), "a mask of length 3 is given for dimension 0 of length 4"),
        (np.ones((4, 2, 4), bool), "a mask of length 4 is given for dimension 2 of length 5"),
        (object(), "integer arrays are indices"),
    ],
)
def test_wrong_index_is_refused(index: Any, message: str) -> None:
    with pytest.raises(IndexingError, match=message):
        CUBE[index]


def test_text_is_not_an_index() -> None:
    with pytest.raises((IndexingError, tt.TensorTypeError)):
        CUBE["a"]


@pytest.mark.parametrize(
    ("index", "place"), [((V,), 0), ((slice(None), V), 1), ((slice(None), V, V), 1), ((V, slice(None), V), 0)]
)
def test_plan_puts_picked_dimensions_where_numpy_does(index: Any, place: int) -> None:
    assert gather_plan(parse(CUBE, index).entries, [1, 1]).place == place


def test_bound_of_a_slice_that_is_not_an_integer_is_a_type_error() -> None:
    with pytest.raises(tt.TensorTypeError, match="the stop of a slice must be an integer"):
        CUBE[: tt.dscalar()]


@pytest.mark.parametrize("index", [slice(None), ..., (), slice(0, None), slice(None, None, 1), (slice(None), None)])
def test_everything_of_a_part_is_written_into_the_part(index: Any) -> None:
    x = tt.dmatrix("x")
    value = np.zeros((4, 3))
    for part in (x[1:3], x[[0, 1]], x[1], x[1:3, None], x * 2):
        expected = part.eval({x: value})
        np.testing.assert_array_equal(part[index].set(1.0).eval({x: value}), np.ones_like(expected))


def test_everything_of_an_input_can_be_written() -> None:
    x = tt.dvector("x")
    np.testing.assert_array_equal(x[:].inc(1.0).eval({x: [1.0, 2.0]}), [2.0, 3.0])
    np.testing.assert_array_equal(x[None].set([[5.0, 6.0]]).eval({x: [1.0, 2.0]}), [5.0, 6.0])
    s = tt.dscalar("s")
    assert s[()].set(3.0).eval({s: 1.0}) == 3.0


def test_full_slice_is_gone_after_rewriting() -> None:
    x = tt.dvector("x")
    assert len(function([x], x[:] + 1, mode="FAST_RUN").maker.fgraph.toposort()) == 1


def test_writing_needs_an_indexed_tensor() -> None:
    with pytest.raises(IndexingError, match="must be an indexed tensor"):
        tt.set_subtensor(CUBE, 1.0)


@pytest.mark.parametrize(
    ("own", "value", "result"),
    [
        ("float32", np.float64(2.5), 2.5),
        ("int32", np.int64(7), 7),
        ("float32", np.int64(7), 7),
        ("int64", np.float64(2.5), 2),
        ("int8", 7, 7),
        ("bool", np.int64(2), True),
    ],
)
def test_set_values_are_converted_as_numpy_does(own: str, value: Any, result: Any) -> None:
    x = tt.vector("x", dtype=own)
    written = x[0].set(value)
    assert written.dtype == own
    assert written.eval({x: np.zeros(1, own)})[0] == result


def test_incremented_values_are_converted_within_a_kind() -> None:
    x = tt.vector("x", dtype="float32")
    assert x[:1].inc(np.ones(1)).eval({x: np.ones(2, "float32")}).tolist() == [2.0, 1.0]
    with pytest.raises(tt.TensorTypeError, match="cannot be written into a tensor of dtype int64"):
        tt.lvector("x")[0].inc(1.5)
    with pytest.raises(tt.TensorTypeError, match="cannot be written into a tensor of dtype uint8"):
        tt.vector("x", dtype="uint8")[:1].inc(tt.lvector())


@pytest.mark.parametrize("value", [300, -1, 1j])
def test_number_that_the_dtype_does_not_hold_is_refused(value: Any) -> None:
    with pytest.raises(tt.TensorTypeError):
        tt.vector("x", dtype="uint8")[0].set(value)


def test_complex_values_are_not_written_into_real_tensors() -> None:
    with pytest.raises(tt.TensorTypeError, match="cannot be written"):
        tt.dvector("x")[:1].set(tt.zvector())


def test_values_for_new_axes_must_have_length_one_there() -> None:
    with pytest.raises(tt.ShapeError, match="do not fit a part of shape"):
        tt.dvector("x")[None].set(np.ones((2, 1)))


@pytest.mark.parametrize("axis", [-3, 2, 2**63])
def test_take_refuses_an_axis_out_of_range(axis: int) -> None:
    with pytest.raises(tt.AxisError, match="take: axis"):
        tt.take(tt.dmatrix("x"), [0], axis=axis)


def test_take_takes_truth_values_as_positions() -> None:
    x = tt.dvector("x")
    assert tt.take(x, [True, False, True]).eval({x: [1.0, 2.0]}).tolist() == [2.0, 1.0, 2.0]


def test_vector_of_values_is_added_at_a_matrix_of_positions() -> None:
    x = tt.vector("x", dtype="int8")
    increased = x[[[1, 1], [-1, -1]]].inc(np.array([0, 5], "int8"))
    assert increased.eval({x: np.zeros(3, "int8")}).tolist() == [0, 5, 5]


@pytest.mark.parametrize("length", [2, 5])
@pytest.mark.parametrize("mode", ["VM", "C"])
def test_mask_of_another_length_is_refused_at_run_time(mode: str, length: int) -> None:
    x = tt.dvector("x")
    mask = np.arange(length) == 0
    for out in (x[mask], x[mask].set(9.0), x[mask].inc(9.0), x[mask][0], x[mask].set(x[mask]), x[mask].set(9.0)[mask]):
        f = function([x], out, mode=mode)
        with pytest.raises(IndexError, match="mask"):
            f(np.arange(3.0))


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_single_position_is_checked_where_nothing_is_picked(mode: str) -> None:
    x = tt.dmatrix("x")
    f = function([x], x[np.zeros(3, bool), 7], mode=mode)
    with pytest.raises(IndexError, match="out of bounds"):
        f(np.ones((3, 3)))


@pytest.mark.parametrize(
    "index",
    [
        ([1, 1, -3],),
        ([0, 2, -1], [1, 1, 1]),
        ([2, 2, 2], slice(None, None, -2)),
        ([[0, 1, 0]], slice(1, 2)),
        ([3, 0, 1],),
    ],
)
def test_values_that_a_write_overwrites_itself_have_no_gradient(index: Any) -> None:
    rng = np.random.default_rng(0)
    start = rng.normal(size=(4, 3))
    index = tuple(i if isinstance(i, slice) else np.array(i) for i in index)
    values = rng.normal(size=start[index].shape)
    numbers = np.full(start.shape, -1)
    numbers[index] = np.arange(values.size).reshape(values.shape)
    kept = np.isin(np.arange(values.size), numbers).reshape(values.shape)
    x, y = tt.dmatrix("x"), tt.tensor("y", dtype="float64", shape=(None,) * values.ndim)
    by_x, by_y = tt.grad((tt.set_subtensor(x[index], y) ** 2).sum(), [x, y])
    gradients = function([x, y], [by_x, by_y], mode="VM")(start, values)
    np.testing.assert_array_equal(gradients[0], np.where(numbers < 0, 2 * start, 0))
    np.testing.assert_array_equal(gradients[1], np.where(kept, 2 * values, 0))


def test_values_at_positions_that_differ_keep_the_short_gradient() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    for index in (np.array([3, 0, 5]), tt.arange(y.shape[0]), x > 0):
        slope = tt.grad((tt.set_subtensor(x[index], y) ** 2).sum(), y)
        assert not any(
            isinstance(node.op, tt.AdvancedIncSubtensor) and tt.as_tensor(node.inputs[0]).dtype == "int64"
            for node in toposort([slope])
        ), index
