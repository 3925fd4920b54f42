"""Rules for products of matrices of known structure, which need fewer multiplications, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.arrangement.diagonals import AllocDiag
from treadle.tensor.control.assumption import SpecifyAssumptions
from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.linalg.rules.building import (
    NOT_FINITE,
    MatrixOp,
    as_long_as,
    column,
    column_and_row,
    diagonal_matrix,
    diagonal_of,
    facts_from_sources,
    identity,
    known_facts,
    matmul,
    selected,
)
from treadle.tensor.products.contraction import kron
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.facts import Facts
from treadle.tensor.rewrites.analysis.kronecker_facts import kronecker_factors
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_adjoint, is_square, transposed
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.dimshuffle import DimShuffle, expand_dims, matrix_transpose
from treadle.tensor.shapes.shape import Reshape

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("structured_products", features=(SymbolicShapes, Facts), after=("reduction",))


@RULES.rule(
    EARLY_AND_LATE, MatMul, tags=(*BOTH, "dot_diag_to_elemwise"), needs_graph=True, depth=6,
    before=("chain_of_products", "product_with_inverse"), differs=NOT_FINITE,
)  # fmt: skip
def product_with_diagonal(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """diag(d) @ b -> d's elements times the rows of b; b @ diag(d) -> times its columns."""
    facts = facts_from_sources(fgraph)
    out = node.outputs[0].type
    if facts is None or out.numpy_dtype.kind not in "fc" or any(x.type.dtype != out.dtype for x in node.inputs):
        return None
    for at, other in ((0, 1), (1, 0)):
        a, b = node.inputs[at], node.inputs[other]
        if a.type.shape[-1] == 1 or not facts.hold("diagonal", a) or not is_square(a, facts):
            continue
        d = as_long_as(fgraph, diagonal_of(a), b, -2 if at == 0 else -1)
        return if_fits(node, mul(column(d), b) if at == 0 else mul(b, expand_dims(d, -2)))
    return None


@RULES.rule(
    EARLY_AND_LATE, MatMul, tags=(*BOTH, "orthogonal_dot_transpose_to_eye"), needs_graph=True, depth=6,
    before=("chain_of_products",), differs=NOT_FINITE,
)  # fmt: skip
def product_of_orthogonal_and_transpose(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """q.T @ q -> eye, q @ q.T -> eye, where q is known to be orthogonal; the conjugate transpose, where unitary."""
    a, b = node.inputs
    facts = facts_from_sources(fgraph) if is_adjoint(a, b) else None
    if facts is None or not facts.hold("orthogonal", a):
        return None
    eye = identity(node.outputs[0])
    return if_fits(node, eye) if a.ndim == 2 else None


@RULES.rule(
    EARLY_AND_LATE, MatMul, tags=(*BOTH, "selection_dot_to_indexing"), needs_graph=True, depth=6,
    after=("product_with_diagonal",), before=("chain_of_products",), differs=NOT_FINITE,
)  # fmt: skip
def product_with_selection(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """A @ s -> the columns of a that s selects; s.T @ b -> rows; where s has columns of the identity."""
    facts = facts_from_sources(fgraph)
    out = node.outputs[0].type
    if facts is None or any(x.type.dtype != out.dtype for x in node.inputs):
        return None
    a, b = node.inputs
    if facts.hold("selection", b) and _is_made_once(b):
        at, a = selected(b), as_long_as(fgraph, a, b, -2)
        return if_fits(node, a[:, at] if a.ndim == 2 else take_along_axis(a, expand_dims(at, -2), -1))
    below = transposed(a)
    if below is None and facts.hold("permutation", a):
        below = matrix_transpose(a)
    if below is None or not facts.hold("selection", below):
        return None
    at, b = selected(below), as_long_as(fgraph, b, a, -1, own=-2)
    return if_fits(node, b[at] if a.ndim == 2 else take_along_axis(b, column(at), -2))


def _is_made_once(x: TensorVariable) -> bool:
    """Whether a matrix with columns of the identity is not itself a product of matrices."""
    return made_by(x, MatMul) is None


@RULES.rule(EARLY_AND_LATE, MatMul, tags=BOTH, needs_graph=True, depth=2, differs=NOT_FINITE)
def product_with_rank_one(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """A @ (column * row) -> (a @ column) * row, and so for the other factor."""
    out = node.outputs[0].type
    if out.numpy_dtype.kind not in "fc" or out.dtype == "float16" or any(x.dtype != out.dtype for x in node.inputs):
        return None
    a, b = node.inputs
    factors = column_and_row(b)
    if factors is not None and is_used_once(fgraph, b) and a.type.shape[-2] != 1:
        return if_fits(node, mul(matmul(a, factors[0]), factors[1]))
    factors = column_and_row(a)
    if factors is not None and is_used_once(fgraph, a) and b.type.shape[-1] != 1:
        return if_fits(node, mul(factors[0], matmul(factors[1], b)))
    return None


@RULES.rule(EARLY_AND_LATE, MatMul, tags=BOTH, needs_graph=True, depth=5, below=(Reshape,))
def product_of_kronecker_products(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """kron(a, b) @ kron(c, d) -> kron(a @ c, b @ d), where the lengths fit."""
    shapes = shapes_of(fgraph)
    left = kronecker_factors(node.inputs[0], shapes) if made_by(node.inputs[0], Reshape) else None
    right = None if left is None else kronecker_factors(node.inputs[1], shapes)
    if left is None or right is None:
        return None
    if any(shapes.of(x)[1] != shapes.of(y)[0] for x, y in zip(left, right, strict=True)):
        return None
    return if_fits(node, kron(*(matmul(x, y) for x, y in zip(left, right, strict=True))))


@RULES.rule(
    EARLY_AND_LATE, MatMul, tags=BOTH, needs_graph=True, depth=3, before=("product_with_diagonal",), below=(AllocDiag,)
)
def product_of_diagonals(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """diag(d) @ diag(e) -> diag(d * e), for vectors of one length."""
    a, b = (made_by(x, AllocDiag) for x in node.inputs)
    out = node.outputs[0].type
    if a is None or b is None or a.op.offset or b.op.offset or a.inputs[0].ndim != b.inputs[0].ndim:
        return None
    shapes = shapes_of(fgraph)
    lengths = {*shapes.of(node.inputs[0])[-2:], *shapes.of(node.inputs[1])[-2:]}
    if len(lengths) != 1 or any(x.type.dtype != out.dtype for x in node.inputs):
        return None
    return if_fits(node, diagonal_matrix(mul(diagonal_of(node.inputs[0]), diagonal_of(node.inputs[1]))))


@RULES.rule(
    EARLY_AND_LATE,
    DimShuffle,
    tags=(*BOTH, "useless_symmetric_transpose"),
    needs_graph=True,
    depth=2,
    below=(SpecifyAssumptions, MatMul, MatrixOp),
)
def transpose_of_symmetric(fgraph: FunctionGraph, node: NodeOf[DimShuffle]) -> TensorVariable | None:
    """a.T -> a, where a is known to be symmetric."""
    x = node.inputs[0]
    # Only where it costs little to find out: transposes are everywhere.
    op = None if x.owner is None else x.owner.op
    if not (isinstance(op, (SpecifyAssumptions, MatMul)) or MatrixOp(op)):
        return None
    facts = known_facts(fgraph) if transposed(node.outputs[0]) is x else None
    return if_fits(node, x) if facts is not None and facts.hold("symmetric", x) else None
