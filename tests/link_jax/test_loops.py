"""Loops on JAX: which of XLA's loops they become, what is compiled again, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import assert_like_vm, link
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, LoweringError, NodeError, Op
from treadle.link.jax import RecompilationWarning
from treadle.link.jax.errors import CarryShapeError
from treadle.link.jax.linker import JAXLinker
from treadle.link.vm import PythonLinker, PythonStepWarning
from treadle.tensor import LoopParts
from treadle.tensor.random import PortableGenerator, RandomStreamWarning, shared_rng
from treadle.tensor.random.generators.portable_keys import NOTICE

X = np.linspace(0.5, 1.5, 5)


def test_rows_carries_and_results_are_those_of_the_vm() -> None:
    x, c = tt.dvector("x"), tt.fscalar("c")

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        total, k, odd, z, small = carry
        after = (total * 0.9 + row, k + 3, ~odd, z * 1j + row, tt.cast(small + k, "float32"))
        return after, (total, k, tt.stack([row, total[0]]))

    init = (tt.zeros((2,)), tt.as_tensor(np.int8(100)), tt.as_tensor(True), tt.as_tensor(1j), c)
    last, stacked = tt.scan_with_carry(step, init, x)
    _, backwards = tt.scan_with_carry(lambda total, row: (total + row, total * row), 0.0, x, reverse=True)
    slope = tt.grad((last[0] ** 2).sum() + tt.sin(stacked[2]).sum() + (backwards**2).sum(), x)
    assert_like_vm([x, c], [*last, *stacked, backwards, slope], X, np.float32(0.5))


def test_number_of_steps_without_results_is_a_value_for_which_nothing_is_compiled_again() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    total, _ = tt.scan_with_carry(lambda c, row: (c + row, None), 0.0, x)
    grown = tt.fori_loop(0, n, lambda i, c: c * 1.5 + i, x)
    doubled = tt.while_loop(lambda c: c.sum() < n, lambda c: 2 * c, x)
    program = link([x, n], [grown, doubled, total])
    for count in (0, 1, 7):
        wanted = X
        for i in range(count):
            wanted = wanted * 1.5 + i
        assert np.allclose(program(X, np.array(count))[0], wanted)
    assert len(program._variants) == 0
    assert program(X, np.array(50))[1].sum() == 80.0


def test_a_number_of_steps_that_decides_a_length_is_reported() -> None:
    x, n = tt.dscalar("x"), tt.lscalar("n")
    _, powers = tt.scan_with_carry(lambda c, _: (c * x, c), 1.0, length=n)
    program = link([x, n], [powers])
    with pytest.warns(RecompilationWarning, match="depends on the value of n"):
        rows = [program(np.array(2.0), np.array(k))[0].tolist() for k in (0, 1, 3)]
    assert rows == [[], [1.0], [1.0, 2.0, 4.0]]


def test_wrong_numbers_of_steps_are_refused() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    row, carry = tt.dscalar("row"), tt.dscalar("carry")
    parts = LoopParts(n, name="sums")
    parts.add_sequence(x, row)
    parts.add_carry(tt.as_tensor(0.0), carry, carry + row)
    (total,) = parts.apply().carries
    program = link([x, n], [total])
    assert program(X, np.array(3))[0] == X[:3].sum()
    for count in (-1, 6):
        with pytest.raises(ValueError, match=r"negative, got -1|length 5, and the loop 6 steps"):
            program(X, np.array(count))


def test_a_check_in_a_body_names_line_step_and_loop() -> None:
    x, i = tt.dvector("x"), tt.lvector("i")
    total, _ = tt.scan_with_carry(lambda c, at: (c + x[at], None), 0.0, i, name="picked")
    program = link([x, i], [total])
    assert program(X, np.array([0, 4]))[0] == X[0] + X[4]
    with pytest.raises(NodeError, match=r"test_loops\.py:\d+.*\n?.*step 1 of the loop Scan\{picked\}"):
        program(X, np.array([0, 5, 1]))


def test_what_is_the_same_in_all_steps_may_decide_shapes_inside() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    inner, _ = tt.scan_with_carry(lambda c, row: (c + tt.arange(n).sum() * row + x[:n].sum(), None), 0.0, x)
    program = link([x, n], [inner])
    assert np.isclose(program(X, np.array(3))[0], 3 * X.sum() + 5 * X[:3].sum())
    with pytest.warns(RecompilationWarning, match="depends on the value of"):
        assert np.isclose(program(X, np.array(2))[0], X.sum() + 5 * X[:2].sum())


def test_what_differs_from_step_to_step_may_not() -> None:
    k = tt.lvector("k")
    total, _ = tt.scan_with_carry(lambda c, row: (c + tt.arange(row).sum(), None), np.int64(0), k)
    with pytest.raises(LoweringError, match=r"ARange.*test_loops\.py:\d+.*decides a shape"):
        link([k], [total])


def test_nested_loops_and_choices_run_inside() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")

    def outer(total: Any, row: Any) -> tuple[Any, Any]:
        inner, sums = tt.scan_with_carry(lambda c, value: (c + value * total, c), 0.0, row)
        powered = tt.fori_loop(0, n, lambda _, c: c * 0.5, inner)
        return total + tt.ifelse(inner > 1, powered, inner), sums.sum()

    last, sums = tt.scan_with_carry(outer, 1.0, x)
    assert_like_vm([x, n], [last, sums, tt.grad(last + sums.sum(), x)], X.reshape(5, 1) * X, np.array(2))


def test_carries_may_change_their_shapes_in_first_steps_only() -> None:
    x = tt.dvector("x")
    start = tt.TensorType("float64", (None,))("start")
    spread, _ = tt.scan_with_carry(lambda c, _: (c + x, None), start, x)
    assert_like_vm([x, start], [spread], X, np.ones(1))
    grown, _ = tt.scan_with_carry(lambda c, _: (tt.concatenate([c, c]), None), start, x, name="growing")
    with pytest.raises(CarryShapeError, match=r"growing\}: the carry start changes its shape in a step from \(16,\)"):
        link([x, start], [grown])(X[[0] * 9], np.ones(1))


def _search(steps: Any, x: Any) -> Any:
    carry = tt.dscalar("carry")
    parts = LoopParts(tt.as_tensor(steps), name="search")
    parts.add_carry(x, carry, carry * 2)
    parts.rows_out, parts.until = [carry, tt.stack([carry, carry + 1])], carry > 3
    return parts.apply()


@pytest.mark.filterwarnings("ignore::treadle.link.jax.RecompilationWarning")
def test_a_condition_may_decide_a_length() -> None:
    x, n = tt.dscalar("x"), tt.lscalar("n")
    search = _search(n, x)
    total = search.stacked[0].sum() + search.carries[0]
    graph = FunctionGraph([x, n], [*search.carries, *search.stacked, search.steps, total, tt.grad(total, x)])
    programs = JAXLinker().link(graph), PythonLinker().link(graph)
    for value, most in (1.0, 10), (7.0, 10), (1.0, 2), (1.0, 0):
        for got, wanted in zip(*(run(np.array(value), np.array(most)) for run in programs), strict=True):
            assert np.array_equal(got, wanted)
            assert got.dtype == wanted.dtype


@pytest.mark.filterwarnings("ignore::treadle.link.jax.RecompilationWarning")
def test_gradients_of_loops_that_only_a_condition_ends_know_the_steps() -> None:
    x = tt.dscalar("x")
    last = tt.while_loop(lambda c: c < 100, lambda c: c * c + 1, x)
    slope = tt.grad(last, x)
    program = JAXLinker().link(FunctionGraph([x], [slope, tt.grad(slope, x)]))
    assert np.allclose(program(np.array(3.0)), [120, 112])
    assert np.allclose(program(np.array(200.0)), [1, 0])


def test_a_condition_that_decides_a_length_inside_of_a_loop_is_refused_by_name_and_line() -> None:
    x = tt.dvector("x")
    total, _ = tt.scan_with_carry(lambda c, row: (c + _search(10, row).stacked[0].sum(), None), 0.0, x)
    with pytest.raises(LoweringError, match=r"While\{search\}.*test_loops\.py:\d+.*condition decides how long"):
        link([x], [total])


def _drawn(rng: Any, x: Any) -> tuple[Any, list[Any]]:
    """Draw in a loop, in a loop inside of it, and after that."""

    def inner(carry: Any, row: Any) -> tuple[Any, Any]:
        rng, total = carry
        rng, drawn = rng.normal(row, 1.0)
        return (rng, total + drawn), drawn

    def outer(carry: Any, row: Any) -> tuple[Any, Any]:
        (rng, total), drawn = tt.scan_with_carry(inner, carry, tt.stack([row, -row]))
        rng, uniform = rng.uniform(0, 1, size=(3,))
        return (rng, total), (drawn, uniform)

    (after, total), (drawn, uniform) = tt.scan_with_carry(outer, (rng, 0.0), x)
    return after, [total, drawn, uniform]


def test_portable_draws_in_a_loop_are_those_of_the_vm() -> None:
    x = tt.dvector("x")
    draws = []
    for mode in ("FAST_COMPILE", "JAX"):
        rng = shared_rng(PortableGenerator(1))
        after, results = _drawn(rng, x)
        draw = function([x], results, updates={rng: after}, mode=mode)
        draws.append([np.concatenate([y.ravel() for y in draw(X)]) for _ in range(2)])
    assert np.allclose(draws[0], draws[1])


def test_draws_from_a_generator_of_numpys_take_one_key_before_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NOTICE, "given", False)
    x, rng = tt.dvector("x"), shared_rng(np.random.default_rng(1))
    after, results = _drawn(rng, x)
    with pytest.warns(RandomStreamWarning, match="draws from NumPy's generators"):
        draw = function([x], results, updates={rng: after}, mode="JAX")
    total, drawn, uniform = draw(np.zeros(500))
    assert np.isclose(total, drawn.sum())
    assert len({*drawn.ravel(), *uniform.ravel()}) == 2500
    moments = drawn.mean(), drawn.std(), uniform.mean()
    assert np.allclose(moments, (0, 1, 0.5), atol=0.1)
    wanted = np.random.default_rng(1)
    wanted.integers(0, 2**64, 2, "uint64")
    assert rng.get_value().bit_generator.state == wanted.bit_generator.state
    assert not np.isin(draw(np.zeros(500))[1], drawn).any()


class _Double(Op):
    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [tt.as_tensor(inputs[0])], [tt.dscalar()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(2 * inputs[0])


def test_a_loop_with_an_op_without_rule_runs_in_python_and_says_so() -> None:
    x = tt.dvector("x")
    total, _ = tt.scan_with_carry(lambda c, row: (_Double()(c) + row, None), 0.0, x)
    with pytest.warns(PythonStepWarning, match=r"no lowering for _Double, built at test_loops\.py:\d+.*the loop"):
        doubled = function([x], total * 2, mode="JAX")
    assert doubled(np.ones(3)) == 14
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError, match=r"_Double.*test_loops"):
        function([x], total, mode="JAX")
