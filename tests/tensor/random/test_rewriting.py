"""Rewriters that move sizes, orders of dimensions and indices from draws to the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treadle import tensor as tt
from treadle.compile import function
from treadle.graph import Constant, FunctionGraph
from treadle.rewrite import optdb, rewrite_graph
from treadle.surface.rewriters import in2out
from treadle.tensor import random as tr
from treadle.tensor.random import RandomVariable
from treadle.tensor.random.rewriting import (
    local_dimshuffle_rv_lift,
    local_rv_size_lift,
    local_subtensor_rv_lift,
)

CENTRES = 1e6 * np.arange(12.0).reshape(3, 4)


def lifted(out: Any, rewriter: Any) -> Any:
    return rewrite_graph(out, include=(), custom_rewrite=in2out(rewriter))


def is_draw(var: Any) -> bool:
    return isinstance(var.owner.op, RandomVariable)


def rounded(out: Any) -> np.ndarray:
    """Return the values of a graph, whose draws lie close to multiples of a million."""
    values: np.ndarray = 1e6 * np.round(function([], out, mode="VM")() / 1e6)
    return values


def draw(*parameters: Any, size: Any = None) -> Any:
    return tr.normal(*parameters, size=size, rng=tr.shared_rng(seed=3))


@pytest.mark.parametrize(
    ("index", "is_lifted"),
    [
        (np.s_[0], True),
        (np.s_[:, 1], True),
        (np.s_[::-1, 1:3], True),
        (np.s_[[0, 2]], True),
        (np.s_[:, [-1, 0]], True),
        (np.s_[[0, 0]], False),
        (np.s_[:, [-1, 3]], False),
        (np.s_[[0, 1], [0, 1]], False),
        (np.array([True, False, True]), True),
    ],
)
@pytest.mark.parametrize("size", [None, (3, 4)])
def test_index_is_moved_to_the_parameters_unless_it_picks_a_draw_twice(index: Any, is_lifted: bool, size: Any) -> None:
    out = lifted(draw(CENTRES, 1.0, size=size)[index], local_subtensor_rv_lift)
    assert is_draw(out) == is_lifted
    np.testing.assert_array_equal(rounded(out), CENTRES[index])


def test_index_of_draws_with_scalar_parameters_sets_how_many_are_drawn() -> None:
    n, i = tt.lscalar("n"), tt.lscalar("i")
    out = lifted(draw(5.0, 1.0, size=(n, 4))[i:, 0], local_subtensor_rv_lift)
    assert is_draw(out)
    assert function([n, i], out, mode="VM")(5, 2).shape == (3,)


@pytest.mark.parametrize(
    ("rewriter", "change"), [(local_subtensor_rv_lift, lambda x: x[:2]), (local_dimshuffle_rv_lift, lambda x: x.T)]
)
@pytest.mark.parametrize("has_graph", [True, False])
def test_transformation_says_by_variables_what_takes_their_place(rewriter: Any, change: Any, has_graph: bool) -> None:
    drawn = draw(CENTRES, 1.0)
    out = change(drawn)
    graph = FunctionGraph(outputs=[out], clone=False) if has_graph else None
    replacements = rewriter.transform(graph, out.owner)
    assert set(replacements) == {out, drawn.owner.outputs[0]}
    assert is_draw(replacements[out])
    assert replacements[out].owner is replacements[drawn.owner.outputs[0]].owner


def test_index_into_single_draws_stays() -> None:
    x = tr.multivariate_normal(np.zeros((3, 2)), np.eye(2), rng=tr.shared_rng(seed=3))
    assert is_draw(lifted(x[0], local_subtensor_rv_lift))
    assert not is_draw(lifted(x[0, 0], local_subtensor_rv_lift))


@pytest.mark.parametrize("size", [None, (3, 4)])
def test_order_of_dimensions_is_moved_to_the_parameters(size: Any) -> None:
    x = draw(CENTRES, np.ones(4), size=size)
    for out, expected in ((x.T, CENTRES.T), (x[:, None], CENTRES[:, None])):
        rewritten = lifted(out, local_dimshuffle_rv_lift)
        assert is_draw(rewritten)
        np.testing.assert_array_equal(rounded(rewritten), expected)


def test_dimensions_of_single_draws_keep_their_places() -> None:
    x = tr.multivariate_normal(np.zeros((3, 2)), np.eye(2), rng=tr.shared_rng(seed=3))
    assert not is_draw(lifted(x.T, local_dimshuffle_rv_lift))
    rewritten = lifted(x[None], local_dimshuffle_rv_lift)
    assert is_draw(rewritten)
    assert rewritten.eval().shape == (1, 3, 2)


def test_size_is_moved_to_the_parameters() -> None:
    rewritten = lifted(draw(CENTRES[0], 1.0, size=(3, 4)), local_rv_size_lift)
    assert is_draw(rewritten)
    assert isinstance(rewritten.owner.inputs[1].type, tt.NoneTypeT)
    np.testing.assert_array_equal(rounded(rewritten), np.broadcast_to(CENTRES[0], (3, 4)))


def test_draw_that_is_used_otherwise_stays_and_the_next_generator_follows_what_is_drawn() -> None:
    following, x = tr.normal(CENTRES, rng=tr.shared_rng(seed=3), return_next_rng=True)
    kept = lifted([x[0], x.sum()], local_subtensor_rv_lift)
    assert not is_draw(kept[0])
    part, after = lifted([x[0], following], local_subtensor_rv_lift)
    assert part.owner is after.owner


def test_parameter_that_is_computed_from_numbers_becomes_a_number() -> None:
    three = tt.constant(3.0, dtype="float32")
    scale = tt.sqrt(tt.reciprocal(three))
    drawn = tr.normal(0.0, scale.dimshuffle("x"), size=2)
    graph = FunctionGraph([], [drawn], clone=True)
    optdb.query("+canonicalize").rewrite(graph)
    (node,) = graph.apply_nodes
    values = [x.data for x in node.inputs if isinstance(x, Constant) and x.type.dtype == "float32"]
    assert [value.tolist() for value in values] == [[np.sqrt(1 / np.float32(3)).tolist()]]


def test_parameter_that_others_read_is_left_to_their_rules() -> None:
    x, scale = tt.dscalar("x"), tt.reciprocal(tt.constant(3.0, dtype="float32"))
    graph = FunctionGraph([x], [tr.exponential(scale), tt.log1p(scale) * x], clone=True)
    optdb.query("+canonicalize").rewrite(graph)
    assert any(node.op == tt.reciprocal for node in graph.apply_nodes)
