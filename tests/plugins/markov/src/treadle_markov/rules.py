"""Rules about rows of probabilities, and the facts that they follow from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as tt
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.rewrites import FACT_RULES, Facts, facts_of

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph

RULES = RuleSet("markov", features=(Facts,))
RULE_SETS = (RULES,)


@FACT_RULES.register(tt.MatMul, facts=["row_stochastic"])
def _of_product(fact: str, output: tt.TensorVariable, facts: Facts) -> bool:
    """Rows of a product are probabilities where those of both factors are."""
    return output.owner is not None and all(facts.hold(fact, factor) for factor in output.owner.inputs)


@RULES.rule(Phase.CANONICALIZE, tt.Reduction, needs_graph=True, tags=("fast_run",))
def sum_of_stochastic_rows(fgraph: FunctionGraph, node: tt.TensorNode) -> tt.TensorVariable | None:
    """sum(P, -1) -> 1 for a matrix whose rows sum to 1."""
    (x,) = node.inputs
    if not isinstance(node.op, tt.Reduction) or node.op.kind != "sum" or tuple(node.op.axes) != (x.ndim - 1,):
        return None
    return tt.ones_like(node.outputs[0]) if facts_of(fgraph).hold("row_stochastic", x) else None
