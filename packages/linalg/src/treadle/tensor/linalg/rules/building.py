"""What rules of linear algebra share: which structure is known, and the parts that replacements are built of."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant, Op
from treadle.rewrite import OpClass
from treadle.tensor.arrangement.diagonals import AllocDiag, ExtractDiag
from treadle.tensor.elementwise.arithmetic import abs_, mul, sign
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import gt, isnan
from treadle.tensor.elementwise.exponential import log
from treadle.tensor.indexing.ranges import ARange, arange, eye
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.joins.stacking import concat_with_broadcast
from treadle.tensor.lengths.numbers import number, plus
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import all_, any_, prod, sum_
from treadle.tensor.rewrites.analysis.fact_rules import RULES
from treadle.tensor.rewrites.analysis.facts import facts_of
from treadle.tensor.rewrites.analysis.predicates import applies
from treadle.tensor.rewrites.analysis.stacks import is_adjoint, is_square
from treadle.tensor.shape_inference.symbolic_shapes import shapes_of
from treadle.tensor.shapes.dimshuffle import expand_dims, matrix_transpose
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.variables.variable import TensorVariable

# The ops of linear algebra, which rules about ops of `treadle.tensor` do not import.
MatrixOp = OpClass("treadle.tensor.linalg.matrix_op.MatrixOp")
# Ops whose rules of facts need no facts about their inputs, beside these.
_SOURCES = (AllocDiag, ARange)
NOT_FINITE = "where an element is NaN or infinite"


def known_facts(fgraph: FunctionGraph) -> Facts | None:
    """Return what is known of the values in a graph; None where there is nothing that a structure could come from."""
    facts = facts_of(fgraph)
    if facts.is_fruitful is None:
        facts.is_fruitful = any(
            _is_of_linear_algebra(type(node.op)) or _starts_structure(node) for node in fgraph.apply_nodes
        )
    return facts if facts.is_fruitful else None


def facts_from_sources(fgraph: FunctionGraph) -> Facts | None:
    """Return what is known of the values in a graph; None where no structure starts at any op or constant.

    This is for structure that none but these give. A product of a matrix with its transpose is symmetric by itself, and
    what is positive definite may come of it.
    """
    facts = facts_of(fgraph)
    if facts.has_sources:
        return facts
    unseen = fgraph.apply_nodes if facts.fgraph is None else facts.unseen
    facts.has_sources = any(map(_starts_structure, unseen))
    facts.unseen = []
    return facts if facts.has_sources else None


def _starts_structure(node: Apply) -> bool:
    """Whether facts about matrices may start at a node: by what its op promises, a rule for it, or a constant."""
    op = node.op
    if _promises_structure(type(op)) or isinstance(op, _SOURCES) or RULES.starts(type(op)):
        return True
    return any(map(_is_constant_matrix, node.inputs))


@cache
def _is_of_linear_algebra(kind: type[Op]) -> bool:
    return MatrixOp.has(kind)


@cache
def _promises_structure(kind: type[Op]) -> bool:
    """Whether `promises` of ops of a class, which may be inherited, tells of structure."""
    speaking = next(base for base in kind.__mro__ if "promises" in vars(base))
    return speaking is not Op and vars(speaking).get("promises_structure", True)


def _is_constant_matrix(x: Variable) -> bool:
    return isinstance(x, Constant) and isinstance(x.type, TensorType) and sum(n != 1 for n in x.type.shape[-2:]) > 1


def diagonal_of(x: TensorVariable) -> TensorVariable:
    """Return the diagonals of matrices."""
    diagonals: TensorVariable = ExtractDiag(0, x.ndim - 2, x.ndim - 1)(x)
    return diagonals


def diagonal_of_square(fgraph: FunctionGraph, x: TensorVariable) -> TensorVariable:
    """Return the diagonals of matrices, which are checked to be square, unless that is certain."""
    d = diagonal_of(x)
    if is_square(x, facts_of(fgraph)):
        return d
    return as_long_as(fgraph, as_long_as(fgraph, d, x, -2), x, -1)


def as_square(fgraph: FunctionGraph, x: TensorVariable) -> TensorVariable:
    """Return matrices that are checked to be square, unless that is certain."""
    return x if is_square(x, facts_of(fgraph)) else as_long_as(fgraph, x, x, -2)


def diagonal_matrix(v: TensorVariable) -> TensorVariable:
    """Return square matrices with vectors on their diagonals."""
    n = shape_i(v, v.ndim - 1)
    matrices: TensorVariable = AllocDiag()(v, n, n)
    return matrices


def column(v: TensorVariable) -> TensorVariable:
    """Return vectors as matrices of one column."""
    return expand_dims(v, -1)


def selected(a: TensorVariable) -> TensorVariable:
    """Return which row the 1 of each column is in, of matrices with columns of the identity; there may be none."""
    real = a.real
    return cast(sum_(real * column(arange(shape_i(a, a.ndim - 2), dtype=real.dtype)), axis=-2), "int64")


def scalar_of_matrix(x: TensorVariable) -> TensorVariable:
    """Return numbers, one for each matrix of a stack, as matrices of one element."""
    return expand_dims(x, (-2, -1))


def as_long_as(fgraph: FunctionGraph, v: TensorVariable, x: TensorVariable, axis: int, own: int = -1) -> TensorVariable:
    """Return a tensor, checked to be as long as another along a dimension of each, unless that is certain."""
    shapes = shapes_of(fgraph)
    if shapes.of(v)[own] == shapes.of(x)[axis] or v.type.shape[own] == x.type.shape[axis] is not None:
        return v
    shape: list[TensorVariable | None] = [None] * v.ndim
    shape[own] = shape_i(x, axis % x.ndim)
    return specify_shape(v, shape)


def nan_unless(fine: TensorVariable, x: TensorVariable) -> TensorVariable:
    """Return matrices, NaN in every element where a condition does not hold of the matrix."""
    checked: TensorVariable = switch(scalar_of_matrix(fine), x, np.array(np.nan, x.dtype))
    return checked


def where_nothing_is_nan(x: TensorVariable) -> TensorVariable:
    """Return matrices, all NaN where one element is: there the op failed for one of the parts."""
    failed = any_(isnan(x), axis=(-2, -1), keepdims=True)
    checked: TensorVariable = switch(failed, np.array(np.nan, x.dtype), x)
    return checked


def all_of_last(condition: TensorVariable) -> TensorVariable:
    """Return whether a condition holds for all elements of each vector."""
    return all_(condition, axis=-1)


def adjoint(x: TensorVariable) -> TensorVariable:
    """Return the conjugate transposes."""
    return matrix_transpose(x.conj())


def matmul(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    """Return the products of stacks of one rank."""
    products: TensorVariable = MatMul()(a, b)
    return products


def cut_along(x: TensorVariable, axis: int, parts: Sequence[tuple[TensorVariable, int]]) -> list[TensorVariable]:
    """Cut a tensor along an axis into parts, each as long as a dimension of the tensor named for it."""
    cuts: list[TensorVariable] = []
    start: Number = 0
    for part, of in parts:
        stop = plus(start, number(shape_i(part, of % part.ndim)))
        # The last part takes the rest, so that a length that does not fit stays an error.
        end = None if len(cuts) == len(parts) - 1 else stop
        index = (..., slice(start, end)) if axis == -1 else (..., slice(start, end), slice(None))
        cuts.append(x[index])
        start = stop
    return cuts


def joined(fgraph: FunctionGraph, parts: Sequence[TensorVariable], axis: int) -> TensorVariable:
    """Concatenate parts along a negative axis, with the dimensions before it broadcast together."""
    shapes = shapes_of(fgraph)
    are_alike = all(shapes.of(x)[:axis] == shapes.of(parts[0])[:axis] for x in parts)
    return (concatenate if are_alike else concat_with_broadcast)(parts, axis=axis)


def factor_of(x: TensorVariable) -> TensorVariable | None:
    """Return f if a matrix is the product of f and its adjoint."""
    node = x.owner
    if node is None or not isinstance(node.op, MatMul) or not is_adjoint(*node.inputs):
        return None
    return node.inputs[0]


def identity(a: TensorVariable) -> TensorVariable:
    """Return the identity of the size of square matrices, with as many dimensions."""
    square = eye(shape_i(a, a.ndim - 1), dtype=a.dtype)
    return square if a.ndim == 2 else square[(None,) * (a.ndim - 2)]


def logarithms(d: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the outputs of slogdet, signs and logarithms, for matrices with the determinant of a diagonal one."""
    size = abs_(d)
    signs = d / switch(gt(size, 0), size, np.ones((), size.dtype)) if d.type.numpy_dtype.kind == "c" else sign(d)
    return prod(cast(signs, d.dtype), axis=-1, dtype=d.dtype), sum_(log(size), axis=-1, dtype=size.dtype)


def column_and_row(x: TensorVariable) -> tuple[TensorVariable, TensorVariable] | None:
    """Return the columns and the rows that matrices of rank one are the products of, or None."""
    node = x.owner
    if not applies(node, mul) or x.ndim < 2:
        return None
    a, b = node.inputs
    for first, second in ((a, b), (b, a)):
        if first.type.shape[-1] == 1 == second.type.shape[-2] and first.dtype == second.dtype == x.dtype:
            return None if first.type.shape[-2] == 1 or second.type.shape[-1] == 1 else (first, second)
    return None


def may_fail_silently(op: Op) -> bool:
    """Whether an op gives NaN where it has no result, rather than an error."""
    return getattr(op, "on_error", "nan") == "nan"


def needs_no_check(op: Op) -> bool:
    """Whether leaving out an op loses no error, if its matrix surely has a result: only NaN may be refused."""
    return may_fail_silently(op) or not getattr(op, "check_finite", False)
