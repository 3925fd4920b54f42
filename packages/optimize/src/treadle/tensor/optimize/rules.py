"""Rules for minima, roots and fixed points: constants in the expression, the search as a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.optimize.fixed_points import FixedPoint
from treadle.tensor.optimize.optimize import Optimum
from treadle.tensor.rewrites.analysis.patterns import BOTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("optimize")
RULE_SETS = (RULES,)


@RULES.rule(Phase.CANONICALIZE, FixedPoint, tags=BOTH, depth=1)
def fixed_point_as_loop(node: NodeOf[FixedPoint]) -> Sequence[Variable] | None:
    """A fixed point -> the loop that finds it."""
    return node.op.decompose(*node.inputs)


@RULES.rule((Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE), Optimum, tags=BOTH, depth=1)
def constants_into_search(node: NodeOf[Optimum]) -> Sequence[Variable] | None:
    """A minimum or root of an expression of c, c known -> that of the expression with c in it; equal inputs are one."""
    inside = node.op.with_inputs_inside(node.inputs)
    return None if inside is None else inside[0].make_node(*inside[1]).outputs


@RULES.rule(
    Phase.CANONICALIZE, Optimum, tags=("search_as_loop",), depth=1, differs="where the searches end", is_opt_in=True
)
def search_as_loop(node: NodeOf[Optimum]) -> Sequence[Variable] | None:
    """A minimum or root -> a loop that finds it, where backends run no Python or it is asked for."""
    return node.op.decompose(*node.inputs)
