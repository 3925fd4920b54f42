"""What is known of matrices, asked by PyTensor's keys; the answers are those of PyTensor 3.3.8."""

from __future__ import annotations

from typing import Any

import pytest

from tests.as_pytensor.processes import values

PROGRAM = """
import numpy as np
import pytensor.tensor as pt
from pytensor.assumptions import (
    ALL_KEYS, IMPLIES, KEY_REGISTRY, MATRIX_KEYS, UNIT_MAGNITUDE, AssumptionFeature, AssumptionKey,
    ConflictingAssumptionsError, FactState, assume, check_assumption, register_assumption, summarize_assumptions,
)
from pytensor.assumptions.core import DIAGONAL, SYMMETRIC, register_client_inference, true_if
from pytensor.graph import FunctionGraph
from pytensor.tensor.elemwise import Elemwise

def state(var, key):
    graph = FunctionGraph(outputs=[var], clone=False)
    graph.attach_feature(AssumptionFeature())
    try:
        return graph.assumption_feature.get(var, key).name
    except ConflictingAssumptionsError:
        return "CONFLICT"

def states(var):
    return {key.name: state(var, key) for key in MATRIX_KEYS if state(var, key) != "UNKNOWN"}

def summary(var):
    graph = FunctionGraph(outputs=[var], clone=False)
    graph.attach_feature(AssumptionFeature())
    return summarize_assumptions(graph.assumption_feature, var)

x = pt.dmatrix("x")
variables = {
    "not symmetric": assume(x, symmetric=False),
    "not lower": assume(x, lower_triangular=False),
    "definite": assume(x, positive_definite=True),
    "not selection": assume(x, selection=False),
    "permutation": assume(x, permutation=True),
    "both": assume(assume(x, symmetric=False), orthogonal=True),
    "constant": pt.constant(np.array([[1.0, 2.0], [3.0, 4.0]])),
    "nothing": pt.exp(x),
}
values["states"] = {name: states(var) for name, var in variables.items()}
values["summaries"] = {name: summary(var) for name, var in variables.items()}
twice = [assume(assume(x, diagonal=first), diagonal=not first) for first in (True, False)]
values["contradicted"] = [state(var, DIAGONAL) for var in twice]
values["keys"] = [key.name for key in ALL_KEYS]
values["registry"] = sorted(KEY_REGISTRY) == sorted(values["keys"])
values["implied"] = {key.name: [other.name for other in weaker] for key, weaker in IMPLIES.items()}
values["oblong"] = [state(pt.eye(3, 4), SYMMETRIC), state(pt.eye(3, 4), DIAGONAL)]

toeplitz = AssumptionKey("toeplitz", short_name="toep")
y = toeplitz.assume(x)
values["key"] = [repr(toeplitz), toeplitz in ALL_KEYS, len(ALL_KEYS), toeplitz.holds(y), toeplitz.holds(pt.exp(y))]

@register_assumption(toeplitz, Elemwise)
def of_elements(key, op, feature, fgraph, node, input_states):
    if any(s == FactState.FALSE for s in input_states):
        return [FactState.FALSE]
    return true_if(all(feature.check(x, key) for x in node.inputs))

denied = toeplitz.assume(x, state=False)
values["rule"] = [toeplitz.holds(pt.exp(y)), toeplitz.holds(pt.exp(x)), state(pt.exp(pt.exp(denied)), toeplitz)]

errors = []
for act in (lambda: AssumptionKey("toeplitz", "other"), lambda: assume(x, nonsense=True)):
    try:
        act()
    except ValueError:
        errors.append("ValueError")
values["errors"] = errors
units = assume(pt.dvector("v"), unit_magnitude=True)
several = (units, -units, pt.constant([1.0, 2.0]), pt.constant([1.0, -1.0]))
values["units"] = [state(var, UNIT_MAGNITUDE) for var in several]

graph = FunctionGraph([x], [pt.exp(x)], clone=False)
values["check"] = [check_assumption(graph, x, DIAGONAL), hasattr(graph, "assumption_feature")]
known = assume(x, diagonal=False)
graph = FunctionGraph([x], [pt.exp(known)], clone=False)
graph.attach_feature(AssumptionFeature())
graph.assumption_feature.get(known, DIAGONAL)
other = pt.dmatrix("other")
graph.add_input(other)
graph.replace(known, other, import_missing=True)
values["replaced"] = graph.assumption_feature.get(other, DIAGONAL).name

seen = AssumptionKey("seen")

@register_client_inference(seen, Elemwise)
def of_client(key, op, node, input_index):
    return FactState.TRUE

graph = FunctionGraph([x], [pt.exp(x)], clone=False)
values["client"] = check_assumption(graph, x, seen)
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return values(PROGRAM)


def test_answers_are_those_of_pytensor(found: dict[str, Any]) -> None:
    assert found["states"] == {
        "not symmetric": {"diagonal": "FALSE", "symmetric": "FALSE", "positive_definite": "FALSE"},
        "not lower": {"diagonal": "FALSE", "lower_triangular": "FALSE"},
        "definite": {"symmetric": "TRUE", "positive_definite": "TRUE"},
        "not selection": {"selection": "FALSE", "permutation": "FALSE"},
        "permutation": {"orthogonal": "TRUE", "selection": "TRUE", "permutation": "TRUE"},
        "both": {"diagonal": "FALSE", "symmetric": "FALSE", "positive_definite": "FALSE", "orthogonal": "TRUE"},
        "constant": {"diagonal": "FALSE", "tridiagonal": "TRUE", "selection": "FALSE", "permutation": "FALSE"},
        "nothing": {},
    }
    assert found["summaries"] == {
        "not symmetric": "{!sym}",
        "not lower": "{!tril}",
        "definite": "{pd}",
        "not selection": "{!sel}",
        "permutation": "{perm}",
        "both": "{!sym, orth}",
        "constant": "{!diag, tridiag, !sel, !unit}",
        "nothing": "",
    }
    assert found["contradicted"] == ["CONFLICT", "CONFLICT"]
    assert found["oblong"] == ["FALSE", "FALSE"]


def test_keys_are_those_of_pytensor_and_may_be_added(found: dict[str, Any]) -> None:
    matrices = "diagonal lower_triangular upper_triangular symmetric tridiagonal positive_definite orthogonal selection"
    assert found["keys"] == [*matrices.split(), "permutation", "unique_indices", "unit_magnitude"]
    assert found["registry"] is True
    assert found["implied"] == {
        "diagonal": ["lower_triangular", "upper_triangular", "symmetric", "tridiagonal"],
        "positive_definite": ["symmetric"],
        "permutation": ["selection", "orthogonal"],
    }
    assert found["key"] == ["toeplitz", True, 12, True, False]
    assert found["rule"] == [True, False, "FALSE"]
    assert found["errors"] == ["ValueError", "ValueError"]
    assert found["units"] == ["TRUE", "TRUE", "FALSE", "TRUE"]
    assert found["check"] == [False, True]
    assert found["replaced"] == "FALSE"
    assert found["client"] is True
