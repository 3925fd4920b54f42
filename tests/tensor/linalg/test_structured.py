"""Structured matrices: SciPy's values and dtypes, in stacks, and where lengths are unknown."""

from typing import Any

import numpy as np
import pytest
from scipy import linalg as scipy_linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import linalg

rng = np.random.default_rng(24)


def normal(*shape: int) -> Any:
    return rng.normal(size=shape)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("block_diag", ([[1, 2], [3, 4]], 5, [6.0, 7.0], np.zeros((2, 0)))),
        ("block_diag", (normal(2, 1, 2), normal(3, 1, 2, 2))),
        ("block_diag", ([], [1])),
        ("block_diag", ()),
        ("toeplitz", (normal(2, 3), normal(4))),
        ("toeplitz", (normal(3) + 1j,)),
        ("toeplitz", (np.arange(3, dtype="int8"), 1.0)),
        ("toeplitz", (np.ones(0),)),
        ("circulant", (normal(2, 2, 3),)),
        ("hankel", (np.arange(3), normal(5))),
        ("hankel", (np.ones(0),)),
        ("companion", (np.arange(1, 5),)),
        ("companion", (normal(2, 3).astype("float32"),)),
        ("fiedler", (normal(2, 3),)),
        *(("fiedler_companion", (normal(n),)) for n in (2, 3, 4, 7, 8)),
        ("fiedler_companion", (normal(2, 5),)),
        ("leslie", (normal(2, 3), np.arange(1, 3))),
        *(("convolution_matrix", (normal(4), n, mode)) for n in (1, 3, 5, 8) for mode in ("full", "same", "valid")),
        ("convolution_matrix", (normal(2, 3), 4)),
        ("dft", (4, "n")),
        ("hadamard", (8, "float32")),
        ("helmert", (4,)),
        ("hilbert", (0,)),
        ("invhilbert", (14, True)),
        ("invpascal", (5, "upper")),
        ("pascal", (5,)),
    ],
)
def test_values_and_dtypes_are_those_of_scipy(name: str, arguments: tuple[Any, ...]) -> None:
    expected = getattr(scipy_linalg, name)(*arguments)
    matrix = getattr(linalg, name)(*arguments)
    assert matrix.dtype == expected.dtype
    assert matrix.type.shape == expected.shape
    np.testing.assert_allclose(matrix.eval(), expected, rtol=1e-12, atol=1e-300)
    arrays = [x for x in arguments if isinstance(x, np.ndarray)]
    inputs = [tt.tensor(dtype=x.dtype, shape=(None,) * x.ndim) for x in arrays]
    waiting = iter(inputs)
    again = getattr(linalg, name)(*(next(waiting) if isinstance(x, np.ndarray) else x for x in arguments))
    np.testing.assert_allclose(function(inputs, again, mode="VM")(*arrays), expected, rtol=1e-12, atol=1e-300)


def test_hankel_takes_stacks_as_scipy_is_going_to() -> None:
    c, r = normal(2, 3), normal(2, 4)
    expected = [scipy_linalg.hankel(column, row) for column, row in zip(c, r, strict=True)]
    np.testing.assert_array_equal(linalg.hankel(c, r).eval(), expected)


def test_block_diagonal_matrices_of_whole_numbers_have_no_gradient_there() -> None:
    x = tt.dmatrix("x")
    slope = tt.grad(tt.sum(linalg.block_diag(x, np.ones((2, 2), int)) ** 2), x)
    np.testing.assert_array_equal(slope.eval({x: np.full((1, 2), 3.0)}), [[6.0, 6.0]])


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="companion: the length of a"):
        linalg.companion([1.0])
    with pytest.raises(ValueError, match="one less than f, got 3 for f and 3 for s"):
        linalg.leslie(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="power of 2, got 3"):
        linalg.hadamard(3)
    with pytest.raises(ValueError, match="cannot hold a matrix of size 40"):
        linalg.pascal(40)
    with pytest.raises(ValueError, match="kind must be one of symmetric"):
        linalg.pascal(3, "middle")
    with pytest.raises(ValueError, match="a vector is needed"):
        linalg.hankel(1.0)
    with pytest.raises(ValueError, match="mode must be one of full"):
        linalg.convolution_matrix(np.ones(3), 2, "wrap")
