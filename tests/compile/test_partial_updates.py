"""Updates that change a part of a value: at the cost of the part, and never in memory that somebody borrowed."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import In, Out, function, shared
from treadle.graph import Apply, Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MODES = ["VM", "C", "NUMBA"]
in_every_host_mode = pytest.mark.parametrize("mode", MODES)

i, y, k, m = tt.lvector("i"), tt.dmatrix("y"), tt.lscalar("k"), tt.dmatrix("m")
ROWS, VALUES = np.array([3, 1]), np.array([[1.0, 2.0], [3.0, 4.0]])


def start() -> Any:
    return np.arange(10.0).reshape(5, 2)


def memory(variable: Any) -> int:
    return int(variable.get_value(borrow=True).ctypes.data)


def inc_rows(w: Any) -> None:
    np.add.at(w, ROWS, VALUES)


def set_rows(w: Any) -> None:
    w[ROWS] = VALUES


def set_row(w: Any) -> None:
    w[2] = VALUES[0]


def inc_columns(w: Any) -> None:
    w[1:3, ::-1] += VALUES


def many(w: Any) -> None:
    w[0] += w[1]
    w[1:3] = VALUES
    np.add.at(w, ROWS, VALUES)


CASES: list[tuple[Callable[[Any], Any], Callable[[Any], None]]] = [
    (lambda w: w[i].inc(y), inc_rows),
    (lambda w: w[i].set(y), set_rows),
    (lambda w: w[k].set(y[0]), set_row),
    (lambda w: w[1:3, ::-1].inc(y), inc_columns),
    (lambda w: w[0].inc(w[1])[1:3].set(y)[i].inc(y), many),
]


@in_every_host_mode
@pytest.mark.parametrize(("change", "reference"), CASES)
def test_a_partial_update_is_written_into_the_old_value(change: Any, reference: Any, mode: str) -> None:
    w = shared(start(), name="w")
    f = function([i, y, k], [w.sum()], updates={w: change(w)}, mode=mode, on_unused_input="ignore")
    before, expected = memory(w), start()
    for _ in range(3):
        assert f(ROWS, VALUES, 2)[0] == expected.sum()
        reference(expected)
        np.testing.assert_array_equal(w.get_value(), expected)
    assert memory(w) == before


@in_every_host_mode
def test_the_old_value_that_a_call_returns_stays_the_old_one(mode: str) -> None:
    w = shared(start(), name="w")
    f = function([i, y], [w, Out(w[3], borrow=True), Out(w, borrow=True)], updates={w: w[i].inc(y)}, mode=mode)
    for _ in range(2):
        old = w.get_value()
        results = f(ROWS, VALUES)
        f(ROWS, VALUES)
        np.testing.assert_array_equal(results[0], old)
        np.testing.assert_array_equal(results[1], old[3])
        np.testing.assert_array_equal(results[2], old)


@in_every_host_mode
@pytest.mark.parametrize("view", [lambda v: v, lambda v: v[3:], lambda v: v.T[0], memoryview, lambda v: v.reshape(-1)])
def test_borrowed_value_never_changes(view: Any, mode: str) -> None:
    w = shared(start(), name="w")
    f = function([i, y], [], updates={w: w[i].inc(y)}, mode=mode)
    f(ROWS, VALUES)
    borrowed = view(w.get_value(borrow=True))
    before = np.array(borrowed)
    f(ROWS, VALUES)
    f(ROWS, VALUES)
    np.testing.assert_array_equal(borrowed, before)
    expected = start()
    for _ in range(3):
        inc_rows(expected)
    np.testing.assert_array_equal(w.get_value(), expected)


@in_every_host_mode
def test_lent_array_never_changes(mode: str) -> None:
    lent, whole = start(), np.zeros((7, 2))
    w, v = shared(lent, borrow=True, name="w"), shared(np.zeros((5, 2)), name="v")
    v.set_value(whole[1:6], borrow=True)
    f = function([i, y], [], updates={w: w[i].inc(y), v: v[i].inc(y)}, mode=mode)
    f(ROWS, VALUES)
    np.testing.assert_array_equal(lent, start())
    np.testing.assert_array_equal(whole, np.zeros((7, 2)))
    assert w.get_value()[3, 0] == 7


class _Fails(Op):
    """Return the input if it is not negative."""

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        if (inputs[0] < 0).any():
            msg = "negative"
            raise ValueError(msg)
        output_storage[0][0] = inputs[0]


@in_every_host_mode
def test_a_call_whose_second_write_fails_takes_back_the_first(mode: str) -> None:
    w, v, n = shared(start(), name="w"), shared(start(), name="v"), shared(0, name="n")
    f = function([i, y, k], [], updates={w: w[i].inc(y)[0].set(y[1]), v: v[k].inc(y[0]), n: n + 1}, mode=mode)
    for _ in range(2):
        with pytest.raises(IndexError, match="test_partial_updates"):
            f(ROWS, VALUES, 9)
    for variable in (w, v):
        np.testing.assert_array_equal(variable.get_value(), start())
    assert n.get_value() == 0
    f(ROWS, VALUES, 1)
    assert n.get_value() == 1
    assert w.get_value()[3, 0] == 7


@pytest.mark.parametrize("mode", ["VM", "CVM"])
def test_a_call_whose_op_fails_changes_nothing(mode: str) -> None:
    w = shared(start(), name="w")
    f = function([i, y], _Fails()(w[i] - y), updates={w: w[i].inc(_Fails()(y))}, mode=mode)
    for values in (-VALUES, 100 * VALUES):
        with pytest.raises(ValueError, match="negative"):
            f(ROWS, values)
        np.testing.assert_array_equal(w.get_value(), start())


@in_every_host_mode
def test_two_variables_are_written_from_each_others_old_values(mode: str) -> None:
    a, b = shared(start(), name="a"), shared(-start(), name="b")
    f = function([], [], updates={a: a[:2].set(b[:2]), b: b[:2].set(a[:2])}, mode=mode)
    g = function([], [], updates={a: a[1:].set(a[:-1]), b: b[[0, 1, 2, 3, 4]].inc(a)}, mode=mode)
    f()
    np.testing.assert_array_equal(a.get_value()[:2], -start()[:2])
    np.testing.assert_array_equal(b.get_value()[:2], start()[:2])
    old_a, old_b = a.get_value(), b.get_value()
    g()
    np.testing.assert_array_equal(a.get_value()[1:], old_a[:-1])
    np.testing.assert_array_equal(b.get_value(), old_b + old_a)


@in_every_host_mode
def test_another_variable_that_takes_over_the_old_value_keeps_it(mode: str) -> None:
    w, old = shared(start(), name="w"), shared(start() * 0, name="old")
    f = function([i, y], [], updates={w: w[i].inc(y), old: w}, mode=mode)
    for _ in range(3):
        before = w.get_value()
        f(ROWS, VALUES)
        np.testing.assert_array_equal(old.get_value(), before)


@in_every_host_mode
def test_the_new_value_can_be_used_and_returned(mode: str) -> None:
    w = shared(start(), name="w")
    new = w[i].inc(y)
    f = function([i, y], [new, new.sum(), new[3]], updates={w: new}, mode=mode)
    kept, total, row = f(ROWS, VALUES)
    f(ROWS, VALUES)
    expected = start()
    inc_rows(expected)
    np.testing.assert_array_equal(kept, expected)
    assert total == expected.sum()
    np.testing.assert_array_equal(row, expected[3])


@in_every_host_mode
def test_a_mutable_argument_is_overwritten_where_an_output_is_a_change_of_its_part(mode: str) -> None:
    f = function([In(m, mutable=True, borrow=True), i, y], [Out(m[i].inc(y), borrow=True), m.sum()], mode=mode)
    argument, expected = start(), start()
    inc_rows(expected)
    result, total = f(argument, ROWS, VALUES)
    assert result is argument
    assert total == start().sum()
    np.testing.assert_array_equal(argument, expected)
    read_only = start()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(f(read_only, ROWS, VALUES)[0], expected)
    np.testing.assert_array_equal(read_only, start())


@in_every_host_mode
def test_a_mutable_argument_is_as_before_after_a_call_that_fails(mode: str) -> None:
    f = function([In(m, mutable=True), i, y, k], Out(m[i].inc(y)[k].set(y[0]), borrow=True), mode=mode)
    argument = start()
    with pytest.raises(IndexError, match="test_partial_updates"):
        f(argument, ROWS, VALUES, 9)
    np.testing.assert_array_equal(argument, start())


@in_every_host_mode
def test_the_default_of_an_input_is_not_written_into(mode: str) -> None:
    default = start()
    f = function([i, y, In(m, value=start(), update=m[i].inc(y))], [], mode=mode)
    f(ROWS, VALUES, default)
    np.testing.assert_array_equal(default, start())
    expected = start()
    inc_rows(expected)
    np.testing.assert_array_equal(f.container["m"].data, expected)


@in_every_host_mode
@pytest.mark.parametrize("dtype", ["float16", "int8", "bool"])
def test_repeated_positions_add_again_in_every_dtype(dtype: str, mode: str) -> None:
    w = shared(np.ones((4, 2), dtype), name="w")
    values = np.ones((3, 2), dtype)
    f = function([i], [], updates={w: w[i].inc(values)}, mode=mode)
    f([1, -3, 0])
    expected = np.ones((4, 2), dtype)
    (np.logical_or if dtype == "bool" else np.add).at(expected, [1, -3, 0], values)
    np.testing.assert_array_equal(w.get_value(), expected)
    assert w.get_value().dtype == dtype


@in_every_host_mode
def test_a_copy_and_a_pickle_of_a_function_write_parts_too(mode: str) -> None:
    w, v = shared(start(), name="w"), shared(start(), name="v")
    f = function([i, y], [], updates={w: w[i].inc(y)}, mode=mode)
    swapped, loaded = f.copy(swap={w: v}), pickle.loads(pickle.dumps(f))
    loaded_w = loaded.get_shared()[0]
    expected = start()
    inc_rows(expected)
    for g, variable in ((f, w), (swapped, v), (loaded, loaded_w)):
        before = memory(variable)
        g(ROWS, VALUES)
        np.testing.assert_array_equal(variable.get_value(), expected)
        assert memory(variable) == before


@in_every_host_mode
def test_the_graph_still_shows_the_update(mode: str) -> None:
    w = shared(start(), name="w")
    f = function([i, y], [], updates={w: w[i].inc(y)}, mode=mode)
    assert "Inc" in f.dprint(file="str")
    assert f.maker.fgraph.update_mapping == {0: 2}
