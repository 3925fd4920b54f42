"""Kronecker products: rules that compute products with them, and their diagonals, from their factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.arrangement.diagonals import AllocDiag, ExtractDiag
from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.lengths.numbers import number, times
from treadle.tensor.linalg.rules.building import diagonal_matrix, diagonal_of, matmul
from treadle.tensor.products.contraction import kron
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of
from treadle.tensor.rewrites.analysis.kronecker_facts import kronecker_factors
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import made_by
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

RULES = RuleSet("kronecker_products", features=(SymbolicShapes, Facts), after=("reduction",))


def square_factors(fgraph: FunctionGraph, x: TensorVariable) -> tuple[TensorVariable, TensorVariable] | None:
    """Return the square matrices that a matrix is the Kronecker product of, or None."""
    factors = kronecker_factors(x, shapes_of(fgraph))
    if factors is None or not all(is_square(f, facts_of(fgraph)) for f in factors):
        return None
    return factors


@RULES.rule(EARLY_AND_LATE, Reshape, tags=(*BOTH, "blocks", "kron_of_diagonal_to_diagonal"), needs_graph=True, depth=4)
def kronecker_product_of_diagonals(fgraph: FunctionGraph, node: NodeOf[Reshape]) -> TensorVariable | None:
    """kron(diag(v), diag(w)) -> diag(kron(v, w))."""
    if node.op.ndim != 2 or node.inputs[0].ndim != 4:
        return None
    shapes = shapes_of(fgraph)
    factors = kronecker_factors(node.outputs[0], shapes)
    if factors is None:
        return None
    for x in factors:
        diagonal = made_by(x, AllocDiag)
        if diagonal is None or diagonal.op.offset or x.ndim != 2 or shapes.of(x)[0] != shapes.of(x)[1]:
            return None
    return if_fits(node, diagonal_matrix(kron(*map(diagonal_of, factors))))


@RULES.rule(EARLY_AND_LATE, MatMul, tags=(*BOTH, "kronecker"), needs_graph=True, depth=5)
def product_with_kronecker_product(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """kron(a, c) @ b -> a @ b's parts @ c.T: the Kronecker product is not made, for a column b and square a and c."""
    a, b = node.inputs
    factors = None if a.ndim != 2 or b.type.shape[-1] != 1 else square_factors(fgraph, a)
    return None if factors is None else if_fits(node, applied_by_factors(factors, b, matmul))


def applied_by_factors(
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


@RULES.rule(EARLY_AND_LATE, ExtractDiag, tags=(*BOTH, "kronecker", "diag_of_kronecker"), needs_graph=True, depth=5)
def diagonal_of_kronecker_product(fgraph: FunctionGraph, node: NodeOf[ExtractDiag]) -> TensorVariable | None:
    """diagonal(kron(a, b)) -> the products of the elements of both diagonals, for square matrices."""
    factors = None if node.op.offset or node.inputs[0].ndim != 2 else square_factors(fgraph, node.inputs[0])
    if factors is None:
        return None
    a, b = (diagonal_of(x) for x in factors)
    count = times(number(shape_i(a, 0)), number(shape_i(b, 0)))
    diagonal = Reshape(1)(mul(a.dimshuffle(0, NEW), b.dimshuffle(NEW, 0)), count)
    return if_fits(node, diagonal)
