"""Loops as generated functions: values of their plain definition, memory of their own, errors with step and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import FrozenFunctionGraph, FunctionGraph
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RANDOM = np.random.default_rng(4)


def check(loop: Any, *calls: Sequence[Any]) -> None:
    """Compare the results of a loop's program with those that its op computes by definition."""
    node = loop.owner
    inputs = list(dict.fromkeys(x for x in node.inputs if x.owner is None and not hasattr(x, "data")))
    program = PythonLinker().link(FunctionGraph(inputs, node.outputs))
    for values in calls:
        arguments = dict(
            zip(inputs, [np.asarray(v, x.dtype) for v, x in zip(values, inputs, strict=True)], strict=True)
        )
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, [arguments[x].copy() if x in arguments else x.data for x in node.inputs], cells)
        results = program(*arguments.values())
        for k, (value, (wanted,)) in enumerate(zip(results, cells, strict=True)):
            assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_array_equal(value, wanted)
            assert not any(np.shares_memory(value, other) for other in (*arguments.values(), *results[:k]))


def test_loops_compute_what_their_op_defines_for_any_number_of_steps() -> None:
    x, h, k = tt.dmatrix("x"), tt.dvector("h"), tt.dscalar("k")

    def step(carry: Any, row: Any) -> Any:
        vector, scalar = carry
        new = tt.tanh(vector + row)
        return (new, scalar * row.sum()), (new, scalar, row[1:])

    (last, _), _ = tt.scan_with_carry(step, (h, k), x)
    loop = last.owner.op(tt.lscalar("n"), x, h, k)
    check(loop[0], *[(count, RANDOM.normal(size=(5, 3)), RANDOM.normal(size=3), 2.0) for count in (0, 1, 5)])


def test_last_values_that_lie_in_inputs_or_in_each_other_are_copied() -> None:
    a, b, c, row = tt.dvector("a"), tt.dvector("b"), tt.dvector("c"), tt.dvector("row")
    new = a + 1.0
    op = tt.Scan(FrozenFunctionGraph([row, a, b, c], [new, new, row]), 1, 3, 0)
    n, x, s = tt.lscalar("n"), tt.dmatrix("x"), tt.dvector("s")
    check(op(n, x, s, s, s)[0], *[(count, RANDOM.normal(size=(4, 3)), np.ones(3)) for count in (0, 1, 4)])


def test_a_loop_that_a_condition_ends_makes_room_for_its_rows_as_it_goes() -> None:
    k, v = tt.dscalar("k"), tt.dvector("v")
    body = FrozenFunctionGraph([k, v], [k + 1.0, tt.cos(v), k * 2.0, v, tt.ge(k, tt.constant(150.0))])
    n, first, start = tt.lscalar("n"), tt.dscalar("f"), tt.dvector("s")
    loop = tt.Scan(body, 0, 2, 2, has_until=True)(n, first, start)
    check(loop[0], *[(count, f, np.ones(2)) for count, f in ((1000, 0), (100, 0), (65, 0), (1, 0), (0, 0), (9, 150))])


@pytest.mark.parametrize(
    ("build", "values", "message"),
    [
        (lambda x, n: tt.fori_loop(0, n, lambda i, c: c + x[i], 0.0), (3, 5), r"In step 3 of the loop Scan\{loop\}"),
        (lambda x, n: tt.fori_loop(0, n, lambda i, c: c + x[i], 0.0), (0, 5), r"In step 0 of the loop Scan\{loop\}"),
        (
            lambda x, n: tt.scan_with_carry(lambda c, _: (c + 1, x[:c]), 0, length=n)[1],
            (5, 3),
            r"row of shape \(1,\) in step 1",
        ),
    ],
)
def test_errors_name_the_step_and_the_line(
    build: Callable[[Any, Any], Any], values: tuple[int, int], message: str
) -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    program = PythonLinker().link(FunctionGraph([x, n], [build(x, n)]))
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        program(np.ones(values[0]), np.array(values[1]))
    assert "test_loops.py" in str(caught.value)


def test_a_branch_that_is_not_taken_does_not_run_in_a_step() -> None:
    n = tt.lscalar("n")
    x = tt.dvector("x")
    total = tt.fori_loop(0, n, lambda i, c: tt.ifelse(i < 3, c + x[tt.minimum(i, 9)], c + x[i + 100]), 0.0)
    program = PythonLinker().link(FunctionGraph([n, x], [total]))
    assert float(program(np.array(3), np.ones(12))[0]) == 3.0
    with pytest.raises(IndexError, match="In step 3"):
        program(np.array(4), np.ones(12))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float32", "complex64"])
def test_numbers_in_steps_keep_their_dtype_and_leave_as_arrays(dtype: str) -> None:
    x, start = tt.TensorType(dtype, (None,))("x"), tt.TensorType(dtype, ())("start")

    def step(carry: Any, row: Any) -> Any:
        new = carry ^ row if dtype == "bool" else (carry * row + row).astype(dtype)
        return new, (new, tt.stack([carry, row]), tt.eq(carry, row), tt.ifelse(tt.eq(carry, row), new, row))

    last, _ = tt.scan_with_carry(step, start, x)
    loop = last.owner.op(tt.lscalar("n"), x, start)
    values = RANDOM.integers(0, 2, size=6).astype(dtype)
    check(loop[0], *[(count, values, values[0]) for count in (0, 1, 6)])


def test_a_number_that_is_a_part_of_an_input_is_copied() -> None:
    n, x, i, start = tt.lscalar("n"), tt.dvector("x"), tt.lscalar("i"), tt.dscalar("start")
    carry, vector, at = tt.dscalar("carry"), tt.dvector("vector"), tt.lscalar("at")
    op = tt.Scan(FrozenFunctionGraph([carry, vector, at], [vector[at]]), 0, 1, 0)
    check(op(n, start, x, i), *[(count, 5.0, np.arange(3.0), 1) for count in (0, 2)])
