"""Rules of facts for the ops of linear algebra that do not promise them: inverses, factors and blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal
from treadle.tensor.rewrites.analysis.fact_rules import RULES
from treadle.tensor.rewrites.analysis.kronecker_facts import OF_BLOCKS, OF_INVERSES, hold_for_parts
from treadle.tensor.rewrites.analysis.predicates import made_by

if TYPE_CHECKING:
    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.variables.variable import TensorVariable


@RULES.register(MatrixInverse)
def _of_inverse(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether what holds for a matrix holds for its inverse."""
    node = made_by(out, MatrixInverse)
    return node is not None and (fact == "nonsingular" or (fact in OF_INVERSES and facts.hold(fact, node.inputs[0])))


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


# Blocks of one element make a diagonal matrix.
@RULES.register(BlockDiagonal, starts=True)
def _of_blocks(fact: str, out: TensorVariable, facts: Facts) -> bool:
    """Whether a fact holds for all blocks, which are square where it takes that."""
    node = made_by(out, BlockDiagonal)
    if node is None or fact == "block_diagonal":
        return node is not None
    return fact in OF_BLOCKS and hold_for_parts(fact, node.inputs, facts)
