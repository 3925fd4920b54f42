"""Kronecker products: rules that compute matrix functions of them from their factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import power
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.rules.building import known_facts
from treadle.tensor.linalg.rules.kronecker_products import applied_by_factors, square_factors
from treadle.tensor.products.contraction import kron
from treadle.tensor.rewrites.analysis.facts import Facts
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.shape import shape_i

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("kronecker", features=(SymbolicShapes, Facts), after=("reduction",))


@RULES.rule(EARLY_AND_LATE, Solve, tags=BOTH, needs_graph=True, depth=5)
def solution_with_kronecker_product(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(kron(a, c), b) -> solve(a, solve(c, b's parts)), for square matrices a and c."""
    factors = square_factors(fgraph, node.inputs[0])
    if factors is None or node.op.assume_a not in {"gen", "pos"} or node.inputs[0].ndim != 2:
        return None
    if node.op.assume_a == "pos":
        facts = known_facts(fgraph)
        if facts is None or not all(facts.hold("positive_definite", x) for x in factors):
            return None
    return if_fits(node, applied_by_factors(factors, node.inputs[1], node.op))


@RULES.rule(EARLY_AND_LATE, Det, tags=(*BOTH, "det_of_kronecker"), needs_graph=True, depth=5)
def determinant_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[Det]) -> TensorVariable | None:
    """det(kron(a, b)) -> det(a)**m * det(b)**n, for square matrices of n and m rows."""
    factors = square_factors(fgraph, node.inputs[0])
    if factors is None:
        return None
    a, b = factors
    real = a.real.dtype
    determinant = mul(power(Det()(a), cast(shape_i(b, 0), real)), power(Det()(b), cast(shape_i(a, 0), real)))
    return if_fits(node, determinant)


@RULES.rule(EARLY_AND_LATE, SLogDet, tags=BOTH, needs_graph=True, depth=5)
def log_determinant_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[SLogDet]) -> list[TensorVariable] | None:
    """slogdet(kron(a, b)) -> the m-fold and n-fold sums of logarithms, for square matrices of n and m rows."""
    factors = square_factors(fgraph, node.inputs[0])
    if factors is None or node.inputs[0].type.numpy_dtype.kind == "c":
        return None
    (sign_a, log_a), (sign_b, log_b) = (SLogDet()(x) for x in factors)
    n, m = (cast(shape_i(x, 0), log_a.dtype) for x in factors)
    return [mul(power(sign_a, m), power(sign_b, n)), add(mul(m, log_a), mul(n, log_b))]


@RULES.rule(EARLY_AND_LATE, Cholesky, tags=BOTH, needs_graph=True, depth=6)
def factor_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[Cholesky]) -> TensorVariable | None:
    """cholesky(kron(a, b)) -> kron(cholesky(a), cholesky(b)), where both are known to be positive definite."""
    factors = square_factors(fgraph, node.inputs[0])
    facts = known_facts(fgraph)
    if factors is None or facts is None or not all(facts.hold("positive_definite", x) for x in factors):
        return None
    return if_fits(node, kron(*(node.op(x) for x in factors)))
