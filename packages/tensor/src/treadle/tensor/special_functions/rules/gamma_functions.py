"""Rules for the gamma function and its logarithm's derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import log
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE, EVERY_MODE, is_commutative
from treadle.tensor.rewrites.analysis.predicates import argument_of, constant_value, is_nonnegative
from treadle.tensor.special_functions.gamma_functions import digamma, gamma, gammaln, polygamma, tri_gamma

if TYPE_CHECKING:
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("gamma_functions", is_commutative=is_commutative, value_of=constant_value)


@RULES.rule(EARLY_AND_LATE, polygamma, tags=BOTH)
def polygamma_of_known_order(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """polygamma(0, x) -> digamma(x), polygamma(1, x) -> tri_gamma(x)."""
    n, x = node.inputs
    function = {0: digamma, 1: tri_gamma}.get(constant_value(n))
    out = node.outputs[0]
    if function is None or (n.type.ndim and not all(n.type.broadcastable)):
        return None
    return None if x.type.shape != out.type.shape else function(cast(x, out.dtype))


@RULES.rule(Phase.STABILIZE, log, tags=EVERY_MODE, differs="where gamma overflows")
def log_of_gamma(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(gamma(x)) -> gammaln(x), for x that is not negative."""
    x = argument_of(gamma, node.inputs[0])
    return None if x is None or not is_nonnegative(x) else cast(gammaln(x), node.outputs[0].dtype)
