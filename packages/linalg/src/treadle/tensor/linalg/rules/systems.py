"""Rules for systems of equations: solved by the cheapest way that the structure of the matrix allows."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.arrangement.diagonals import ExtractDiag
from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import neq
from treadle.tensor.elementwise.exponential import sqr
from treadle.tensor.joins.joining import concatenate, stack
from treadle.tensor.lengths.numbers import number, times
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskySolve
from treadle.tensor.linalg.decompositions.lu import LUSolve
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.linear_systems import Solve, SolveBanded
from treadle.tensor.linalg.rules.building import (
    NOT_FINITE,
    adjoint,
    all_of_last,
    as_long_as,
    as_square,
    column,
    column_and_row,
    diagonal_of,
    diagonal_of_square,
    known_facts,
    matmul,
    may_fail_silently,
    nan_unless,
    needs_no_check,
)
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.facts import Facts
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_adjoint, transposed
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.dimshuffle import DimShuffle, dimshuffle, matrix_transpose, shape_padleft
from treadle.tensor.shapes.shape import Reshape, lengths

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("systems", features=(SymbolicShapes, Facts), after=("reduction",))


@RULES.rule(
    EARLY_AND_LATE,
    MatMul,
    tags=(*BOTH, "inv_to_solve"),
    depth=3,
    needs_graph=True,
    needs=(MatrixInverse,),
    differs=NOT_FINITE,
)
def product_with_inverse(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """inv(a) @ b -> solve(a, b); b @ inv(a) -> solve(a.T, b.T).T, where the inverse is only multiplied."""
    a, b = node.inputs
    dtype = node.outputs[0].dtype
    inverse = _inverse(fgraph, a, dtype)
    if inverse is not None:
        op, matrix = inverse
        return if_fits(node, Solve(check_finite=op.check_finite, on_error=op.on_error)(matrix, cast(b, dtype)))
    inverse = _inverse(fgraph, b, dtype)
    if inverse is None:
        return None
    op, matrix = inverse
    solve = Solve(check_finite=op.check_finite, on_error=op.on_error)
    return if_fits(node, matrix_transpose(solve(matrix_transpose(matrix), matrix_transpose(cast(a, dtype)))))


def _inverse(fgraph: FunctionGraph, x: TensorVariable, dtype: str) -> tuple[MatrixInverse, TensorVariable] | None:
    """Return the op and the matrix that a factor is the inverse of, if the inverse is needed in products only."""
    below = transposed(x)
    inner = made_by(x if below is None else below, MatrixInverse)
    # A right side that is not finite would be an error.
    if inner is None or x.dtype != dtype or not may_fail_silently(inner.op):
        return None
    if not _is_multiplied_only(fgraph, inner.outputs[0]):
        return None
    return inner.op, inner.inputs[0] if below is None else matrix_transpose(inner.inputs[0])


def _is_multiplied_only(fgraph: FunctionGraph, x: Variable) -> bool:
    return all(
        isinstance(client.op, MatMul)
        or (isinstance(client.op, DimShuffle) and client.outputs and _is_multiplied_only(fgraph, client.outputs[0]))
        for client, _ in fgraph.clients[x]
    )


@RULES.rule(
    EARLY_AND_LATE, Solve, tags=(*BOTH, "solve_of_inv_to_matmul"), needs_graph=True,
    differs="where the matrix is singular",
)  # fmt: skip
def solution_with_inverse(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(inv(a), b) -> a @ b."""
    a, b = node.inputs
    inner = made_by(a, MatrixInverse)
    if inner is None or node.op.assume_a != "gen" or not may_fail_silently(inner.op) or not may_fail_silently(node.op):
        return None
    return if_fits(node, matmul(as_square(fgraph, inner.inputs[0]), b))


@RULES.rule(EARLY_AND_LATE, Solve, Cholesky, MatrixInverse, tags=BOTH, needs_graph=True, depth=6)
def result_for_symmetric_transpose(
    fgraph: FunctionGraph, node: NodeOf[Solve | Cholesky | MatrixInverse]
) -> TensorVariable | None:
    """solve(a.T, b) -> solve(a, b), where a is known to be symmetric, and so for cholesky and inv."""
    a = node.inputs[0]
    below = transposed(a)
    facts = None if below is None else known_facts(fgraph)
    if below is None or facts is None or not facts.hold("symmetric", below):
        return None
    return if_fits(node, node.op(below, *node.inputs[1:]))


