"""Loops: memory of carries and results, dtypes, conditions, nested loops, errors, and what the compiler gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import FrozenFunctionGraph, FunctionGraph, Op
from treadle.link.numba import NumbaLinker
from treadle.link.vm import PythonLinker, PythonStepWarning
from treadle.tensor.random import PortableGenerator, shared_rng

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.link_numba.conftest import Link

DTYPES = ("bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "complex64", "complex128")


def check(inputs: Sequence[Any], outputs: Sequence[Any], *calls: Sequence[Any], rtol: float = 1e-12) -> None:
    """Compare the results of calls with those of the Python VM; arguments stay as they were."""
    program = NumbaLinker().link(FunctionGraph(list(inputs), list(outputs)))
    reference = PythonLinker().link(FunctionGraph(list(inputs), list(outputs)))
    for values in calls:
        arrays = [np.asarray(v, x.dtype) for v, x in zip(values, inputs, strict=True)]
        kept = [a.copy() for a in arrays]
        for result, wanted in zip(program(*arrays), reference(*kept), strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(result, wanted, rtol, rtol)
            assert not any(np.shares_memory(result, a) for a in arrays)
        for a, b in zip(arrays, kept, strict=True):
            np.testing.assert_array_equal(a, b)


def rows(*shape: int) -> np.ndarray:
    # The same numbers whichever tests ran before.
    return np.random.default_rng([11, *shape]).normal(size=shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_carried_and_stacked(dtype: str) -> None:
    outputs: list[Any] = []
    x, y = tt.TensorType(dtype, (None,))("x"), tt.TensorType(dtype, (None, None))("y")
    for rows_in in (x, y):

        def step(carry: Any, row: Any) -> Any:
            return (carry ^ row if dtype == "bool" else (carry * row + carry).astype(dtype)), carry

        outputs += tt.scan_with_carry(step, tt.ones_like(rows_in[0]), rows_in)
    values = [(rows(*shape) * 2).astype(dtype) for shape in ((5,), (5, 2))]
    check([x, y], outputs, values, rtol=1e-3 if dtype == "float16" else 1e-5)


def test_a_recurrent_network_and_its_gradients_agree_with_the_vm_for_any_number_of_steps() -> None:
    w, x, h = tt.dmatrix("w"), tt.dmatrix("x"), tt.dvector("h")

    def step(h: Any, row: Any) -> Any:
        new = tt.tanh(w @ h + row)
        return new, new

    last, stacked = tt.scan_with_carry(step, h, x)
    cost = (stacked**2).sum() + last.sum()
    inputs, outputs = [w, x, h], [last, stacked, *tt.grad(cost, [w, x, h])]
    check(inputs, outputs, *[(rows(3, 3), rows(n, 3), rows(3)) for n in (0, 1, 6)])


def test_carries_may_change_places_lie_in_one_buffer_or_in_sequences() -> None:
    a, b, n, x = tt.dvector("a"), tt.dvector("b"), tt.lscalar("n"), tt.dmatrix("x")
    steps: list[Callable[[Any, Any], Any]] = [
        lambda _, c: (c[1], c[0] + 1.0, c[0]),
        lambda _, c: (c[1], c[2], c[0]),
        lambda _, c: (c[1], c[0], c[1]),
        lambda _, c: (c[0] * 2.0, c[0] * 2.0 + c[2], c[0] * 2.0),
    ]
    for step in steps:
        outputs = list(tt.fori_loop(0, n, step, (a, b, a * 2.0)))
        check([a, b, n], outputs, *[(rows(3), rows(3), k) for k in range(5)])

    def taps(carry: Any, row: Any) -> Any:
        return (row, carry[0], carry[1]), carry[1] + carry[2]

    def parts(carry: Any, row: Any) -> Any:
        both = tt.concatenate([carry[0], row])
        return (both[1:5], both[2:6], both[::-2]), carry[1].sum()

    for function in (taps, parts):
        for sequence in (x, x.T):
            last, stacked = tt.scan_with_carry(function, (x[0, :4], x[1, :4], x[2, :4]), sequence)
            check([x], [*last, stacked], [rows(4, 4)])


def test_what_steps_write_into_is_a_copy_of_what_the_loop_starts_with() -> None:
    a, n = tt.dvector("a"), tt.lscalar("n")

    def step(i: Any, carry: Any) -> Any:
        return carry[0][i % 3].set(carry[1].sum() + i), carry[0]

    def through_another(i: Any, carry: Any) -> Any:
        return carry[1], carry[0][i % 3].inc(1.0)

    for start in (a, a * 2.0):
        single = tt.fori_loop(0, n, lambda i, c: c[i % 3].set(c.sum() + i), start)
        pair = tt.fori_loop(0, n, step, (start, a))
        turns = tt.fori_loop(0, n, through_another, (start, a))
        check([a, n], [single, *pair, *turns], *[(rows(5), k) for k in range(4)])


def test_a_carry_may_grow_and_rows_may_have_lengths_that_steps_find() -> None:
    a, n, x = tt.dvector("a"), tt.lscalar("n"), tt.dmatrix("x")
    grown = tt.fori_loop(0, n, lambda i, c: tt.concatenate([c, c[:1] + i]), a)
    check([a, n], [grown], *[(rows(2), k) for k in (0, 1, 20)])
    _, positions = tt.scan_with_carry(lambda c, row: (c, tt.nonzero(row > 0)[0]), 0.0, x)
    check([x], [positions], [np.ones((3, 4))], [np.ones((0, 4))])


def test_a_loop_that_a_condition_ends_makes_room_for_its_rows_as_it_goes() -> None:
    c, k, start, first, n = tt.dvector("c"), tt.dscalar("k"), tt.dvector("s"), tt.dscalar("f"), tt.lscalar("n")
    new = tt.cos(c) + c
    body = FrozenFunctionGraph([c, k], [new, k + 1.0, new, c, k * 2.0, tt.ge(k, tt.constant(150.0))])
    outputs = tt.Scan(body, 0, 2, 3, has_until=True)(n, start, first)
    calls = [(steps, rows(3), f) for steps, f in ((1000, 0), (100, 0), (64, 0), (65, 0), (129, 0), (0, 0), (9, 150))]
    check([n, start, first], list(outputs), *calls)


def test_a_while_loop_ends_at_the_first_step_later_or_never_begins() -> None:
    x, z = tt.dvector("x"), tt.zscalar("z")
    doubled = tt.while_loop(lambda y: (y < 100).all(), lambda y: 2 * y, x)
    check([x], [doubled], [np.ones(3)], [np.full(3, 60.0)], [np.full(3, 200.0)])
    escape = tt.while_loop(lambda s: (abs(s[1]) < 2) & (s[0] < 50), lambda s: (s[0] + 1, s[1] ** 2 + z), (0, z * 0))
    check([z], list(escape), [0.3 + 0.5j], [2 + 2j])


def test_loops_stand_in_loops_and_choices_in_steps() -> None:
    x, h = tt.dmatrix("x"), tt.dvector("h")

    def inner(carry: Any, entry: Any) -> Any:
        rest = tt.ifelse(entry > -1, carry, carry * 2.0)
        return tt.ifelse(entry > 0, tt.exp(-carry) * 0.1 + entry, rest), carry.sum()

    def outer(carry: Any, row: Any) -> Any:
        last, sums = tt.scan_with_carry(inner, carry, row)
        return last, (sums, last)

    last, stacked = tt.scan_with_carry(outer, h, x)
    check([x, h], [last, *stacked], *[(rows(*shape), rows(2)) for shape in ((6, 5), (0, 3), (4, 0))])


def test_a_long_step_is_compiled_in_parts() -> None:
    x = tt.dvector("x")

    def step(carry: Any, row: Any) -> Any:
        y = carry
        for k in range(45):
            y = tt.cumsum(y) * 0.01 + row * k
            y = tt.sin(y).sum() * 0.1 * carry
        return y, y

    check([x], list(tt.scan_with_carry(step, x, x)), [rows(5)], rtol=1e-9)


def test_a_loop_without_rows_keeps_no_memory_of_its_steps(link: Link) -> None:
    import resource

    x = tt.dvector("x")
    program = link([x], [tt.fori_loop(0, 300_000, lambda i, c: tt.cos(c) + i, x)])
    program(np.zeros(2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program(np.zeros(200))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@pytest.mark.parametrize("generator", [np.random.default_rng, PortableGenerator])
def test_draws_in_loops_are_those_of_the_vm(generator: Callable[[int], Any]) -> None:
    x = tt.dvector("x")

    def inner(carry: Any, row: Any) -> Any:
        rng, drawn = carry[0].normal(row, 1.0)
        return (rng, carry[1] + drawn), drawn

    def outer(carry: Any, row: Any) -> Any:
        (rng, total), drawn = tt.scan_with_carry(inner, carry, tt.stack([row, -row]))
        rng, uniform = rng.uniform(0, 1, size=(3,))
        return (rng, total), (drawn, uniform)

    draws = []
    for linker in (PythonLinker(), NumbaLinker()):
        rng = shared_rng(generator(1))
        (after, total), drawn = tt.scan_with_carry(outer, (rng, 0.0), x)
        program = linker.link(FunctionGraph([rng, x], [after, total, *drawn]))
        draws.append(program(rng.get_value(), np.arange(4.0))[1:])
    for one, other in zip(*draws, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "values", "message"),
    [
        (lambda x, n: tt.scan_with_carry(lambda c, r: (c, r), 0.0, x, length=n)[1], (2, -1), "negative"),
        (lambda x, n: tt.fori_loop(0, 9, lambda i, c: c + x[i + n], 0.0), (5, 0), "out of bounds"),
        (lambda x, n: tt.scan_with_carry(lambda c, _: (c + 1, x[:c]), 0, length=n)[1], (5, 3), "row of shape"),
        (lambda x, n: tt.fori_loop(0, n, lambda _, c: tt.concatenate([c, x]) + c, x), (2, 3), "broadcast"),
    ],
)
def test_errors_are_those_of_the_vm(
    link: Link, build: Callable[[Any, Any], Any], values: tuple[int, int], message: str
) -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    program = link([x, n], [build(x, n)])
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        program(np.ones(values[0]), np.array(values[1]))
    assert "test_loops.py" in str(caught.value)


def test_sequences_that_are_too_short_are_refused() -> None:
    row, start, x, n = tt.dscalar("row"), tt.dscalar("c"), tt.dvector("x"), tt.lscalar("n")
    total = tt.Scan(FrozenFunctionGraph([row, start], [start + row]), 1, 1, 0)(n, x, tt.constant(0.0))
    program = NumbaLinker().link(FunctionGraph([x, n], [total]))
    assert program(np.ones(3), np.array(2))[0] == 2.0
    with pytest.raises(ValueError, match="length 3, and the loop 4 steps"):
        program(np.ones(3), np.array(4))


def test_results_larger_than_any_memory_are_refused(link: Link) -> None:
    n, x = tt.lscalar("n"), tt.dvector("x")
    for outputs in (
        tt.scan_with_carry(lambda c, _: (c + 1.0, x * c), 0.0, length=n),
        tt.scan_with_carry(lambda c, _: (c + 1.0, x[0] * c), 0.0, length=n),
    ):
        program = link([n, x], [outputs[1]])
        assert len(program(np.array(3), np.ones(2))[0]) == 3
        with pytest.raises((MemoryError, ValueError)):
            program(np.array(2**61), np.ones(2))


class Plain(Op):
    """An op that only Python knows."""

    def make_node(self, x: Any) -> Any:
        from treadle.graph import Apply

        return Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = inputs[0] + 1


def test_a_loop_with_an_op_that_only_python_knows_runs_in_python() -> None:
    x = tt.dvector("x")
    _, stacked = tt.scan_with_carry(lambda c, row: (Plain()(c) * row, c), 1.0, tt.exp(x))
    with pytest.warns(PythonStepWarning, match="Plain"):
        program = NumbaLinker().link(FunctionGraph([x], [tt.exp(stacked)]))
    wanted = PythonLinker().link(FunctionGraph([x], [tt.exp(stacked)]))
    np.testing.assert_allclose(program(np.ones(3))[0], wanted(np.ones(3))[0])


def test_loops_of_a_known_and_an_unknown_number_of_steps_are_compiled_together() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    _, stacked = tt.scan_with_carry(lambda c, row: (tt.sin(c) + row, c), 0.0, x)
    check([x, n], [stacked, tt.fori_loop(0, n, lambda i, c: c * 0.5 + i, x)], (rows(4), 3))
