"""Rules of facts for the ops of linear algebra that do not promise them: inverses, blocks and Kronecker products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal
from treadle.tensor.rewrites.analysis.fact_rules import RULES
from treadle.tensor.rewrites.analysis.predicates import applies, made_by
from treadle.tensor.rewrites.analysis.stacks import is_square
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle
from treadle.tensor.shapes.shape import Reshape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
    from treadle.tensor.variables.variable import TensorVariable

_OF_INVERSES = frozenset(
    {"diagonal", "symmetric", "hermitian", "positive_definite", "orthogonal", "permutation", "square"}
    | {"lower_triangular", "upper_triangular"}
)
_OF_BLOCKS = _OF_INVERSES | {"positive_semidefinite", "nonsingular", "selection", "tridiagonal"}


@RULES.register(MatrixInverse)
def _of_inverse(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether what holds for a matrix holds for its inverse."""
    node = made_by(out, MatrixInverse)
    return node is not None and (fact == "nonsingular" or (fact in _OF_INVERSES and facts.hold(fact, node.inputs[0])))


@RULES.register(Cholesky, facts=("nonsingular", "positive_diagonal"))
def _of_factor(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a factor is nonsingular: its diagonal is positive, or it is NaN."""
    del fact, out, facts
    return True


@RULES.register(Expm, facts=("symmetric", "hermitian", "positive_definite", "nonsingular", "diagonal"))
def _of_exponential(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether an exponential is nonsingular, as all are, or what else it is, as the matrix is."""
    node = made_by(out, Expm)
    asked = "hermitian" if fact == "positive_definite" else fact
    return node is not None and (fact == "nonsingular" or facts.hold(asked, node.inputs[0]))


@RULES.register(BlockDiagonal)
def _of_blocks(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for all blocks, which are square where it takes that."""
    node = made_by(out, BlockDiagonal)
    if node is None or fact == "block_diagonal":
        return node is not None
    return fact in _OF_BLOCKS and _hold_for_parts(fact, node.inputs, facts)


@RULES.register(Reshape)
def _of_kronecker_product(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for both factors, and so for their Kronecker product."""
    factors = kronecker_factors(out, facts.shapes)
    if factors is None or fact == "kronecker":
        return factors is not None
    return fact in _OF_BLOCKS - {"tridiagonal"} and _hold_for_parts(fact, factors, facts)


def _hold_for_parts(fact: str, parts: Sequence[TensorVariable], facts: Facts) -> bool:
    """Whether a fact holds for all parts, which are square where it would not hold for the whole otherwise."""
    return all(facts.hold(fact, x) and (fact == "selection" or is_square(x, facts)) for x in parts)


def kronecker_factors(x: TensorVariable, shapes: SymbolicShapes) -> tuple[TensorVariable, TensorVariable] | None:
    """Return the matrices that a matrix is the Kronecker product of, as `kron` writes it, or None."""
    node = made_by(x, Reshape)
    product = None if node is None or x.ndim != 2 else node.inputs[0].owner
    if node is None or not applies(product, mul):
        return None
    views = [made_by(factor, DimShuffle) for factor in product.inputs]
    orders = [None if view is None else view.op.order for view in views]
    if orders == [(NEW, 0, NEW, 1), (0, NEW, 1, NEW)]:
        views.reverse()
    elif orders != [(0, NEW, 1, NEW), (NEW, 0, NEW, 1)]:
        return None
    a, b = (view.inputs[0] for view in views if view is not None)
    is_whole = all(
        shapes.of_scalar(n) == shapes.multiplied((shapes.of(a)[d], shapes.of(b)[d]))
        for d, n in enumerate(node.inputs[1:])
    )
    return (a, b) if is_whole else None
