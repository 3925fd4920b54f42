"""Rules for eigenvalues, singular values and other decompositions: of diagonal matrices, and of what is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import abs_, neg
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.exponential import exp
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.linalg.decompositions.eigenvalues import Eig, Eigvals
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.decompositions.lu import LU, LUFactor
from treadle.tensor.linalg.decompositions.qr import QR
from treadle.tensor.linalg.decompositions.schur import QZ, Schur
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.functions.matrix_equations import Sylvester
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.rules.building import (
    NOT_FINITE,
    adjoint,
    column,
    diagonal_matrix,
    diagonal_of,
    identity,
    known_facts,
    may_fail_silently,
    nan_unless,
)
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.rewrites.analysis.facts import Facts
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.rewrites.analysis.stacks import is_square
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.sorting.sorting import argsort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Op
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

    Outputs = Sequence[TensorVariable | None] | None

RULES = RuleSet("spectra", features=(SymbolicShapes, Facts), after=("reduction",))


# What is used of a decomposition


def _elsewhere(fgraph: FunctionGraph, node: Apply, *ops: Op) -> Apply | None:
    """Return another node of the graph that applies one of `ops` to the same matrix."""
    for client, _ in fgraph.clients[node.inputs[0]]:
        if client is not node and client.op in ops:
            return client
    return None


def _is_unused(fgraph: FunctionGraph, *outputs: object) -> bool:
    return all(not fgraph.clients.get(out) for out in outputs)  # type: ignore[call-overload]  # variables


@RULES.rule((*EARLY_AND_LATE, Phase.STABILIZE), SVD, tags=(*BOTH, "svd_uv_merge"), needs_graph=True, depth=1)
def singular_values_alone(fgraph: FunctionGraph, node: NodeOf[SVD]) -> Outputs:
    """svd(a) of which only the singular values are used -> svdvals(a); svdvals(a), svd(a) -> those of the latter."""
    op = node.op
    if op.compute_uv:
        u, s, vh = node.outputs
        if not _is_unused(fgraph, u, vh) or _elsewhere(fgraph, node, *_with_vectors(op)) is not None:
            return None
        return [None, if_fits_output(s, SVD(False, False, op.on_error)(node.inputs[0])), None]
    other = _elsewhere(fgraph, node, *_with_vectors(op))
    if other is None or _is_unused(fgraph, other.outputs[0], other.outputs[2]):
        return None
    return [if_fits_output(node.outputs[0], other.outputs[1])]


def _with_vectors(op: SVD) -> tuple[SVD, SVD]:
    return SVD(True, True, op.on_error), SVD(False, True, op.on_error)


def if_fits_output(out: TensorVariable, replacement: object) -> TensorVariable | None:
    """Return a replacement of an output if its type equals or refines the output's."""
    return replacement if out.type.is_super(replacement.type) else None  # type: ignore[attr-defined,return-value]  # a tensor


@RULES.rule(EARLY_AND_LATE, Eigh, Eig, tags=BOTH, needs_graph=True, depth=1)
def eigenvalues_alone(fgraph: FunctionGraph, node: NodeOf[Eigh | Eig]) -> Outputs:
    """eigh(a) of which only the eigenvalues are used -> eigvalsh(a), and so for eig."""
    values, vectors = node.outputs
    if not _is_unused(fgraph, vectors):
        return None
    op = node.op
    alone = Eigvalsh(op.lower, op.on_error) if isinstance(op, Eigh) else Eigvals(op.on_error)
    return [if_fits_output(values, alone(node.inputs[0])), None]


@RULES.rule(EARLY_AND_LATE, Eigvalsh, Eigvals, tags=BOTH, needs_graph=True, depth=1)
def eigenvalues_of_vectors(fgraph: FunctionGraph, node: NodeOf[Eigvalsh | Eigvals]) -> Outputs:
    """eigvalsh(a), eigh(a) -> the eigenvalues of the latter, and so for eig."""
    op = node.op
    vectors_op = Eigh(op.lower, op.on_error) if isinstance(op, Eigvalsh) else Eig(op.on_error)
    other = _elsewhere(fgraph, node, vectors_op)
    if other is None or _is_unused(fgraph, other.outputs[1]):
        return None
    return [if_fits_output(node.outputs[0], other.outputs[0])]


