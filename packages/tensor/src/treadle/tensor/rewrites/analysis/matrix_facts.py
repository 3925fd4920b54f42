"""Rules of facts about matrices for the ops of tensors: what is kept and made by each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.arrangement.diagonals import AllocDiag
from treadle.tensor.control.assumption import FACTS
from treadle.tensor.elementwise.arithmetic import add, mul, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.elementwise.complex_numbers import conj
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.expressions import SYMBOLIC, Span
from treadle.tensor.indexing.indexing import AdvancedSubtensor, Subtensor
from treadle.tensor.joins.joining import Join
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.rewrites.analysis.bands import compared
from treadle.tensor.rewrites.analysis.fact_rules import RULES
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    function_of,
    is_cast,
    is_image_positive,
    is_nonnegative,
    kind_of,
    made_by,
)
from treadle.tensor.rewrites.analysis.stacks import (
    fills,
    is_adjoint,
    is_real,
    is_square,
    is_uniform,
    keeps_matrices,
    transposed,
)
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import Reshape

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import ScalarOp
    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

# What a transpose keeps; lower and upper triangles are exchanged, and columns of the identity become rows.
_OF_TRANSPOSES = frozenset(FACTS) - {"lower_triangular", "upper_triangular", "selection"}
_EXCHANGED = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}
# What is kept by a part of the matrix with the same rows and columns.
_OF_PARTS = frozenset({"symmetric", "hermitian", "positive_definite", "positive_semidefinite"})


@RULES.register(DimShuffle, Subtensor, AdvancedSubtensor, Alloc, Reshape)
def _of_stacks(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether the matrices are those of the input, or their transposes."""
    node = made_by(out, DimShuffle, Subtensor, AdvancedSubtensor, Alloc, Reshape)
    if node is None or not node.inputs or (fact in FACTS and not FACTS.about_matrices(fact)):
        return node is not None and fact == "positive" and facts.hold(fact, node.inputs[0])
    if keeps_matrices(node, facts):
        return facts.hold(fact, node.inputs[0])
    x = transposed(out)
    if x is not None:
        if fact in _EXCHANGED:
            return facts.hold(_EXCHANGED[fact], x)
        return (fact in _OF_TRANSPOSES or fact == "selection") and facts.hold(
            "permutation" if fact == "selection" else fact, x
        )
    if isinstance(node.op, Subtensor) and node.op.entries[-2:] and out.ndim > 1 and fact in _OF_PARTS:
        # The same rows and columns of what is symmetric.
        rows, columns = node.op.entries[-2:]
        is_same = isinstance(rows, Span) and rows == columns and SYMBOLIC not in {rows.start, rows.stop, rows.step}
        return is_same and facts.hold(fact, node.inputs[0])
    return False