@RULES.rule(EARLY_AND_LATE, Solve, tags=(*BOTH, "scalar_solve_to_division"), depth=1, differs=NOT_FINITE)
def solution_with_number(node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(a, b) -> b / a, NaN where a is 0, for matrices a of one element."""
    a, b = node.inputs
    if a.type.shape[-2:] != (1, 1) or b.type.shape[-2] != 1 or not may_fail_silently(node.op):
        return None
    number = a.real if node.op.assume_a == "her" else a
    solution = b / number
    fine = number > 0 if node.op.assume_a == "pos" else neq(number, 0)
    return if_fits(node, nan_unless(dimshuffle(fine, *range(a.ndim - 2)), solution))


@RULES.rule(
    EARLY_AND_LATE, Solve, SolveTriangular, CholeskySolve, tags=(*BOTH, "diagonal_solve_to_division"), needs_graph=True,
    depth=6, differs=NOT_FINITE,
)  # fmt: skip
def solution_with_diagonal(
    fgraph: FunctionGraph, node: NodeOf[Solve | SolveTriangular | CholeskySolve]
) -> TensorVariable | None:
    """solve(diag(d), b) -> b / d, NaN in the whole matrix where the diagonal matrix is singular."""
    facts = known_facts(fgraph)
    op = node.op
    a, b = node.inputs
    if facts is None or not facts.hold("diagonal", a) or a.type.shape[-2:] == (1, 1):
        return None
    if isinstance(op, SolveTriangular) and op.unit_diagonal:
        return None
    d = diagonal_of_square(fgraph, a)
    if isinstance(op, CholeskySolve):
        if not needs_no_check(op):
            return None
        size = sqr(abs(d)).astype(a.dtype)
        return if_fits(node, b / column(as_long_as(fgraph, size, b, -2)))
    is_definite = isinstance(op, Solve) and op.assume_a == "pos"
    is_sure = facts.hold("positive_definite" if is_definite else "nonsingular", a)
    if not (needs_no_check(op) if is_sure else may_fail_silently(op)):
        return None
    if isinstance(op, Solve) and op.assume_a in {"her", "pos"} and a.type.numpy_dtype.kind == "c":
        return None
    solution = b / column(as_long_as(fgraph, d, b, -2))
    if is_sure:
        return if_fits(node, solution)
    return if_fits(node, nan_unless(all_of_last(d > 0 if is_definite else neq(d, 0)), solution))


@RULES.rule(
    EARLY_AND_LATE, Solve, tags=(*BOTH, "generic_solve_to_solve_triangular", "generic_solve_to_structured_form"),
    needs_graph=True, depth=6, after=("solution_with_diagonal",),
)  # fmt: skip
def solution_with_triangle(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(a, b) -> solve_triangular(a, b), where a is known to be triangular."""
    facts = known_facts(fgraph)
    op = node.op
    if facts is None or op.assume_a != "gen":
        return None
    a, b = node.inputs
    for lower, fact in ((True, "lower_triangular"), (False, "upper_triangular")):
        if facts.hold(fact, a):
            solution = SolveTriangular(lower=lower, check_finite=op.check_finite, on_error=op.on_error)(a, b)
            return if_fits(node, solution)
    return None


@RULES.rule(
    EARLY_AND_LATE, Solve, tags=(*BOTH, "orthogonal_solve_to_transpose_matmul"), needs_graph=True, depth=6,
    after=("solution_with_diagonal",), differs=NOT_FINITE,
)  # fmt: skip
def solution_with_orthogonal(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(q, b) -> q.T @ b, where q is known to be orthogonal, or unitary."""
    facts = known_facts(fgraph)
    if facts is None or node.op.assume_a != "gen" or not needs_no_check(node.op):
        return None
    if not facts.hold("orthogonal", node.inputs[0]):
        return None
    a, b = node.inputs
    return if_fits(node, matmul(adjoint(a), b))


@RULES.rule(
    (Phase.STABILIZE, Phase.SPECIALIZE), Solve, tags=("fast_run", "psd_solve_to_chol_solve"), needs_graph=True, depth=6,
    differs="where rounding makes the matrix indefinite",
)  # fmt: skip
def solution_with_positive_definite(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(a, b) -> cho_solve(cholesky(a), b), where a is known to be positive definite."""
    facts = known_facts(fgraph)
    op = node.op
    if facts is None or op.assume_a != "gen" or not facts.hold("positive_definite", node.inputs[0]):
        return None
    a, b = node.inputs
    factor = Cholesky(True, op.check_finite, op.on_error)(a)
    return if_fits(node, CholeskySolve(True, op.check_finite, op.on_error)(factor, b))


@RULES.rule(
    EARLY_AND_LATE, Solve, SolveTriangular, CholeskySolve, LUSolve, tags=BOTH, needs_graph=True, depth=2,
    differs=NOT_FINITE,
)  # fmt: skip
def solution_with_rank_one(
    fgraph: FunctionGraph, node: NodeOf[Solve | SolveTriangular | CholeskySolve | LUSolve]
) -> TensorVariable | None:
    """solve(a, column * row) -> solve(a, column) * row."""
    *matrices, b = node.inputs
    factors = column_and_row(b)
    if factors is None or not may_fail_silently(node.op) or not is_used_once(fgraph, b):
        return None
    return if_fits(node, mul(node.op(*matrices, factors[0]), factors[1]))


@RULES.rule(
    Phase.SPECIALIZE, SolveTriangular, tags=("fast_run", "paired_triangular_solves_to_cho_solve"), needs_graph=True,
    depth=6,
)  # fmt: skip
def solutions_with_both_triangles(fgraph: FunctionGraph, node: NodeOf[SolveTriangular]) -> TensorVariable | None:
    """solve(l.T, solve(l, b)) -> cho_solve(l, b), and so for an upper factor, where l is known to be nonsingular."""
    outer, (a, between) = node.op, node.inputs
    inner = made_by(between, SolveTriangular)
    facts = known_facts(fgraph)
    if inner is None or facts is None or inner.op != replace(outer, lower=True) or outer.lower or outer.unit_diagonal:
        return None
    factor, b = inner.inputs
    if not is_used_once(fgraph, between) or not is_adjoint(a, factor) or not facts.hold("nonsingular", factor):
        return None
    solve = CholeskySolve(lower=True, check_finite=outer.check_finite, on_error=outer.on_error)
    return if_fits(node, solve(factor, b))


@RULES.rule(
    Phase.SPECIALIZE, Solve, SolveTriangular, CholeskySolve, depth=2,
    tags=("fast_run", "batched_vector_b_solve_to_matrix_b_solve"),
    differs="where one right side of several is not finite",
)  # fmt: skip
def solutions_of_one_matrix(node: NodeOf[Solve | SolveTriangular | CholeskySolve]) -> TensorVariable | None:
    """solve(one a, stack of b) -> one solution for the columns of all b: the matrix is factored once."""
    a, b = node.inputs
    ndim = a.ndim
    if ndim < 3 or any(n != 1 for n in a.type.shape[:-2]) or not may_fail_silently(node.op):
        return None
    if all(n == 1 for n in b.type.shape[:-2]):
        return None
    *stack, rows, columns = map(number, lengths(b))
    one = dimshuffle(a, ndim - 2, ndim - 1)
    beside = Reshape(2)(dimshuffle(b, ndim - 2, *range(ndim - 2), ndim - 1), rows, reduce(times, (*stack, columns)))
    solved = Reshape(ndim)(node.op(one, beside), rows, *stack, columns)
    return if_fits(node, dimshuffle(solved, *range(1, ndim - 1), 0, ndim - 1))


@RULES.rule(
    Phase.SPECIALIZE, Solve, SolveTriangular, CholeskySolve, Cholesky, MatrixInverse, depth=2,
    tags=("fast_run", "lift_linalg_of_expanded_matrices"),
)  # fmt: skip
def op_of_expanded(
    node: NodeOf[Solve | SolveTriangular | CholeskySolve | Cholesky | MatrixInverse],
) -> TensorVariable | None:
    """f(a[None]) -> f(a)[None], where all operands have stacks of length 1 in front."""
    inner = [_expanded(x) for x in node.inputs]
    if any(x is None for x in inner):
        return None
    result = node.op(*inner)
    return if_fits(node, shape_padleft(result, node.outputs[0].ndim - 2))


def _expanded(x: TensorVariable) -> TensorVariable | None:
    """Return the matrix to which dimensions of length 1 were added in front, making a stack of it alone."""
    view = made_by(x, DimShuffle)
    if view is None or not view.op.adds_in_front_only or view.inputs[0].ndim != 2:
        return None
    return view.inputs[0]


# From this length on, taking the diagonals out pays.
_SHORTEST_BANDED = 16


@RULES.rule(
    Phase.SPECIALIZE, Solve, tags=("fast_run",), needs_graph=True, depth=6, after=("solution_with_positive_definite",)
)
def solution_with_bands(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(a, b) -> solve_banded(diagonals of a, b), where only the next diagonals on both sides are not 0."""
    facts = known_facts(fgraph)
    op = node.op
    a, b = node.inputs
    n = a.type.shape[-1]
    if facts is None or op.assume_a != "gen" or (n is not None and n < _SHORTEST_BANDED):
        return None
    if not facts.hold("tridiagonal", a) or facts.hold("positive_definite", a):
        return None
    a = as_square(fgraph, a)
    above, below = (ExtractDiag(k, a.ndim - 2, a.ndim - 1)(a) for k in (1, -1))
    none = zeros_like(diagonal_of(a)[..., :1])
    diagonals = [concatenate([none, above], axis=-1), diagonal_of(a), concatenate([below, none], axis=-1)]
    solution = SolveBanded(1, 1, op.check_finite, op.on_error)(stack(diagonals, axis=-2), b)
    return if_fits(node, solution)