@RULES.rule(EARLY_AND_LATE, QR, tags=BOTH, needs_graph=True, depth=1)
def triangle_alone(fgraph: FunctionGraph, node: NodeOf[QR]) -> Outputs:
    """qr(a) of which only R is used -> R alone."""
    op = node.op
    if op.mode not in {"full", "economic"} or op.pivoting or not _is_unused(fgraph, node.outputs[0]):
        return None
    a = node.inputs[0]
    (r,) = QR("r", False, op.on_error).make_node(a).outputs
    n, m = a.type.shape[-2:]
    if op.mode == "economic" and (n is None or m is None or n > m):
        return None
    return [None, if_fits_output(node.outputs[1], r)]


# Symmetric matrices


@RULES.rule(
    EARLY_AND_LATE, Eig, Eigvals, tags=(*BOTH, "eig_to_eigh"), needs_graph=True, depth=6,
    differs="in the order of the eigenvalues, and the sign or basis of the vectors",
)  # fmt: skip
def eigenvalues_of_symmetric(fgraph: FunctionGraph, node: NodeOf[Eig | Eigvals]) -> Outputs:
    """eig(a) -> eigh(a), made complex, where a is known to be symmetric, or Hermitian; and so for eigvals."""
    a = node.inputs[0]
    facts = known_facts(fgraph)
    if facts is None or not facts.hold("hermitian", a):
        return None
    outputs = (Eigh if isinstance(node.op, Eig) else Eigvalsh)(True, node.op.on_error).make_node(a).outputs
    return [cast(x, out.dtype) for x, out in zip(outputs, node.outputs, strict=True)]


# Diagonal matrices


def _diagonal(fgraph: FunctionGraph, a: TensorVariable) -> TensorVariable | None:
    """Return the diagonal of square matrices that are known to be diagonal."""
    facts = known_facts(fgraph)
    if facts is None or not facts.hold("diagonal", a) or not is_square(a, facts):
        return None
    return diagonal_of(a)


