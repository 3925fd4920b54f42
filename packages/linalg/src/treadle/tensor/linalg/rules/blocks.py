"""Rules for block diagonal matrices: matrix functions are applied to their blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.arrangement.diagonals import ExtractDiag
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.rules.building import (
    cut_along,
    diagonal_of,
    joined,
    matmul,
    may_fail_silently,
    where_nothing_is_nan,
)
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_square
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("blocks", features=(SymbolicShapes, Facts), after=("reduction",))


def _are_square(fgraph: FunctionGraph, blocks: NodeOf[BlockDiagonal]) -> bool:
    facts = facts_of(fgraph)
    return all(is_square(x, facts) for x in blocks.inputs)


@RULES.rule(
    EARLY_AND_LATE, MatMul, tags=(*BOTH, "structured_products", "local_block_diag_dot_to_dot_block_diag"),
    needs_graph=True, depth=3, below=(BlockDiagonal,))  # fmt: skip
def product_of_blocks(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """block_diag(a, c) @ b -> a @ b's first rows, then c @ the others; of two that fit -> block_diag of products."""
    shapes = shapes_of(fgraph)
    left, right = (made_by(x, BlockDiagonal) for x in node.inputs)
    if left is not None and right is not None and left.op == right.op:
        pairs = list(zip(left.inputs, right.inputs, strict=True))
        if all(shapes.of(x)[-1] == shapes.of(y)[-2] for x, y in pairs):
            return if_fits(node, left.op(*(matmul(x, y) for x, y in pairs)))
    if left is not None:
        parts = cut_along(node.inputs[1], -2, [(x, -1) for x in left.inputs])
        product = joined(fgraph, [matmul(x, part) for x, part in zip(left.inputs, parts, strict=True)], axis=-2)
        return if_fits(node, product)
    if right is None:
        return None
    parts = cut_along(node.inputs[0], -1, [(x, -2) for x in right.inputs])
    product = joined(fgraph, [matmul(part, x) for x, part in zip(right.inputs, parts, strict=True)], axis=-1)
    return if_fits(node, product)


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
    depth=3, below=(BlockDiagonal,))  # fmt: skip
def solution_with_blocks(fgraph: FunctionGraph, node: NodeOf[Solve | SolveTriangular]) -> TensorVariable | None:
    """solve(block_diag(a, c), b) -> solve(a, b's first rows), then solve(c, the others), for square blocks."""
    blocks = made_by(node.inputs[0], BlockDiagonal)
    if blocks is None or not _are_square(fgraph, blocks):
        return None
    parts = cut_along(node.inputs[1], -2, [(x, -1) for x in blocks.inputs])
    solution = joined(fgraph, [node.op(x, part) for x, part in zip(blocks.inputs, parts, strict=True)], axis=-2)
    return if_fits(node, where_nothing_is_nan(solution) if may_fail_silently(node.op) else solution)


@RULES.rule(EARLY_AND_LATE, Cholesky, tags=BOTH, needs_graph=True, depth=3, below=(BlockDiagonal,))
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
