"""Values that decide shapes are known before compiling; those that depend on data are refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import assert_like_vm, link
from treadle.compile import function, shared
from treadle.config import config
from treadle.graph import FunctionGraph, LoweringError
from treadle.link.jax import RecompilationWarning
from treadle.link.vm import PythonLinker

X = np.arange(12.0).reshape(3, 4)


def test_an_input_may_decide_a_shape() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    program = link([x, n], [x.reshape((n, -1)), x[:n], tt.arange(n) + n, tt.zeros((n, 2))])
    with pytest.warns(RecompilationWarning, match="depends on the value of n, built at test_staging"):
        shapes = {value: [r.shape for r in program(X, np.array(value))] for value in (1, 2, 3, 2)}
    assert shapes == {n: [(n, 12 // n), (min(n, 3), 4), (n,), (n, 2)] for n in (1, 2, 3)}


def test_a_vector_of_lengths_may_decide_a_shape() -> None:
    x, shape = tt.dmatrix("x"), tt.lvector("shape")
    assert_like_vm([x, shape], [x.reshape(shape, ndim=2)], X, np.array([6, 2]))


def test_a_float_may_decide_a_length() -> None:
    stop = tt.dscalar("stop")
    assert_like_vm([stop], [tt.arange(0.5, stop, 0.25)], np.array(2.1))


def test_lengths_computed_from_shapes_are_known() -> None:
    x = tt.dmatrix("x")
    n = x.shape[0] * x.shape[1] // 2
    assert_like_vm([x], [tt.arange(n), tt.zeros((n,)), x.flatten()[n:], x.reshape((n, -1)), n], X)


def test_forms_are_kept_for_the_values_used_last() -> None:
    n = tt.lscalar("n")
    with config.change_flags(jax__static_values=2):
        program = link([n], [tt.arange(n)])
    with pytest.warns(RecompilationWarning):
        assert [program(np.array(value))[0].size for value in (1, 2, 3, 3, 2)] == [1, 2, 3, 3, 2]
    assert len(program._variants) == 2


def test_a_value_changed_later_by_the_caller_does_not_change_a_form() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    program = link([x, n], [x[:n] * n])
    value = np.array(2)
    program(np.arange(4.0), value)
    value[...] = 3
    # A new shape of x traces the form for 2 again.
    assert program(np.arange(5.0), np.array(2))[0].tolist() == [0, 2]


def test_a_shape_that_depends_on_data_is_refused_when_linking() -> None:
    x, v = tt.dvector("x"), tt.lvector("v")
    outputs = [tt.zeros((x.sum().astype("int64"),)), v[: v.sum()], x + 1]  # the culprits
    with pytest.raises(LoweringError) as caught:
        link([x, v], outputs)
    text = str(caught.value)
    assert "Alloc of" in text
    assert "Subtensor{[:?]}" in text
    assert text.count("shapes known before it runs") == 2
    # The lines of the nodes, and of what computes their lengths.
    assert text.count("# the culprits") == 4


def test_a_wrong_length_is_an_error_that_names_the_node() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    with pytest.raises(ValueError, match=r"Reshape.*cannot reshape array of size 12"):
        link([x, n], [x.reshape((n, -1))])(X, np.array(5))
    with pytest.raises(ValueError, match=r"Alloc.*non-negative"):
        link([n], [tt.zeros((n,))])(np.array(-1))


def batch(data: Any, size: int = 50) -> tuple[Any, Any]:
    i = tt.lscalar("i")
    return i, data[i * size : (i + 1) * size]


def test_batches_are_compiled_for_once_and_once_more_for_the_last_shorter_one() -> None:
    x = tt.dmatrix("x")
    i, part = batch(x)
    program = link([x, i], [tt.grad(tt.sum(part**2), x), part.mean(axis=0), part.shape[0]])
    data = np.arange(240.0).reshape(120, 2)
    compiled = []
    for at in (0, 1, 2, 0, 1, 2, 3):
        grad, mean, n = program(data, np.array(at))
        part_of = data[at * 50 : (at + 1) * 50]
        assert n == len(part_of)
        np.testing.assert_allclose(grad[at * 50 : (at + 1) * 50], 2 * part_of)
        assert np.count_nonzero(grad) == np.count_nonzero(part_of)
        if len(part_of):
            np.testing.assert_allclose(mean, part_of.mean(axis=0))
        compiled.append(len(program._variants))
    # The last one is empty.
    assert compiled == [1, 1, 2, 2, 2, 2, 3]


def test_training_by_batches_compiles_twice() -> None:
    rng = np.random.default_rng(1)
    x, y = shared(rng.normal(size=(25, 3))), shared(rng.integers(0, 2, 25))
    w = shared(np.zeros((3, 2)))
    i, xs = batch(x, 10)
    ys = y[i * 10 : (i + 1) * 10]
    picked = tt.log_softmax(xs @ w, axis=-1)[tt.arange(ys.shape[0]), ys]
    loss = -tt.mean(picked)
    losses = {}
    for mode in ("JAX", "VM"):
        w.set_value(np.zeros((3, 2)))
        f = function([i], loss, updates={w: w - 0.1 * tt.grad(loss, w)}, mode=mode)
        losses[mode] = [float(f(at)) for at in (0, 1, 2, 1, 0, 2)]
    np.testing.assert_allclose(losses["JAX"], losses["VM"])


@pytest.mark.usefixtures("quick_xla")
@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("step", [None, 2, -1])
def test_slices_whose_length_changes_are_right_for_every_value(step: int | None, count: int) -> None:
    x, y = tt.dmatrix("x"), tt.dscalar("y")
    start, stop = tt.lscalar("start"), tt.scalar("stop", dtype="uint64" if step == 2 else "int64")
    part = x[start:stop:step]
    picked = x[start:stop:step, [1, 0]]
    outputs = [part, part.set(y), part.inc(y * 2), picked, picked.inc(y), tt.arange(start) * stop, start + 1]
    inputs = [x, y, start, stop]
    program, vm = link(inputs, outputs), PythonLinker().link(FunctionGraph(inputs, outputs))
    values = np.random.default_rng(0).integers(-7, 8, (count, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompilationWarning)
        for a, b in values:
            end = np.array(abs(b), "uint64") if step == 2 else np.array(b)
            arguments = (np.arange(10.0).reshape(5, 2), np.array(3.0), np.array(a), end)
            for result, wanted in zip(program(*arguments), vm(*arguments), strict=True):
                np.testing.assert_array_equal(result, wanted, strict=True)


def test_a_value_that_forces_compiling_is_named_once_with_its_line() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    program = link([x, n], [x[:n]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for value in range(4):
            program(np.ones(6), np.array(value))
    (one,) = caught
    assert "depends on the value of n" in str(one.message)
    assert "x[:n]" in str(one.message)


def test_positions_and_lengths_of_one_value_do_not_mix() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    program = link([x, i], [x[i : i + 2] * i, tt.switch(i > 1, x[i], 0.0)])
    for at in (0, 1, 2, 3):
        part, one = program(np.arange(6.0), np.array(at))
        np.testing.assert_array_equal(part, np.arange(6.0)[at : at + 2] * at)
        assert one == (at if at > 1 else 0)
    assert len(program._variants) == 1


def test_steps_beyond_any_length_take_one_element() -> None:
    x, step = tt.dvector("x"), tt.lscalar("step")
    program = link([x, step], [x[::step], x[step - step :: step].set(0.0)])
    for value in (-(2**63), 2**63 - 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecompilationWarning)
            part, written = program(np.arange(1.0, 4.0), np.array(value))
        assert part.tolist() == ([1.0] if value > 0 else [3.0])
        assert written.tolist() == [0.0, 2.0, 3.0]
