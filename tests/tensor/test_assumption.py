"""Facts that users assume of tensors."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import FunctionGraph, Variable, vectorize_graph
from treadle.rewrite import rewrite_graph
from treadle.tensor import SpecifyAssumptions
from treadle.tensor.rewrites import holds

assumptions: Any = import_module("treadle.assumptions")


def ops_of(out: Variable) -> list[str]:
    graph = FunctionGraph(outputs=[out], clone=False)
    rewrite_graph(graph, include=("canonicalize", "stabilize", "specialize", "uncanonicalize"))
    return [str(node.op) for node in graph.toposort()]


def test_rules_use_assumptions_and_leave_them_out() -> None:
    x = tt.dvector("x")
    assert ops_of(abs(tt.assume(x, nonnegative=True))) == []
    assert ops_of(abs(tt.assume(x, nonnegative=False))) == ["Abs"]


def test_facts_follow_from_each_other() -> None:
    x = tt.dmatrix("x")
    assert holds("symmetric", tt.assume(x, positive_definite=True))
    assert holds("lower_triangular", tt.assume(x, diagonal=True))
    assert holds("orthogonal", tt.assume(x, permutation=True))
    assert not holds("orthogonal", tt.assume(x, diagonal=True))
    assert holds("symmetric", tt.assume(tt.assume(x, symmetric=True), orthogonal=True))
    assert not holds("symmetric", tt.assume(tt.assume(x, symmetric=True), symmetric=False))


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_values_and_gradients_are_those_of_the_tensor(mode: str) -> None:
    x = tt.dmatrix("x")
    y = tt.assume(x, symmetric=True)
    values, slope = function([x], [y, tt.grad((y**2).sum(), x)], mode=mode)(np.eye(2))
    assert values.tolist() == np.eye(2).tolist()
    assert slope.tolist() == (2 * np.eye(2)).tolist()


def test_a_batch_keeps_the_assumptions_about_its_matrices() -> None:
    x, batch = tt.dmatrix("x"), tt.dtensor3("batch")
    assert holds("symmetric", vectorize_graph(tt.assume(x, symmetric=True), {x: batch}))


def test_no_assumption_gives_the_tensor_itself() -> None:
    x = tt.dmatrix("x")
    assert tt.assume(x) is x


def test_contradictory_and_unknown_assumptions_are_refused() -> None:
    x = tt.dmatrix("x")
    with pytest.raises(TypeError, match="what is permutation is square"):
        tt.assume(x, permutation=True, square=False)
    with pytest.raises(TypeError, match="what is diagonal is lower_triangular"):
        tt.assume(x, diagonal=True, lower_triangular=False)
    with pytest.raises(TypeError, match="'sparse': no such fact"):
        SpecifyAssumptions((("sparse", True),))
    with pytest.raises(ValueError, match="symmetric is said of matrices"):
        tt.assume(tt.dvector(), symmetric=True)


def test_feature_of_assumptions_is_asked_by_keys_as_documented() -> None:
    x = tt.dmatrix("x")
    out = tt.assume(x, diagonal=True)
    feature = assumptions.AssumptionFeature()
    FunctionGraph([x], [out], clone=False, features=[feature])
    assert feature.check(out, assumptions.LOWER_TRIANGULAR)
    assert feature.get(out, assumptions.DIAGONAL) is assumptions.FactState.TRUE
    assert feature.get(x, assumptions.DIAGONAL) is assumptions.FactState.UNKNOWN
    assert not feature.check(x, assumptions.DIAGONAL)


def state_of(var: Variable, key: Any) -> Any:
    graph = FunctionGraph(outputs=[var], clone=False)
    graph.attach_feature(assumptions.AssumptionFeature())
    return graph.assumption_feature.get(var, key)  # type: ignore[attr-defined]  # features add names to their graph


def test_feature_knows_what_does_not_hold() -> None:
    x = tt.dmatrix("x")
    unknown, false, true = (assumptions.FactState[name] for name in ("UNKNOWN", "FALSE", "TRUE"))
    denied = tt.assume(x, lower_triangular=False)
    assert state_of(denied, assumptions.LOWER_TRIANGULAR) == false
    assert state_of(denied, assumptions.DIAGONAL) == false
    assert state_of(denied, assumptions.UPPER_TRIANGULAR) == unknown
    assert state_of(tt.constant(np.array([[1.0, 2.0], [3.0, 4.0]])), assumptions.PERMUTATION) == false
    assert state_of(tt.assume(denied, symmetric=True), assumptions.DIAGONAL) == false
    assert state_of(tt.assume(denied, symmetric=True), assumptions.SYMMETRIC) == true


def test_contradiction_is_told_when_it_is_asked_for() -> None:
    x = tt.dmatrix("x")
    both = tt.assume(tt.assume(x, diagonal=True), diagonal=False)
    with pytest.raises(assumptions.ConflictingAssumptionsError, match="known to be diagonal, and not to be"):
        state_of(both, assumptions.DIAGONAL)


def test_graph_has_one_feature_for_assumptions() -> None:
    graph = FunctionGraph(outputs=[tt.dmatrix("x")], clone=False)
    graph.attach_feature(assumptions.AssumptionFeature())
    graph.attach_feature(assumptions.AssumptionFeature())
    features = [feature for feature in graph.features if isinstance(feature, assumptions.AssumptionFeature)]
    assert len(features) == 1
    graph.remove_feature(features[0])
    assert not hasattr(graph, "assumption_feature")
