"""Rules for factors of matrices: Cholesky's, of what has a factor or a structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.arithmetic import mul, sign, true_div
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.rules.building import (
    NOT_FINITE,
    adjoint,
    all_of_last,
    diagonal_matrix,
    diagonal_of,
    diagonal_of_square,
    factor_of,
    known_facts,
    may_fail_silently,
    nan_unless,
    needs_no_check,
)
from treadle.tensor.rewrites.analysis.facts import Facts
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import applies
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_square, is_uniform
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.dimshuffle import expand_dims

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("factors", features=(SymbolicShapes, Facts), after=("reduction",))


@RULES.rule(EARLY_AND_LATE, Cholesky, tags=(*BOTH, "cholesky_of_diag"), needs_graph=True, depth=6, differs=NOT_FINITE)
def factor_of_diagonal(fgraph: FunctionGraph, node: NodeOf[Cholesky]) -> TensorVariable | None:
    """cholesky(diag(d)) -> diag(sqrt(d)), NaN in the whole matrix where an element of d is not positive."""
    facts = known_facts(fgraph)
    a = node.inputs[0]
    if facts is None or not facts.hold("diagonal", a):
        return None
    is_sure = facts.hold("positive_definite", a)
    if not (needs_no_check(node.op) if is_sure else may_fail_silently(node.op)):
        return None
    d = diagonal_of_square(fgraph, a).real
    root = diagonal_matrix(sqrt(d).astype(a.dtype))
    return if_fits(node, root if is_sure else nan_unless(all_of_last(d > 0), root))


@RULES.rule(
    EARLY_AND_LATE, Cholesky, tags=(*BOTH, "cholesky_ldotlt"), needs_graph=True, depth=6,
    differs="where rounding makes the product indefinite",
)  # fmt: skip
def factor_of_product(fgraph: FunctionGraph, node: NodeOf[Cholesky]) -> TensorVariable | None:
    """cholesky(l @ l.T) -> l, for square, lower triangular l with a positive diagonal; else l with columns turned.

    Columns are turned to make the diagonal positive: only of real matrices, where no singular product is an error.
    """
    factor = factor_of(node.inputs[0])
    facts = None if factor is None else known_facts(fgraph)
    if factor is None or facts is None or not (facts.hold("lower_triangular", factor) and is_square(factor, facts)):
        return None
    if facts.hold("positive_diagonal", factor) and needs_no_check(node.op):
        result = factor
    elif may_fail_silently(node.op) and factor.type.numpy_dtype.kind == "f":
        d = diagonal_of(factor)
        result = nan_unless(all_of_last(d.neq(0)), mul(factor, expand_dims(sign(d), -2)))
    else:
        return None
    return if_fits(node, result if node.op.lower else adjoint(result))


@RULES.rule(EARLY_AND_LATE, Cholesky, tags=BOTH, needs_graph=True, depth=3, differs="in rounding")
def factor_of_scaled(fgraph: FunctionGraph, node: NodeOf[Cholesky]) -> TensorVariable | None:
    """cholesky(c * a) -> sqrt(c) * cholesky(a), for a number c known to be positive, where a is factored elsewhere."""
    x = node.inputs[0]
    inner = x.owner
    if not applies(inner, mul, true_div):
        return None
    facts = known_facts(fgraph)
    at = 1 if inner.op == true_div or is_uniform(inner.inputs[1]) else 0
    c, a = inner.inputs[at], inner.inputs[1 - at]
    if facts is None or not is_uniform(c) or is_uniform(a) or c.type.dtype != a.type.dtype:
        return None
    is_factored = any(client.op == node.op for client, _ in fgraph.clients[a])
    if not is_factored or not facts.hold("positive", c):
        return None
    return if_fits(node, inner.op(node.op(a), sqrt(c)))
