"""The array API namespace: the standard's names and parameters, and what a symbolic library adds."""

from __future__ import annotations

import inspect
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import treadle.compile
import treadle.tensor
from tests.array_api import evaluated
from treadle.config import TreadleError
from treadle.tensor import ArgumentError, DtypeError, array_api

tt: Any = treadle.tensor
xp: Any = array_api
FOLDERS = {"": (xp, strict), "linalg": (xp.linalg, strict.linalg), "fft": (xp.fft, strict.fft)}
# What array-api-strict has beside the standard: its own flags, and functions of versions after 2024.12.
STRICT_ONLY = {
    *("get_array_api_strict_flags", "set_array_api_strict_flags", "reset_array_api_strict_flags", "Device"),
    *("ArrayAPIStrictFlags", "broadcast_shapes", "isin"),
}
FUNCTIONS = [
    (folder, name)
    for folder, (_, theirs) in FOLDERS.items()
    for name in theirs.__all__
    if inspect.isfunction(getattr(theirs, name)) and name not in STRICT_ONLY
]


def parameters(function: Any) -> list[tuple[str, Any]]:
    return [(p.name, p.kind) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("folder", "name"), FUNCTIONS, ids=lambda part: part)
def test_a_function_has_the_standards_parameters(folder: str, name: str) -> None:
    ours, theirs = FOLDERS[folder]
    expected = parameters(getattr(theirs, name))
    actual = parameters(getattr(ours, name))
    # The first parameters are taken by position only, whatever they are called.
    names = [n if kind is not inspect.Parameter.POSITIONAL_ONLY else "" for n, kind in actual]
    assert names == [n if kind is not inspect.Parameter.POSITIONAL_ONLY else "" for n, kind in expected]
    assert [kind for _, kind in actual] == [kind for _, kind in expected]


def test_a_tensor_names_its_namespace() -> None:
    x = tt.dmatrix("x")
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ArgumentError, match=r"one of the versions 2021\.12, .* is needed, got '1999'"):
        x.__array_namespace__("1999")
    assert (x.device, x.to_device("cpu")) == ("cpu", x)
    with pytest.raises(TreadleError, match="the only device is 'cpu', got 'cuda'"):
        x.to_device("cuda")
    with pytest.raises(ArgumentError, match="zeros: the only device is 'cpu', got 'gpu'"):
        xp.zeros(3, device="gpu")


def test_dtypes_are_compared_and_asked_about() -> None:
    x, n = tt.fvector("x"), tt.lvector("n")
    assert x.dtype == xp.float32
    assert xp.result_type(x, n) == xp.float64
    assert xp.result_type(x, 1.0) == xp.float32
    assert xp.isdtype(xp.float32, "real floating")
    assert xp.isdtype(xp.int8, ("bool", "signed integer"))
    assert not xp.isdtype(xp.int8, xp.int16)
    assert xp.can_cast(n, xp.float64)
    assert not xp.can_cast(xp.float64, xp.int64)
    assert (xp.finfo(x).bits, xp.finfo(xp.complex128).dtype, xp.iinfo(n).max) == (32, xp.float64, 2**63 - 1)
    with pytest.raises(DtypeError, match="finfo: a dtype of floats is needed, got int8"):
        xp.finfo(xp.int8)
    with pytest.raises(DtypeError, match="iinfo: a dtype of integers is needed, got float32"):
        xp.iinfo(xp.float32)
    with pytest.raises(ArgumentError, match=r"isdtype: a dtype or one of bool, .* got 'floaty'"):
        xp.isdtype(xp.int8, "floaty")
    with pytest.raises(ArgumentError, match="result_type: one or more"):
        xp.result_type()


def test_the_namespace_tells_what_it_can_do() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert (info.devices(), info.default_device()) == (["cpu"], "cpu")
    assert info.default_dtypes()["real floating"] == xp.float64
    assert list(info.dtypes(kind="unsigned integer")) == ["uint8", "uint16", "uint32", "uint64"]
    assert len(info.dtypes()) == 13


