"""Cases for the rules of linear algebra: an expression, the rule that changes it, and the remaining ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import treadle.tensor as tt
from treadle.tensor import linalg


@dataclass(frozen=True)
class Case:
    """A rule, an expression, and the matrix ops that remain, by name and in order of their names.

    `sample` names values for the matrix ``a`` that fit what the expression says of it.
    """

    rule: str
    build: Callable[[Any], Any]
    after: str
    sample: str = "definite"
    rtol: float = 1e-9


class Variables:
    """Inputs by name: square a, b, and c of known lengths; y and z with as many rows and columns as a; vectors."""

    def __init__(self) -> None:
        self.a, self.b, self.y, self.z = (tt.dmatrix(name) for name in "abyz")
        self.c = tt.tensor("c", dtype="float64", shape=(3, 3))
        self.d = tt.tensor("d", dtype="float64", shape=(2, 2))
        self.v, self.w = tt.dvector("v"), tt.dvector("w")
        self.stack, self.right = tt.dtensor3("stack"), tt.dtensor3("right")
        self.ones = tt.tensor("ones", dtype="float64", shape=(None, 1, 1))
        self.complex = tt.zmatrix("complex")

    def said(self, **facts: bool) -> Any:
        """Return the matrix a with facts."""
        return tt.assume(self.a, **facts)

    def blocks(self) -> Any:
        """Return a block diagonal matrix of 5 rows."""
        return linalg.block_diag(self.c, self.d)

    def product(self) -> Any:
        """Return a Kronecker product of 6 rows."""
        return tt.kron(self.c, self.d)

    def rows(self, n: int) -> Any:
        """Return a matrix of this many rows."""
        return tt.concatenate([self.y, self.y])[:n]


def values() -> dict[str, Any]:
    """Return a value for each input."""
    rng = np.random.default_rng(7)

    def definite(n: int) -> np.ndarray:
        root = rng.normal(size=(n, n))
        return root @ root.T + np.eye(n)

    return {
        "a": definite(4), "b": rng.normal(size=(4, 4)) + 3 * np.eye(4), "y": rng.normal(size=(4, 3)),
        "z": rng.normal(size=(2, 4)), "c": definite(3), "d": definite(2), "v": rng.uniform(1, 2, size=4),
        "w": rng.uniform(1, 2, size=4), "stack": np.stack([definite(4), definite(4)]),
        "right": rng.normal(size=(2, 4, 3)), "ones": rng.uniform(1, 2, size=(2, 1, 1)),
        "complex": definite(4) + 1j * np.tril(rng.normal(size=(4, 4)), -1),
        "lower": np.linalg.cholesky(definite(4)) * np.array([1, -1, 1, -1]),
        "upper": np.linalg.cholesky(definite(4)).T, "orthogonal": np.linalg.qr(definite(4))[0],
        "diagonal": np.diag(rng.uniform(1, 2, size=4)), "permutation": np.eye(4)[[2, 0, 3, 1]],
        "selection": np.eye(4)[:, [2, 0, 2, 1]],
    }  # fmt: skip


def _symmetric(v: Variables) -> Any:
    return v.a @ v.a.T


def _of_three(x: Any) -> Any:
    return tt.tril(tt.triu(x, -1), 1)


SYSTEMS = [
    Case("product_with_inverse", lambda v: linalg.inv(v.a) @ v.y, "Solve"),
    Case("product_with_inverse", lambda v: v.z @ linalg.inv(v.a), "Solve"),
    Case("product_with_inverse", lambda v: linalg.inv(v.a).T @ v.v, "Solve"),
    Case("product_with_inverse", lambda v: linalg.inv(v.stack) @ v.right, "Solve"),
    Case("product_with_inverse", lambda v: linalg.inv(v.complex) @ v.y, "Solve"),
    Case("solution_with_inverse", lambda v: linalg.solve(linalg.inv(v.a), v.y), "MatMul"),
    Case("solution_with_number", lambda v: linalg.solve(v.ones, 3 * v.ones), ""),
    Case("solution_with_diagonal", lambda v: linalg.solve(tt.diag(v.v), v.y), ""),
    Case("solution_with_diagonal", lambda v: linalg.solve(v.said(diagonal=True), v.w), "", "diagonal"),
    Case("solution_with_diagonal", lambda v: linalg.solve_triangular(tt.diag(v.v), v.y, lower=True), ""),
    Case("solution_with_diagonal", lambda v: linalg.cho_solve((tt.diag(v.v), True), v.y), ""),
    Case(
        "solution_with_triangle",
        lambda v: linalg.solve(v.said(lower_triangular=True), v.y),
        "SolveTriangular",
        "lower",
    ),
    Case("solution_with_triangle", lambda v: linalg.solve(tt.triu(v.b), v.y), "SolveTriangular"),
    Case("solution_with_orthogonal", lambda v: linalg.solve(v.said(orthogonal=True), v.y), "MatMul", "orthogonal"),
    Case("product_with_selection", lambda v: linalg.solve(v.said(permutation=True), v.y), "", "permutation"),
    Case(
        "solution_with_positive_definite",
        lambda v: linalg.solve(v.said(positive_definite=True), v.y),
        "Cholesky CholeskySolve",
    ),
    Case(
        "solutions_with_both_triangles",
        lambda v: _twice(linalg.cholesky(v.a), v.y),
        "Cholesky CholeskySolve",
    ),
    Case("solutions_of_one_matrix", lambda v: linalg.solve(v.a, v.right, b_ndim=2), "Solve"),
    Case("solutions_of_one_matrix", lambda v: linalg.solve(v.a, v.z, b_ndim=1), "Solve"),
    Case("solution_with_rank_one", lambda v: linalg.solve(v.b, tt.outer(v.v, v.w)), "Solve"),
    Case("solution_with_bands", lambda v: linalg.solve(_of_three(v.b), v.y), "SolveBanded"),
    Case("op_of_expanded", lambda v: linalg.inv(v.a[None]), "MatrixInverse"),
]


def _twice(factor: Any, y: Any) -> Any:
    return linalg.solve_triangular(factor.T, linalg.solve_triangular(factor, y, lower=True))


def _in_reverse(factor: Any, y: Any) -> Any:
    return linalg.solve_triangular(factor, linalg.solve_triangular(factor.T, y), lower=True)


INVERSES = [
    Case("inverse_of_inverse", lambda v: linalg.inv(linalg.inv(v.a)), ""),
    Case("inverse_of_solution", lambda v: linalg.inv(linalg.inv(v.a) @ linalg.inv(v.b)), "MatMul"),
    Case("inverse_of_solution", lambda v: linalg.inv(linalg.solve(v.a, v.b)), "Solve"),
    Case(
        "inverse_of_product",
        lambda v: linalg.inv(v.said(orthogonal=True) @ v.b),
        "Solve",
        "orthogonal",
    ),
    Case("transpose_of_inverse", lambda v: linalg.inv(v.b.T).T, "MatrixInverse"),
    Case("inverse_of_diagonal", lambda v: linalg.inv(tt.diag(v.v)), ""),
    Case("inverse_of_orthogonal", lambda v: linalg.inv(v.said(orthogonal=True)), "", "orthogonal"),
    Case("inverse_of_triangle", lambda v: linalg.inv(v.said(upper_triangular=True)), "SolveTriangular", "upper"),
    Case("inverse_of_blocks", lambda v: linalg.inv(v.blocks()), "BlockDiagonal MatrixInverse MatrixInverse"),
    Case("inverse_of_blocks", lambda v: linalg.inv(v.product()), "MatrixInverse MatrixInverse"),
]
FACTORS = [
    Case("factor_of_diagonal", lambda v: linalg.cholesky(tt.diag(v.v)), ""),
    Case("factor_of_product", lambda v: linalg.cholesky(_of_factor(linalg.cholesky(v.a))), "Cholesky"),
    Case("factor_of_product", lambda v: linalg.cholesky(_of_factor(_square_triangle(v))), "", "lower"),
    Case("factor_of_scaled", lambda v: linalg.cholesky(2 * v.a) + linalg.cholesky(v.a), "Cholesky"),
    Case("factor_of_blocks", lambda v: linalg.cholesky(v.blocks()), "BlockDiagonal Cholesky Cholesky"),
    Case(
        "factor_of_kronecker_product",
        lambda v: linalg.cholesky(tt.kron(v.said(positive_definite=True), tt.assume(v.c, positive_definite=True))),
        "Cholesky Cholesky",
    ),
]


def _square_triangle(v: Variables) -> Any:
    return v.said(lower_triangular=True, square=True)


def _of_factor(factor: Any) -> Any:
    return factor @ factor.T


DETERMINANTS = [
    Case("determinant_of_triangle", lambda v: linalg.det(tt.tril(v.b)), ""),
    Case("determinant_of_triangle", lambda v: linalg.slogdet(tt.tril(v.b))[1], ""),
    Case("determinant_of_triangle", lambda v: linalg.slogdet(tt.tril(v.complex))[0], ""),
    Case("determinant_of_permutation", lambda v: linalg.det(v.said(permutation=True)), "", "permutation"),
    Case("determinant_of_transpose", lambda v: linalg.det(v.b.T), "Det"),
    Case("determinant_of_inverse", lambda v: linalg.det(linalg.inv(v.b)), "Det"),
    Case("determinant_of_inverse", lambda v: linalg.slogdet(linalg.inv(v.complex))[0], "SLogDet"),
    Case("determinant_of_blocks", lambda v: linalg.det(v.blocks()), "Det Det"),
    Case("determinant_of_blocks", lambda v: linalg.slogdet(v.blocks())[1], "SLogDet SLogDet"),
    Case("determinant_of_product", lambda v: linalg.det(linalg.cholesky(v.a) @ v.b), "Cholesky Det"),
    Case("determinant_of_kronecker_product", lambda v: linalg.det(v.product()), "Det Det"),
    Case("log_determinant_of_kronecker_product", lambda v: linalg.slogdet(v.product())[1], "SLogDet SLogDet"),
    Case("log_determinant_by_cholesky_factor", lambda v: linalg.slogdet(v.said(positive_definite=True))[1], "Cholesky"),
    Case(
        "log_determinant_by_cholesky_factor",
        lambda v: linalg.slogdet(v.said(positive_definite=True))[1] + linalg.cholesky(v.said(positive_definite=True)),
        "Cholesky",
    ),
    Case("determinant_by_cholesky_factor", lambda v: linalg.det(v.said(positive_definite=True)), "Cholesky"),
    Case("log_of_determinant", lambda v: tt.log(linalg.det(v.a)), "SLogDet"),
    Case("log_of_determinant", lambda v: tt.log(abs(linalg.det(v.b))), "SLogDet"),
    Case("sign_of_determinant", lambda v: tt.sign(linalg.det(v.b)), "SLogDet"),
]
PRODUCTS = [
    Case("product_with_diagonal", lambda v: tt.diag(v.v) @ v.y, ""),
    Case("product_with_diagonal", lambda v: v.z @ v.said(diagonal=True, square=True), "", "diagonal"),
    Case("product_of_diagonals", lambda v: tt.diag(v.v) @ tt.diag(v.v), ""),
    Case(
        "product_of_orthogonal_and_transpose",
        lambda v: v.said(orthogonal=True) @ v.said(orthogonal=True).T,
        "",
        "orthogonal",
    ),
    Case("product_with_selection", lambda v: v.said(selection=True).T @ v.y, "", "selection"),
    Case("product_with_selection", lambda v: v.z @ v.said(selection=True), "", "selection"),
    Case("product_with_selection", lambda v: v.z @ v.said(permutation=True), "", "permutation"),
    Case("product_with_selection", lambda v: v.said(permutation=True)[None] @ v.right, "", "permutation"),
    Case("product_of_blocks", lambda v: v.blocks() @ v.rows(5), "MatMul MatMul"),
    Case("product_of_blocks", lambda v: v.rows(5).T @ v.blocks(), "MatMul MatMul"),
    Case("product_of_blocks", lambda v: v.blocks() @ v.blocks(), "BlockDiagonal MatMul MatMul"),
    Case("product_of_kronecker_products", lambda v: v.product() @ v.product(), "MatMul MatMul"),
    Case("product_with_kronecker_product", lambda v: v.product() @ v.rows(6)[:, 0], "MatMul MatMul"),
    Case("product_with_rank_one", lambda v: v.a @ tt.outer(v.v, v.w), "MatMul"),
    Case("product_with_rank_one", lambda v: tt.outer(v.v, v.w) @ v.b, "MatMul"),
    Case("transpose_of_symmetric", lambda v: v.said(symmetric=True).T @ v.y, "MatMul"),
    Case("diagonal_of_product", lambda v: tt.trace(v.a @ v.b), ""),
]
BLOCKS = [
    Case("blocks_of_blocks", lambda v: linalg.block_diag(v.blocks(), v.a), "BlockDiagonal"),
    Case("solution_with_blocks", lambda v: linalg.solve(v.blocks(), v.rows(5)), "Solve Solve"),
    Case("solution_with_kronecker_product", lambda v: linalg.solve(v.product(), v.rows(6)), "Solve Solve"),
    Case("diagonal_of_blocks", lambda v: tt.diagonal(v.blocks()), ""),
    Case("diagonal_of_kronecker_product", lambda v: tt.diagonal(v.product()), ""),
    Case("kronecker_product_of_diagonals", lambda v: tt.kron(tt.diag(v.v), tt.diag(v.w)), ""),
]
SHARED = [
    Case(
        "results_share_factor",
        lambda v: linalg.solve(v.a, v.y) * linalg.solve(v.a, v.v)[:, None],
        "LUFactor LUSolve LUSolve",
    ),
    Case(
        "results_share_factor", lambda v: linalg.solve(v.b, v.v) + linalg.solve(v.b.T, v.w), "LUFactor LUSolve LUSolve"
    ),
    Case(
        "results_share_factor",
        lambda v: linalg.solve(v.complex, v.v) + linalg.solve(v.complex.conj().T, v.w),
        "LUFactor LUSolve LUSolve",
    ),
    Case("results_share_factor", lambda v: linalg.inv(v.b) * linalg.det(v.b), "LUFactor LUSolve"),
    Case("determinant_by_lu_factor", lambda v: linalg.solve(v.b, v.v) * linalg.det(v.b), "LUFactor LUSolve"),
    Case("determinant_by_lu_factor", lambda v: linalg.solve(v.b, v.v) * linalg.slogdet(v.b)[0], "LUFactor LUSolve"),
    Case(
        "determinant_by_lu_factor",
        lambda v: linalg.solve(v.complex, v.v) * linalg.slogdet(v.complex)[0],
        "LUFactor LUSolve",
    ),
    Case(
        "definite_solutions_share_factor",
        lambda v: linalg.solve(v.a, v.v, assume_a="pos") + linalg.solve(v.a, v.w, assume_a="pos"),
        "Cholesky CholeskySolve CholeskySolve",
    ),
    Case(
        "definite_solutions_share_factor",
        lambda v: linalg.solve(v.a, v.v, assume_a="pos") + linalg.slogdet(v.a)[1],
        "Cholesky CholeskySolve",
    ),
    Case(
        "inverse_of_positive_definite", lambda v: linalg.inv(v.said(positive_definite=True)), "Cholesky CholeskySolve"
    ),
    Case("result_for_symmetric_transpose", lambda v: linalg.solve((v.b + v.b.T).T, v.y), "Solve"),
    Case(
        "quotient_of_determinant_and_itself",
        lambda v: linalg.det(v.b) / linalg.det(v.b) * linalg.inv(v.b),
        "MatrixInverse",
    ),
]
SPECTRA = [
    Case("singular_values_alone", lambda v: linalg.svd(v.y)[1], "SVD"),
    Case("singular_values_alone", lambda v: linalg.svd(v.y, False)[0] * linalg.svdvals(v.y), "SVD"),
    Case("eigenvalues_alone", lambda v: linalg.eigh(v.a)[0], "Eigvalsh"),
    Case("eigenvalues_alone", lambda v: linalg.eig(v.b)[0], "Eigvals"),
    Case("eigenvalues_of_vectors", lambda v: linalg.eigh(v.a)[1] * linalg.eigvalsh(v.a), "Eigh"),
    Case("triangle_alone", lambda v: linalg.qr(v.b)[1], "QR"),
    Case("eigenvalues_of_symmetric", lambda v: tt.sort(linalg.eigvals(_symmetric(v)).real), "Eigvalsh MatMul"),
    Case("eigenvalues_of_diagonal", lambda v: linalg.eigvalsh(tt.diag(v.v)), ""),
    Case("eigenvalues_of_diagonal", lambda v: linalg.eigh(tt.diag(v.v))[1], ""),
    Case("singular_values_of_diagonal", lambda v: linalg.svd(tt.diag(v.v - 1.5))[2], ""),
    Case("exponential_of_diagonal", lambda v: linalg.expm(tt.diag(v.v)), ""),
    Case("qr_factors_of_diagonal", lambda v: linalg.qr(tt.diag(v.v))[0], ""),
    Case("lu_factors_of_diagonal", lambda v: linalg.lu_factor(tt.diag(v.v))[0], ""),
    Case("lu_factors_of_diagonal", lambda v: linalg.lu(tt.diag(v.v), p_indices=True)[1], ""),
    Case("schur_form_of_diagonal", lambda v: linalg.schur(tt.diag(v.v - 1.5))[1], ""),
    Case("schur_forms_of_diagonals", lambda v: tt.stack(linalg.qz(tt.diag(v.v), tt.diag(v.v - 1.5))), ""),
    Case(
        "solution_of_sylvester_with_diagonals",
        lambda v: linalg.solve_sylvester(tt.diag(v.v), tt.diag(v.w), v.a),
        "",
    ),
]
CASES = [*SYSTEMS, *INVERSES, *FACTORS, *DETERMINANTS, *PRODUCTS, *BLOCKS, *SHARED, *SPECTRA]


# Cases that the rules leave alone, because a rule would be wrong or would not pay.
LEFT_ALONE: list[tuple[str, Callable[[Any], Any]]] = [
    ("product_with_inverse", lambda v: (linalg.inv(v.a) @ v.y) + linalg.inv(v.a)[:, :1]),
    ("product_with_inverse", lambda v: linalg.inv(v.a, on_error="raise") @ v.y),
    ("solution_with_inverse", lambda v: linalg.solve(linalg.inv(v.a, on_error="raise"), v.y)),
    ("solution_with_number", lambda v: linalg.solve(v.ones, v.ones, on_error="raise")),
    ("solution_with_diagonal", lambda v: linalg.solve(tt.diag(v.v), v.y, on_error="raise")),
    ("solution_with_diagonal", lambda v: linalg.solve(tt.diag(v.v) + tt.diag(v.w), v.y)),
    ("solution_with_triangle", lambda v: linalg.solve(tt.tril(v.a, 1), v.y)),
    ("solution_with_triangle", lambda v: linalg.solve(tt.tril(v.a), v.y, assume_a="sym")),
    ("solution_with_orthogonal", lambda v: linalg.solve(v.said(symmetric=True), v.y)),
    ("solution_with_positive_definite", lambda v: linalg.solve(_symmetric(v), v.y)),
    ("solutions_with_both_triangles", lambda v: _twice(v.said(lower_triangular=True), v.y)),
    ("solutions_with_both_triangles", lambda v: _in_reverse(linalg.cholesky(v.a), v.y)),
    ("solutions_of_one_matrix", lambda v: linalg.solve(v.stack, v.right)),
    ("op_of_expanded", lambda v: linalg.inv(v.stack)),
    ("inverse_of_inverse", lambda v: linalg.inv(linalg.inv(v.a, on_error="raise"))),
    ("inverse_of_product", lambda v: linalg.inv(v.a @ v.b)),
    ("inverse_of_solution", lambda v: linalg.inv(linalg.solve(v.a, v.b, assume_a="pos"))),
    ("transpose_of_inverse", lambda v: linalg.inv(v.b).T),
    ("inverse_of_diagonal", lambda v: linalg.inv(tt.diag(v.v), on_error="raise")),
    ("inverse_of_orthogonal", lambda v: linalg.inv(v.a)),
    ("inverse_of_triangle", lambda v: linalg.inv(_of_factor(v.said(lower_triangular=True)))),
    ("inverse_of_blocks", lambda v: linalg.inv(linalg.block_diag(v.a, v.y))),
    ("factor_of_diagonal", lambda v: linalg.cholesky(tt.diag(v.v), on_error="raise")),
    ("factor_of_product", lambda v: linalg.cholesky(_of_factor(_square_triangle(v)), on_error="raise")),
    ("factor_of_product", lambda v: linalg.cholesky(_of_factor(v.said(lower_triangular=True)))),
    ("factor_of_product", lambda v: linalg.cholesky(_of_factor(linalg.cholesky(v.a, lower=False)))),
    ("factor_of_scaled", lambda v: linalg.cholesky(2 * v.a)),
    ("factor_of_scaled", lambda v: linalg.cholesky(v.v[0] * v.a) + linalg.cholesky(v.a)),
    ("factor_of_blocks", lambda v: linalg.cholesky(linalg.block_diag(v.a, v.y))),
    ("factor_of_kronecker_product", lambda v: linalg.cholesky(v.product())),
    ("determinant_of_triangle", lambda v: linalg.det(tt.tril(v.a, 1))),
    ("determinant_of_permutation", lambda v: linalg.det(v.said(orthogonal=True))),
    ("determinant_of_transpose", lambda v: linalg.det(v.stack.dimshuffle(1, 0, 2))),
    ("determinant_of_inverse", lambda v: linalg.det(linalg.inv(v.a, on_error="raise"))),
    ("determinant_of_blocks", lambda v: linalg.det(linalg.block_diag(v.y, v.y.T))),
    ("determinant_of_product", lambda v: linalg.det(v.a @ v.b)),
    ("determinant_of_kronecker_product", lambda v: linalg.det(tt.kron(v.y, v.y.T))),
    ("log_determinant_of_kronecker_product", lambda v: linalg.slogdet(tt.kron(v.y, v.y.T))[1]),
    ("log_determinant_by_cholesky_factor", lambda v: linalg.slogdet(_symmetric(v))[1] + linalg.cholesky(_symmetric(v))),
    ("determinant_by_cholesky_factor", lambda v: linalg.det(_symmetric(v))),
    ("log_of_determinant", lambda v: tt.log(linalg.det(v.complex))),
    ("sign_of_determinant", lambda v: tt.sign(linalg.det(v.complex))),
    ("product_with_diagonal", lambda v: tt.diag(v.v, 1) @ v.rows(5)),
    ("product_with_diagonal", lambda v: tt.eye(v.a.shape[0], v.y.shape[1]) @ v.y.T),
    ("product_with_diagonal", lambda v: v.z @ v.said(diagonal=True)),
    ("product_with_diagonal", lambda v: tt.eye(v.a.shape[0], v.y.shape[1]).T @ v.y),
    ("product_of_diagonals", lambda v: tt.diag(v.v) @ tt.diag(v.w, 1)[:4, :4]),
    ("product_of_orthogonal_and_transpose", lambda v: v.a @ v.a.T),
    ("product_with_selection", lambda v: v.said(selection=True) @ v.y),
    ("product_of_blocks", lambda v: v.a @ v.y),
    ("product_of_kronecker_products", lambda v: tt.kron(v.c, v.d) @ tt.kron(v.d, v.c)),
    ("product_with_kronecker_product", lambda v: v.product() @ v.rows(6)),
    ("transpose_of_symmetric", lambda v: v.said(orthogonal=True).T @ v.y),
    ("blocks_of_blocks", lambda v: v.blocks()),
    ("solution_with_blocks", lambda v: linalg.solve(linalg.block_diag(v.y, v.y.T), v.rows(7))),
    ("solution_with_kronecker_product", lambda v: linalg.solve(tt.kron(v.y, v.y.T), v.rows(12))),
    ("diagonal_of_blocks", lambda v: tt.diagonal(linalg.block_diag(v.y, v.a))),
    ("diagonal_of_kronecker_product", lambda v: tt.diagonal(tt.kron(v.y, v.a))),
    ("kronecker_product_of_diagonals", lambda v: tt.kron(tt.diag(v.v, 1), tt.diag(v.w))),
    ("results_share_factor", lambda v: linalg.solve(v.a, v.y) + linalg.solve(v.a, v.y, on_error="raise")),
    ("results_share_factor", lambda v: linalg.solve(v.a, v.v) + linalg.solve(v.b, v.v)),
    ("results_share_factor", lambda v: linalg.solve(v.complex, v.v) + linalg.solve(v.complex.T, v.w)),
    ("determinant_by_lu_factor", lambda v: linalg.det(v.a) * linalg.lu_factor(v.b)[0]),
    ("definite_solutions_share_factor", lambda v: linalg.solve(v.a, v.v, assume_a="pos")),
    ("inverse_of_positive_definite", lambda v: linalg.inv(_symmetric(v))),
    ("result_for_symmetric_transpose", lambda v: linalg.solve((v.b - v.b.T).T, v.y)),
    ("quotient_of_determinant_and_itself", lambda v: linalg.det(v.a) / linalg.det(v.b)),
    ("singular_values_alone", lambda v: linalg.svd(v.y, False)[1] * linalg.svd(v.y, False)[0]),
    ("eigenvalues_alone", lambda v: linalg.eigh(v.a)[1]),
    ("eigenvalues_of_vectors", lambda v: linalg.eigh(v.a)[1] * linalg.eigvalsh(v.a, lower=False)),
    ("triangle_alone", lambda v: linalg.qr(v.y.T, mode="economic", pivoting=True)[1]),
    ("eigenvalues_of_symmetric", lambda v: linalg.eigvals(v.complex @ v.complex.T)),
    ("eigenvalues_of_diagonal", lambda v: linalg.eigvalsh(tt.diag(v.v), on_error="raise")),
    ("singular_values_of_diagonal", lambda v: linalg.svdvals(tt.eye(v.a.shape[0], v.y.shape[1]))),
    ("exponential_of_diagonal", lambda v: linalg.expm(tt.diag(v.v) + 1)),
    ("qr_factors_of_diagonal", lambda v: linalg.qr(tt.diag(v.v), pivoting=True)[0]),
    ("lu_factors_of_diagonal", lambda v: linalg.lu_factor(tt.tril(v.a))[0]),
    ("solution_of_sylvester_with_diagonals", lambda v: linalg.solve_sylvester(tt.diag(v.v), v.b, v.a)),
    ("schur_form_of_diagonal", lambda v: linalg.schur(tt.diag(v.v), sort="lhp")[1]),
    ("schur_forms_of_diagonals", lambda v: linalg.qz(tt.diag(v.v), v.a)[1]),
    ("solution_with_diagonal", lambda v: linalg.solve(tt.constant(np.eye(4)), v.y, on_error="raise")),
    ("solution_with_orthogonal", lambda v: linalg.solve(v.said(orthogonal=True), v.y, on_error="raise")),
    ("solution_with_rank_one", lambda v: linalg.solve(v.b, tt.outer(v.v, v.w), on_error="raise")),
    ("solution_with_rank_one", lambda v: linalg.solve(v.b, v.a * v.v)),
    ("product_with_rank_one", lambda v: v.a @ (v.b * v.v)),
    ("solution_with_bands", lambda v: linalg.solve(tt.tril(tt.triu(v.b, -1), 2), v.y)),
    ("solution_with_bands", lambda v: linalg.solve(_of_three(v.c), v.rows(3))),
]
