"""Rules for determinants: of what has a factor or a structure, and the logarithms of determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import abs_, add, mul, neg, sign, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import gt, isnan, lt
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.exponential import log, reciprocal, sqr
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.rules.building import (
    diagonal_of,
    diagonal_of_square,
    factor_of,
    known_facts,
    logarithms,
    may_fail_silently,
    selected,
)
from treadle.tensor.linalg.rules.cholesky_factors import cholesky_factor
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import prod, sum_
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import argument_of, made_by
from treadle.tensor.rewrites.analysis.replacements import alloc_like, if_fits
from treadle.tensor.rewrites.analysis.stacks import is_square, transposed
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

    Outputs = Sequence[TensorVariable | None] | None

RULES = RuleSet("determinants", features=(SymbolicShapes, Facts), after=("reduction",))


@RULES.rule(EARLY_AND_LATE, Det, SLogDet, tags=(*BOTH, "det_of_triangular", "shape_unsafe"), needs_graph=True, depth=6)
def determinant_of_triangle(fgraph: FunctionGraph, node: NodeOf[Det | SLogDet]) -> Outputs:
    """det(l) -> prod(diagonal(l)), where l is known to be triangular; slogdet(l) -> a sum of logarithms."""
    a = node.inputs[0]
    facts = known_facts(fgraph)
    if facts is None or not (facts.hold("lower_triangular", a) or facts.hold("upper_triangular", a)):
        return None
    return _of_diagonal(node, diagonal_of_square(fgraph, a))


def _of_diagonal(node: NodeOf[Det | SLogDet], d: TensorVariable) -> Outputs:
    """Return the outputs of a node for matrices that have the determinant of a diagonal one."""
    if isinstance(node.op, Det):
        return [if_fits(node, prod(d, axis=-1, dtype=d.dtype))]
    return list(logarithms(d))


@RULES.rule(
    EARLY_AND_LATE, Det, SLogDet, tags=(*BOTH, "det_of_permutation"), needs_graph=True, depth=6,
    before=("determinant_of_triangle",),
)  # fmt: skip
def determinant_of_permutation(fgraph: FunctionGraph, node: NodeOf[Det | SLogDet]) -> Outputs:
    """det(p) -> -1 or 1, by the number of pairs that p exchanges, where p is known to be a permutation matrix."""
    a = node.inputs[0]
    facts = known_facts(fgraph)
    if facts is None or not facts.hold("permutation", a) or facts.hold("diagonal", a):
        return None
    at = selected(a)
    places = arange(shape_i(at, at.ndim - 1))
    exchanged = gt(expand_dims(at, -1), expand_dims(at, -2)) & lt(expand_dims(places, 1), expand_dims(places, 0))
    odd = sum_(exchanged, axis=(-2, -1)) % 2
    determinant = cast(1 - 2 * odd, a.dtype)
    if isinstance(node.op, Det):
        return [if_fits(node, determinant)]
    return [determinant, cast(odd * 0, node.outputs[1].dtype)]


@RULES.rule(EARLY_AND_LATE, Det, SLogDet, tags=BOTH, depth=2)
def determinant_of_transpose(node: NodeOf[Det | SLogDet]) -> Outputs:
    """det(a.T) -> det(a), and so for slogdet."""
    below = transposed(node.inputs[0])
    return None if below is None else tensors(node.op.make_node(below).outputs)


@RULES.rule(
    EARLY_AND_LATE,
    Det,
    SLogDet,
    tags=(*BOTH, "det_of_inv"),
    depth=2,
    differs="where the matrix is singular",
    below=(MatrixInverse,),
)
def determinant_of_inverse(node: NodeOf[Det | SLogDet]) -> Outputs:
    """det(inv(a)) -> 1 / det(a), and so for slogdet."""
    inner = made_by(node.inputs[0], MatrixInverse)
    if inner is None or not may_fail_silently(inner.op):
        return None
    if isinstance(node.op, Det):
        return [reciprocal(Det()(inner.inputs[0]))]
    signs, logarithm = SLogDet()(inner.inputs[0])
    return [signs.conj(), neg(logarithm)]


@RULES.rule(
    EARLY_AND_LATE, Det, SLogDet, tags=(*BOTH, "det_of_blockdiag"), needs_graph=True, depth=3, below=(BlockDiagonal,)
)
def determinant_of_blocks(fgraph: FunctionGraph, node: NodeOf[Det | SLogDet]) -> Outputs:
    """det(block_diag(a, b)) -> det(a) * det(b), for square blocks, and so for slogdet."""
    blocks = made_by(node.inputs[0], BlockDiagonal)
    facts = facts_of(fgraph)
    if blocks is None or not all(is_square(x, facts) for x in blocks.inputs):
        return None
    return _of_factors(node, list(blocks.inputs))


def _of_factors(node: NodeOf[Det | SLogDet], factors: Sequence[TensorVariable]) -> Outputs:
    """Return the outputs of a node for a product of determinants."""
    if isinstance(node.op, Det):
        determinant = Det()(factors[0])
        for x in factors[1:]:
            determinant = mul(determinant, Det()(x))
        return [if_fits(node, determinant)]
    signs, logarithm = SLogDet()(factors[0])
    for x in factors[1:]:
        other, more = SLogDet()(x)
        signs, logarithm = mul(signs, other), add(logarithm, more)
    return [signs, logarithm]


@RULES.rule(EARLY_AND_LATE, Det, SLogDet, tags=BOTH, needs_graph=True, depth=6, below=(MatMul,))
def determinant_of_product(fgraph: FunctionGraph, node: NodeOf[Det | SLogDet]) -> Outputs:
    """det(a @ b) -> det(a) * det(b), where one of them is known to be triangular or orthogonal, and one is square."""
    product = made_by(node.inputs[0], MatMul)
    facts = None if product is None else known_facts(fgraph)
    # With the product, and one factor, the other one is square.
    if product is None or facts is None or not any(is_square(x, facts) for x in product.inputs):
        return None
    easy = ("lower_triangular", "upper_triangular", "orthogonal")
    if not any(facts.hold(fact, x) for fact in easy for x in product.inputs):
        return None
    return _of_factors(node, product.inputs)


@RULES.rule(
    Phase.SPECIALIZE, SLogDet, tags=("fast_run", "det_of_factorized_matrix", "det_of_matrix_factorized_elsewhere"),
    needs_graph=True, depth=6, differs="where rounding makes the matrix indefinite",
)  # fmt: skip
def log_determinant_by_cholesky_factor(fgraph: FunctionGraph, node: NodeOf[SLogDet]) -> Outputs:
    """slogdet(a) -> 1, 2 * sum(log(diagonal(cholesky(a)))), where a is known to be positive definite."""
    a = node.inputs[0]
    factor = _factor(fgraph, a)
    if factor is None:
        return None
    d = diagonal_of(factor).real
    logarithm = mul(constant(2, dtype=d.dtype), sum_(log(d), axis=-1, dtype=d.dtype))
    # Where the factorisation fails, the sign is NaN too.
    return [cast(switch(isnan(logarithm), logarithm, 1), a.dtype), logarithm]


@RULES.rule(
    Phase.SPECIALIZE, Det, tags=("fast_run", "det_of_factorized_matrix", "det_of_matrix_factorized_elsewhere"),
    needs_graph=True, depth=6, differs="where rounding makes the matrix indefinite",
)  # fmt: skip
def determinant_by_cholesky_factor(fgraph: FunctionGraph, node: NodeOf[Det]) -> TensorVariable | None:
    """det(a) -> prod(diagonal(cholesky(a)))**2, where a is known to be positive definite."""
    a = node.inputs[0]
    factor = _factor(fgraph, a)
    if factor is None:
        return None
    return if_fits(node, cast(sqr(prod(diagonal_of(factor).real, axis=-1)), a.dtype))


def _factor(fgraph: FunctionGraph, a: TensorVariable) -> TensorVariable | None:
    """Return a Cholesky factor of a matrix that is known to have one."""
    facts = known_facts(fgraph)
    if facts is None:
        return None
    written = factor_of(a)
    known = ("lower_triangular", "positive_diagonal")
    if written is not None and is_square(written, facts) and all(facts.hold(fact, written) for fact in known):
        return written
    elsewhere = cholesky_factor(fgraph, a)
    if elsewhere is not None:
        return elsewhere
    return Cholesky()(a) if facts.hold("positive_definite", a) else None


@RULES.rule(
    (Phase.STABILIZE, Phase.SPECIALIZE), log, tags=("fast_run", "slogdet_specialization"), depth=3,
    differs="where the determinant leaves the range",
)  # fmt: skip
def log_of_determinant(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(abs(det(a))) -> the logarithm of slogdet(a); log(det(a)) -> the same, NaN where the sign is negative."""
    inside = argument_of(abs_, node.inputs[0])
    is_absolute = inside is not None
    x = node.inputs[0] if inside is None else inside
    determinant = made_by(x, Det)
    if determinant is None or (x.type.numpy_dtype.kind == "c" and not is_absolute):
        return None
    signs, logarithm = SLogDet()(determinant.inputs[0])
    if is_absolute:
        return if_fits(node, logarithm)
    return if_fits(node, switch(lt(signs, 0), np.array(np.nan, logarithm.dtype), logarithm))


@RULES.rule(
    (Phase.STABILIZE, Phase.SPECIALIZE), sign, tags=("fast_run", "slogdet_specialization"), depth=2,
    differs="where the determinant leaves the range", below=(Det,))  # fmt: skip
def sign_of_determinant(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """sign(det(a)) -> the sign of slogdet(a)."""
    determinant = made_by(node.inputs[0], Det)
    if determinant is None or node.inputs[0].type.numpy_dtype.kind == "c":
        return None
    return if_fits(node, SLogDet()(determinant.inputs[0])[0])


@RULES.rule(
    (Phase.STABILIZE, Phase.SPECIALIZE), true_div, tags=("fast_run",), needs_graph=True, depth=2, below=(Det,),
    differs="where the determinant is 0, infinite or NaN",
)  # fmt: skip
def quotient_of_determinant_and_itself(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """det(a) / det(a) -> 1: what the gradient of log(det(a)) leaves, also where the determinant leaves the range."""
    x, y = node.inputs
    if x is not y or made_by(x, Det) is None:
        return None
    return alloc_like(fgraph, node, constant(1, dtype=node.outputs[0].dtype))
