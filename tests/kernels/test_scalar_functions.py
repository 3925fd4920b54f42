"""Kernels of single numbers: tables, SciPy's functions, powers, and scalar ops that kernels compute."""

# mypy: disable-error-code="misc, no-any-return"

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TypeVar

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.kernels import KernelError, c_text, kernel
from treadle.kernels.language import OK, Number, Pointer, convert, power, special
from treadle.tensor import SCALAR_KERNELS, SCALAR_OPS, Elemwise, ScalarOp
from treadle.testing import check_kernel

T = TypeVar("T", bound=Number)
_BUMPS = (0.5, -0.25, 1e30, 3e-40)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with config.change_flags(compiledir=tmp_path_factory.mktemp("scalar_functions")):
        yield


@kernel
def smoothed(x: T, k: int) -> T:
    """Call a function of SciPy's, and read a table."""
    return special.gammaln(x) * convert(T, _BUMPS[k])


@kernel
def bumps(x: Pointer[T], o: Pointer[T], n: int) -> int:
    """Call a kernel for each number."""
    for i in range(n):
        o[i] = smoothed(x[i], i & 3) + convert(T, _BUMPS[n - 4])
    return OK


@kernel
def powers(x: Pointer[T], o: Pointer[T], n: int) -> int:
    """Take each number to the power of the next."""
    for i in range(n - 1):
        o[i] = power(x[i], x[i + 1])
    return OK


@kernel
def stirred(x: float, y: T) -> T:
    """Take one number of double precision, and one of the elements' own."""
    return y + convert(T, x / 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tables_and_functions_of_scipys_are_read_and_called(dtype: str) -> None:
    x = np.array([0.1, 2.5, 7.0, -0.5, 1e30], dtype)
    check_kernel(bumps, x, np.zeros_like(x), 5, rtol=3 * float(np.finfo(dtype).eps))
    (inner,) = bumps.specialised([(dtype, -1), (dtype, -1), ("int64", 0)], {}).kernels
    assert "static const double table_BUMPS[] = {0.5, (-0.25), 1e+30, 3e-40};" in c_text(inner)


@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
def test_powers_are_of_real_and_of_complex_numbers(dtype: str) -> None:
    x = np.array([1.5, 2.25, 0.5, 3.0]) + (np.array([0.5j, -1j, 0.25j, 1j]) if "complex" in dtype else 0)
    x = x.astype(dtype)
    check_kernel(powers, x, np.zeros_like(x), 4, rtol=20 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("mode", ["C", "NUMBA"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_scalar_op_is_computed_by_its_kernel(mode: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only this test knows the scalar op and its kernel; those of treadle are loaded before.
    SCALAR_KERNELS.find(SCALAR_OPS["exp"], "f")
    for table, name in ((SCALAR_OPS, "_scalar_ops"), (SCALAR_KERNELS, "_entries"), (SCALAR_KERNELS, "_added")):
        monkeypatch.setattr(table, name, copy(getattr(table, name)))
    SCALAR_KERNELS.register("stirred", {"f": stirred})
    stir = Elemwise(ScalarOp(name="stirred", nin=2, impl=lambda x, y: y + x / 3))
    x, y = tt.tensor(dtype=dtype, shape=(None,)), tt.tensor(dtype=dtype, shape=(None,))
    values = np.array([1.5, 0.25, -2.0], dtype), np.array([0.5, 4.0, 8.0], dtype)
    result = function([x, y], tt.exp(stir(x, y)), mode=mode)(*values)
    np.testing.assert_allclose(result, np.exp(values[1] + values[0] / 3), rtol=4 * float(np.finfo(dtype).eps))
    assert result.dtype == dtype


def test_a_kernel_of_numbers_takes_as_many_as_it_has_parameters() -> None:
    version = stirred.of_numbers(["float16", "float16"])
    assert [p.kind for p in version.parameters] == ["float64", "float32"]
    with pytest.raises(KernelError, match="it takes 2 arguments, got 1"):
        stirred.of_numbers(["float64"])
