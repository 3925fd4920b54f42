"""Rules for diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant, as_index
from treadle.rewrite import RuleSet
from treadle.tensor.arrangement.diagonals import AllocDiag, ExtractDiag
from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.expressions import Positions
from treadle.tensor.indexing.indexing import AdvancedSubtensor
from treadle.tensor.indexing.ranges import ARange
from treadle.tensor.lengths.numbers import least, number
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import filling, is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import alloc_like, if_fits
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.dimshuffle import DimShuffle, dimshuffle, matrix_transpose
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("diagonals", features=(SymbolicShapes,))


@RULES.rule(EARLY_AND_LATE, ExtractDiag, tags=(*BOTH, "extract_diag_of_transpose"), below=(DimShuffle,))
def diagonal_of_transpose(node: NodeOf[ExtractDiag]) -> TensorVariable | None:
    """diagonal(transpose(x)) -> diagonal(x) in the other dimensions."""
    inner = made_by(node.inputs[0], DimShuffle)
    op = node.op
    if inner is None or not inner.op.is_transpose:
        return None
    order = [d for d in inner.op.order if isinstance(d, int)]
    kept = [order[d] for d in op.kept(len(order))]
    if kept != sorted(kept):
        return None
    offset, rows, columns = op.offset, order[op.axis1], order[op.axis2]
    if rows > columns:
        offset, rows, columns = -offset, columns, rows
    return if_fits(node, ExtractDiag(offset, rows, columns)(inner.inputs[0]))


@RULES.rule(EARLY_AND_LATE, ExtractDiag, tags=(*BOTH, "extract_diag_lift_pass"), needs_graph=True)
def diagonal_of_diagonal_matrix(fgraph: FunctionGraph, node: NodeOf[ExtractDiag]) -> TensorVariable | None:
    """diagonal(matrix with v on the same diagonal) -> v; on another one -> zeros; diagonal(alloc(number)) -> alloc."""
    x = node.inputs[0]
    value = filling(x)
    if value is not None:
        return alloc_like(fgraph, node, value)
    inner = made_by(x, AllocDiag)
    op = node.op
    if inner is None or (op.axis1, op.axis2) != (x.ndim - 2, x.ndim - 1):
        return None
    if inner.op.offset != op.offset:
        return alloc_like(fgraph, node, constant(np.zeros((), x.dtype)))
    v, *sides = inner.inputs
    shapes = shapes_of(fgraph)
    # One number may have been spread over the diagonal.
    side = shapes.joined([shapes.of(v)[-1], shapes.fixed(abs(op.offset))])
    return if_fits(node, v) if all(shapes.of_scalar(n) == side for n in sides) else None


@RULES.rule(EARLY_AND_LATE, ExtractDiag, tags=(*BOTH, "extract_diag_lift_pass"), needs_graph=True)
def diagonal_of_elementwise(fgraph: FunctionGraph, node: NodeOf[ExtractDiag]) -> TensorVariable | None:
    """diagonal(f(x, y)) -> f(diagonal(x), diagonal(y)), where operands have the lengths of the result, or length 1."""
    x = node.inputs[0]
    inner = made_by(x, Elemwise)
    op = node.op
    if inner is None or len(inner.outputs) != 1 or not is_used_once(fgraph, x):
        return None
    shapes = shapes_of(fgraph)
    wanted = shapes.of(x)
    axes = (op.axis1, op.axis2)
    parts: list[TensorVariable] = []
    for operand in inner.inputs:
        if all(operand.type.shape[d] == 1 for d in axes):
            # The same for the whole matrix.
            parts.append(dimshuffle(operand, *op.kept(x.ndim), "x"))
        elif all(shapes.of(operand)[d] == wanted[d] for d in axes):
            parts.append(op(operand))
        elif not op.offset and wanted[op.axis1] == wanted[op.axis2] and 1 in (operand.type.shape[d] for d in axes):
            # The rows, or columns, of a square are all the same.
            (long,) = (d for d in axes if operand.type.shape[d] != 1)
            if shapes.of(operand)[long] != wanted[long]:
                return None
            parts.append(dimshuffle(operand, *op.kept(x.ndim), long))
        else:
            return None
    return if_fits(node, inner.op(*parts))


@RULES.rule(EARLY_AND_LATE, ExtractDiag, tags=(*BOTH, "extract_diag_lift_pass"), needs_graph=True)
def diagonal_of_product(fgraph: FunctionGraph, node: NodeOf[ExtractDiag]) -> TensorVariable | None:
    """diagonal(x @ y) -> sum(x * y.T, axis=-1), of as many rows as the diagonal: only what is needed is multiplied."""
    product = node.inputs[0]
    inner = made_by(product, MatMul)
    op, ndim = node.op, product.ndim
    if inner is None or op.offset or (op.axis1, op.axis2) != (ndim - 2, ndim - 1) or not is_used_once(fgraph, product):
        return None
    x, y = inner.inputs
    shapes = shapes_of(fgraph)
    if x.type.dtype != y.type.dtype or product.type.numpy_dtype.kind not in "fc" or product.dtype == "float16":
        return None
    is_square = x is y or shapes.of(x)[-2] == shapes.of(y)[-1]
    if shapes.of(x)[-1] != shapes.of(y)[-2]:
        # Columns and rows that do not fit stay an error.
        x = specify_shape(x, [*[None] * (ndim - 1), shape_i(y, ndim - 2)])
    if not is_square:
        count = least(number(shape_i(x, ndim - 2)), number(shape_i(y, ndim - 1)))
        x, y = x[..., :count, :], y[..., :count]
    return if_fits(node, mul(x, matrix_transpose(y)).sum(axis=-1))


@RULES.rule(EARLY_AND_LATE, AdvancedSubtensor, tags=(*BOTH, "local_adv_idx_to_diagonal"), needs_graph=True)
def diagonal_by_positions(fgraph: FunctionGraph, node: NodeOf[AdvancedSubtensor]) -> TensorVariable | None:
    """x[arange(n), arange(n)] -> diagonal(x), where n is the length of both dimensions."""
    entries = node.op.entries
    x, *positions = node.inputs
    if len(entries) != 2 or not all(isinstance(e, Positions) and e.length is None for e in entries):
        return None
    shapes = shapes_of(fgraph)
    n, m = shapes.of(x)
    if n != m or any(part.ndim != 1 or shapes.of(part)[0] != n or not _counts(part) for part in positions):
        return None
    return if_fits(node, ExtractDiag(0, 0, 1)(x))


def _counts(var: TensorVariable) -> bool:
    """Whether a vector holds 0, 1, 2 and so on."""
    if isinstance(var, Constant):
        return bool((var.data == np.arange(var.data.size)).all())
    counted = made_by(var, ARange)
    return counted is not None and as_index(counted.inputs[0]) == 0 and as_index(counted.inputs[2]) == 1
