"""Facts about matrices: from their ops, from constants, from assumptions, and from rules of other packages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from tests.tensor_rewrites.test_assumptions import Measured
from treadle.graph import DuplicateRegistrationError, FunctionGraph, debugprint, explicit_graph_inputs
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor.linalg.rules.building import facts_from_sources, known_facts
from treadle.tensor.rewrites import FACT_RULES, Facts, holds

if TYPE_CHECKING:
    from collections.abc import Callable

# Its names are found when they are asked for.
assumptions: Any = import_module("treadle.assumptions")


class Variables:
    """Inputs by name, some of them with facts."""

    def __init__(self) -> None:
        self.x, self.y = tt.dmatrix("x"), tt.dmatrix("y")
        self.v, self.w, self.s = tt.dvector("v"), tt.dvector("w"), tt.dscalar("s")
        self.c = tt.zmatrix("c")
        self.bytes = tt.matrix("bytes", dtype="uint8")
        self.stack = tt.dtensor3("stack")
        self.lower = tt.assume(self.y, lower_triangular=True)
        self.symmetric = tt.assume(self.y, symmetric=True)
        self.definite = tt.assume(self.y, positive_definite=True)
        self.n = self.x.shape[0]

    def squared_distances(self) -> Any:
        return ((self.x[:, None, :] - self.x[None, :, :]) ** 2).sum(-1)


Build = Any
KNOWN: list[tuple[str, Build]] = [
    ("diagonal permutation positive_definite", lambda v: tt.eye(v.n)),
    ("diagonal permutation positive_definite", lambda _: tt.constant(np.eye(3))),
    ("upper_triangular tridiagonal", lambda v: tt.eye(v.n, k=1)),
    ("diagonal symmetric", lambda v: tt.diag(v.v)),
    ("diagonal symmetric", lambda v: 2 * tt.diag(v.v) + tt.diag(v.v) @ tt.diag(v.v)),
    ("positive_definite", lambda v: tt.diag(tt.exp(v.v))),
    ("positive_definite", lambda v: tt.diag(tt.erfc(v.v) + tt.maximum(tt.cosh(v.w), v.v))),
    ("positive_definite", lambda v: tt.diag(tt.hypot(tt.exp(v.v), tt.exp(v.w)))),
    ("diagonal symmetric", lambda v: tt.maximum(tt.diag(v.v), 0) + tt.diag(v.v) % 2),
    ("symmetric", lambda v: (v.x - v.x.T) * tt.sin(v.y - v.y.T)),
    ("symmetric", lambda v: tt.hypot(v.x - v.x.T, v.symmetric)),
    ("hermitian", lambda v: tt.exp(v.c + v.c.T.conj()) / v.s),
    ("hermitian", lambda v: v.c * v.c.T.conj()),
    ("tridiagonal", lambda v: tt.diag(v.v, 1) + tt.diag(v.v, -1)),
    ("lower_triangular", lambda v: tt.tril(v.x)),
    ("upper_triangular", lambda v: tt.triu(v.stack, 1)),
    ("lower_triangular", lambda v: tt.tri(v.n) * tt.tri(v.n)),
    ("lower_triangular", lambda v: v.lower @ v.lower + v.lower),
    ("upper_triangular", lambda v: v.lower.T),
    ("symmetric positive_semidefinite", lambda v: v.x @ v.x.T),
    ("symmetric positive_semidefinite", lambda v: (v.stack @ v.stack.mT).sum(0)),
    ("positive_definite", lambda v: v.x.T @ v.x + 1e-3 * tt.eye(v.x.shape[1])),
    ("positive_definite", lambda v: v.definite / 3 + tt.exp(v.s) * v.definite),
    ("positive_definite", lambda v: v.definite * v.definite),
    ("positive_semidefinite", lambda v: v.x @ v.definite @ v.x.T),
    ("positive_semidefinite", lambda v: v.x @ (v.definite @ v.x.T)),
    ("symmetric", lambda v: v.x + v.x.T),
    ("symmetric", lambda v: tt.sin(v.symmetric) * v.s - 1),
    ("symmetric", lambda v: v.x @ v.symmetric @ v.x.T),
    ("symmetric", lambda v: tt.exp(-v.squared_distances() / v.s) + tt.eye(v.n)),
    ("positive_definite", lambda v: tt.stack([v.definite, v.definite])[0]),
    ("positive_definite", lambda v: v.definite[:2, :2]),
    ("positive_definite", lambda v: v.definite[None].mT[0]),
    ("hermitian positive_semidefinite", lambda v: v.c @ v.c.conj().T),
    ("hermitian", lambda v: v.c + v.c.T.conj()),
    ("symmetric", lambda v: v.c @ v.c.T),
    ("positive_definite", lambda _: tt.constant(np.array([[2.0, 1], [1, 2]]))),
    ("lower_triangular", lambda _: tt.constant(np.tril(np.ones((2, 3, 3))))),
    ("permutation", lambda _: tt.constant(np.eye(4)[[2, 0, 1, 3]])),
    ("selection", lambda _: tt.constant(np.eye(4)[:, [2, 0, 2]])),
    ("square", lambda v: tt.assume(v.x, permutation=True).T),
    ("orthogonal", lambda v: tt.assume(v.x, orthogonal=True) @ tt.assume(v.y, permutation=True)),
]
UNKNOWN: list[tuple[str, Build]] = [
    ("symmetric", lambda v: v.x @ v.y.T),
    ("symmetric", lambda v: v.x - v.x.T),
    ("symmetric", lambda v: v.x @ v.x),
    ("symmetric", lambda v: v.symmetric @ v.symmetric),
    ("symmetric", lambda v: v.symmetric + v.v),
    ("symmetric", lambda v: v.c @ v.c.conj().T),
    ("hermitian", lambda v: v.c @ v.c.T),
    ("hermitian", lambda v: 1j * (v.c @ v.c.conj().T)),
    ("positive_definite", lambda v: v.x @ v.x.T),
    ("positive_definite", lambda v: v.definite - v.definite),
    ("positive_definite", lambda v: -v.definite),
    ("positive_definite", lambda v: v.definite * v.s),
    ("positive_definite", lambda v: v.definite + 1),
    ("positive_definite", lambda v: v.definite @ v.definite),
    ("positive_definite", lambda v: tt.diag(v.v)),
    ("positive_definite", lambda _: tt.constant(np.array([[1.0, 2], [2, 1]]))),
    ("positive_definite", lambda _: tt.constant(np.array([[2.0, 1], [0, 2]]))),
    # Integers wrap around: a sum of positive ones may be negative, and the negative of an unsigned one is not below 0.
    ("positive", lambda v: tt.maximum(v.bytes, 1) + 100),
    ("positive", lambda v: tt.exp(v.c)),
    ("symmetric", lambda v: (v.x - v.x.T) * tt.sin(v.bytes - v.bytes.T)),
    ("hermitian", lambda v: tt.sqrt(v.c + v.c.T.conj())),
    # One of them may turn out to be 1 x 1, and is then added to every element.
    ("diagonal", lambda v: tt.diag(v.v) + tt.diag(v.w)),
    ("diagonal", lambda v: tt.diag(v.v) + 1),
    ("diagonal", lambda v: tt.exp(tt.diag(v.v))),
    ("lower_triangular", lambda v: tt.tril(v.x, 1)),
    ("lower_triangular", lambda v: tt.eye(v.n, k=1)),
    ("permutation", lambda v: tt.eye(v.n, v.x.shape[1])),
    ("lower_triangular", lambda v: tt.stack([v.lower, v.lower], axis=-1)),
    ("selection", lambda _: tt.constant(np.array([[1.0, 0], [1, 0]]))),
    ("symmetric", lambda v: tt.eye(v.n, v.x.shape[1])),
    ("symmetric", lambda v: tt.assume(v.x, diagonal=True)),
    ("square", lambda v: tt.assume(v.x, diagonal=True)),
    ("diagonal", lambda v: tt.kron(tt.eye(v.n, v.x.shape[1]), tt.eye(v.n, v.x.shape[1]))),
]


@pytest.mark.parametrize("at", range(len(KNOWN)))
def test_facts_follow_from_how_a_value_is_made(at: int) -> None:
    names, build = KNOWN[at]
    var = build(Variables())
    assert [name for name in names.split() if not holds(name, var)] == []


@pytest.mark.parametrize("at", range(len(UNKNOWN)))
def test_facts_that_do_not_follow_are_not_known(at: int) -> None:
    name, build = UNKNOWN[at]
    assert not holds(name, build(Variables()))


@pytest.mark.parametrize("at", range(len(KNOWN)))
def test_facts_that_are_known_are_true_of_values(at: int) -> None:
    variables = Variables()
    var = KNOWN[at][1](variables)
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    definite = root @ root.T + np.eye(3)
    values = {
        "x": root, "y": definite, "v": rng.normal(size=3), "w": rng.normal(size=3), "s": np.array(0.7),
        "c": root + 1j * rng.normal(size=(3, 3)), "stack": rng.normal(size=(2, 3, 3)),
    }  # fmt: skip
    if "lower_triangular" in str(debugprint(var, file="str")):
        values["y"] = np.linalg.cholesky(definite)
    inputs = list(explicit_graph_inputs([var]))
    plain, _ = rewrite(inputs, [var], RewriteDatabaseQuery())
    (value,) = run(plain, [values[str(x)] for x in inputs])
    flipped = value.swapaxes(-1, -2)
    eigenvalues = np.linalg.eigvalsh(value) if value.shape[-1] == value.shape[-2] else np.zeros(0)
    checks: dict[str, bool] = {
        "symmetric": value.shape == flipped.shape and np.allclose(value, flipped),
        "hermitian": value.shape == flipped.shape and np.allclose(value, flipped.conj()),
        "diagonal": bool((value == np.tril(np.triu(value))).all()),
        "lower_triangular": bool((value == np.tril(value)).all()),
        "upper_triangular": bool((value == np.triu(value)).all()),
        "tridiagonal": bool((value == np.tril(np.triu(value, -1), 1)).all()),
        "positive_definite": bool((eigenvalues > 0).all()),
        "positive_semidefinite": bool((eigenvalues > -1e-9).all()),
    }
    facts = Facts()
    for name, check in checks.items():
        assert not facts.hold(name, var) or check, name


def test_each_question_is_answered_once_for_each_node_however_deep_the_graph_is() -> None:
    v = Variables()
    known, unknown = v.definite, v.x
    for _ in range(500):
        known, unknown = (known + known) * 2.0, (unknown + unknown) * 2.0
    facts = Facts()
    assert facts.hold("positive_definite", known)
    assert not facts.hold("symmetric", unknown)
    answered = facts.answered
    assert answered < 12 * 2_000
    assert facts.hold("positive_definite", known)
    assert facts.answered == answered


def test_what_was_not_known_is_asked_again_after_a_change_below() -> None:
    v = Variables()
    fgraph, _ = rewrite([v.x, v.y], [tt.exp(v.x) + 1, v.symmetric], RewriteDatabaseQuery())
    facts = Facts()
    fgraph.attach_feature(facts)
    out, declared = fgraph.outputs
    assert not facts.hold("symmetric", out)
    fgraph.replace(fgraph.inputs[0], declared, "declared")
    assert facts.hold("symmetric", fgraph.outputs[0])


def test_printing_shows_facts_on_demand() -> None:
    x = tt.dmatrix("x")
    out = tt.assume(x, positive_definite=True).T
    shown = str(debugprint(out, file="str", id_type="", print_assumptions=True)).splitlines()
    facts = "{symmetric, positive_definite, positive_semidefinite, nonsingular, positive_diagonal}"
    assert shown == [
        f"DimShuffle{{1,0}} {facts}",
        f" └─ SpecifyAssumptions{{positive_definite}} {facts}",
        "     └─ x",
    ]
    assert "symmetric," not in str(debugprint(out, file="str"))


@pytest.fixture(scope="module")
def circulant() -> Any:
    """Return a fact of another package, with a rule for a class of ops."""
    key = assumptions.AssumptionKey("circulant")

    def of_elementwise(key: Any, op: Any, facts: Any, fgraph: Any, node: Any, states: list[Any]) -> list[Any]:
        del key, op, facts, fgraph, node
        return [states[0] if len(set(states)) == 1 else assumptions.FactState.UNKNOWN]

    assumptions.register_assumption(key, tt.Elemwise)(of_elementwise)

    def read(constant: Any) -> Any:
        first = constant.data[..., 0, 0]
        same = (constant.data.diagonal(0, -2, -1) == first[..., None]).all()
        return assumptions.FactState.TRUE if same else assumptions.FactState.UNKNOWN

    assumptions.register_constant_inference(key, read)
    return key


def test_others_add_facts_and_rules(circulant: Any) -> None:
    x = tt.dmatrix("x")
    assumed = tt.assume(x, circulant=True)
    assert circulant.holds(tt.exp(assumed) + assumed)
    assert not circulant.holds(assumed + x)
    assert circulant.holds(tt.constant(np.eye(2)))
    assert not circulant.holds(tt.constant(np.diag([1.0, 2.0])))
    assert assumptions.assumption_tags([tt.exp(assumed)])[assumed] == "{circulant}"


def test_others_add_rules_for_ops_of_their_own() -> None:
    def rule(fact: str, out: Any, facts: Facts) -> bool:
        del out, facts
        return fact == "diagonal"

    add: Callable[..., Any] = FACT_RULES.register(Measured, facts=("diagonal",))
    add(rule)
    measured = Measured()(tt.dmatrix("x"))
    assert holds("diagonal", measured)
    assert holds("lower_triangular", measured)
    assert not holds("symmetric", measured)
    assert holds("symmetric", Measured()(tt.tensor("x", dtype="float64", shape=(3, 3))))
    with pytest.raises(DuplicateRegistrationError, match="registered for Measured already"):
        add(rule)


def test_a_complex_matrix_that_is_definite_need_not_be_symmetric() -> None:
    x = tt.assume(tt.zmatrix("x"), positive_definite=True, symmetric=False)
    assert holds("hermitian", x)
    assert not holds("symmetric", x)
    with pytest.raises(tt.ConflictingAssumptionsError, match="what is positive_definite is symmetric"):
        tt.assume(tt.dmatrix("x"), positive_definite=True, symmetric=False)


@pytest.mark.parametrize("kind", ["op", "constant"])
def test_structure_that_comes_into_a_graph_later_is_looked_for(kind: str) -> None:
    a, b, d = tt.dmatrix("a"), tt.dmatrix("b"), tt.dvector("d")
    fgraph = FunctionGraph([a, b, d], [tt.matmul(a, b) + tt.linalg.det(a), d], clone=False)
    fgraph.attach_feature(Facts())
    assert known_facts(fgraph) is not None
    assert facts_from_sources(fgraph) is None
    fgraph.replace(a, tt.diag(d) if kind == "op" else tt.constant(np.eye(2)))
    assert facts_from_sources(fgraph) is not None
