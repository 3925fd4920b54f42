"""Rules of facts for Kronecker products, and the factors of such a product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.elementwise.elemwise import Elemwise
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

# What holds for an inverse, and for blocks and factors put together, where it holds for each of the parts.
OF_INVERSES = frozenset(
    {"diagonal", "symmetric", "hermitian", "positive_definite", "orthogonal", "permutation", "square"}
    | {"lower_triangular", "upper_triangular"}
)
OF_BLOCKS = OF_INVERSES | {"positive_semidefinite", "nonsingular", "selection", "tridiagonal"}


@RULES.register(Reshape)
def _of_kronecker_product(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for both factors, and so for their Kronecker product."""
    factors = kronecker_factors(out, facts.shapes)
    if factors is None or fact == "kronecker":
        return factors is not None
    return fact in OF_BLOCKS - {"tridiagonal"} and hold_for_parts(fact, factors, facts)


def hold_for_parts(fact: str, parts: Sequence[TensorVariable], facts: Facts) -> bool:
    """Whether a fact holds for all parts, which are square where it would not hold for the whole otherwise."""
    return all(facts.hold(fact, x) and (fact == "selection" or is_square(x, facts)) for x in parts)


def kronecker_factors(x: TensorVariable, shapes: SymbolicShapes) -> tuple[TensorVariable, TensorVariable] | None:
    """Return the matrices that a matrix is the Kronecker product of, as `kron` writes it, or None."""
    node = made_by(x, Reshape)
    product = None if node is None or x.ndim != 2 else made_by(node.inputs[0], Elemwise)
    if node is None or not applies(product, mul) or len(product.inputs) != 2:
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