def _in_order(a: TensorVariable, keys: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the order that brings keys into ascending order, and the identity with its columns in that order."""
    order = argsort(keys, axis=-1, kind="stable")
    unit_matrix = identity(a) + cast(keys * 0, a.dtype)[..., None, :]
    return order, take_along_axis(unit_matrix, expand_dims(order, -2), -1)


@RULES.rule(
    EARLY_AND_LATE, Eigh, Eigvalsh, tags=(*BOTH, "eigh_of_diag", "eigvalsh_of_diag"), needs_graph=True, depth=6,
    differs="in the sign or basis of the vectors, and where an element is NaN or infinite",
)  # fmt: skip
def eigenvalues_of_diagonal(fgraph: FunctionGraph, node: NodeOf[Eigh | Eigvalsh]) -> Outputs:
    """eigh(diag(d)) -> d in ascending order, and the columns of the identity in that order."""
    d = _diagonal(fgraph, node.inputs[0])
    if d is None or not may_fail_silently(node.op):
        return None
    values = d.real
    order, vectors = _in_order(node.inputs[0], values)
    outputs = [take_along_axis(values, order, -1), vectors]
    return [if_fits_output(out, x) for out, x in zip(node.outputs, outputs, strict=False)]


@RULES.rule(
    (*EARLY_AND_LATE, Phase.STABILIZE), SVD, tags=(*BOTH, "svd_of_diag"), needs_graph=True, depth=6,
    differs="in the sign or basis of the vectors, and where an element is NaN or infinite",
)  # fmt: skip
def singular_values_of_diagonal(fgraph: FunctionGraph, node: NodeOf[SVD]) -> Outputs:
    """svd(diag(d)) -> abs(d) in descending order, columns of the identity in that order, and rows with signs."""
    d = _diagonal(fgraph, node.inputs[0])
    if d is None or not may_fail_silently(node.op) or d.type.numpy_dtype.kind == "c":
        return None
    size = abs_(d)
    order, u = _in_order(node.inputs[0], neg(size))
    values = take_along_axis(size, order, -1)
    if not node.op.compute_uv:
        return [if_fits_output(node.outputs[0], values)]
    signs = switch(d < 0, np.array(-1, d.dtype), np.array(1, d.dtype))
    vh = expand_dims(signs, -2) * adjoint(u)
    return [if_fits_output(out, x) for out, x in zip(node.outputs, (u, values, vh), strict=True)]


@RULES.rule(EARLY_AND_LATE, Expm, tags=(*BOTH, "expm_of_diag"), needs_graph=True, depth=6, differs=NOT_FINITE)
def exponential_of_diagonal(fgraph: FunctionGraph, node: NodeOf[Expm]) -> TensorVariable | None:
    """expm(diag(d)) -> diag(exp(d))."""
    d = _diagonal(fgraph, node.inputs[0])
    return None if d is None else if_fits(node, diagonal_matrix(exp(d)))


@RULES.rule(
    EARLY_AND_LATE, QR, tags=(*BOTH, "qr_of_diag"), needs_graph=True, depth=6,
    differs="in signs, and where an element is NaN or infinite",
)  # fmt: skip
def qr_factors_of_diagonal(fgraph: FunctionGraph, node: NodeOf[QR]) -> Outputs:
    """qr(diag(d)) -> the identity, and the matrix."""
    a = node.inputs[0]
    d = None if node.op.pivoting or node.op.mode == "raw" else _diagonal(fgraph, a)
    if d is None or not may_fail_silently(node.op) or a.type.numpy_dtype.kind == "c":
        return None
    factors = [a] if node.op.mode == "r" else [identity(a) + 0 * a, a]
    return [if_fits_output(out, x) for out, x in zip(node.outputs, factors, strict=True)]


@RULES.rule(
    EARLY_AND_LATE, LU, LUFactor, tags=(*BOTH, "lu_of_diag", "lu_factor_of_diag"), needs_graph=True, depth=6,
    differs=NOT_FINITE,
)  # fmt: skip
def lu_factors_of_diagonal(fgraph: FunctionGraph, node: NodeOf[LU | LUFactor]) -> Outputs:
    """lu(diag(d)) -> positions in order, the identity, and the matrix; lu_factor(diag(d)) -> the matrix and pivots."""
    a = node.inputs[0]
    d = _diagonal(fgraph, a)
    if d is None or not may_fail_silently(node.op):
        return None
    dtype = node.outputs[0 if isinstance(node.op, LU) else 1].dtype
    places = arange(shape_i(d, d.ndim - 1), dtype=dtype) + zeros_like(d, dtype=dtype)
    factors = [places, identity(a) + 0 * a, a] if isinstance(node.op, LU) else [a, places]
    return [if_fits_output(out, x) for out, x in zip(node.outputs, factors, strict=True)]


@RULES.rule(EARLY_AND_LATE, Schur, tags=(*BOTH, "schur_of_diag"), needs_graph=True, depth=6, differs=NOT_FINITE)
def schur_form_of_diagonal(fgraph: FunctionGraph, node: NodeOf[Schur]) -> Outputs:
    """schur(diag(d)) -> the matrix, and the identity."""
    a = node.inputs[0]
    if node.op.sort is not None or not may_fail_silently(node.op) or _diagonal(fgraph, a) is None:
        return None
    factors = [a, identity(a) + 0 * a]
    return [if_fits_output(out, x) for out, x in zip(node.outputs, factors, strict=True)]


@RULES.rule(EARLY_AND_LATE, QZ, tags=(*BOTH, "qz_of_diag"), needs_graph=True, depth=6, differs=NOT_FINITE)
def schur_forms_of_diagonals(fgraph: FunctionGraph, node: NodeOf[QZ]) -> Outputs:
    """qz(diag(d), diag(e)) -> d * sign(e), abs(e) on diagonals, and the identity, with the signs of e for Z."""
    a, b = node.inputs
    if node.op.sort is not None or not may_fail_silently(node.op) or a.type.numpy_dtype.kind == "c":
        return None
    d, e = _diagonal(fgraph, a), _diagonal(fgraph, b)
    if d is None or e is None or a.ndim != 2:
        return None
    signs = switch(e < 0, np.array(-1, a.dtype), np.array(1, a.dtype))
    alpha, beta = d * signs, abs_(e)
    factors = [diagonal_matrix(alpha), diagonal_matrix(beta), alpha, beta, identity(a), diagonal_matrix(signs)]
    pairs = zip(node.outputs, factors, strict=True)
    return [if_fits_output(out, cast(x, out.type.dtype)) for out, x in pairs]


@RULES.rule(
    EARLY_AND_LATE, Sylvester, tags=(*BOTH, "solve_sylvester_of_diag"), needs_graph=True, depth=6, differs=NOT_FINITE
)
def solution_of_sylvester_with_diagonals(fgraph: FunctionGraph, node: NodeOf[Sylvester]) -> TensorVariable | None:
    """solve_sylvester(diag(d), diag(e), q) -> q / (d's rows + e's columns)."""
    a, b, q = node.inputs
    d, e = _diagonal(fgraph, a), _diagonal(fgraph, b)
    if d is None or e is None or not may_fail_silently(node.op):
        return None
    sums = column(d) + expand_dims(e, -2)
    fine = all_(sums.neq(0), axis=(-2, -1))
    return if_fits(node, nan_unless(fine, q / sums))
