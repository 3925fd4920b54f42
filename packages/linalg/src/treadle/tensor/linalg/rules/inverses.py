"""Rules for inverses: of what is an inverse already, or of a structure whose inverse is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.comparison import neq
from treadle.tensor.elementwise.exponential import reciprocal
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.rules.building import (
    NOT_FINITE,
    adjoint,
    all_of_last,
    as_square,
    diagonal_matrix,
    diagonal_of_square,
    identity,
    known_facts,
    matmul,
    may_fail_silently,
    nan_unless,
    needs_no_check,
    where_nothing_is_nan,
)
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.products.contraction import kron
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of
from treadle.tensor.rewrites.analysis.kronecker_facts import kronecker_factors
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_square, transposed
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.dimshuffle import DimShuffle

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("inverses_of_matrices", features=(SymbolicShapes, Facts), after=("reduction",))
SINGULAR = "where the matrix is singular"


@RULES.rule(
    EARLY_AND_LATE,
    MatrixInverse,
    tags=(*BOTH, "inv_of_inv"),
    needs_graph=True,
    differs=SINGULAR,
    below=(MatrixInverse,),
)
def inverse_of_inverse(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(inv(a)) -> a."""
    inner = made_by(node.inputs[0], MatrixInverse)
    if inner is None or not may_fail_silently(inner.op) or not may_fail_silently(node.op):
        return None
    return if_fits(node, as_square(fgraph, inner.inputs[0]))


@RULES.rule(EARLY_AND_LATE, MatrixInverse, tags=BOTH, depth=3, needs_graph=True, differs=SINGULAR, below=(MatMul,))
def inverse_of_product(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(inv(a) @ inv(b)) -> b @ a; inv(q @ b) -> inv(b) @ q.T for an orthogonal q, and so for the other factor.

    The other factor is square then: the product is.
    """
    product = made_by(node.inputs[0], MatMul)
    if product is None or not may_fail_silently(node.op) or not is_used_once(fgraph, node.inputs[0]):
        return None
    facts = known_facts(fgraph)
    turned: list[TensorVariable | None] = []
    for x in product.inputs:
        inner = made_by(x, MatrixInverse)
        if inner is not None and may_fail_silently(inner.op):
            turned.append(as_square(fgraph, inner.inputs[0]))
        elif facts is not None and facts.hold("orthogonal", x):
            turned.append(adjoint(x))
        else:
            turned.append(None)
    a, b = turned
    if a is not None and b is not None:
        return if_fits(node, matmul(b, a))
    if (a is None and b is None) or not all(made_by(x, MatrixInverse) is None for x in product.inputs):
        return None
    left = b if b is not None else node.op(product.inputs[1])
    right = a if a is not None else node.op(product.inputs[0])
    return if_fits(node, matmul(left, right))


@RULES.rule(EARLY_AND_LATE, MatrixInverse, tags=BOTH, needs_graph=True, differs=SINGULAR, below=(Solve,))
def inverse_of_solution(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(solve(a, b)) -> solve(b, a)."""
    inner = made_by(node.inputs[0], Solve)
    if inner is None or inner.op.assume_a != "gen" or not is_used_once(fgraph, node.inputs[0]):
        return None
    if not may_fail_silently(inner.op) or not may_fail_silently(node.op):
        return None
    a, b = inner.inputs
    return if_fits(node, inner.op(b, as_square(fgraph, a)))


@RULES.rule(EARLY_AND_LATE, DimShuffle, tags=(*BOTH, "transpose_of_inv"), needs_graph=True)
def transpose_of_inverse(fgraph: FunctionGraph, node: NodeOf[DimShuffle]) -> TensorVariable | None:
    """inv(a.T).T -> inv(a)."""
    x = node.inputs[0]
    inner = made_by(x, MatrixInverse)
    if inner is None or transposed(node.outputs[0]) is not x or not is_used_once(fgraph, x):
        return None
    below = transposed(inner.inputs[0])
    return None if below is None else if_fits(node, inner.op(below))


@RULES.rule(
    EARLY_AND_LATE, MatrixInverse, tags=(*BOTH, "inv_of_diag_to_diag_reciprocal"), needs_graph=True, depth=6,
    differs=NOT_FINITE,
)  # fmt: skip
def inverse_of_diagonal(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(diag(d)) -> diag(1 / d), NaN in the whole matrix where the diagonal matrix is singular."""
    facts = known_facts(fgraph)
    a = node.inputs[0]
    if facts is None or not facts.hold("diagonal", a):
        return None
    is_sure = facts.hold("nonsingular", a)
    if not (needs_no_check(node.op) if is_sure else may_fail_silently(node.op)):
        return None
    d = diagonal_of_square(fgraph, a)
    inverse = diagonal_matrix(reciprocal(d))
    return if_fits(node, inverse if is_sure else nan_unless(all_of_last(neq(d, 0)), inverse))


@RULES.rule(
    EARLY_AND_LATE, MatrixInverse, tags=(*BOTH, "inv_of_orthogonal_to_transpose"), needs_graph=True, depth=6,
    after=("inverse_of_diagonal",), differs=NOT_FINITE,
)  # fmt: skip
def inverse_of_orthogonal(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(q) -> q.T, where q is known to be orthogonal; the conjugate transpose, where it is unitary."""
    facts = known_facts(fgraph)
    a = node.inputs[0]
    is_known = facts is not None and needs_no_check(node.op) and facts.hold("orthogonal", a)
    return if_fits(node, adjoint(a)) if is_known else None


@RULES.rule(EARLY_AND_LATE, MatrixInverse, tags=BOTH, needs_graph=True, depth=6, after=("inverse_of_diagonal",))
def inverse_of_triangle(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(l) -> solve_triangular(l, eye), where l is known to be triangular."""
    facts = known_facts(fgraph)
    a = node.inputs[0]
    if facts is None or facts.hold("diagonal", a):
        return None
    for lower, fact in ((True, "lower_triangular"), (False, "upper_triangular")):
        if facts.hold(fact, a):
            solve = SolveTriangular(lower=lower, check_finite=node.op.check_finite, on_error=node.op.on_error)
            return if_fits(node, solve(a, identity(a)))
    return None


@RULES.rule(EARLY_AND_LATE, MatrixInverse, tags=BOTH, needs_graph=True, depth=4)
def inverse_of_blocks(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(block_diag(a, b)) -> block_diag(inv(a), inv(b)); inv(kron(a, b)) -> kron(inv(a), inv(b)); of square parts."""
    facts = facts_of(fgraph)
    a = node.inputs[0]
    blocks = made_by(a, BlockDiagonal)
    if blocks is not None:
        if not all(is_square(x, facts) for x in blocks.inputs):
            return None
        inverse = blocks.op(*(node.op(x) for x in blocks.inputs))
        return if_fits(node, where_nothing_is_nan(inverse) if may_fail_silently(node.op) else inverse)
    factors = kronecker_factors(a, facts.shapes)
    if factors is None or not all(is_square(x, facts) for x in factors):
        return None
    return if_fits(node, kron(*(node.op(x) for x in factors)))
