"""Loops without steps, and with one: over no data, with a known number of steps and an unknown one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.scan as loops
import treadle.tensor as tt
from treadle.compile import function

V, N = tt.dvector("v"), tt.lscalar("n")
X = tt.dmatrix("x")


def _scan(fn: Callable[..., Any], sequences: Any = None, **options: Any) -> Any:
    return loops.scan(fn, sequences=sequences, return_updates=False, **options)


# Each is given the number of steps; results are those of 0 and of 1 step for v = [1, 2, 3].
STEPPED: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "rows": (lambda n: _scan(lambda a: a * 2, V, n_steps=n), [], [2.0]),
    "backwards": (lambda n: _scan(lambda a: a * 2, V, n_steps=n, go_backwards=True), [], None),
    "state": (lambda n: _scan(lambda s: s * 2, outputs_info=V, n_steps=n), np.zeros((0, 3)), [[2.0, 4.0, 6.0]]),
    "until": (lambda n: _scan(lambda a: (a * 2, loops.until(a > 5)), V, n_steps=n), [], [2.0]),
    "taps": (
        lambda n: _scan(lambda a, b: a * b, outputs_info={"initial": V, "taps": [-1, -3]}, n_steps=n), [], [3.0],
    ),
    "deep taps": (
        lambda n: _scan(
            lambda a, b: a * b, outputs_info={"initial": tt.concatenate([V] * 7), "taps": [-1, -20]}, n_steps=n
        ),
        [], None,
    ),
    "checkpoints": (
        lambda n: loops.scan_checkpoints(lambda s: s * 2, outputs_info=V, n_steps=n, save_every_N=1)[0],
        np.zeros((0, 3)), [[2.0, 4.0, 6.0]],
    ),
    "fori": (lambda n: tt.fori_loop(0, n, lambda i, c: c + i + V, tt.zeros(3)), [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]),
    "carry": (lambda n: tt.scan_with_carry(lambda c, _: (c + 1, c * 2), 3.0, None, length=n)[1], [], [6.0]),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["VM", "CVM"])
@pytest.mark.parametrize(("built", "none", "one"), STEPPED.values(), ids=STEPPED)
def test_loop_of_no_step_and_of_one(built: Callable[[Any], Any], none: Any, one: Any, mode: str) -> None:
    outputs = [built(0), built(1), built(N)]
    f = function(
        [V, N], [*outputs, *(tt.grad(out.sum(), V, disconnected_inputs="ignore") for out in outputs)], mode=mode
    )
    for n, wanted in ((0, none), (1, one)):
        *results, slope_of_none, slope_of_one, slope = f([1.0, 2.0, 3.0], n)
        assert results[2].shape == results[n].shape
        np.testing.assert_array_equal(results[2], results[n])
        np.testing.assert_array_equal(slope, (slope_of_none, slope_of_one)[n])
        if wanted is not None:
            assert results[n].tolist() == np.asarray(wanted).tolist()
            assert results[n].shape == np.shape(wanted)


EMPTY = np.zeros((0, 3))
OVER_NOTHING: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "map": (lambda x: loops.map(lambda a: a * 2, x, return_updates=False), EMPTY),
    "map to scalars": (lambda x: loops.map(lambda a: a.sum(), x, return_updates=False), np.zeros(0)),
    "map to two": (lambda x: loops.map(lambda a: [a, a.sum()], x, return_updates=False)[1], np.zeros(0)),
    "filter": (lambda x: loops.filter(lambda a: a[0] > 0, x), EMPTY),
    "reduce": (lambda x: loops.reduce(lambda a, t: t + a.sum(), x, 1.5, return_updates=False), 1.5),
    "foldl": (lambda x: loops.foldl(lambda a, t: t + a, x, tt.ones(3), return_updates=False), np.ones(3)),
    "foldr": (lambda x: loops.foldr(lambda a, t: t + a.sum(), x, 1.5, return_updates=False), 1.5),
    "scan": (lambda x: _scan(lambda a, s: s + a, x, outputs_info=tt.ones(3)), EMPTY),
    "carry": (lambda x: tt.scan_with_carry(lambda c, a: (c + a.sum(), a * 2), 1.5, x)[1], EMPTY),
}


@pytest.mark.parametrize("mode", ["VM", "CVM"])
@pytest.mark.parametrize(("built", "wanted"), OVER_NOTHING.values(), ids=OVER_NOTHING)
def test_loop_over_no_data(built: Callable[[Any], Any], wanted: Any, mode: str) -> None:
    known = tt.tensor("known", dtype="float64", shape=(0, 3))
    outputs = [built(EMPTY), built(known), built(X)]
    slope = tt.grad(outputs[2].sum(), X, disconnected_inputs="ignore")
    *results, moved = function([known, X], [*outputs, slope], mode=mode)(EMPTY, EMPTY)
    for each in results:
        assert each.shape == np.shape(wanted)
        np.testing.assert_array_equal(each, wanted)
    assert moved.shape == (0, 3)


def _carried(row: Any, state: Any) -> Any:
    return _scan(lambda q, r: tt.tanh(q * r), outputs_info=state, non_sequences=row, n_steps=3)[-1]


NESTED: dict[str, Any] = {
    "a state": (_carried, True),
    "a row": (lambda row: _carried(row, row), False),
    "rows": (lambda row: loops.map(lambda a: a * 2, row, return_updates=False), False),
    "two loops": (lambda row: _carried(_carried(row, row), row), False),
}


@pytest.mark.parametrize("mode", ["VM", "C", "FAST_COMPILE"])
@pytest.mark.parametrize("case", NESTED)
def test_rows_of_no_steps_around_another_loop_have_their_length(case: str, mode: str) -> None:
    step, has_state = NESTED[case]
    x, v, n = tt.dmatrix("x"), tt.dvector("v"), tt.lscalar("n")
    loop = _scan(step, x, outputs_info=v if has_state else None, n_steps=n)
    run = function([x, v, n], [loop, tt.grad((loop**2).sum(), x)], mode=mode, on_unused_input="ignore")
    for steps in (0, 2):
        rows, slope = run(np.ones((2, 3)), np.ones(3), steps)
        assert rows.shape == (steps, 3)
        assert slope.shape == (2, 3)
        assert (slope != 0).all() == (steps > 0)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_rows_without_elements_are_counted(mode: str) -> None:
    v, n = tt.dvector("v"), tt.lscalar("n")
    rows = loops.scan(lambda s: tt.tanh(s) * 2.0, outputs_info=v, n_steps=n, return_updates=False)
    slope = tt.grad((rows**2).sum(), v)
    f = function([v, n], [rows, rows[-1], slope, rows.sum(axis=1)], mode=mode)
    assert [x.shape for x in f(np.zeros(0), 5)] == [(5, 0), (0,), (0,), (5,)]
    assert [x.shape for x in f(np.zeros(2), 5)] == [(5, 2), (2,), (2,), (5,)]
