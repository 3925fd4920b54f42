"""Fusion: which nodes are fused, that values stay the same, and which line a clash of shapes names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run
from treadle.graph import NodeError
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor import DtypeError, FusedReduction, Reduction, TensorTypeError
from treadle.tensor.elementwise.composite import Composite
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.rewrites.general.fusion import MOST_STEPS

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
    # Each input is listed once, however often it is used.
    assert len(set(node.inputs)) == len(node.inputs)


def test_value_used_outside_is_a_further_output() -> None:
    x = tt.dvector("x")
    shared = tt.exp(x)
    fgraph = fused([x], tt.sin(shared) + 1, shared.T)
    assert composites(fgraph) == ["Composite{exp sin add}"]
    assert [len(node.outputs) for node in fgraph.toposort() if isinstance(node.op, Elemwise)] == [2]


def test_functions_of_one_array_come_together() -> None:
    x = tt.dmatrix("x")
    fgraph = fused([x], tt.sin(x), tt.cos(x), tt.exp(x).T)
    assert composites(fgraph) == ["Composite{sin cos exp}"]


def test_functions_of_one_number_and_different_arrays_stay_apart() -> None:
    x, y, s = tt.dvector("x"), tt.dvector("y"), tt.dscalar("s")
    fgraph = fused([x, y, s], x * s, y * s)
    assert sorted(composites(fgraph)) == ["mul", "mul"]


def test_shapes_that_may_differ_at_run_time_stay_apart() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    shared = tt.exp(x)
    outputs = [shared, shared * y]
    fgraph = fused([x, y], *outputs)
    assert sorted(composites(fgraph)) == ["exp", "mul"]
    plain = rewrite([x, y], outputs, RewriteDatabaseQuery())[0]
    for lengths in ((3, 3), (1, 3), (3, 1)):
        values = [np.random.default_rng(1).normal(size=n) for n in lengths]
        assert_same(run(plain, values), run(fgraph, values))


def test_way_through_another_shape_and_back_makes_no_cycle() -> None:
    x = tt.dmatrix("x")
    total = x.sum(axis=0)
    outputs = [tt.exp(x) - total, tt.sin(x) * tt.exp(total), tt.cos(total) + tt.cos(tt.exp(x) - total)]
    fgraph = fused([x], *outputs)
    values = [np.random.default_rng(2).normal(size=(3, 4))]
    assert_same(run(rewrite([x], outputs, RewriteDatabaseQuery())[0], values), run(fgraph, values))


UNARY: list[Any] = [tt.exp, tt.sin, lambda a: -a, lambda a: a + 1]
OTHER: list[Any] = [
    lambda a: a.sum(axis=0, keepdims=True),
    lambda a: a.sum(axis=1, keepdims=True),
    lambda a: a.T.T,
    lambda a: a[::-1],
    lambda a: a.reshape(a.shape),
]


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_their_values_and_have_no_cycle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [tt.dmatrix("x"), tt.dmatrix("y"), tt.drow("r"), tt.dcol("c")]
    pool: list[Any] = list(inputs)
    for _ in range(int(rng.integers(3, 25))):
        a, b = (pool[int(i)] for i in rng.integers(len(pool), size=2))
        kind = int(rng.integers(4))
        fs = UNARY if kind == 0 else OTHER
        pool.append(tt.tanh(a * b + a) if kind > 1 else fs[int(rng.integers(len(fs)))](a))
    outputs = [pool[int(i)] for i in rng.integers(4, len(pool), size=3)]
    fgraph = fused(inputs, *outputs)
    plain = rewrite(inputs, outputs, RewriteDatabaseQuery())[0]
    n, m = (int(k) for k in rng.choice([1, 2, 3], size=2))
    values = [rng.normal(size=s) for s in ((n, m), (n, m), (1, m), (n, 1))]
    assert_same(run(plain, values), run(fgraph, values))


def test_work_does_not_grow_faster_than_the_graph() -> None:
    visits = []
    for n in (300, 3000):
        x = tt.dvector("x")
        total = x
        for i in range(n):
            total = tt.sin(total) + tt.exp(x) if i % 3 else tt.cos(total).sum() * x
        fgraph, report = rewrite([x], [total], ONLY_FUSION)
        visits.append(report.rules["elementwise_fusion"].hits / n)
        fgraph.toposort()
    assert visits[1] <= 1.2 * visits[0]


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
    assert sorted(composites(fgraph)) == ["Composite{exp cos}", "Composite{sin add}"]
    fgraph.toposort()


def test_smaller_shape_is_not_computed_again_for_every_element() -> None:
    row, m = tt.tensor("row", dtype="float64", shape=(1, None)), tt.dmatrix("m")
    fgraph = fused([row, m], tt.exp(row) + tt.sin(m))
    assert sorted(composites(fgraph)) == ["Composite{sin add}", "exp"]


def test_cheap_functions_of_complex_numbers_come_together_and_others_are_left_out() -> None:
    z = tt.zvector("z")
    assert composites(fused([z], -z * z + z)) == ["Composite{neg mul add}"]
    assert composites(fused([z], tt.tanh(abs(z.conj()) + 1))) == ["Composite{conj abs add tanh}"]
    assert sorted(composites(fused([z], tt.exp(z) * z + 1))) == ["Composite{mul add}", "exp"]


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


# Reductions


def reductions(fgraph: FunctionGraph) -> list[str]:
    """Return the fused reductions, and the reductions that are left."""
    return [str(node.op) for node in fgraph.toposort() if isinstance(node.op, FusedReduction | Reduction)]


def test_a_reduction_joins_what_it_reduces() -> None:
    x = tt.dmatrix("x")
    assert reductions(fused([x], tt.exp(x).sum(axis=0))) == ["Fused[Composite{exp}](Sum{axes=[0]})"]


def test_reductions_over_the_same_axes_come_together() -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    product = x * y
    e = tt.exp(product)
    texts = reductions(fused([x, y], e.sum(axis=1), e.max(axis=1), tt.sin(product).sum(axis=1)))
    assert texts == ["Fused[Composite{mul exp sin}](Sum{axes=[1]}, Max{axes=[1]}, Sum{axes=[1]})"]


def test_a_value_that_is_used_elsewhere_is_stored_too() -> None:
    x = tt.dmatrix("x")
    e = tt.exp(x)
    assert reductions(fused([x], e.sum(), e.T)) == ["Fused[Composite{exp}](stored, Sum{axes=[0, 1]})"]


def test_of_reductions_over_different_axes_one_joins() -> None:
    x = tt.dmatrix("x")
    e = tt.exp(x)
    texts = reductions(fused([x], e.sum(axis=0), e.sum(axis=1), e.max(axis=1)))
    assert sorted(texts) == ["Fused[Composite{exp}](stored, Sum{axes=[1]}, Max{axes=[1]})", "Sum{axes=[0]}"]


def test_results_that_are_only_reduced_do_not_come_together_with_stored_ones() -> None:
    x = tt.dmatrix("x")
    texts = reductions(fused([x], tt.exp(x).sum(axis=0), tt.sin(x)))
    assert texts == ["Fused[Composite{exp}](Sum{axes=[0]})"]


def test_a_reduction_of_an_input_stays_as_it_is() -> None:
    x = tt.dmatrix("x")
    assert reductions(fused([x], x.sum())) == ["Sum{axes=[0, 1]}"]


def test_complex_reductions_are_left_out() -> None:
    z = tt.zvector("z")
    assert reductions(fused([z], (z * z).sum())) == ["Sum{axes=[0]}"]
    assert reductions(fused([z], abs(z * z).sum())) == ["Fused[Composite{mul abs}](Sum{axes=[0]})"]


def test_clash_of_shapes_in_a_fused_reduction_is_blamed_on_the_line_that_made_it() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    clash = x * y  # this is the clash
    with pytest.raises(NodeError, match="this is the clash"):
        run(fused([x, y], tt.exp(clash).sum()), [np.zeros(2), np.zeros(3)])


def test_a_fused_reduction_has_no_gradient() -> None:
    x = tt.dmatrix("x")
    out: Any = fused([x], tt.exp(x).sum()).outputs[0]
    with pytest.raises(DtypeError, match="Differentiate before compiling"):
        tt.grad(out, out.owner.inputs[0])


def test_a_fused_reduction_needs_reductions_over_one_set_of_axes() -> None:
    x = tt.dmatrix("x")
    out: Any = fused([x], tt.exp(x).sum(axis=0)).outputs[0]
    op: Any = out.owner.op
    node: Any = x.sum(axis=1).owner
    other = node.op
    with pytest.raises(TensorTypeError, match="over one set of axes"):
        FusedReduction(replace(op.composite, outputs=(1, 1)), (*op.reductions, other))(x)
    with pytest.raises(TensorTypeError, match="1 inputs of one rank"):
        op(x, x)


@pytest.mark.parametrize("seed", range(40))
def test_random_reductions_keep_their_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, r = tt.dtensor3("x"), tt.dtensor3("y"), tt.tensor("r", dtype="float64", shape=(None, 1, None))
    pool: list[Any] = [x, y, r]
    outputs: list[Any] = []
    for _ in range(int(rng.integers(2, 12))):
        a, b = (pool[int(i)] for i in rng.integers(len(pool), size=2))
        pool.append(tt.tanh(a * b + a) if rng.integers(2) else a - tt.exp(-b * b))
        axes = tuple(int(d) for d in np.flatnonzero(rng.integers(2, size=3)))
        which = (tt.sum, tt.max, tt.prod, tt.min)[int(rng.integers(4))]
        total = which(pool[-1], axis=axes, keepdims=True)
        (outputs if rng.integers(2) else pool).append(total)
    outputs += pool[-2:]
    fgraph = fused([x, y, r], *outputs)
    plain = rewrite([x, y, r], outputs, RewriteDatabaseQuery())[0]
    n, m, k = (int(i) for i in rng.integers(1, 4, size=3))
    values = [rng.normal(size=s) for s in ((n, m, k), (n, m, k), (n, 1, k))]
    assert_same(run(plain, values), run(fgraph, values))
