"""Fusion: which nodes come together, that values stay the same, and whom a clash of shapes is blamed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run
from treadle.graph import NodeError
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor.elemwise import Composite, Elemwise
from treadle.tensor.rewrites.fusion import MOST_STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph

ONLY_FUSION = RewriteDatabaseQuery(["fusion"])


def composites(fgraph: FunctionGraph) -> list[str]:
    """Return the step names of each fused node, and the names of other elementwise nodes."""
    return [str(node.op.scalar_op) for node in fgraph.toposort() if isinstance(node.op, Elemwise)]


def fused(inputs: Sequence[Any], *outputs: Any) -> FunctionGraph:
    return rewrite(inputs, outputs, ONLY_FUSION)[0]


def test_whole_expression_becomes_one_node() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    fgraph = fused([x, y], tt.tanh(2 * x + 1) * tt.exp(-x * x) + tt.sin(y))
    elementwise = [node for node in fgraph.toposort() if isinstance(node.op, Elemwise)]
    (node,) = elementwise
    op = node.op
    assert isinstance(op, Elemwise)
    assert isinstance(op.scalar_op, Composite)
    assert len(op.scalar_op.steps) == 9
    # Each input once, however often it is used.
    assert len(set(node.inputs)) == len(node.inputs)


def test_value_used_outside_is_a_node_of_its_own() -> None:
    x = tt.dvector("x")
    shared = tt.exp(x)
    fgraph = fused([x], tt.sin(shared) + 1, shared.sum())
    assert sorted(composites(fgraph)) == ["Composite{sin add}", "exp"]


def test_value_used_twice_inside_is_computed_once() -> None:
    x = tt.dvector("x")
    shared = tt.exp(x)
    fgraph = fused([x], tt.sin(shared) * tt.cos(shared))
    (name,) = composites(fgraph)
    assert name.count("exp") == 1
    assert name.endswith("mul}")


def test_diamond_through_another_op_makes_no_cycle() -> None:
    x = tt.dmatrix("x")
    e = tt.exp(x)
    fgraph = fused([x], tt.sin(e) + tt.dot(tt.cos(e), x))
    assert sorted(composites(fgraph)) == ["Composite{sin add}", "cos", "exp"]
    fgraph.toposort()


def test_smaller_shape_is_not_computed_again_for_every_element() -> None:
    row, m = tt.tensor("row", dtype="float64", shape=(1, None)), tt.dmatrix("m")
    fgraph = fused([row, m], tt.exp(row) + tt.sin(m))
    assert sorted(composites(fgraph)) == ["Composite{sin add}", "exp"]


def test_complex_numbers_are_left_out() -> None:
    z = tt.zvector("z")
    assert composites(fused([z], -z * z + z)) == ["neg", "mul", "add"]


def test_dtypes_of_every_step_are_kept() -> None:
    i, f = tt.tensor("i", dtype="int8", shape=(None,)), tt.fvector("f")
    outputs = [tt.exp(i * f) > 0.5, i / 2 + f, (i + 1).astype("float32") * f]
    values = [np.array([1, -2, 100], "int8"), np.array([0.5, 2.0, -1.0], "float32")]
    fgraph = fused([i, f], *outputs)
    assert all("Composite" in name for name in composites(fgraph))
    assert_same(run(rewrite([i, f], outputs, RewriteDatabaseQuery())[0], values), run(fgraph, values))


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((1,), (4,)), ((4,), (1,)), ((0,), (1,))])
def test_unknown_lengths_broadcast_in_a_fused_node(shapes: Any) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    outputs = [tt.exp(x) + tt.sin(y) * tt.cos(x)]
    values = [np.random.default_rng(1).normal(size=s) for s in shapes]
    fgraph = fused([x, y], *outputs)
    assert len(composites(fgraph)) == 1
    assert_same(run(rewrite([x, y], outputs, RewriteDatabaseQuery())[0], values), run(fgraph, values))


def test_groups_are_bounded() -> None:
    x = tt.dvector("x")
    var = x
    for _ in range(450):
        var = tt.sin(var)
    fgraph = fused([x], var)
    assert len(composites(fgraph)) == 3
    assert max(name.count("sin") for name in composites(fgraph)) == MOST_STEPS


def origins(node: Apply) -> list[str]:
    tag: Any = node.tag
    return [str(origin.op) for origin in tag.origins]


def test_fused_node_knows_its_origins_and_the_line_of_the_result() -> None:
    x = tt.dvector("x")
    inner = tt.exp(x)  # the inner line
    outer = tt.sin(inner)  # the outer line
    fgraph = fused([x], outer)
    (node,) = fgraph.toposort()
    assert origins(node) == ["Exp", "Sin"]
    assert node.user_line is not None
    assert "the outer line" in node.user_line.text


def test_clash_of_shapes_in_a_fused_node_is_blamed_on_the_line_that_made_it() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    clash = x * y  # this is the clash
    fgraph = fused([x, y], tt.exp(clash) + 1)
    assert len(composites(fgraph)) == 1
    with pytest.raises(NodeError, match="this is the clash"):
        run(fgraph, [np.zeros(2), np.zeros(3)])


def test_fusion_can_be_excluded() -> None:
    x = tt.dvector("x")
    query = RewriteDatabaseQuery(["fast_run"], exclude=["fusion"])
    fgraph, report = rewrite([x], [tt.sin(tt.exp(x))], query)
    assert composites(fgraph) == ["exp", "sin"]
    assert "elementwise_fusion" not in report.fired()
