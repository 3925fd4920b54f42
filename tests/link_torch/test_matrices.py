"""Stacks of matrices on PyTorch: what is not finite, and which calls an ordinary stack takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import Recorded
from treadle.compile import function, get_mode

ON_DEVICE = get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True})
a, b = tt.dtensor3("a"), tt.dtensor3("b")
OPS: dict[str, Callable[[], Any]] = {
    "cholesky": lambda: tt.linalg.cholesky(a),
    "upper cholesky": lambda: tt.linalg.cholesky(a, lower=False),
    "inverse": lambda: tt.linalg.inv(a),
    "determinant": lambda: tt.linalg.det(a),
    "eigenvalues": lambda: tt.linalg.eigh(a)[0],
    "system": lambda: tt.linalg.solve(a, b),
    "positive system": lambda: tt.linalg.solve(a, b, assume_a="pos"),
    "triangular system": lambda: tt.linalg.solve_triangular(a, b, lower=True),
    "gradient": lambda: tt.grad((tt.linalg.cholesky(a) ** 3).sum(), a),
    "gradient of upper": lambda: tt.grad((tt.linalg.cholesky(a, lower=False) ** 3).sum(), a),
}


def positive(n: int) -> np.ndarray:
    x = np.random.default_rng(n).normal(size=(4, n, n))
    matrices: np.ndarray = x @ x.mT + n * np.eye(n)
    return matrices


@pytest.mark.parametrize("name", OPS)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_matrices_that_are_not_finite_give_what_numpy_gives_and_no_others_change(name: str) -> None:
    out = OPS[name]()
    inputs = [a, b] if "system" in name else [a]
    on_torch, on_numpy = (function(inputs, out, mode=mode) for mode in ("PYTORCH", "VM"))
    right = np.random.default_rng(1).normal(size=(4, 5, 2))
    for value in (np.nan, np.inf, -np.inf):
        for position in ((0, 0), (4, 0), (0, 4), (4, 4), (3, 1)):
            matrices = positive(5)
            matrices[2, *position] = value
            values = [matrices, right][: len(inputs)]
            np.testing.assert_allclose(on_torch(*values), on_numpy(*values), rtol=1e-9, atol=1e-11, equal_nan=True)


def test_elements_whose_sum_overflows_are_finite() -> None:
    matrices = np.array([[[1e308, 0.0], [0.0, 1e308]]] * 4)
    expected = np.array([[[1e-308, 0.0], [0.0, 1e-308]]] * 4)
    np.testing.assert_allclose(function([a], tt.linalg.inv(a), mode="PYTORCH")(matrices), expected)
    small = np.full((3, 1, 1), 1e-320) * np.eye(2)
    for stack in (matrices, small):
        on_torch, on_numpy = (function([a], tt.linalg.det(a), mode=mode)(stack) for mode in ("PYTORCH", "VM"))
        np.testing.assert_allclose(on_torch, on_numpy)


@pytest.mark.parametrize(
    ("name", "most"), [("cholesky", 4), ("inverse", 6), ("determinant", 7), ("system", 8), ("eigenvalues", 6)]
)
def test_a_stack_of_finite_matrices_takes_few_calls_beside_the_library_s_own(name: str, most: int) -> None:
    inputs = [a, b] if "system" in name else [a]
    f = function(inputs, OPS[name](), mode=ON_DEVICE)
    values = [torch.from_numpy(x) for x in (positive(5), np.ones((4, 5, 2)))][: len(inputs)]
    for _ in range(3):
        f(*values)
    with Recorded() as recorded:
        f(*values)
    assert len(recorded.names) <= most, recorded.names
    assert not {"where", "isfinite", "arange"} & set(recorded.names)


@pytest.mark.parametrize("offset", [-3, -1, 0, 2, 7])
def test_a_matrix_of_a_diagonal_may_have_any_shape(offset: int) -> None:
    x = tt.dmatrix("x")
    for n, m in ((3, 3), (2, 5), (6, 4)):
        op = tt.AllocDiag(offset)
        count = max(min(n + min(offset, 0), m - max(offset, 0)), 0)
        rows = np.arange(1.0, 2 * count + 1).reshape(2, count)
        out = op(x, tt.constant(n), tt.constant(m))
        on_torch: Any = function([x], out, mode="PYTORCH")
        on_numpy = function([x], out, mode="VM")
        np.testing.assert_array_equal(on_torch(rows), on_numpy(rows))
        each = torch.func.vmap(on_torch.torch_function)(torch.from_numpy(np.stack([rows, 2 * rows])))
        np.testing.assert_array_equal(each[1], 2 * on_numpy(rows))


def test_logarithms_of_determinants_of_singular_and_extreme_matrices() -> None:
    m = tt.dmatrix("m")
    on_torch, on_numpy = (function([m], list(tt.linalg.slogdet(m)), mode=mode) for mode in ("PYTORCH", "VM"))
    rng = np.random.default_rng(0)
    for matrix in (rng.normal(size=(5, 5)), -np.eye(3), np.zeros((3, 3)), np.ones((2, 2)), 1e200 * np.eye(4)):
        for got, want in zip(on_torch(matrix), on_numpy(matrix), strict=True):
            np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("name", ["cholesky", "upper cholesky", "inverse", "determinant", "system"])
def test_results_of_the_library_s_own_functions_are_handed_on_without_a_look_at_their_memory(name: str) -> None:
    inputs = [a, b] if "system" in name else [a]
    f: Any = function(inputs, OPS[name](), mode=ON_DEVICE)
    assert f.program._fresh
    values = [torch.from_numpy(x) for x in (positive(5), np.ones((4, 5, 2)))][: len(inputs)]
    first, second = f(*values), f(*values)
    assert first.untyped_storage().nbytes() == first.nbytes
    first.fill_(0)
    assert bool((second != 0).any())
    assert all(x.untyped_storage().data_ptr() != first.untyped_storage().data_ptr() for x in (*values, second))
