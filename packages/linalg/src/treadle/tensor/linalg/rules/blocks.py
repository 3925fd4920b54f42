"""Rules for block diagonal matrices: matrix functions are applied to their blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.arrangement.diagonals import AllocDiag, ExtractDiag
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.rules.building import (
    cut_along,
    diagonal_matrix,
    diagonal_of,
    joined,
    may_fail_silently,
    where_nothing_is_nan,
)
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.products.contraction import kron
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of
from treadle.tensor.rewrites.analysis.kronecker_facts import kronecker_factors
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_square
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.shape import Reshape

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("blocks", features=(SymbolicShapes, Facts), after=("reduction",))


def _are_square(fgraph: FunctionGraph, blocks: NodeOf[BlockDiagonal]) -> bool:
    facts = facts_of(fgraph)
    return all(is_square(x, facts) for x in blocks.inputs)


@RULES.rule(EARLY_AND_LATE, BlockDiagonal, tags=(*BOTH, "fuse_blockdiagonal"))
def blocks_of_blocks(node: NodeOf[BlockDiagonal]) -> TensorVariable | None:
    """block_diag(block_diag(a, b), c) -> block_diag(a, b, c); block_diag(a) -> a."""
    if len(node.inputs) == 1:
        return if_fits(node, node.inputs[0])
    flat: list[TensorVariable] = []
    for x in node.inputs:
        inner = made_by(x, BlockDiagonal)
        flat += [x] if inner is None else inner.inputs
    return None if len(flat) == len(node.inputs) else if_fits(node, BlockDiagonal(len(flat))(*flat))


@RULES.rule(
    EARLY_AND_LATE, Solve, SolveTriangular, tags=(*BOTH, "block_diag_solve_to_block_diag_solves"), needs_graph=True,
    depth=3,
)  # fmt: skip
def solution_with_blocks(fgraph: FunctionGraph, node: NodeOf[Solve | SolveTriangular]) -> TensorVariable | None:
    """solve(block_diag(a, c), b) -> solve(a, b's first rows), then solve(c, the others), for square blocks."""
    blocks = made_by(node.inputs[0], BlockDiagonal)
    if blocks is None or not _are_square(fgraph, blocks):
        return None
    parts = cut_along(node.inputs[1], -2, [(x, -1) for x in blocks.inputs])
    solution = joined(fgraph, [node.op(x, part) for x, part in zip(blocks.inputs, parts, strict=True)], axis=-2)
    return if_fits(node, where_nothing_is_nan(solution) if may_fail_silently(node.op) else solution)


@RULES.rule(EARLY_AND_LATE, Cholesky, tags=BOTH, needs_graph=True, depth=3)
def factor_of_blocks(fgraph: FunctionGraph, node: NodeOf[Cholesky]) -> TensorVariable | None:
    """cholesky(block_diag(a, b)) -> block_diag(cholesky(a), cholesky(b)), for square blocks."""
    blocks = made_by(node.inputs[0], BlockDiagonal)
    if blocks is None or not _are_square(fgraph, blocks):
        return None
    factor = blocks.op(*(node.op(x) for x in blocks.inputs))
    return if_fits(node, where_nothing_is_nan(factor) if may_fail_silently(node.op) else factor)


@RULES.rule(EARLY_AND_LATE, ExtractDiag, tags=(*BOTH, "diag_of_blockdiag"), needs_graph=True, depth=3)
def diagonal_of_blocks(fgraph: FunctionGraph, node: NodeOf[ExtractDiag]) -> TensorVariable | None:
    """diagonal(block_diag(a, b)) -> diagonal(a), then diagonal(b), for square blocks."""
    blocks = made_by(node.inputs[0], BlockDiagonal)
    ndim, op = node.inputs[0].ndim, node.op
    if blocks is None or op.offset or (op.axis1, op.axis2) != (ndim - 2, ndim - 1) or not _are_square(fgraph, blocks):
        return None
    return if_fits(node, joined(fgraph, [diagonal_of(x) for x in blocks.inputs], axis=-1))


@RULES.rule(EARLY_AND_LATE, Reshape, tags=(*BOTH, "kron_of_diagonal_to_diagonal"), needs_graph=True, depth=4)
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
