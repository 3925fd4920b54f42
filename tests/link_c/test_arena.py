"""Memory of intermediate results: what is overwritten, what is reused, and that callers cannot notice."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import FunctionGraph
from treadle.link.c.linker import CLinker
from treadle.link.c.support.libraries import SUPPORT
from treadle.link.c.support.pool import POOL
from treadle.link.c.text.expression import Expression, Operation
from treadle.link.c.text.kernel import Kernel
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Link = Callable[[Sequence[Any], Sequence[Any]], Any]

# Seconds that the compiler may take for the pool, which is compiled in the background.
PATIENCE = 60


@pytest.fixture
def pool(link: Link) -> None:
    x = tt.dscalar("x")
    link([x], [x + 1])
    assert SUPPORT.wait(PATIENCE)
    assert POOL.ready


def _chain(x: Any, length: int) -> Any:
    for _ in range(length):
        x = tt.sin(x)
    return x


def test_chain_works_in_one_block(link: Link) -> None:
    x = tt.dvector("x")
    data = np.linspace(-1, 1, 1000)
    (result,), counts = link([x], [_chain(x, 20)[::2] + 0]).counted(data)
    expected = data
    for _ in range(20):
        expected = np.sin(expected)
    np.testing.assert_allclose(result, expected[::2], rtol=1e-14)
    # The twenty results stand in one block; the output is made by the caller, or is a second block.
    assert counts.overwritten == 19
    assert counts.made <= 2


def test_operand_that_is_needed_later_keeps_its_block(link: Link) -> None:
    x = tt.dvector("x")
    y = tt.exp(x)
    z = tt.sin(y)
    data = np.linspace(0, 1, 50)
    (first, again), counts = link([x], [tt.cos(z) + y, tt.tanh(y) - 1]).counted(data)
    np.testing.assert_allclose(first, np.cos(np.sin(np.exp(data))) + np.exp(data), rtol=1e-14)
    np.testing.assert_allclose(again, np.tanh(np.exp(data)) - 1, rtol=1e-13)
    assert counts.overwritten >= 1


@pytest.mark.parametrize("build", [
    lambda y: y + y.T,
    lambda y: y * y[::-1],
    lambda y: tt.exp(y) + y[:, ::-1],
    lambda y: y[0] + y,
    lambda y: y.reshape((-1,)) + y[0, 0],
    lambda y: (y + y[1, 1]) * y.T[::-1],
], ids=["transposed", "reversed", "in two steps", "row", "flat", "element"])  # fmt: skip
def test_views_of_a_block_keep_it(build: Callable[[Any], Any], link: Link) -> None:
    x = tt.dmatrix("x")
    data = np.arange(9.0).reshape(3, 3)
    y = tt.sqr(x)
    expected = PythonLinker().link(FunctionGraph([x], [build(y)]))(data)[0]
    np.testing.assert_allclose(link([x], [build(tt.sqr(x))])(data)[0], expected, rtol=1e-14)


@pytest.mark.parametrize(
    "shapes", [((3, 1), (3, 4)), ((1, 4), (3, 1)), ((3, 4), (1, 1)), ((1, 1), (1, 1)), ((0, 4), (1, 4))]
)
def test_block_is_taken_only_where_the_shapes_agree(shapes: Any, link: Link) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    a, b = (np.random.default_rng(0).normal(size=s) for s in shapes)
    program = link([x, y], [tt.exp(x) * tt.sin(y) + tt.exp(x)])
    np.testing.assert_allclose(program(a, b)[0], np.exp(a) * np.sin(b) + np.exp(a), rtol=1e-14)


def test_dtypes_of_one_size_share_a_block(link: Link) -> None:
    x = tt.dvector("x")
    data = np.linspace(-5, 5, 100)
    whole = tt.cast(tt.floor(x), "int64")
    program = link([x], [tt.cast(whole % 3, "float64") / 2])
    results, counts = program.counted(data)
    np.testing.assert_array_equal(results[0], (np.floor(data).astype("int64") % 3) / 2)
    assert counts.overwritten >= 2


def test_function_of_wide_and_narrow_numbers_does_not_share(link: Link) -> None:
    x = tt.fvector("x")
    data = np.linspace(-3, 3, 77, dtype="float32")
    results = link([x], [tt.cast(tt.exp(x), "float64") * 2, tt.cast(tt.sin(x), "int8")])(data)
    np.testing.assert_allclose(results[0], np.exp(data).astype("float64") * 2, rtol=1e-6)
    np.testing.assert_array_equal(results[1], np.sin(data).astype("int8"))


def test_matrix_that_a_product_is_added_to_is_overwritten_only_if_it_is_free(link: Link) -> None:
    c, a = tt.dmatrix("c"), tt.dmatrix("a")
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    one, two = tt.constant(np.array(1.0)), tt.constant(np.array(2.0))

    def added(target: Any, left: Any) -> Any:
        return tt.Gemm()(target, two, left, a, one)

    e = tt.exp(c)
    free, counts = link([c, a], [added(tt.exp(c), a) + 0]).counted(x, y)
    np.testing.assert_allclose(free[0], np.exp(x) + 2 * y @ y, rtol=1e-12)
    assert counts.overwritten >= 1
    for build, wanted in (
        (added(e, e), np.exp(x) + 2 * np.exp(x) @ y),
        (added(e, a) + e, 2 * np.exp(x) + 2 * y @ y),
        (added(e, e.T), np.exp(x) + 2 * np.exp(x).T @ y),
    ):
        np.testing.assert_allclose(link([c, a], [build])(x, y)[0], wanted, rtol=1e-12)


def test_output_that_shows_a_whole_block_takes_it_over(link: Link) -> None:
    x = tt.dvector("x")
    data = np.linspace(0, 1, 20000)
    y = tt.exp(x)
    (result,), counts = link([x], [y.reshape((4, -1))]).counted(data)
    np.testing.assert_allclose(result, np.exp(data).reshape(4, -1), rtol=1e-14)
    assert counts.made == 1
    both = link([x], [y.reshape((4, -1)), y.reshape((5, -1)), y[:100]])(data)
    kept = link([x], [y.reshape((4, -1)), y])(data)
    for group in (both, kept):
        for at, one in enumerate(group):
            np.testing.assert_allclose(one.ravel(), np.exp(data)[: one.size], rtol=1e-14)
            assert not any(np.shares_memory(one, other) for other in group[:at])


def test_results_are_never_overwritten(link: Link) -> None:
    x = tt.dvector("x")
    a = tt.exp(x)
    b = tt.sin(a)
    c = tt.tanh(b)
    data = np.linspace(0, 1, 20000)
    results = link([x], [a, b, c, b, a[1:]])(data)
    for got, wanted in zip(results, (np.exp(data), np.sin(np.exp(data)), np.tanh(np.sin(np.exp(data)))), strict=False):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)
    np.testing.assert_array_equal(results[3], results[1])
    np.testing.assert_array_equal(results[4], results[0][1:])


def test_peak_of_a_long_sequence_is_the_live_arrays_and_one_block(link: Link) -> None:
    x = tt.dmatrix("x")
    y = x
    for _ in range(15):
        # A transposed operand cannot be overwritten: each step needs its operand and its result.
        y = tt.sin(y).T + tt.sum(y)
    size = 100
    _, counts = link([x], [tt.sum(y)]).counted(np.full((size, size), 0.1))
    assert counts.peak <= 3 * (size * size * 8 + 4096)


def test_blocks_serve_again_within_a_call(link: Link) -> None:
    x = tt.dmatrix("x")
    y = x
    for _ in range(10):
        y = tt.sqr(y).T - tt.sum(y)
    _, counts = link([x], [tt.sum(y)]).counted(np.full((5, 5), 0.1))
    assert counts.made <= 4
    assert counts.reused >= 4


def test_kept_blocks_serve_the_next_call() -> None:
    x = tt.dmatrix("x")
    outputs = [tt.sum(tt.sqr(tt.exp(x)).T + 1, axis=0)]
    keeping: Any = CLinker(allow_gc=False).link(FunctionGraph([x], outputs))
    data = np.random.default_rng(0).normal(size=(300, 300))
    first, before = keeping.counted(data)
    second, after = keeping.counted(data)
    np.testing.assert_array_equal(first[0], second[0])
    assert before.made > 0
    assert after.made == 0
    keeping.free()
    assert keeping.counted(data)[1].made > 0


def test_programs_that_keep_blocks_run_in_threads() -> None:
    x = tt.dmatrix("x")
    program = CLinker(allow_gc=False).link(FunctionGraph([x], [tt.sqr(tt.exp(x)).T + tt.sin(x)]))
    _in_threads(program, lambda a: np.square(np.exp(a)).T + np.sin(a))


@pytest.mark.usefixtures("pool")
def test_programs_that_give_blocks_back_run_in_threads(link: Link) -> None:
    x = tt.dmatrix("x")
    _in_threads(link([x], [tt.sqr(tt.exp(x)).T + tt.sin(x)]), lambda a: np.square(np.exp(a)).T + np.sin(a))


def _in_threads(program: Any, expected: Callable[[Any], Any]) -> None:
    barrier = threading.Barrier(8)
    wrong: list[int] = []

    def work(k: int) -> None:
        rng = np.random.default_rng(k)
        held = []
        barrier.wait()
        for size in rng.integers(1, 200, size=30):
            a = rng.normal(size=(size, size))
            held.append((program(a)[0], expected(a)))
            if rng.random() < 0.3:
                held.pop(0)
        if not all(np.allclose(got, wanted, rtol=1e-12) for got, wanted in held):
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


# The pool


def _address(array: Any) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


@pytest.mark.usefixtures("pool")
def test_block_of_a_result_that_died_serves_the_next(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [tt.exp(x)])
    data = np.linspace(0, 1, 50000)
    program(data)
    where = _address(program(data)[0])
    before = POOL.counts()
    for _ in range(5):
        assert _address(program(data)[0]) == where
    assert POOL.counts().reused == before.reused + 5


@pytest.mark.usefixtures("pool")
def test_only_blocks_of_the_pool_go_back_to_it(link: Link) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    # The cumulated numbers are an intermediate value of as many bytes as the result.
    program = link([x, y], [tt.sin(tt.cumsum(x)) + tt.cumsum(y)[::-1]])
    for size in range(8180, 8195):
        data = np.linspace(0, 1, size)
        for _ in range(3):
            before = POOL.counts()
            (result,) = program(data, data)
            np.testing.assert_allclose(result, np.sin(np.cumsum(data)) + np.cumsum(data)[::-1], atol=1e-8)
            del result
            gc.collect()
            after = POOL.counts()
            assert after.blocks - before.blocks <= after.asked - before.asked


@pytest.mark.usefixtures("pool")
def test_block_stays_while_any_view_of_the_result_lives(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [tt.exp(x)])
    data = np.linspace(0, 1, 50000)
    program(data)
    first = program(data)[0]
    view = first[::7].reshape(-1, 1)[5:]
    wanted = view.copy()
    where = _address(first)
    del first
    others = [program(data + k)[0] for k in range(1, 5)]
    assert where not in [_address(x) for x in others]
    np.testing.assert_array_equal(view, wanted)
    del view, others
    gc.collect()
    assert POOL.counts().blocks > 0


@pytest.mark.usefixtures("pool")
def test_results_out_of_the_pool_are_ordinary_arrays(link: Link) -> None:
    x = tt.dmatrix("x")
    program = link([x], [x * 2])
    data = np.ones((200, 300))
    program(data)
    (result,) = program(data)
    assert type(result) is np.ndarray
    assert result.flags.writeable
    assert result.flags.c_contiguous
    assert result.flags.aligned
    assert result.shape == (200, 300)
    result[:] = 7
    np.testing.assert_array_equal(program(data)[0], 2)


@pytest.mark.usefixtures("pool")
def test_pool_holds_no_more_than_its_limit_and_gives_all_back(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [tt.exp(x)])
    for size in (20000, 30000, 50000, 20000):
        program(np.zeros(size))
    assert POOL.counts().held > 0
    program.free()
    assert POOL.counts().held == 0
    np.testing.assert_array_equal(program(np.zeros(20000))[0], 1)


@pytest.mark.usefixtures("pool")
def test_long_unused_blocks_leave_the_pool(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [tt.exp(x)])
    program(np.zeros(1_000_000))
    program(np.zeros(1_000_000))
    assert POOL.counts().held >= 8_000_000
    for k in range(100):
        program(np.zeros(10_000 + 3_000 * k))
    assert POOL.counts().held < 100 * 310_000 * 8
    POOL.release()


# Kernels that write where they read


def _kernel(inputs: int, operations: Sequence[Operation], outputs: Sequence[int]) -> Kernel:
    return Kernel(Expression(("float64",) * inputs, tuple(operations), tuple(outputs)), frozenset())


def test_kernel_may_not_overwrite_what_a_later_loop_reads() -> None:
    negated = Operation((0,), "float64", "-{0}")
    sine = Operation((1,), "float64", block="sin")
    late = Operation((3, 0), "float64", "{0} * {1}")
    kernel = _kernel(2, [negated, sine, late], [2, 4])
    # The first result is written in the first loop; input 0 is read again in the last one.
    assert kernel.may_overwrite() == [set(), {0, 1}]


def test_kernel_may_overwrite_within_one_loop() -> None:
    kernel = _kernel(2, [Operation((0, 1), "float64", "{0} + {1}"), Operation((0, 2), "float64", "{0} * {1}")], [2, 3])
    assert kernel.may_overwrite() == [{0, 1}, {0, 1}]


def test_kernel_that_hands_an_input_out_reads_it_last() -> None:
    kernel = _kernel(2, [Operation((0,), "float64", "-{0}")], [2, 0])
    assert kernel.may_overwrite() == [{1}, {0, 1}]


def test_functions_on_blocks_that_follow_each_other_do_not_overwrite_each_others_operands() -> None:
    kernel = _kernel(1, [Operation((0,), "float64", block="sin"), Operation((0,), "float64", block="cos")], [1, 2])
    assert kernel.may_overwrite() == [set(), set()]


# Random graphs

_STEPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: tt.sin(x) * tt.tanh(y),
    lambda x, y: x.T - y,
    lambda x, y: tt.maximum(x[::-1], y),
    lambda x, y: tt.sqr(x) / (1 + tt.sqr(y)),
    lambda x, y: tt.tanh((x + tt.zeros((3, 3))) @ tt.tanh(y + tt.zeros((3, 3)))),
    lambda x, y: tt.sum(x, axis=0, keepdims=True) + y,
    lambda x, y: tt.tanh((x + tt.zeros((3, 3))).reshape((-1,))[:3] + y),
    lambda x, y: tt.set_subtensor((x + tt.zeros((3, 3)))[1], tt.tanh(y + tt.zeros((3, 3)))[0]),
    lambda x, y: tt.cast(tt.cast(x * 2, "float32"), "float64") * tt.cast(y > 0, "float64"),
    lambda x, y: tt.softmax(x + tt.zeros((3, 3)), axis=1) * y,
    lambda x, y: tt.join(0, x + tt.zeros((3, 3)), y + tt.zeros((3, 3)))[2:5],
    lambda x, y: tt.switch(x > y, x, y),
    lambda x, _: -x,
)


def _random_graph(rng: np.random.Generator, steps: int) -> tuple[list[Any], list[Any]]:
    inputs = [tt.dmatrix(f"x{k}") for k in range(3)]
    values: list[Any] = list(inputs)
    for _ in range(steps):
        recent = values[-5:]
        i, j = rng.integers(0, len(recent), size=2)
        values.append(_STEPS[rng.integers(0, len(_STEPS))](recent[i], recent[j]))
    return inputs, [values[-1], *(values[k] for k in rng.integers(0, len(values), size=2))]


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_give_what_the_vm_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, outputs = _random_graph(rng, 40)
    data = [rng.normal(size=shape) for shape in ((3, 3), (1, 3), (3, 1))]
    kept = [a.copy() for a in data]
    expected = PythonLinker().link(FunctionGraph(inputs, outputs, clone=True))(*data)
    program = CLinker(allow_gc=bool(seed % 2)).link(FunctionGraph(inputs, outputs, clone=True))
    for layout in (data, [np.asfortranarray(a) for a in data], [np.repeat(a, 2, axis=1)[:, ::2] for a in data]):
        results = program(*layout)
        for got, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
        arrays = [*results, *layout]
        assert not any(np.shares_memory(a, b) for k, a in enumerate(results) for b in arrays[k + 1 :])
    for a, b in zip(data, kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_operand_that_may_be_overwritten_saves_its_copy(link: Link) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    rng = np.random.default_rng(2)
    n = 64
    x = rng.normal(size=(n, n))
    x = x @ x.T + n * np.eye(n)
    y = rng.normal(size=(n, n))
    whole = n * n * 8
    solve = tt.linalg.Solve
    for kept, over in [
        (solve(), solve(overwrite_a=True)),
        (solve("pos"), solve("pos", overwrite_a=True)),
        (solve("sym"), solve("sym", overwrite_a=True)),
        (tt.linalg.Det(), tt.linalg.Det(overwrite_a=True)),
        (tt.linalg.Eigvalsh(), tt.linalg.Eigvalsh(overwrite_a=True)),
        # The result stands in the argument.
        (tt.linalg.Cholesky(), tt.linalg.Cholesky(overwrite_a=True)),
        (tt.linalg.MatrixInverse(), tt.linalg.MatrixInverse(overwrite_a=True)),
    ]:
        operands = [a, b][: len(kept.cores[0])]
        before, counts = link(operands, [tt.sum(kept(*operands))]).counted(*[x, y][: len(operands)])
        values = [x.copy(), y][: len(operands)]
        after, fewer = link(operands, [tt.sum(over(*operands))]).counted(*values)
        np.testing.assert_allclose(after[0], before[0])
        assert counts.peak - fewer.peak >= whole, kept


def test_columns_are_copied_whether_they_may_be_overwritten_or_not(link: Link) -> None:
    a = tt.dmatrix("a")
    x = np.random.default_rng(2).normal(size=(64, 64))
    kept, over = (link([a], [tt.linalg.SVD(compute_uv=False, overwrite_a=flag)(a)]) for flag in (False, True))
    rows, same = kept.counted(x)[1].peak, over.counted(x.copy())[1].peak
    assert rows == same
    # LAPACK's order is by columns: there it saves the copy.
    assert rows - over.counted(np.asfortranarray(x))[1].peak >= x.nbytes


def test_read_only_argument_is_copied_where_it_would_be_overwritten(link: Link) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    x = np.eye(20) * 2
    x.flags.writeable = False
    views: list[Callable[[Any], Any]] = [lambda v: v, lambda v: v.T, lambda v: v[::-1, ::-1]]
    for view in views:
        program = link([a, b], [tt.linalg.Solve(overwrite_a=True)(view(a), b)])
        np.testing.assert_allclose(program(x, np.eye(20))[0], np.linalg.inv(view(x)))
        np.testing.assert_array_equal(x, np.eye(20) * 2)
    factor = link([a], [tt.exp(tt.linalg.Cholesky(overwrite_a=True)(a))])
    np.testing.assert_allclose(factor(x)[0], np.exp(np.linalg.cholesky(x)))
    np.testing.assert_array_equal(x, np.eye(20) * 2)
