"""The promises of a program: results of the caller's own, no state, arrays of any layout, errors that name the line."""

from __future__ import annotations

import pickle
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.graph import FunctionGraph, LoweringError
from treadle.link.c.linker import CLinker

if TYPE_CHECKING:
    from collections.abc import Callable


def test_results_never_share_memory(link: Callable[..., Any]) -> None:
    x = tt.dmatrix("x")
    c = tt.constant(np.arange(3.0))
    y = x + c
    flat = y.reshape((-1,))
    program = link([x], [x, x.T, c, c[1:], y, y, y[0], flat, flat, tt.SumTo()(y, tt.shape_i(y, 0), tt.shape_i(y, 1))])
    data = np.arange(6.0).reshape(2, 3)
    results = [program(data), program(data)]
    arrays = [data, *results[0], *results[1]]
    for k, a in enumerate(arrays):
        assert a.flags.writeable
        assert all(not np.shares_memory(a, b) for b in arrays[k + 1 :])
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)
    results[0][2][:] = 100
    np.testing.assert_array_equal(program(data)[2], np.arange(3.0))


def test_results_of_changing_lengths(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    program = link([x], [x * 2, x[1:], tt.sum(x), tt.concatenate([x, x])])
    for n in (3, 3, 1, 100, 0, 3, 5000, 2):
        data = np.arange(float(n))
        doubled, rest, total, joined = program(data)
        np.testing.assert_array_equal(doubled, data * 2)
        np.testing.assert_array_equal(rest, data[1:])
        np.testing.assert_array_equal(joined, np.tile(data, 2))
        assert total == data.sum()
        assert all(a.flags.writeable for a in (doubled, rest, total, joined))


def test_memory_of_a_result_outlives_the_program(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1])
    kept = [program(np.arange(float(n)))[0][::2] for n in range(2, 50)]
    del program
    for n, part in enumerate(kept, start=2):
        np.testing.assert_array_equal(part, np.arange(1.0, n + 1)[::2])


def test_subclasses_and_misaligned_arrays_are_taken(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1])
    raw = np.zeros(33, "uint8")
    misaligned = raw[1:].view("float64")
    misaligned[:] = [1, 2, 3, 4]
    assert not misaligned.flags.aligned
    assert program(misaligned)[0].tolist() == [2, 3, 4, 5]
    masked: Any = np.arange(2.0).view(np.recarray)
    assert type(program(masked)[0]) is np.ndarray
    readonly = np.arange(2.0)
    readonly.flags.writeable = False
    assert program(readonly)[0].tolist() == [1, 2]


@pytest.mark.parametrize("value", [2, [1.0], np.zeros(2, "float32"), np.zeros((2, 2)), None], ids=str)
def test_value_of_another_type_is_refused(value: Any, link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1])
    if isinstance(value, list):
        assert program(value)[0].tolist() == [2]
        return
    with pytest.raises(TypeError, match="input x"):
        program(value)


def test_many_inputs_and_outputs(link: Callable[..., Any]) -> None:
    xs = [tt.dscalar(f"x{k}") for k in range(300)]
    program = link(xs, [x * 2 for x in xs])
    results = program(*(np.array(float(k)) for k in range(300)))
    assert [float(v) for v in results] == [2.0 * k for k in range(300)]


def test_long_graphs_are_cut_into_functions(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    y = x
    for _ in range(1500):
        y = y * 0.5 + 1
    program = link([x], [y])
    np.testing.assert_allclose(program(np.arange(3.0))[0], [2, 2, 2])
    assert "run46(" in program.source


def test_threads_that_call_at_once_get_their_own_results(link: Callable[..., Any]) -> None:
    x, w = tt.dmatrix("x"), tt.dvector("w")
    program = link([x, w], [tt.sum(tt.tanh(x @ w)), tt.softmax(x, axis=1), x[1:] + 1])
    barrier = threading.Barrier(8)
    failures: list[int] = []

    def work(k: int) -> None:
        random = np.random.default_rng(k)
        for round_ in range(20):
            a, b = random.normal(size=(50 + k + round_, 30)), random.normal(size=30)
            barrier.wait()
            total, soft, rest = program(a, b)
            good = np.isclose(total, np.tanh(a @ b).sum()) and np.allclose(soft.sum(axis=1), 1)
            if not (good and np.array_equal(rest, a[1:] + 1)):
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_everything_that_cannot_be_lowered_is_listed_with_its_line() -> None:
    x = tt.dvector("x")
    turned: Any = tt.as_op([tt.dvector], [tt.dvector])(np.flip)
    outputs = [x + 1, turned(x), turned(x * 2)]
    with pytest.raises(LoweringError) as caught:
        CLinker().link(FunctionGraph([x], outputs))
    text = str(caught.value)
    assert text.count("test_program.py") >= 2
    assert "Add" not in text


def test_error_in_the_middle_frees_and_leaves_the_program_usable(link: Callable[..., Any]) -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    program = link([x, i], [tt.exp(x)[i] + tt.sin(x)])
    for _ in range(3):
        with pytest.raises(IndexError, match=r"position|index .* out of bounds"):
            program(np.zeros(4), np.array(4))
    np.testing.assert_array_equal(program(np.zeros(4), np.array(3))[0], np.ones(4))


def test_unpickled_arguments_constants_and_functions_work() -> None:
    x = tt.dvector("x")
    state = shared(np.zeros(3), name="state")
    constant = pickle.loads(pickle.dumps(np.array([1.0, 2.0, 4.0])))
    assert constant.dtype is not np.dtype("float64")  # what makes this case differ from the others
    data = np.array([0.5, 1.0, 2.0])
    f = function([x], [x * constant + state, x[::-1]], updates=[(state, state + 1)], mode="C")
    expected = f(data)
    f(data)
    again = pickle.loads(pickle.dumps(f))
    for result, wanted in zip(again(pickle.loads(pickle.dumps(data))), expected, strict=True):
        assert result.dtype == wanted.dtype
    np.testing.assert_array_equal(again(data)[0], expected[0] + 3)
    np.testing.assert_array_equal(again(pickle.loads(pickle.dumps(data[::-1])))[1], data)