@RULES.register(Join)
def _of_joined(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for everything that is joined along the batch."""
    node = made_by(out, Join)
    return node is not None and keeps_matrices(node, facts) and all(facts.hold(fact, x) for x in node.inputs)


@RULES.register(AllocDiag, facts=("positive_definite", "positive_semidefinite"))
def _of_diagonal(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a vector on a diagonal makes a fact hold."""
    node = made_by(out, AllocDiag)
    if node is None or node.op.offset:
        return False
    x = node.inputs[0]
    known = facts.hold("positive", x) if fact == "positive_definite" else is_nonnegative(x)
    return known and is_square(out, facts)


@RULES.register(MatMul)
def _of_product(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for a product: of two such matrices, or of a matrix, maybe another one, and its adjoint."""
    node = made_by(out, MatMul)
    if node is None:
        return False
    a, b = node.inputs
    if fact in {"orthogonal", "permutation", "selection", "nonsingular"}:
        return facts.hold(fact, a) and facts.hold(fact, b)
    if fact not in {"hermitian", "positive_semidefinite", "positive_definite"}:
        return False
    if is_adjoint(a, b):
        return fact != "positive_definite" or facts.hold("nonsingular", a)
    # x @ m @ x.T, in either order of multiplication.
    left, right = made_by(a, MatMul), made_by(b, MatMul)
    for x, m, y in (
        (*left.inputs, b) if left is not None else (None, None, None),
        (a, *right.inputs) if right is not None else (None, None, None),
    ):
        if x is not None and m is not None and y is not None and is_adjoint(x, y):
            return facts.hold(fact, m) and (fact != "positive_definite" or facts.hold("nonsingular", x))
    return False


@RULES.register(Reduction, facts=("symmetric", "hermitian", "positive_semidefinite"))
def _of_sums(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for every term of a sum over the batch."""
    node = made_by(out, Reduction)
    if node is None or node.op.kind != "sum" or out.ndim < 2 or max(node.op.axes, default=0) >= node.inputs[0].ndim - 2:
        return False
    return np.dtype(node.op.acc_dtype).kind in "fc" and facts.hold(fact, node.inputs[0])


@RULES.register(Elemwise)
def _of_elementwise(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for an elementwise function of matrices."""
    node = made_by(out, Elemwise)
    function = function_of(node)
    if node is None or function is None:
        return False
    if fact == "positive":
        return _is_positive(function, node, facts)
    if is_cast(node):
        return _of_cast(fact, node.inputs[0], out, facts)
    if applies(node, switch) and is_uniform(node.inputs[0]):
        return all(fills(x, out, facts) and facts.hold(fact, x) for x in node.inputs[1:])
    if applies(node, eq) and fact in {"permutation", "selection", "positive_definite", "nonsingular"}:
        # The identity.
        return compared(node) == (eq, 0) and is_square(out, facts)
    if applies(node, conj):
        return facts.hold(fact, node.inputs[0])
    if fact == "hermitian":
        exchanges = function.commutative and is_adjoint(*node.inputs)
        return function.conjugates and (exchanges or all(_is_hermitian(x, out, facts) for x in node.inputs))
    return fact in {"positive_definite", "positive_semidefinite"} and _of_definite(fact, node, out, facts)


def _is_positive(function: ScalarOp, node: NodeOf[Elemwise], facts: Facts) -> bool:
    """Whether an elementwise function of real numbers gives none that are 0 or less."""
    kinds = {kind_of(x) for x in (*node.inputs, node.outputs[0])}
    if "c" in kinds:
        return False
    of_floats = kind_of(node.outputs[0]) == "f"
    if of_floats and is_image_positive(function):
        return True
    if function.bound == "upper":
        return any(facts.hold("positive", x) for x in node.inputs)
    # Of integers, which wrap around, only one of the operands is sure.
    kept = function.keeps_positive if of_floats else function.selective
    limits = node.inputs[1:] if function.bound == "between" else node.inputs
    return kept and all(facts.hold("positive", x) for x in limits)


def _is_hermitian(x: TensorVariable, out: TensorVariable, facts: Facts) -> bool:
    return (is_uniform(x) and is_real(x)) or (fills(x, out, facts) and facts.hold("hermitian", x))


def _of_cast(fact: str, x: TensorVariable, out: TensorVariable, facts: Facts) -> bool:
    if kind_of(out) not in "fc" or not FACTS.about_matrices(fact):
        return False
    if kind_of(x) in "fc" or fact in {"permutation", "selection", "symmetric", "hermitian"}:
        return (is_real(x) or not is_real(out)) and facts.hold(fact, x)
    # The identity as truth values.
    return fact in {"positive_definite", "positive_semidefinite", "nonsingular"} and (
        facts.hold("permutation", x) and facts.hold("diagonal", x)
    )


def _of_definite(fact: str, node: TensorNode, out: TensorVariable, facts: Facts) -> bool:
    """Whether sums, products and quotients of definite matrices and numbers are definite; products by Schur."""
    if not applies(node, add, mul, true_div):
        return False
    operands = node.inputs
    is_sum = applies(node, add)
    matrices = [x for x in operands if not is_uniform(x)]
    numbers = [x for x in operands if is_uniform(x)]
    if not all(fills(x, out, facts) for x in matrices):
        return False
    if not numbers and is_sum:
        return all(facts.hold("positive_semidefinite", x) for x in matrices) and (
            fact == "positive_semidefinite" or any(facts.hold(fact, x) for x in matrices)
        )
    if is_sum or (applies(node, true_div) and (len(numbers) != 1 or is_uniform(operands[0]))):
        return False
    if fact == "positive_definite":
        return all(facts.hold(fact, x) for x in matrices) and all(facts.hold("positive", x) for x in numbers)
    return all(facts.hold(fact, x) for x in matrices) and all(
        facts.hold("positive", x) or is_nonnegative(x) for x in numbers
    )
