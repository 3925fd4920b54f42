"""Rules for scalars as values of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.surface.values.scalar_values import ScalarFromTensor, TensorFromScalar
from treadle.surface.vector_rules import RULES as VECTOR_RULES
from treadle.tensor.rewrites.analysis.patterns import BOTH
from treadle.tensor.rewrites.analysis.predicates import made_by

if TYPE_CHECKING:
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("scalar_values")
RULE_SETS = (RULES, VECTOR_RULES)


@RULES.rule(Phase.CANONICALIZE, TensorFromScalar, tags=(*BOTH, "cast", "local_tensor_scalar_tensor"), depth=2)
def tensor_from_scalar_of_tensor(node: NodeOf[TensorFromScalar]) -> TensorVariable | None:
    """tensor_from_scalar(scalar_from_tensor(x)) -> x."""
    inner = made_by(node.inputs[0], ScalarFromTensor)
    return None if inner is None else inner.inputs[0]
