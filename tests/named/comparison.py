"""What named tensors are compared with: the same expressions of xarray's DataArrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from treadle.compile import function
from treadle.named import as_xtensor, xtensor

RNG = np.random.default_rng(7)
# Arrays by name: dimensions and shape.
DIMS = {"x": {"a": 2, "b": 3, "c": 4}, "y": {"c": 4, "d": 5}, "z": {"b": 3}, "w": {"d": 5, "a": 2}}
ARRAYS = {name: xr.DataArray(RNG.normal(size=tuple(s.values())), dims=tuple(s)) for name, s in DIMS.items()}


def variables() -> dict[str, Any]:
    """Return an input for each of the arrays."""
    return {name: xtensor(name, dims=tuple(sizes)) for name, sizes in DIMS.items()}


def evaluated(expressions: Any, inputs: dict[str, Any], mode: str = "VM") -> list[Any]:
    """Return the values of expressions of the inputs."""
    run = function(list(inputs.values()), expressions, mode=mode, on_unused_input="ignore")
    values: list[Any] = run(*(ARRAYS[name] for name in inputs))
    return values


def assert_same(results: list[Any], expected: list[Any], mode: str = "VM") -> None:
    """Check dimensions and values of expressions of `variables` against DataArrays."""
    inputs = {v.name: v for v in INPUTS.values()}
    named = [as_xtensor(r) for r in results]
    for result, value, like in zip(named, evaluated(named, inputs, mode), expected, strict=True):
        array = xr.DataArray(like)
        assert result.dims == array.dims, (result, array)
        np.testing.assert_allclose(value, array.values, rtol=1e-10)
        assert value.dtype == array.dtype, (result, value.dtype, array.dtype)


INPUTS = variables()
