"""Convolutions with filters of few elements, which are sums of slices, beside the virtual machine's."""

from __future__ import annotations

from typing import Literal

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.link.jax import jax_function

DRAWS = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (7, 2), (2, 7), (400, 9), (400, 33), (400, 34)])
def test_convolutions_with_few_elements_are_those_of_the_virtual_machine(
    n: int, k: int, mode: Literal["full", "same", "valid"], dtype: str
) -> None:
    x, w = (tt.tensor(name, dtype=dtype, shape=(None,)) for name in "xw")
    y = tt.convolve(x, w, mode)
    on_vm, on_jax = (function([x, w], y, mode=name) for name in ("VM", "JAX"))
    signal, weights = DRAWS.normal(size=n).astype(dtype), DRAWS.normal(size=k).astype(dtype)
    tolerance = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2}[dtype]
    for number in (None, np.nan, np.inf):
        if number is not None:
            signal[n // 2] = number
        np.testing.assert_allclose(on_jax(signal, weights), on_vm(signal, weights), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dilation", [1, 3])
def test_dilated_convolutions_of_a_batch_are_those_of_the_virtual_machine(dilation: int) -> None:
    x, w = tt.dtensor3("x"), tt.dtensor3("w")
    y = tt.conv1d(x, w, dilation=dilation)
    signals, weights = DRAWS.normal(size=(4, 1, 30)), DRAWS.normal(size=(1, 1, 5))
    on_vm, on_jax = (function([x, w], y, mode=name) for name in ("VM", "JAX"))
    np.testing.assert_allclose(on_jax(signals, weights), on_vm(signals, weights), rtol=1e-12)


@pytest.mark.parametrize(("k", "is_whole"), [(9, False), (40, True)])
def test_only_filters_of_many_elements_go_through_the_convolution_of_xla(k: int, is_whole: bool) -> None:
    x, w = tt.dvectors("x", "w")
    convolved = jax_function(function([x, w], tt.convolve(x, w), mode="JAX").vm)
    with jax.enable_x64(True):
        text = str(jax.make_jaxpr(convolved)(np.ones(100), np.ones(k)))
        slope = jax.grad(lambda v: jax.numpy.sum(convolved(v, np.ones(k))[0]))(np.ones(100))
    assert ("conv_general_dilated" in text) is is_whole
    np.testing.assert_allclose(slope, np.full(100, float(k)))
