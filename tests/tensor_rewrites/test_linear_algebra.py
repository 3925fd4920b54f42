"""Rules of linear algebra: their results, that values stay the same, and where the rules do not apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.cases_linear_algebra import CASES, LEFT_ALONE, Case, Variables, values
from tests.tensor_rewrites.graphs import rewrite, run
from tests.tensor_rewrites.rule_sets import RULE_SETS
from treadle.compile import function
from treadle.graph import FunctionGraph, explicit_graph_inputs
from treadle.rewrite import RewriteDatabaseQuery, Rule, default_database
from treadle.tensor import linalg
from treadle.tensor.linalg.matrix_op import MatrixOp
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites import Facts

SETS = {"structured_products", "blocks", "kronecker", "systems", "inverses_of_matrices", "factors", "determinants"} | {
    "shared_factors",
    "spectra",
}
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
    arguments = [known[case.sample if str(x) == "a" and case.sample != "definite" else str(x)] for x in inputs]
    (old,), (new,) = run(plain, arguments), run(fgraph, arguments)
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
    arguments = [{**values(), **replaced}[str(x)] for x in inputs]
    (old,), (new,) = (run(rewrite(inputs, [var], *query)[0], arguments) for query in ((PLAIN,), ()))
    np.testing.assert_allclose(new, old, rtol=1e-9, equal_nan=True)


def test_lengths_that_do_not_fit_stay_an_error() -> None:
    v = Variables()
    for var in (tt.diag(v.v) @ v.y, linalg.solve(tt.diag(v.v), v.y), tt.trace(v.y @ v.b), v.y @ tt.diag(v.w)):
        inputs = list(explicit_graph_inputs([var]))
        fgraph, _ = rewrite(inputs, [var])
        one = {"v": np.ones(1), "w": np.ones(1), "y": np.ones((4, 3)), "b": np.ones((1, 4))}
        with pytest.raises(ValueError, match=r"length|shape|dimension"):
            run(fgraph, [one[str(x)] for x in inputs])


def marginal_likelihood(form: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return inputs, outputs and values: the log marginal likelihood of a Gaussian process with its gradient."""
    x, y, scale, noise = tt.dmatrix("x"), tt.dvector("y"), tt.dscalar("scale"), tt.dscalar("noise")
    distances = ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
    k = tt.exp(-distances / tt.exp(scale) ** 2) + tt.exp(noise) * tt.eye(x.shape[0])
    factor = linalg.cholesky(k)
    half = linalg.solve_triangular(factor, y, lower=True)
    of_factor = tt.log(tt.diag(factor)).sum()
    assumed = tt.assume(k, positive_definite=True)
    value = {
        "cho_solve": lambda: y @ linalg.cho_solve((factor, True), y) / 2 + of_factor,
        "triangular": lambda: half @ half / 2 + of_factor,
        "solve": lambda: y @ linalg.solve(k, y, assume_a="pos") / 2 + linalg.slogdet(k)[1] / 2,
        "inverse": lambda: y @ linalg.inv(assumed) @ y / 2 + tt.log(linalg.det(assumed)) / 2,
        "both": lambda: y @ linalg.solve(assumed, y) / 2 + of_factor,
    }[form]()
    rng = np.random.default_rng(1)
    arguments = [rng.normal(size=(7, 2)), rng.normal(size=7), np.array(0.3), np.array(-0.5)]
    return [x, y, scale, noise], [value, *tt.grad(value, [scale, noise])], arguments


@pytest.mark.parametrize("form", ["cho_solve", "triangular", "solve", "inverse", "both"])
def test_marginal_likelihood_and_its_gradient_need_one_factor_and_no_inverse(form: str) -> None:
    inputs, outputs, arguments = marginal_likelihood(form)
    plain, _ = rewrite(inputs, outputs, PLAIN)
    fgraph, _ = rewrite(inputs, outputs)
    ops = matrix_ops(fgraph).split()
    assert ops.count("Cholesky") == 1
    assert not {"MatrixInverse", "Solve", "LUFactor", "Det", "SLogDet"} & set(ops)
    for old, new in zip(run(plain, arguments), run(fgraph, arguments), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-8)


def test_systems_of_a_gradient_share_the_factor_of_the_system() -> None:
    v = Variables()
    x = linalg.solve(v.b, v.v)
    fgraph, _ = rewrite([v.b, v.v], [x, *tt.grad(tt.sqr(x).sum(), [v.b, v.v])])
    assert matrix_ops(fgraph) == "LUFactor LUSolve LUSolve"


def test_graphs_without_a_structure_are_asked_for_none() -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    fgraph = FunctionGraph([x, y], [tt.tanh(x @ y.T) @ y], clone=True)
    facts = Facts()
    fgraph.attach_feature(facts)
    default_database().query("fast_run").rewrite(fgraph)
    assert facts.answered == 0


def test_a_matrix_that_is_factored_may_be_indefinite() -> None:
    v = Variables()
    s = v.b + v.b.T
    outputs = [linalg.cholesky(s), linalg.solve(s, v.v), linalg.det(s), linalg.inv(s), linalg.slogdet(s).sign]
    f = function([v.b, v.v], outputs)
    indefinite = np.diag([1.0, -2.0, 3.0, 4.0]) / 2
    factor, x, det, inverse, sign = f(indefinite, np.ones(4))
    assert np.isnan(factor).all()
    np.testing.assert_allclose(x, [1, -1 / 2, 1 / 3, 1 / 4])
    np.testing.assert_allclose(inverse, np.linalg.inv(2 * indefinite), atol=1e-15)
    assert (det.round(), sign) == (-24, -1)
