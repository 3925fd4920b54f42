"""Kronecker products: rules that compute matrix functions of them from their factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.arrangement.diagonals import ExtractDiag
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import power
from treadle.tensor.lengths.numbers import number, times
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.rules.building import diagonal_of, known_facts, matmul
from treadle.tensor.products.contraction import kron
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of
from treadle.tensor.rewrites.analysis.kronecker_facts import kronecker_factors
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_square
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.dimshuffle import NEW
from treadle.tensor.shapes.shape import Reshape, shape_i

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("kronecker", features=(SymbolicShapes, Facts), after=("reduction",))


def _square_factors(fgraph: FunctionGraph, x: TensorVariable) -> tuple[TensorVariable, TensorVariable] | None:
    factors = kronecker_factors(x, shapes_of(fgraph))
    if factors is None or not all(is_square(f, facts_of(fgraph)) for f in factors):
        return None
    return factors


@RULES.rule(EARLY_AND_LATE, Solve, tags=BOTH, needs_graph=True, depth=5)
def solution_with_kronecker_product(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(kron(a, c), b) -> solve(a, solve(c, b's parts)), for square matrices a and c."""
    factors = _square_factors(fgraph, node.inputs[0])
    if factors is None or node.op.assume_a not in {"gen", "pos"} or node.inputs[0].ndim != 2:
        return None
    if node.op.assume_a == "pos":
        facts = known_facts(fgraph)
        if facts is None or not all(facts.hold("positive_definite", x) for x in factors):
            return None
    return if_fits(node, _applied(factors, node.inputs[1], node.op))


@RULES.rule(EARLY_AND_LATE, MatMul, tags=BOTH, needs_graph=True, depth=5)
def product_with_kronecker_product(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """kron(a, c) @ b -> a @ b's parts @ c.T: the Kronecker product is not made, for a column b and square a and c."""
    a, b = node.inputs
    factors = None if a.ndim != 2 or b.type.shape[-1] != 1 else _square_factors(fgraph, a)
    return None if factors is None else if_fits(node, _applied(factors, b, matmul))


def _applied(
    factors: Sequence[TensorVariable], b: TensorVariable, apply: Callable[..., TensorVariable]
) -> TensorVariable:
    """Apply an op of matrices and columns to the factors of a Kronecker product, one after the other.

    A column of b, read in rows of the length of the second matrix, is a matrix X, of which kron(a, c) makes a X c.T.
    """
    a, c = factors
    n, m, k = (number(shape_i(x, d)) for x, d in ((a, 0), (c, 0), (b, 1)))
    first = Reshape(2)(apply(a, Reshape(2)(b, n, times(m, k))), n, times(m, k))
    turned = Reshape(2)(Reshape(3)(first, n, m, k).dimshuffle(1, 0, 2), m, times(n, k))
    second = apply(c, turned)
    result: TensorVariable = Reshape(2)(Reshape(3)(second, m, n, k).dimshuffle(1, 0, 2), times(n, m), k)
    return result


@RULES.rule(EARLY_AND_LATE, Det, tags=(*BOTH, "det_of_kronecker"), needs_graph=True, depth=5)
def determinant_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[Det]) -> TensorVariable | None:
    """det(kron(a, b)) -> det(a)**m * det(b)**n, for square matrices of n and m rows."""
    factors = _square_factors(fgraph, node.inputs[0])
    if factors is None:
        return None
    a, b = factors
    real = a.real.dtype
    determinant = mul(power(Det()(a), cast(shape_i(b, 0), real)), power(Det()(b), cast(shape_i(a, 0), real)))
    return if_fits(node, determinant)


@RULES.rule(EARLY_AND_LATE, SLogDet, tags=BOTH, needs_graph=True, depth=5)
def log_determinant_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[SLogDet]) -> list[TensorVariable] | None:
    """slogdet(kron(a, b)) -> the m-fold and n-fold sums of logarithms, for square matrices of n and m rows."""
    factors = _square_factors(fgraph, node.inputs[0])
    if factors is None or node.inputs[0].type.numpy_dtype.kind == "c":
        return None
    (sign_a, log_a), (sign_b, log_b) = (SLogDet()(x) for x in factors)
    n, m = (cast(shape_i(x, 0), log_a.dtype) for x in factors)
    return [mul(power(sign_a, m), power(sign_b, n)), add(mul(m, log_a), mul(n, log_b))]


@RULES.rule(EARLY_AND_LATE, ExtractDiag, tags=(*BOTH, "diag_of_kronecker"), needs_graph=True, depth=5)
def diagonal_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[ExtractDiag]) -> TensorVariable | None:
    """diagonal(kron(a, b)) -> the products of the elements of both diagonals, for square matrices."""
    factors = None if node.op.offset or node.inputs[0].ndim != 2 else _square_factors(fgraph, node.inputs[0])
    if factors is None:
        return None
    a, b = (diagonal_of(x) for x in factors)
    count = times(number(shape_i(a, 0)), number(shape_i(b, 0)))
    diagonal = Reshape(1)(mul(a.dimshuffle(0, NEW), b.dimshuffle(NEW, 0)), count)
    return if_fits(node, diagonal)


@RULES.rule(EARLY_AND_LATE, Cholesky, tags=BOTH, needs_graph=True, depth=6)
def factor_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[Cholesky]) -> TensorVariable | None:
    """cholesky(kron(a, b)) -> kron(cholesky(a), cholesky(b)), where both are known to be positive definite."""
    factors = _square_factors(fgraph, node.inputs[0])
    facts = known_facts(fgraph)
    if factors is None or facts is None or not all(facts.hold("positive_definite", x) for x in factors):
        return None
    return if_fits(node, kron(*(node.op(x) for x in factors)))
