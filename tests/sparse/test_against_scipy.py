"""Functions of sparse matrices give SciPy's results on the virtual machine and C, and right gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import treadle.sparse as ts
import treadle.tensor as tt
from treadle.compile import function

A = sp.random(5, 7, density=0.4, format="csr", random_state=1)
B = sp.random(5, 7, density=0.4, format="csc", random_state=2)
C = sp.random(7, 4, density=0.4, format="csr", random_state=3)
D = np.random.default_rng(0).normal(size=(5, 7))
Y = np.random.default_rng(1).normal(size=(7, 3))
V = np.random.default_rng(2).normal(size=7)
U = np.random.default_rng(3).normal(size=5)

a, b, c = ts.csr_matrix("a", "float64"), ts.csc_matrix("b", "float64"), ts.csr_matrix("c", "float64")
d, y, v, u = tt.dmatrix("d"), tt.dmatrix("y"), tt.dvector("v"), tt.dvector("u")
INPUTS = {a: A, b: B, c: C, d: D, y: Y, v: V, u: U}

CASES: dict[str, tuple[Any, Any]] = {
    "sparse + sparse": (a + b, A + B),
    "csc + csr": (b + a, A + B),
    "sparse + dense": (a + d, A + D),
    "dense + sparse": (d + b, D + B),
    "array + sparse": (D + b, D + B),
    "sparse - sparse": (a - b, A - B),
    "dense - sparse": (d - a, D - A),
    "-sparse": (-a, -A),
    "sparse * sparse": (a * b, A.multiply(B)),
    "sparse * dense": (b * d, B.multiply(D)),
    "dense * sparse": (d * a, A.multiply(D)),
    "sparse * number": (a * 2.5, A * 2.5),
    "number * sparse": (3 * a, A * 3),
    "sparse * vector": (a * v, A.multiply(V)),
    "sparse / number": (a / 2.0, A / 2),
    "row_scale": (ts.row_scale(a, u), sp.diags(U) @ A),
    "col_scale": (ts.col_scale(b, v), B @ sp.diags(V)),
    "structured_add_s_v": (ts.structured_add_s_v(a, v), A + (A != 0).multiply(V)),
    "sparse @ dense": (a @ y, A @ Y),
    "csc @ dense": (b @ y, B @ Y),
    "sparse @ vector": (a @ v, A @ V),
    "dense @ sparse": (y.T @ a.T, Y.T @ A.T.toarray()),
    "vector @ sparse": (u @ b, U @ B),
    "sparse @ sparse": (a @ c, A @ C),
    "matrix of SciPy @ sparse": (A @ c, A @ C),
    "structured_dot": (ts.structured_dot(b, y), B @ Y),
    "structured_dot of sparse": (ts.structured_dot(a, c), A @ C),
    "true_dot": (ts.true_dot(b, c), B @ C),
    "true_dot with dense": (ts.true_dot(b, y), B @ Y),
    "true_dot of dense": (ts.true_dot(y.T, a.T), (A @ Y).T),
    "sampling_dot": (ts.sampling_dot(u[:, None], v[:, None], a), A.multiply(np.outer(U, V))),
    "sampling_dot at csc": (ts.sampling_dot(u[:, None], v[:, None], b), B.multiply(np.outer(U, V))),
    "usmm": (ts.usmm(2.0, a, y, d[:, :3]), 2 * (A @ Y) + D[:, :3]),
    "sum": (a.sum(), A.sum()),
    "sum of columns": (ts.sp_sum(b, 0), np.asarray(B.sum(0)).ravel()),
    "sum of rows": (ts.sp_sum(a, 1), np.asarray(A.sum(1)).ravel()),
    "diag": (ts.diag(a[:5, :5]), A[:5, :5].diagonal()),
    "square_diagonal": (ts.square_diagonal(v), sp.diags(V)),
    "rows": (a[1:4], A[1:4]),
    "rows and columns": (b[1:4, ::-2], B[1:4, ::-2]),
    "steps": (a[::2, 1:6:2], A[::2, 1:6:2]),
    "list of rows": (a[[3, 0, 3]], A[[3, 0, 3]]),
    "list of rows of csc": (b[[3, 0, -1]], B[[3, 0, -1]]),
    "columns by list": (a[:, [6, 6, 0]], A[:, [6, 6, 0]]),
    "mask of rows": (a[np.array([True, False, True, False, True])], A[[0, 2, 4]]),
    "elements": (a[[3, 0, 3], [1, 2, -1]], np.asarray(A[[3, 0, 3], [1, 2, -1]]).ravel()),
    "element": (a[2, -1], A[2, -1]),
    "hstack": (ts.hstack([a, b]), sp.hstack([A, B])),
    "vstack": (ts.vstack([a, b], format="csr"), sp.vstack([A, B])),
    "block_diag": (ts.block_diag(a, b, d, format="csr"), sp.block_diag([A, B, D])),
    "toarray": (a.toarray(), A),
    "csc_from_dense": (ts.csc_from_dense(d), D),
    "tocsc": (a.tocsc(), A),
    "transpose": (a.T, A.T),
    "sin": (ts.sin(a), A.sin()),
    "sp_ones_like": (ts.sp_ones_like(a), A != 0),
    "sp_zeros_like": (ts.sp_zeros_like(b), B * 0),
    "remove0": (ts.remove0(a - a), A * 0),
    "ensure_sorted_indices": (ts.ensure_sorted_indices(b), B),
    "lt": (ts.lt(a, b), A < B),
    "neq": (ts.neq(a, b), A != B),
    "ge": (a >= b, A.toarray() >= B.toarray()),
    "le with dense": (a <= d, A.toarray() <= D),
    "eq with dense": (ts.eq(d, b), B.toarray() == D),
}


def dense(value: Any) -> Any:
    return value.toarray() if sp.issparse(value) else value


# On Numba the records are checked (tests/contract), by which each kernel runs: compiling all of this would take long.
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "VM", "C"])
def test_results_are_those_of_scipy(mode: str) -> None:
    compute = function(list(INPUTS), [expression for expression, _ in CASES.values()], mode=mode)
    values = compute(*INPUTS.values())
    for name, (expression, expected), value in zip(CASES, CASES.values(), values, strict=True):
        assert sp.issparse(value) is isinstance(expression, ts.SparseVariable), name
        if sp.issparse(value):
            assert (value.format, str(value.dtype)) == (expression.format, expression.dtype), name
        assert value.shape == np.shape(dense(expected)), name
        np.testing.assert_allclose(dense(value), dense(expected), rtol=1e-12, atol=1e-14, err_msg=name)


STRUCTURED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "add": (ts.add, [A, B]),
    "add to itself": (lambda x: x + x, [A]),
    "add dense": (ts.add, [A, D]),
    "multiply": (ts.multiply, [A, B]),
    "multiply by dense": (ts.multiply, [B, D]),
    "multiply by scalar": (ts.multiply, [A, np.array(1.5)]),
    "multiply by vector": (ts.multiply, [B, V]),
    "row_scale": (ts.row_scale, [B, U]),
    "col_scale": (ts.col_scale, [A, V]),
    "structured_add_s_v": (ts.structured_add_s_v, [A, V]),
    "structured_dot": (ts.structured_dot, [B, Y]),
    "dot": (ts.dot, [A, Y]),
    "true_dot": (ts.true_dot, [B, C]),
    "sampling_dot": (ts.sampling_dot, [D @ Y, Y, A]),
    "usmm": (lambda x, w, z: ts.usmm(2.0, x, w, z), [A, Y, D[:, :3]]),
    "sp_sum": (lambda x: ts.sp_sum(x, 0, sparse_grad=True), [B]),
    "diag": (lambda x: ts.diag(x[:, :5]), [A]),
    "slices": (lambda x: x[1:4, ::-2], [A]),
    "list": (lambda x: x[[3, 0, 3]], [B]),
    "elements": (lambda x: x[[3, 0, 3], [1, 2, 1]], [A]),
    "hstack": (lambda x, z: ts.hstack([x, z]), [A, B]),
    "block_diag": (ts.block_diag, [A, D]),
    "sin": (ts.sin, [A]),
    "structured_pow": (ts.structured_pow, [A, np.array(2.0)]),
    "dense_from_sparse": (ts.dense_from_sparse, [B]),
    "tocsc": (lambda x: x.tocsc(), [A]),
    "ensure_sorted_indices": (ts.ensure_sorted_indices, [A]),
    "remove0": (ts.remove0, [A]),
}
REGULAR: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "dot": (ts.dot, [A, Y]),
    "dot with vector": (ts.dot, [B, V]),
    "dot of vector": (ts.dot, [U, A]),
    "dot of sparse": (ts.dot, [A, C]),
    "true_dot": (ts.true_dot, [B, C]),
    "true_dot with dense": (ts.true_dot, [A, Y]),
    "sp_sum": (ts.sp_sum, [B]),
    "sp_sum of rows": (lambda x: ts.sp_sum(x, 1), [A]),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_gradients_are_right(name: str) -> None:
    made, values = STRUCTURED[name]
    ts.verify_grad_sparse(made, values, structured=True, mode="VM", n_tests=1)


@pytest.mark.parametrize("name", REGULAR)
def test_regular_gradients_are_right(name: str) -> None:
    made, values = REGULAR[name]
    ts.verify_grad_sparse(made, values, mode="VM", n_tests=1)


def gradients_of_all(dtype: str) -> list[Any]:
    """Return the gradients of the sums of squares of all functions, computed at a dtype."""
    inputs, values, gradients = [], [], []
    for made, given in (*STRUCTURED.values(), *REGULAR.values()):
        own = [x.astype(dtype) for x in given]
        variables = [
            ts.matrix(x.format, dtype=dtype) if sp.issparse(x) else tt.tensor(dtype=dtype, shape=(None,) * x.ndim)
            for x in own
        ]
        result = made(*variables)
        cost = tt.sum(tt.sqr(result.toarray() if isinstance(result, ts.SparseVariable) else result))
        inputs += variables
        values += own
        gradients += tt.grad(cost, variables)
    return [dense(x) for x in function(inputs, gradients, mode="FAST_COMPILE")(*values)]


def test_gradients_in_single_precision_are_those_in_double() -> None:
    for single, double in zip(gradients_of_all("float32"), gradients_of_all("float64"), strict=True):
        assert (single.dtype, double.dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(single, double, rtol=2e-4, atol=2e-4)


def test_wrong_gradient_is_found() -> None:
    def product(x: Any, w: Any) -> Any:
        return tt.grad_scale(ts.structured_dot(x, w), 2)

    with pytest.raises(tt.GradientError, match="argument 0"):
        ts.verify_grad_sparse(product, [A, Y], structured=True, mode="VM", n_tests=1)


def test_gradient_by_a_sparse_variable_has_its_pattern_or_is_dense() -> None:
    structured = tt.grad((ts.structured_dot(a, y) ** 2).sum() + ts.sp_sum(ts.sqr(a), sparse_grad=True), a)
    regular = tt.grad((ts.dot(a, y) ** 2).sum(), a)
    expected = 2 * (A @ Y) @ Y.T
    for mode in ("FAST_COMPILE", "C"):
        found, full = function([a, y], [structured, regular], mode=mode)(A, Y)
        assert found.format == "csr"
        np.testing.assert_array_equal(found.indices, A.indices)
        np.testing.assert_allclose(found.toarray(), (expected + 2 * A.toarray()) * (A.toarray() != 0))
        np.testing.assert_allclose(full, expected)


def test_gradient_by_elements_computes_no_dense_matrix() -> None:
    data = tt.dvector("data")
    matrix = ts.CSR(data, A.indices, A.indptr, A.shape)
    slope = tt.grad((ts.dot(matrix, y) ** 2).sum(), data)
    compute = function([data, y], slope, mode="VM")
    names = {type(node.op).__name__ for node in compute.maker.fgraph.apply_nodes}
    assert "SampledProduct" in names
    assert not names & {"MatMul", "Dot", "CSM", "CSMProperties"}
    np.testing.assert_allclose(compute(A.data, Y), (2 * (A @ Y) @ Y.T)[A.nonzero()])


def test_directional_derivatives_go_through_sparse_matrices() -> None:
    data, direction = tt.dvector("data"), tt.dvector("direction")
    matrix = ts.CSR(data, A.indices, A.indptr, A.shape)
    out = ts.dot(ts.sin(matrix), y) + ts.true_dot(matrix, y).toarray() + ts.sp_sum(matrix, 1)[:, None]
    moved = tt.pushforward(out, data, direction)
    step = 1e-6 * np.ones(A.nnz)
    compute = function([data, y], out, mode="VM")
    numeric = (compute(A.data + step, Y) - compute(A.data - step, Y)) / 2e-6
    np.testing.assert_allclose(function([data, direction, y], moved)(A.data, np.ones(A.nnz), Y), numeric, rtol=1e-6)
