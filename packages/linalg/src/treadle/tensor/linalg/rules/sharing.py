"""Rules that let several results share one factor of a matrix: solutions, determinants and inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import neq
from treadle.tensor.elementwise.complex_numbers import conj
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskySolve
from treadle.tensor.linalg.decompositions.lu import LUFactor, LUSolve
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.rules.building import diagonal_of_square, identity, known_facts, logarithms
from treadle.tensor.linalg.rules.cholesky_factors import cholesky_factor, is_lower
from treadle.tensor.reductions.reduction import prod, sum_
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of
from treadle.tensor.rewrites.analysis.predicates import applies, argument_of
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import transposed
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import shape_i

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("shared_factors", features=(SymbolicShapes, Facts), after=("reduction",))
REUSED = ("fast_run", "reuse_decomposition_multiple_solves", "reuse_decomposition_multiple_solves_jax")


def _turned(a: TensorVariable) -> TensorVariable | None:
    """Return x if a matrix is the conjugate transpose of x, in either order of the two ops."""
    if a.type.numpy_dtype.kind != "c":
        return transposed(a)
    below = transposed(a)
    x = a if below is None else below
    inner = argument_of(conj, x)
    if inner is None:
        return None
    return inner if below is not None else transposed(inner)


def _users(fgraph: FunctionGraph, a: TensorVariable) -> Iterator[Apply]:
    """Yield the nodes that a matrix, or its conjugate transpose, is the first input of."""
    stack: list[tuple[TensorVariable, int]] = [(a, 0)]
    while stack:
        x, depth = stack.pop()
        for client, at in fgraph.clients[x]:
            if not client.outputs:
                continue
            out: TensorVariable = client.outputs[0]  # type: ignore[assignment]  # a tensor
            is_view = isinstance(client.op, DimShuffle) or applies(client, conj)
            if is_view and depth < 2:
                stack.append((out, depth + 1))
            elif at == 0 and (x is a or _turned(x) is a):
                yield client


@RULES.rule(Phase.SPECIALIZE, Solve, MatrixInverse, tags=REUSED, needs_graph=True, depth=3)
def results_share_factor(fgraph: FunctionGraph, node: NodeOf[Solve | MatrixInverse]) -> TensorVariable | None:
    """solve(a, b), solve(a.T, c), inv(a), det(a) -> results of one lu_factor(a)."""
    op = node.op
    if isinstance(op, Solve) and op.assume_a != "gen":
        return None
    a = node.inputs[0]
    turned = _turned(a)
    root = a if turned is None else turned
    factor = LUFactor(op.check_finite, op.on_error)
    alike = (Solve("gen", False, op.check_finite, op.on_error), MatrixInverse(op.check_finite, op.on_error), factor)
    users = (other.op for other in _users(fgraph, root) if other is not node)
    if not any(other in alike or isinstance(other, (Det, SLogDet)) for other in users):
        return None
    b = node.inputs[1] if isinstance(op, Solve) else identity(a)
    return if_fits(node, LUSolve(turned is not None, op.check_finite, op.on_error)(*factor(root), b))


@RULES.rule(Phase.SPECIALIZE, Solve, tags=REUSED, needs_graph=True, depth=3)
def definite_solutions_share_factor(fgraph: FunctionGraph, node: NodeOf[Solve]) -> TensorVariable | None:
    """solve(a, b, "pos"), solve(a, c, "pos"), cholesky(a) -> solutions by one cholesky(a)."""
    op = node.op
    if op.assume_a != "pos":
        return None
    a, b = node.inputs
    # What this op assumes is true of the matrix for all other ops.
    facts_of(fgraph).learn("positive_definite", a)
    factor = Cholesky(op.lower, op.check_finite, op.on_error)
    other_ops = (client.op for client, at in fgraph.clients[a] if client is not node and at == 0)
    if not any(other in (op, factor) or isinstance(other, (Det, SLogDet, MatrixInverse)) for other in other_ops):
        return None
    return if_fits(node, CholeskySolve(op.lower, op.check_finite, op.on_error)(factor(a), b))


@RULES.rule(
    Phase.SPECIALIZE, MatrixInverse, tags=("fast_run",), needs_graph=True, depth=6, before=("results_share_factor",),
    differs="where rounding makes the matrix indefinite",
)  # fmt: skip
def inverse_of_positive_definite(fgraph: FunctionGraph, node: NodeOf[MatrixInverse]) -> TensorVariable | None:
    """inv(a) -> cho_solve(cholesky(a), eye), where a is known to be positive definite."""
    facts = known_facts(fgraph)
    a = node.inputs[0]
    if facts is None or not facts.hold("positive_definite", a):
        return None
    factor = cholesky_factor(fgraph, a)
    op = node.op
    if factor is None:
        factor = Cholesky(True, op.check_finite, op.on_error)(a)
    return if_fits(node, CholeskySolve(is_lower(factor), op.check_finite, op.on_error)(factor, identity(a)))


@RULES.rule(
    Phase.SPECIALIZE, Det, SLogDet, tags=("fast_run", "det_of_matrix_factorized_elsewhere", "det_of_factorized_matrix"),
    needs_graph=True, depth=3, after=("log_determinant_by_cholesky_factor", "determinant_by_cholesky_factor"),
    differs="where an element is NaN or infinite",
)  # fmt: skip
def determinant_by_lu_factor(
    fgraph: FunctionGraph, node: NodeOf[Det | SLogDet]
) -> Sequence[TensorVariable | None] | None:
    """det(a), lu_factor(a) -> the product of the diagonal of the factor, with a sign for each exchange of rows."""
    a = node.inputs[0]
    for client, at in fgraph.clients[a]:
        if at == 0 and isinstance(client.op, LUFactor):
            factor, pivots = client.outputs
            return _of_factor(fgraph, node, factor, pivots)  # type: ignore[arg-type]  # tensors
    return None


def _of_factor(
    fgraph: FunctionGraph, node: NodeOf[Det | SLogDet], factor: TensorVariable, pivots: TensorVariable
) -> Sequence[TensorVariable | None] | None:
    d = diagonal_of_square(fgraph, factor)
    exchanges = sum_(cast(neq(pivots, arange(shape_i(pivots, pivots.ndim - 1))), "int64"), axis=-1)
    parity = cast(1 - 2 * (exchanges % 2), d.dtype)
    if isinstance(node.op, Det):
        return [if_fits(node, mul(parity, prod(d, axis=-1, dtype=d.dtype)))]
    signs, logarithm = logarithms(d)
    return [mul(parity, signs), logarithm]
