"""The documented classes of ops on sparse matrices stand for functions, and recognise kernels that do the same."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import treadle.sparse as ts
import treadle.tensor as tt
from treadle.sparse import basic, linalg, math

A = sp.random(4, 3, density=0.5, format="csr", random_state=0)
D = np.arange(12.0).reshape(4, 3)
a, d = ts.as_sparse(A), tt.constant(D)
G = sp.random(4, 3, density=0.7, format="csr", random_state=1)
PARTS = [[x.data, x.indices, x.indptr, np.array(x.shape)] for x in (A, G)]
PLACED = sp.csr_matrix(([1.0, 2.0, 3.0], ([3, 0, 3], [1, 2, 0])), shape=(4, 3))
CASES: dict[str, tuple[Any, Any]] = {
    "AddSparseDense": (math.AddSparseDense()(a, d), A + D),
    "MultiplySparseSparse": (math.MultiplySparseSparse()(a, a), A.multiply(A)),
    "StructuredDot": (math.StructuredDot()(a, D.T), A @ D.T),
    "comparison": (math.less_than_s_d(a, d), A.toarray() < D),
    "HStack": (basic.HStack(format="csr")(a, a), sp.hstack([A, A])),
    "Cast": (basic.Cast("float32")(a), A.astype("float32")),
    "EnsureSortedIndices": (basic.EnsureSortedIndices(inplace=False)(a), A),
    "gradient": (math.sdg_csr(A.indices, A.indptr, np.ones((3, 2)), np.ones((4, 2))), np.full(A.nnz, 2.0)),
    "gradient of parts": (basic.csm_grad()(*PARTS[0], *PARTS[1]), G.toarray()[A.tocoo().row, A.tocoo().col]),
    "gradient of parts of columns": (
        basic.CSMGrad()(*PARTS[0][:3], np.array([3, 4]), *PARTS[1][:3], np.array([3, 4])),
        G.toarray()[A.tocoo().row, A.tocoo().col],
    ),
    "gradient of a list": (basic.get_item_list_grad(a, [2, -4], G[:2]), sp.vstack([G[1], G[:1] * 0, G[0], G[:1] * 0])),
    "gradient of two lists": (basic.get_item_2lists_grad(a, [3, 0, -1], [1, -1, 0], [1.0, 2.0, 3.0]), PLACED),
    "SparseBlockDiagonal": (linalg.SparseBlockDiagonal(2, format="csr")(a, a), sp.block_diag([A, A])),
}


@pytest.mark.parametrize("name", CASES)
def test_instance_is_applied_as_the_function(name: str) -> None:
    value, expected = (x.toarray() if sp.issparse(x) else x for x in (CASES[name][0].eval(), CASES[name][1]))
    np.testing.assert_allclose(value, expected)


def test_kernels_are_instances_of_the_class_of_what_they_do() -> None:
    x, y = ts.csr_dmatrix("x"), tt.dmatrix("y")
    slope: Any = tt.grad(ts.structured_dot(x, y).sum(), x)
    regular: Any = ts.dot(x, y)
    ops = {
        math.StructuredDot: ts.structured_dot(x, y).owner.op,
        math.StructuredDotGradCSR: slope.owner.inputs[0].owner.op,
        math.Dot: regular.owner.op,
        basic.HStack: basic.HStack(),
    }
    assert [[isinstance(op, kind) for kind in ops] for op in ops.values()] == np.eye(4, dtype=bool).tolist()


def test_pointers_of_unknown_number_of_a_matrix_of_known_lengths() -> None:
    """No rule fails of it: warnings are errors."""
    pointers = tt.ivector("pointers")
    made = ts.CSM("csr", (4, 3))(A.data, A.indices, pointers, np.array([4, 3]))
    assert ts.csm_indptr(made).eval({pointers: A.indptr}).tolist() == A.indptr.tolist()
    with pytest.raises((ValueError, AssertionError)):
        ts.csm_indptr(made).eval({pointers: A.indptr[:-1]})


def test_parameters_that_the_class_does_not_have_are_refused() -> None:
    with pytest.raises(TypeError, match=r"HStack: the parameters are \(format, dtype\), got"):
        basic.HStack(axis=1)
