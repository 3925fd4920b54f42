"""Compiled graphs as functions that other code of Numba's calls, and functions of Numba's as rules."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numba
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.graph import Apply, Cell, FunctionGraph, GraphTypeError, LoweringError, NodeIndexError, Op, Value
from treadle.link.numba import TABLE, GraphWriter, call_jitted, jit_function
from treadle.tensor.random import RandomStream, shared_rng


class Doubled(Op):
    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, inputs, [inputs[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        output_storage[0][0] = np.asarray(2 * inputs[0])


class DoubledByNumba(Doubled):
    pass


@TABLE.register(DoubledByNumba)
def doubled(op: Op, node: Apply, writer: GraphWriter) -> None:
    del op
    call_jitted(writer, node, _double)


def _double(x: Any) -> Any:
    return x + x


@pytest.fixture(scope="module")
def density() -> Any:
    x, a = tt.vector("x", shape=(3,), dtype="float64"), shared(2.0, name="a")
    return jit_function(function([x], [-(x**2).sum() * a, -2 * x * a], mode="NUMBA").vm)


def test_other_compiled_code_calls_a_graph(density: Any) -> None:
    @numba.njit  # type: ignore[untyped-decorator]  # it has no types
    def step(x: Any, size: Any) -> Any:
        value, gradient = density(x, size)
        return value[()], x + gradient

    fixed = np.array([1.0, 2.0, 3.0])
    fixed.flags.writeable = False
    for x in (fixed, np.arange(1.0, 7.0, 2.0)[::-1], np.array([1, 2, 3])):
        value, moved = step(x, 0.5)
        assert value == -(x**2).sum() / 2
        np.testing.assert_array_equal(moved, np.zeros(3))


def test_matrices_numbers_and_several_results_in_a_loop_of_the_caller() -> None:
    x, s, i = tt.dmatrix("x"), tt.dscalar("s"), tt.lscalar("i")
    compiled: Any = function([x, s, i], [x @ x.T * s, x.sum() + s, i + 1, x > 0, x.astype("int64")], mode="NUMBA")
    run = compiled.jit_function

    @numba.njit  # type: ignore[untyped-decorator]  # it has no types
    def total(x: Any, steps: Any) -> Any:
        found = 0.0
        for k in range(steps):
            product, sums, following, positive, whole = run(x.T, 0.5, k)
            found += product[0, 1] + sums[()] + following[()] + positive.sum() + whole[1, 1]
        return found

    value = np.arange(6.0).reshape(2, 3)
    parts = [(value.T @ value)[0, 1] * 0.5 + 15.5 + (k + 1) + 5 + 4 for k in range(4)]
    assert total(value, 4) == pytest.approx(sum(parts))


CACHED = """
import warnings, numba, numpy as np
import treadle.tensor as tt
from treadle.compile import function

x = tt.dvector("x")
run = function([x], 2 * x, mode="NUMBA").jit_function

