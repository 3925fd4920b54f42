"""Indices, transposes and reshapes move down through computations, passing each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run, text
from treadle.rewrite import RewriteDatabaseQuery

if TYPE_CHECKING:
    from collections.abc import Callable

LAYERS: dict[str, Callable[[Any, Any], Any]] = {
    "slices": lambda v, _: tt.tanh(v)[1:],
    "slices of transposes": lambda v, _: tt.tanh(v).T[1:],
    "slices of sums": lambda v, m: (tt.sqr(v) - m.sum(axis=0).sum())[:, ::-1][1:],
    "reshapes": lambda v, m: tt.tanh(v * 2).reshape((-1,)).reshape(m.shape),
    "transposes of products": lambda v, m: tt.tanh(tt.dot(v, m).T),
    "scaled products": lambda v, m: tt.dot(2 * tt.dot(v, m.T), m / 2),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_work_on_many_layers_of_views_grows_with_their_number_only(layer: str) -> None:
    def work(n: int) -> tuple[float, float]:
        m = tt.dmatrix("m")
        v: Any = m
        for _ in range(n):
            v = LAYERS[layer](v, m)
        _, report = rewrite([m], [v], "fast_run")
        assert report.looping == []
        return report.visits / n, report.rules["views_of_operands"].hits / n

    (few, less), (many, more) = work(40), work(800)
    assert many < 1.3 * few
    assert more <= 1.3 * less


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_of_views_keep_their_values(layer: str) -> None:
    m = tt.dmatrix("m")
    v: Any = m
    for _ in range(3):
        v = LAYERS[layer](v, m)
    plain, _ = rewrite([m], [v], RewriteDatabaseQuery())
    fgraph, _ = rewrite([m], [v], "fast_run")
    value = [np.random.default_rng(0).normal(size=(5, 5))]
    assert_same(run(plain, value), run(fgraph, value))


def test_slices_of_slices_do_not_grow_beyond_what_backends_count_in() -> None:
    x = tt.dvector("x")
    v: Any = x
    for _ in range(80):
        v = v[::2]
    fgraph, _ = rewrite([x], [v])
    assert len(fgraph) == 3
    assert run(fgraph, [np.arange(5.0)])[0].tolist() == [0.0]


def test_node_that_a_view_made_comes_from_the_users_line() -> None:
    x = tt.dmatrix("x")
    index = tt.lscalar("index")
    y = tt.tanh(x)[index]
    fgraph, _ = rewrite([x, index], [y])
    assert text(fgraph.outputs[0]) == "tanh(subtensor{[?, :]}(x, index))"
    lines = {node.user_line.text for node in fgraph.apply_nodes if node.user_line is not None}
    assert lines == {"y = tt.tanh(x)[index]"}
