"""Compiled functions given to Dask arrays and to xarray."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import treadle.tensor as tt
from treadle.compile import Function, function

da: Any = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def smooth() -> Function:
    x = tt.dmatrix("x")
    return function([x], tt.exp(-x) + x.mean(axis=1, keepdims=True), name="smooth")


VALUES = np.random.default_rng(3).normal(size=(6, 4))


def test_map_blocks_takes_a_compiled_function(smooth: Function) -> None:
    blocks = da.from_array(VALUES, chunks=(2, 4))
    expected = np.exp(-VALUES) + VALUES.mean(axis=1, keepdims=True)
    for lazy in (da.map_blocks(smooth, blocks, dtype=float), blocks.map_blocks(smooth)):
        assert lazy.dtype == float
        assert lazy.name.startswith("smooth")
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12)


def test_equal_calls_of_map_blocks_have_equal_names(smooth: Function) -> None:
    blocks = da.from_array(VALUES, chunks=(2, 4))
    assert da.map_blocks(smooth, blocks, dtype=float).name == da.map_blocks(smooth, blocks, dtype=float).name


def test_blockwise_takes_a_compiled_function() -> None:
    a, b = tt.dmatrices("a", "b")
    product = function([a, b], a @ b, mode="VM")
    left, right = da.from_array(VALUES, chunks=(3, 4)), da.from_array(VALUES.T, chunks=(4, 2))
    lazy = da.blockwise(product, "ik", left, "ij", right, "jk", dtype=float, concatenate=True)
    np.testing.assert_allclose(lazy.compute(), VALUES @ VALUES.T, rtol=1e-12)


TABLE = xr.DataArray(VALUES, dims=("row", "column"), coords={"row": np.arange(6)})


@pytest.mark.parametrize("chunks", [None, {"row": 2}])
def test_apply_ufunc_takes_a_compiled_function(chunks: dict[str, int] | None) -> None:
    x = tt.dmatrix("x")
    spread = function([x], x.std(axis=-1), mode="VM")
    options: dict[str, Any] = {} if chunks is None else {"dask": "parallelized", "output_dtypes": [float]}
    given = TABLE if chunks is None else TABLE.chunk(chunks)
    std = xr.apply_ufunc(spread, given, input_core_dims=[["column"]], **options)
    np.testing.assert_allclose(std.compute(), VALUES.std(axis=1), rtol=1e-12)
    assert std.dims == ("row",)
    assert std.coords["row"].to_numpy().tolist() == list(range(6))


def test_apply_ufunc_takes_several_outputs() -> None:
    x = tt.dmatrix("x")
    both = function([x], [x.mean(axis=-1), x.std(axis=-1)], mode="VM")
    dims: dict[str, Any] = {"input_core_dims": [["column"]], "output_core_dims": [[], []]}
    lazy = xr.apply_ufunc(both, TABLE.chunk({"row": 3}), dask="parallelized", output_dtypes=[float, float], **dims)
    # Without Dask, xarray wants a tuple; a function returns a list.
    eager = xr.apply_ufunc(lambda values: tuple(both(values)), TABLE, **dims)
    for mean, std in (lazy, eager):
        np.testing.assert_allclose(mean.compute(), VALUES.mean(axis=1), rtol=1e-12)
        np.testing.assert_allclose(std.compute(), VALUES.std(axis=1), rtol=1e-12)


def test_apply_ufunc_parallelizes_functions_of_elements() -> None:
    x, y = tt.dmatrices("x", "y")
    f = function([x, y], tt.hypot(x, y), mode="VM")
    table = xr.DataArray(VALUES, dims=("row", "column")).chunk({"row": 3})
    lazy = xr.apply_ufunc(f, table, 2 * table, dask="parallelized", output_dtypes=[float])
    np.testing.assert_allclose(lazy.compute(), np.hypot(VALUES, 2 * VALUES), rtol=1e-12)
