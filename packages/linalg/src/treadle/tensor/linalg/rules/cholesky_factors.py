"""Cholesky factors that a graph has, for other rules to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.rules.building import known_facts
from treadle.tensor.rewrites.analysis.predicates import made_by

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.variables.variable import TensorVariable


def cholesky_factor(fgraph: FunctionGraph, a: TensorVariable) -> TensorVariable | None:
    """Return the Cholesky factor that a graph computes, or is to compute, of a positive definite matrix.

    That a factor is computed does not tell that there is one: the graph may ask whether it is NaN.
    """
    facts = known_facts(fgraph)
    clients = [client for client, at in fgraph.clients[a] if at == 0]
    for client in clients:
        op = client.op
        if isinstance(op, Cholesky) and facts is not None and facts.hold("positive_definite", a):
            factor: TensorVariable = client.outputs[0]  # type: ignore[assignment]  # a tensor
            return factor
        if isinstance(op, Solve) and op.assume_a == "pos":
            new_factor: TensorVariable = Cholesky(op.lower, op.check_finite, op.on_error)(a)
            return new_factor
    return None


def is_lower(factor: TensorVariable) -> bool:
    """Whether a matrix is the lower factor that a `Cholesky` node computes."""
    node = made_by(factor, Cholesky)
    return node is not None and node.op.lower