def test_shapes_that_depend_on_values_are_symbolic() -> None:
    x = tt.lvector("x")
    values, counts = xp.unique_counts(x)
    (places,) = xp.nonzero(x)
    f = treadle.compile.function([x], [values, counts, places, xp.unique_all(x).inverse_indices], mode="VM")
    for result, expected in zip(f([3, 0, 3]), ([0, 3], [1, 2], [0, 2], [1, 0, 1]), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_descending_order_keeps_equal_elements_in_theirs() -> None:
    x = tt.dmatrix("x")
    value = np.array([[1.0, 2.0, 1.0, 2.0], [3.0, 3.0, 1.0, 4.0]])
    order = xp.argsort(x, descending=True).eval({x: value})
    np.testing.assert_array_equal(order, [[1, 3, 0, 2], [3, 0, 1, 2]])
    np.testing.assert_array_equal(xp.sort(x, descending=True).eval({x: value}), -np.sort(-value))


def test_what_the_standard_leaves_out_is_refused() -> None:
    x = tt.dmatrix("x")
    with pytest.raises(ArgumentError, match="take: an axis is needed"):
        xp.take(x, [0])
    with pytest.raises(ArgumentError, match="constants are copies"):
        xp.asarray(np.ones(2), copy=False)
    with pytest.raises(ArgumentError, match=r"becomes .* by a copy only"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    assert xp.asarray(x, copy=False) is x
    with pytest.raises(ArgumentError, match="an array with __dlpack__ is needed"):
        xp.from_dlpack([1.0])
    assert xp.from_dlpack(np.ones(2)).dtype == "float64"
    with pytest.raises(ArgumentError, match="constants are copies"):
        xp.from_dlpack(np.ones(2), copy=False)


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple | list):
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        expected = np.asarray(theirs._array)
        np.testing.assert_allclose(ours.value, expected, rtol=1e-12)
        assert ours.value.dtype == expected.dtype


A = [[4.0, 1.0], [1.0, 3.0]]
CALLS: dict[str, Any] = {
    "linalg.eigh": lambda p: p.linalg.eigh(p.asarray(A)).eigenvalues,
    "linalg.slogdet": lambda p: p.linalg.slogdet(p.asarray(A)),
    "linalg.solve": lambda p: p.linalg.solve(p.asarray(A), p.asarray([1.0, 2.0])),
    "linalg.trace": lambda p: p.linalg.trace(p.asarray([A, A]), offset=1),
    "linalg.cholesky": lambda p: p.linalg.cholesky(p.asarray(A), upper=True),
    "linalg.pinv": lambda p: p.linalg.pinv(p.asarray(A), rtol=1e-3),
    "fft.rfftn": lambda p: p.fft.rfftn(p.asarray(A), norm="forward"),
    "fft.fftfreq": lambda p: p.fft.fftfreq(5, d=0.5, dtype=p.float32),
    "concat": lambda p: p.concat((p.asarray(A), p.asarray([[1.0]])), axis=None),
    "unstack": lambda p: p.unstack(p.asarray(A), axis=1),
    "cumulative_sum": lambda p: p.cumulative_sum(p.asarray(A), axis=1, include_initial=True),
    "var": lambda p: p.var(p.asarray(A), axis=0, correction=1),
    "diff": lambda p: p.diff(p.asarray(A), n=1, axis=0, prepend=p.asarray([[0.0, 0.0]])),
    "clip": lambda p: p.clip(p.asarray([1, 5, 9]), 2, 8),
    "searchsorted": lambda p: p.searchsorted(p.asarray([1.0, 3.0]), p.asarray([2.0]), side="right"),
    "full": lambda p: p.full((2,), True),
    "meshgrid": lambda p: p.meshgrid(p.asarray([1, 2]), p.asarray([3]), indexing="ij"),
    "operators": lambda p: (p.asarray([1, 2]) // 2, 2 - p.asarray([1, 2]), p.asarray([1, 2]) == p.asarray([1, 3])),
    "unique_all": lambda p: p.unique_all(p.asarray([3, 1, 3])),
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_with_values_agree_with_array_api_strict(name: str) -> None:
    same(CALLS[name](evaluated), CALLS[name](strict))
