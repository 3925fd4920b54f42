"""Loops that are merged, results moved out of loops, and gradients of writes at positions of a range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.scan as loops
import treadle.tensor as tt
from treadle.compile import function, get_mode

MODES = ["VM", "C"]
EXCLUDED = [
    "scan_pushout_seqs_ops",
    "scan_push_out_seq",
    "scan_pushout_nonseqs_ops",
    "scan_pushout_dot1",
    "scan_pushout",
]


@pytest.mark.parametrize("excluded", EXCLUDED)
@pytest.mark.parametrize("ndim", [1, 2])
def test_results_that_go_out_of_a_loop_keep_their_known_length(ndim: int, excluded: str) -> None:
    x = tt.tensor("x", dtype="float64", shape=(None,) * ndim)
    plain = tt.scan(lambda row: row + 1, sequences=[x], n_steps=4, return_updates=False)

    def step(row: Any, carry: Any) -> list[Any]:
        return [carry * 2 + row, tt.sin(carry * 2 + row)]

    carried, of_carried = tt.scan(
        step, sequences=[x], outputs_info=[tt.zeros_like(x[0]), None], n_steps=4, return_updates=False
    )
    outputs = [plain, carried, of_carried, tt.grad(of_carried.sum(), x)]
    values = np.random.default_rng(0).normal(size=(5, 3)[:ndim])
    results = function([x], outputs, mode=get_mode("VM").excluding(excluded))(values)
    wanted = function([x], outputs, mode=get_mode("VM").excluding("scan", "fast_run", "fast_compile"))(values)
    for new, old in zip(results, wanted, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_loop_that_may_end_early_does_not_share_its_steps_with_one_that_does_not(
    order: tuple[int, int], mode: str
) -> None:
    x = tt.dvector("x")

    def whole(row: Any, carry: Any) -> Any:
        return carry + row

    def ending(row: Any, carry: Any) -> Any:
        return carry * row, loops.until(row > 2)

    def rows(step: Any) -> Any:
        return tt.scan(step, sequences=[x], outputs_info=tt.constant(1.0), n_steps=x.shape[0], return_updates=False)

    outputs = [rows((whole, ending)[at]) for at in order]
    values = np.array([1.0, 2, 2, 3, 4, 5])
    wanted = [1 + np.cumsum(values), np.cumprod(values[:4])]
    for result, at in zip(function([x], outputs, mode=mode)(values), order, strict=True):
        np.testing.assert_allclose(result, wanted[at])
    two = [rows(ending), rows(lambda row, carry: (carry - row, loops.until(row > 3)))]
    first, second = function([x], two, mode=mode)(values)
    np.testing.assert_allclose(first, wanted[1])
    np.testing.assert_allclose(second, 1 - np.cumsum(values[:5]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "bounds", [(-3, 6, 3), (-2, 4, 2), (5, -7, -3), (3, -4, -1), (0, 6, 2), (-6, 0, 1), (-4, 2, 1)]
)
@pytest.mark.parametrize("is_static", [True, False])
def test_the_gradient_of_a_write_at_positions_of_a_range_knows_which_meet(
    bounds: tuple[int, int, int], is_static: bool, mode: str
) -> None:
    n = 6
    x = tt.tensor("x", dtype="float64", shape=(n if is_static else None,))
    y, start, stop = tt.dvector("y"), tt.lscalar("start"), tt.lscalar("stop")
    weights = np.arange(1.0, n + 1)
    at = np.arange(*bounds)
    arrays = [np.linspace(0.1, 0.6, n), np.linspace(1, 2, at.size)]
    # The last of the values written to one place is the one that counts.
    last = {int(i) % n: k for k, i in enumerate(at)}
    by_y = np.zeros(at.size)
    for i, k in last.items():
        by_y[k] = weights[i]
    by_x = np.where(np.isin(np.arange(n), at % n), 0.0, weights)
    constant = tt.set_subtensor(x[tt.arange(*bounds)], y)
    symbolic = tt.set_subtensor(x[tt.arange(start, stop, bounds[2])], y)
    outputs = [part for out in (constant, symbolic) for part in tt.grad((out * weights).sum(), [x, y])]
    results = function([x, y, start, stop], outputs, mode=mode)(*arrays, *bounds[:2])
    for new, old in zip(results, [by_x, by_y] * 2, strict=True):
        np.testing.assert_array_equal(new, old)
