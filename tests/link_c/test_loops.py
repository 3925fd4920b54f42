"""Loops in C: the numbers of the VM, memory that does not grow with the steps, errors that name the step."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, LoweringError, NodeIndexError, NodeValueError, Op
from treadle.link.c.linker import CLinker
from treadle.link.c.program import CProgram
from treadle.link.vm import PythonLinker
from treadle.tensor.loops.parts import LoopParts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor import TensorVariable

    Link = Callable[[Sequence[Any], Sequence[Any]], Any]


@pytest.fixture
def same(link: Link) -> Callable[..., None]:
    """Compare a program with that of the VM, for several sets of values."""

    def compare(inputs: Sequence[Any], outputs: Sequence[Any], *values: Sequence[Any], rtol: float = 1e-12) -> None:
        program, reference = link(inputs, outputs), PythonLinker().link(FunctionGraph(inputs, outputs))
        assert isinstance(program, CProgram)
        for case in values:
            arrays = [np.asarray(x) for x in case]
            wanted = reference(*arrays)
            # The second call knows the lengths of results and has memory for them.
            for _ in range(2):
                results = program(*arrays)
                for a, b in zip(results, wanted, strict=True):
                    assert a.shape == b.shape
                    assert a.dtype == b.dtype
                    np.testing.assert_allclose(a, b, rtol=rtol)
                own = [a for a in results if a.size]
                assert not any(np.shares_memory(a, b) for a in own for b in arrays)
                assert not any(np.shares_memory(a, b) for i, a in enumerate(own) for b in own[:i])

    return compare


def _rows(count: int, width: int = 3) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, width))


X, START, STEPS = tt.dmatrix("x"), tt.dvector("start"), tt.lscalar("steps")
V = tt.dvector("v")
ONES = np.linspace(-1.0, 1.0, 3)


def test_recurrence_of_vectors(same: Any) -> None:
    w = tt.dmatrix("w")
    last, rows = tt.scan_with_carry(lambda h, x: (tt.tanh(w @ h + x),) * 2, START, X)
    rest = (ONES, _rows(3))
    same(
        [X, START, w],
        [last, rows],
        (_rows(7), *rest), (_rows(1), *rest), (_rows(0), *rest), (_rows(9)[::-2], *rest), (_rows(3).T, *rest),
    )  # fmt: skip


def test_carries_that_change_places(same: Any) -> None:
    (a, b, c), rows = tt.scan_with_carry(lambda c, _: ((c[1], c[2], c[0]), c[0]), (START, START * 2, START + X[0]), X)
    (d, e), _ = tt.scan_with_carry(lambda c, x: ((x, c[0] + c[1]), None), (START, START), X)
    same([X, START], [a, b, c, rows, d, e], (_rows(7), ONES), (_rows(1), ONES))


def test_carries_that_show_each_other_and_results(same: Any) -> None:
    def step(c: Any, x: TensorVariable) -> Any:
        new = c[0] + x
        return (new, new[::-1], new, c[3]), (new, new[::-1], c[1], c[3])

    last, rows = tt.scan_with_carry(step, (START, START * 2, START, START), X)
    square = tt.dmatrix("square")
    turned, kept = tt.scan_with_carry(lambda c, x: ((c[1].T * 2.0 + x, c[0].T), c[0].T), (square, square), X)
    single, numbers = tt.scan_with_carry(lambda c, x: ((c[0] + x).dimshuffle("x"), c), START[:1], X[:, 0])
    same(
        [X, START, square], [*last, *rows, *turned, kept, single, numbers],
        (_rows(5), ONES, _rows(3)), (_rows(1), ONES, _rows(3)), (_rows(0), ONES, _rows(3)),
    )  # fmt: skip


def test_part_of_a_carry_is_written_in_place(link: Link) -> None:
    program = link([STEPS, START], [tt.fori_loop(0, STEPS, lambda i, c: tt.inc_subtensor(c[i % 3], 2.0), START)])
    program(np.asarray(7), ONES)
    (result,), few = program.counted(np.asarray(7), ONES)
    np.testing.assert_array_equal(result, ONES + np.array([6, 4, 4]))
    _, many = program.counted(np.asarray(7000), ONES)
    assert few.made == many.made <= 2
    assert many.reused <= 1


def test_carry_that_grows(same: Any) -> None:
    grown = tt.fori_loop(0, STEPS, lambda _, c: tt.concatenate([c, c[-1:] * 2]), START)
    same([STEPS, START], [grown], (10, ONES), (0, ONES))


@pytest.mark.parametrize("width", [5, 20_000])
def test_blocks_do_not_grow_with_the_steps(link: Link, width: int) -> None:
    def step(_: Any, c: Any) -> Any:
        return tt.exp(-c[1]) + c[0].sum() / width, c[0] * 0.5 - c[1][::-1]

    program = link([STEPS, START], list(tt.fori_loop(0, STEPS, step, (START, START))))
    start = np.zeros(width)
    # From the second call on, there is memory for the results.
    program(np.asarray(10), start)
    _, few = program.counted(np.asarray(10), start)
    _, many = program.counted(np.asarray(10_000 if width < 100 else 200), start)
    assert few.made == many.made
    assert few.peak == many.peak


def test_condition_ends_the_loop_and_results(same: Any) -> None:
    loop = LoopParts(STEPS)
    row, carry = tt.dvector(), tt.dvector()
    new = carry * 1.1 + row
    loop.add_sequence(X, row)
    loop.add_carry(START, carry, new)
    loop.add_result(new)
    loop.add_result(new.sum())
    loop.until = tt.gt(abs(new).max(), 5.0)
    applied = loop.apply()
    ramp = np.full((30_000, 3), 1e-9)
    same(
        [STEPS, X, START],
        [*applied.carries, *applied.stacked, applied.steps],
        (7, _rows(7), ONES), (100, _rows(100), ONES), (7, _rows(7), ONES * 90), (0, _rows(3), ONES),
        (30_000, -ramp, ONES * 0),
    )  # fmt: skip


def test_loop_without_bound(same: Any) -> None:
    count, last = tt.while_loop(lambda c: tt.sqr(c[1]).sum() < 100, lambda c: (c[0] + 1, c[1] * 1.5), (0, START))
    same([START], [count, last], (ONES,), (ONES * 100,))


def test_loops_inside_of_loops(same: Any) -> None:
    def outer(c: TensorVariable, x: TensorVariable) -> Any:
        inner, rows = tt.scan_with_carry(lambda a, b: (a * 0.9 + b, tt.sin(a)), c, X)
        return inner + x, rows.sum(axis=0)

    last, rows = tt.scan_with_carry(outer, START, X)
    chosen, _ = tt.scan_with_carry(lambda c, x: (tt.ifelse(x.sum() > 0, c * 2, c[::-1] + x), None), START, X)
    same([X, START], [last, rows, chosen], (_rows(5), ONES), (_rows(1), ONES), (_rows(0), ONES))


def test_loops_over_numbers(same: Any) -> None:
    s, i = tt.dscalar("s"), tt.lvector("i")
    (a, b), rows = tt.scan_with_carry(lambda c, x: ((c[1], 0.5 * c[0] - tt.exp(c[1]) + x), c[1]), (0.0, s), V)
    total, picked = tt.scan_with_carry(lambda c, k: (c + X[k, -1], c * X.shape[0]), s, i)
    lazy, _ = tt.scan_with_carry(lambda c, x: (tt.ifelse(x > 0, c + x, tt.sin(c)), None), s, V)

    def outer(c: TensorVariable, x: TensorVariable) -> Any:
        inner, count = tt.while_loop(lambda q: q[0] < 10, lambda q: (q[0] + abs(x) + 0.1, q[1] + 1), (c, 0))
        dot, _ = tt.scan_with_carry(lambda q, y: (q * 0.5 + y * x, None), inner - 10, V)
        return dot, count

    nested, counts = tt.scan_with_carry(outer, s, V)
    values = _rows(9)
    positions = np.array([0, 3, -1, 3])
    same(
        [V, s, X, i], [a, b, rows, total, picked, lazy, nested, counts],
        (values[:, 0], 0.3, values, positions), (values[::-2, 1], 0.1, values, positions[:1]),
        (values[:0, 0], 2.0, values, positions[:0]), rtol=1e-10,
    )  # fmt: skip


def test_condition_ends_a_loop_over_numbers(same: Any) -> None:
    loop = LoopParts(STEPS)
    row, carry, start = tt.dscalar(), tt.dscalar(), tt.dscalar("start")
    new = carry * 1.01 + row
    loop.add_sequence(V, row)
    loop.add_carry(start, carry, new)
    loop.add_result(new)
    loop.until = tt.gt(new, 3.0)
    applied = loop.apply()
    few, many = _rows(20)[:, 0], np.zeros(50_000)
    same(
        [STEPS, V, start],
        [*applied.carries, *applied.stacked, applied.steps],
        (20, few, 1.0), (0, few, 1.0), (20, few, 9.0), (50_000, many, 0.0), (50_000, many + 1e-3, 0.0),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
def test_dtypes(same: Any, dtype: str) -> None:
    def step(c: TensorVariable, x: TensorVariable) -> Any:
        return (c | x if dtype == "bool" else tt.cast(c * x + c, dtype),) * 2

    numbers, vectors = tt.TensorType(dtype, (None,))("numbers"), tt.TensorType(dtype, (None, None))("vectors")
    ends = [*tt.scan_with_carry(step, numbers[0], numbers), *tt.scan_with_carry(step, numbers, vectors)]
    values = (_rows(4) * 3).astype(dtype)
    same(
        [numbers, vectors],
        ends,
        (values[0], values),
        (values[0], values[:0]),
        rtol=1e-3 if dtype == "float16" else 1e-6,
    )


def test_gradients(same: Any) -> None:
    w = tt.dmatrix("w")
    last, rows = tt.scan_with_carry(lambda h, x: (tt.tanh(w @ h + x),) * 2, START, X)
    slopes = tt.grad((last**2).sum() + (rows**3).sum(), [X, START, w])
    same([X, START, w], slopes, (_rows(6), ONES, _rows(3)), (_rows(0), ONES, _rows(3)), rtol=1e-8)


def test_error_names_the_line_the_step_and_the_loop(link: Link) -> None:
    i = tt.lvector("i")
    program = link([i, V], [tt.scan_with_carry(lambda c, k: (c + V[k], c), 0.0, i, name="picking")[1]])
    with pytest.raises(NodeIndexError, match=r"index 9 .* test_loops\.py.* In step 3 of the loop Scan\{picking\}"):
        program(np.array([0, 1, 2, 9]), ONES)
    # Python does not run as many steps a second time.
    late = np.zeros(1_000_001, "int64")
    late[-1] = 7
    with pytest.raises(NodeIndexError, match=r"test_loops\.py.* In step 1000000 of the loop Scan\{picking\}"):
        program(late, ONES)
    vectors = link([X, START], [tt.scan_with_carry(lambda c, x: (c * x[:2], None), START, X, name="adding")[0]])
    with pytest.raises(NodeValueError, match=r"shapes .* In step 0 of the loop Scan\{adding\}"):
        vectors(_rows(4), ONES)


def test_impossible_loops_are_refused(link: Link) -> None:
    loop = LoopParts(STEPS)
    row, carry = tt.dvector(), tt.dvector()
    loop.add_sequence(X, row)
    loop.add_carry(START, carry, tt.concatenate([carry, row]))
    loop.add_result(carry)
    program = link([STEPS, X, START], loop.apply().stacked)
    for steps, message in ((-1, "must not be negative"), (6, "sequence 0 has length 5"), (2, "of shape .* in step 1")):
        with pytest.raises(NodeValueError, match=message):
            program(np.asarray(steps), _rows(5), ONES)


class _Doubled(Op):
    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = inputs[0] * 2


def test_body_that_c_lacks_makes_the_loop_a_step_of_python() -> None:
    last, _ = tt.scan_with_carry(lambda c, x: (_Doubled()(c) + x, None), START, X)
    with pytest.raises(LoweringError, match=r"_Doubled.*test_loops\.py"):
        CLinker().link(FunctionGraph([X, START], [last]))
    result = function([X, START], last, mode="CVM")(_rows(2), ONES)
    np.testing.assert_allclose(result, 4 * ONES + 2 * _rows(2)[0] + _rows(2)[1])


def test_op_given_by_simpler_ones_runs_inside(same: Any) -> None:
    last, _ = tt.scan_with_carry(lambda c, x: (tt.betainc(2.0, 3.0, tt.sigmoid(c)) + x, None), START, X)
    same([X, START], [last], (_rows(4), ONES), rtol=1e-9)


def test_kept_blocks_serve_the_next_call(link: Link) -> None:
    last, _ = tt.scan_with_carry(lambda c, x: (tt.sort(c + x), None), START, X)
    with config.change_flags(allow_gc=False):
        program = link([X, START], [last])
    values = _rows(20, 300), np.zeros(300)
    program(*values)
    (first,), _ = program.counted(*values)
    (second,), counts = program.counted(*values)
    np.testing.assert_array_equal(first, second)
    assert counts.made == 0


def test_function_is_pickled(tmp_path: Any) -> None:
    del tmp_path
    last, rows = tt.scan_with_carry(lambda c, x: (tt.sin(c) + x,) * 2, START, X, name="sines")
    f = pickle.loads(pickle.dumps(function([X, START], [last, rows], mode="C")))
    assert f(_rows(3), ONES)[1].shape == (3, 3)
    with pytest.raises(NodeValueError, match="In step 0 of the loop"):
        f(_rows(3), np.zeros(2))
