"""In-place work on tensors: which values are overwritten, and that results stay the same for all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run
from treadle.compile import Mode, function
from treadle.graph import FunctionGraph, NoOutputFromInplace
from treadle.rewrite import RewriteDatabaseQuery, default_database

INPLACE = RewriteDatabaseQuery(["inplace"])
BACKENDS = ["VM", "CVM", "NUMBA"]


def in_place(fgraph: FunctionGraph) -> list[str]:
    """Return the ops that overwrite something, in order of evaluation."""
    return [str(node.op) for node in fgraph.toposort() if node.op.destroy_map]


def test_an_elementwise_result_takes_the_place_of_an_operand_that_dies() -> None:
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [tt.sin(tt.exp(x)) * 2], INPLACE)
    assert in_place(fgraph) == ["Sin{0->0}", "Mul{0->0}"]


def test_operands_of_other_dtypes_and_ranks_are_left_alone() -> None:
    x, i = tt.dvector("x"), tt.lvector("i")
    fgraph, _ = rewrite([x, i], [tt.exp(x) > 0.5, (i + 1) * tt.exp(x), tt.exp(x).sum() + 1], INPLACE)
    assert in_place(fgraph) == ["Mul{0->1}", "Add{0->0}"]


def test_the_copy_that_a_write_would_need_is_spared() -> None:
    x, i = tt.dvector("x"), tt.lvector("i")
    y = tt.inc_subtensor(tt.set_subtensor(tt.exp(x)[1:], 0.0)[i], 2.0)
    fgraph, _ = rewrite([x, i], [y], INPLACE)
    assert in_place(fgraph) == ["SetSubtensor{[1:]},inplace", "AdvancedIncSubtensor{[array]},inplace"]


def test_in_place_work_can_be_excluded() -> None:
    x = tt.dvector("x")
    mode = Mode("vm").excluding("inplace")
    assert in_place(function([x], tt.sin(tt.exp(x)), mode=mode).maker.fgraph) == []


@pytest.mark.parametrize("mode", BACKENDS)
def test_arguments_and_results_are_nobody_elses(mode: str) -> None:
    x = tt.dvector("x")
    e = tt.exp(x)
    f = function([x], [e, tt.sin(e), tt.set_subtensor(x[0], 5.0), tt.set_subtensor(tt.sin(e)[0], 1.0)], mode=mode)
    data = np.linspace(0.0, 1.0, 9000)
    kept = data.copy()
    first, second = f(data), f(data)
    np.testing.assert_array_equal(data, kept)
    assert_same(first, second)
    arrays = [data, *first, *second]
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[k + 1 :])


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize(
    "shapes", [((70, 80), (80,)), ((1, 80), (80,)), ((70, 1), (80,)), ((70, 80), (1,)), ((0, 1), (5,))]
)
def test_lengths_of_one_at_run_time_do_not_matter(mode: str, shapes: Any) -> None:
    x, y = tt.dmatrix("x"), tt.dvector("y")
    outputs = [tt.sqrt(tt.exp(x) * 2 + y) - tt.exp(y), tt.exp(y) + x.sum(axis=0)]
    values = [np.random.default_rng(3).uniform(size=s) for s in shapes]
    expected = function([x, y], outputs, mode=Mode("vm", None))(*values)
    for result, wanted in zip(function([x, y], outputs, mode=mode)(*values), expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-9)


UNARY: list[Any] = [tt.sin, lambda a: a[::-1], lambda a: tt.set_subtensor(a[::2], a[::2] * 2)]
BINARY: list[Any] = [
    lambda a, b: a + b,
    lambda a, b: tt.set_subtensor(a[4], b[0]),
    lambda a, b: tt.inc_subtensor(a[1:], b[:-1]),
    lambda a, b: tt.inc_subtensor(a[np.array([0, 0, 1])], b[:3]),
    lambda a, b: a.reshape((2, -1)).sum(axis=0)[:1] + b,
]


@pytest.mark.parametrize("seed", range(80))
def test_random_writes_views_and_readers_keep_their_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = tt.dvector("x"), tt.dvector("y")
    pool: list[Any] = [x, y]
    for _ in range(int(rng.integers(3, 20))):
        a, b = (pool[int(i)] for i in rng.integers(len(pool), size=2))
        k = int(rng.integers(len(UNARY) + len(BINARY)))
        pool.append(UNARY[k](a) if k < len(UNARY) else BINARY[k - len(UNARY)](a, b))
    outputs = [pool[int(i)] for i in rng.integers(len(pool), size=3)]
    values = [rng.normal(size=6), rng.normal(size=6)]
    plain = rewrite([x, y], outputs, RewriteDatabaseQuery())[0]
    kept = [v.copy() for v in values]
    assert_same(run(plain, values), run(rewrite([x, y], outputs, INPLACE)[0], values))
    assert_same(kept, values)
    if seed % 8 == 0:
        for result, wanted in zip(
            function([x, y], outputs, mode="CVM", on_unused_input="ignore")(*values), run(plain, values), strict=True
        ):
            np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("protected", [[1], [0], [0, 1], 1, []], ids=str)
def test_what_a_feature_refuses_is_not_done_in_place_and_all_else_is(protected: Any) -> None:
    x, y = tt.dvectors("x", "y")
    fgraph = FunctionGraph([x, y], [tt.sin(tt.exp(x)), tt.cos(tt.exp(y)) * 2, tt.tanh(x * y) * y], clone=True)
    fgraph.attach_feature(NoOutputFromInplace(protected))
    report = default_database().query(INPLACE).rewrite(fgraph)
    refused = {1, 2} if protected == 1 else {*protected}
    outputs: list[Any] = [*fgraph.outputs]
    assert [bool(out.owner.op.destroy_map) for out in outputs] == [at not in refused for at in range(3)]
    assert report.failures == []
    # The nodes below an output work in place whether the output does or not.
    assert outputs[1].owner.inputs[0].owner.op.destroy_map == {0: [0]}
    values = [np.array([0.1, 0.2]), np.array([0.3, 0.4])]
    a, b = values
    wanted = [np.sin(np.exp(a)), np.cos(np.exp(b)) * 2, np.tanh(a * b) * b]
    for result, value in zip(run(fgraph, [part.copy() for part in values]), wanted, strict=True):
        np.testing.assert_allclose(result, value)
