"""Rules of linear algebra: what they make of expressions, that values stay, and where they leave things alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.cases_linear_algebra import CASES, LEFT_ALONE, Case, Variables, values
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.graph import FunctionGraph, explicit_graph_inputs
from treadle.rewrite import RewriteDatabaseQuery, Rule
from treadle.tensor import linalg
from treadle.tensor.matrix_op import MatrixOp
from treadle.tensor.product import MatMul
from treadle.tensor.rewrites import RULE_SETS

SETS = {"structured_products", "blocks", "kronecker", "systems", "inverses_of_matrices", "factors", "determinants"}
PLAIN = RewriteDatabaseQuery()


def number(case: Case) -> str:
    return f"{case.rule}-{CASES.index(case)}"


def matrix_ops(fgraph: FunctionGraph) -> str:
    """Return the names of the ops on matrices in a graph."""
    ops = [node.op for node in fgraph.toposort() if isinstance(node.op, (MatrixOp, MatMul))]
    return " ".join(sorted(type(op).__name__ for op in ops))


@pytest.mark.parametrize("case", CASES, ids=number)
def test_rule_leaves_the_expected_ops_and_the_values(case: Case) -> None:
    var = case.build(Variables())
    inputs = list(explicit_graph_inputs([var]))
    plain, _ = rewrite(inputs, [var], PLAIN)
    fgraph, report = rewrite(inputs, [var])
    assert case.rule in report.fired()
    assert matrix_ops(fgraph) == case.after
    known = values()
    given = [known[case.sample if str(x) == "a" and case.sample != "definite" else str(x)] for x in inputs]
    (old,), (new,) = run(plain, given), run(fgraph, given)
    assert (old.dtype, old.shape) == (new.dtype, new.shape)
    np.testing.assert_allclose(new, old, rtol=case.rtol, atol=1e-9)


@pytest.mark.parametrize("at", range(len(LEFT_ALONE)))
def test_rule_leaves_alone_what_it_would_change(at: int) -> None:
    rule, build = LEFT_ALONE[at]
    var = build(Variables())
    _, report = rewrite(list(explicit_graph_inputs([var])), [var])
    assert rule not in report.fired()


def test_every_rule_of_linear_algebra_has_a_case_and_a_counterexample() -> None:
    ids = {rule.name for rules in RULE_SETS if rules.name in SETS for rule in rules if isinstance(rule, Rule)}
    assert ids <= {case.rule for case in CASES}
    assert ids <= {rule for rule, _ in LEFT_ALONE}


FAILING: list[tuple[Any, Any]] = [
    (lambda v: linalg.solve(tt.diag(v.v), v.y), {"v": np.array([1.0, 0, 2, 3])}),
    (lambda v: linalg.inv(tt.diag(v.v)), {"v": np.array([1.0, 0, 2, 3])}),
    (lambda v: linalg.cholesky(tt.diag(v.v)), {"v": np.array([1.0, -1, 2, 3])}),
    (lambda v: linalg.cholesky(tt.diag(v.v)), {"v": np.array([1.0, 0, 2, 3])}),
    (lambda v: linalg.solve(v.ones, v.ones), {"ones": np.array([2.0, 0, 1])[:, None, None]}),
    (lambda v: linalg.solve(v.blocks(), v.rows(5)), {"d": np.ones((2, 2))}),
    (lambda v: linalg.inv(v.blocks()), {"c": np.ones((3, 3))}),
    (lambda v: linalg.cholesky(v.blocks()), {"c": -np.eye(3)}),
    (lambda v: linalg.solve(v.product(), v.rows(6)), {"c": np.ones((3, 3))}),
    (lambda v: linalg.inv(v.product()), {"d": np.ones((2, 2))}),
    (lambda v: linalg.inv(v.a) @ v.y, {"a": np.ones((4, 4))}),
    (lambda v: linalg.solve(tt.tril(v.a), v.y), {"a": np.ones((4, 4)) - np.eye(4)}),
    (lambda v: tt.log(linalg.det(v.a)), {"a": np.diag([1.0, 1, -1, 1])}),
    (lambda v: tt.log(linalg.det(v.a)), {"a": np.zeros((4, 4))}),
    (lambda v: linalg.slogdet(tt.tril(v.a))[1], {"a": np.zeros((4, 4))}),
    (lambda v: linalg.slogdet(tt.tril(v.complex))[0], {"complex": np.zeros((4, 4), complex)}),
]


@pytest.mark.parametrize("at", range(len(FAILING)))
def test_matrices_without_a_result_have_none_after_rewriting_either(at: int) -> None:
    build, replaced = FAILING[at]
    var = build(Variables())
    inputs = list(explicit_graph_inputs([var]))
    given = [{**values(), **replaced}[str(x)] for x in inputs]
    (old,), (new,) = (run(rewrite(inputs, [var], *query)[0], given) for query in ((PLAIN,), ()))
    np.testing.assert_allclose(new, old, rtol=1e-9, equal_nan=True)


def test_lengths_that_do_not_fit_stay_an_error() -> None:
    v = Variables()
    for var in (tt.diag(v.v) @ v.y, linalg.solve(tt.diag(v.v), v.y), tt.trace(v.y @ v.b), v.y @ tt.diag(v.w)):
        inputs = list(explicit_graph_inputs([var]))
        fgraph, _ = rewrite(inputs, [var])
        one = {"v": np.ones(1), "w": np.ones(1), "y": np.ones((4, 3)), "b": np.ones((1, 4))}
        with pytest.raises(ValueError, match=r"length|shape|dimension"):
            run(fgraph, [one[str(x)] for x in inputs])