@numba.njit(cache=True)
def last(x):
    return run(x)[0][-1]

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(last(np.array([1.0, 3.0])), [w.category.__name__ for w in caught])
"""


def test_callers_with_a_cache_of_numbas_are_compiled_again_by_each_process(tmp_path: Path) -> None:
    script = tmp_path / "cached.py"
    script.write_text(CACHED)
    for _ in range(2):
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
        assert done.stdout == "6.0 ['NumbaWarning']\n"


def test_python_calls_it_too(density: Any) -> None:
    value, gradient = density(np.ones(3), np.array(1.0))
    assert float(value) == -3.0
    assert gradient.tolist() == [-2.0, -2.0, -2.0]


def test_lengths_that_the_graph_does_not_take_are_refused(density: Any) -> None:
    with pytest.raises(ValueError, match="axis 0 of argument 0 must have 3 elements"):
        density(np.ones(4), 1.0)


def test_arguments_of_other_ranks_are_refused_when_the_caller_is_compiled(density: Any) -> None:
    with pytest.raises(numba.TypingError, match="an argument is of rank 1 and dtype float64"):
        density(np.ones((3, 1)), 1.0)


def test_errors_are_raised_by_their_kind() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    element = jit_function(FunctionGraph([x, i], [x[i]]))
    assert element(np.arange(3.0), 2)[0] == 2.0
    with pytest.raises(NodeIndexError, match="out of bounds"):
        element(np.arange(3.0), 3)


def test_ops_without_a_rule_are_calls_of_python_in_loops_too() -> None:
    x = tt.dvector("x")
    rows = tt.scan(lambda s: Doubled()(s) + 1, outputs_info=[x], n_steps=3, return_updates=False)
    with pytest.warns(UserWarning, match="no lowering for Doubled"):
        run = jit_function(FunctionGraph([x], [rows[-1]]))
    assert run(np.array([0.0, 1.0]))[0].tolist() == [7.0, 15.0]


def test_a_function_of_numbas_is_a_rule() -> None:
    x, y = tt.dmatrix("x"), tt.dscalar("y")
    outputs = [DoubledByNumba()(x.T) + 1, DoubledByNumba()(y)]
    plain = function([x, y], outputs, mode="NUMBA")
    for run in (plain, jit_function(plain.vm)):
        matrix, number = run(np.arange(6.0).reshape(2, 3), 3.0)
        np.testing.assert_array_equal(matrix, 2 * np.arange(6.0).reshape(2, 3).T + 1)
        assert number == 6.0


def test_a_rule_by_a_function_that_numba_does_not_compile_says_so() -> None:
    class Wrong(Doubled):
        pass

    @TABLE.register(Wrong)
    def wrong(op: Op, node: Apply, writer: GraphWriter) -> None:
        del op
        to_text: Callable[[Any], Any] = lambda x: str(x)  # noqa: E731, PLW0108 - Numba is given a function
        call_jitted(writer, node, to_text)

    x = tt.dvector("x")
    with pytest.raises(LoweringError, match=r"the function of Wrong.* does not compile for float64 of rank 1"):
        function([x], Wrong()(x), mode="NUMBA")


def test_what_is_no_program_of_numba_is_refused() -> None:
    x = tt.dvector("x")
    with pytest.raises(GraphTypeError, match="compiled in mode NUMBA"):
        jit_function(function([x], x + 1, mode="VM").vm)


@pytest.mark.parametrize("tiered", [False, True])
def test_a_function_has_its_jit_function(tiered: bool) -> None:
    x = tt.dvector("x")
    f: Any = function([x], [x.sum(), 2 * x], mode="NUMBA", tiered=tiered)
    density = f.jit_function
    assert f.jit_function is density
    assert "jit_function" in dir(f)

    @numba.njit  # type: ignore[untyped-decorator]  # Numba has no annotations
    def step(x: Any) -> Any:
        total, twice = density(x)
        return total[()] + twice

    np.testing.assert_array_equal(step(np.array([1.0, 2.0])), [5, 7])
    other: Any = function([x], x.sum(), mode="VM")
    assert "jit_function" not in dir(other)
    with pytest.raises(AttributeError, match=r"have no jit_function\. Compile it in mode NUMBA"):
        _ = other.jit_function


@pytest.mark.parametrize("generator", ["numpy", "portable"])
def test_draws_take_and_return_the_states_of_generators(generator: Literal["numpy", "portable"]) -> None:
    stream, x = RandomStream(seed=3, generator=generator), tt.dvector("x")
    f: Any = function([x], x + stream.normal(size=(3,)), mode="NUMBA")
    draw, (source,) = f.jit_function, f.get_shared()

    @numba.njit  # type: ignore[untyped-decorator]  # as above
    def walk(x: Any, state: Any, steps: int) -> Any:
        for _ in range(steps):
            x, state = draw(x, state)
        return x, state

    start = np.zeros(3)
    end, state = walk(start, source.type.state_of(source.get_value()), 4)
    for _ in range(4):
        start = f(start)
    np.testing.assert_array_equal(end, start)
    np.testing.assert_array_equal(state, source.type.state_of(source.get_value()))


def test_functions_that_cannot_have_a_jit_function_have_no_such_attribute() -> None:
    c, (first, second) = tt.bscalar("c"), (shared_rng(seed=seed) for seed in (1, 2))
    f: Any = function([c], tt.random.normal(rng=tt.ifelse(c, first, second)), mode="NUMBA")
    assert not hasattr(f, "jit_function")
    with pytest.raises(AttributeError, match="numba: no lowering for") as refused:
        _ = f.jit_function
    assert isinstance(refused.value.__cause__, LoweringError)
