"""Rule for assumptions: they are left out when the rules that ask for facts have run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.control.assumption import SpecifyAssumptions
from treadle.tensor.rewrites.analysis.patterns import BOTH

if TYPE_CHECKING:
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("assumption")


@RULES.rule(Phase.UNCANONICALIZE, SpecifyAssumptions, tags=(*BOTH, "drain_specify_assumptions"))
def assumptions_left_out(node: NodeOf[SpecifyAssumptions]) -> TensorVariable:
    """assume(x, fact=True) -> x, after the rules that ask for facts."""
    return node.inputs[0]
