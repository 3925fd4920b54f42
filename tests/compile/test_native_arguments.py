"""Arrays of JAX and PyTorch as arguments: passed on as they are."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config

torch: Any = pytest.importorskip("torch")


def array_of(library: str, value: Any) -> Any:
    if library == "PYTORCH":
        return torch.from_numpy(np.array(value))
    with jax.enable_x64(True):
        return jax.device_put(value)


@pytest.mark.parametrize("library", ["JAX", "PYTORCH"])
def test_an_argument_of_the_librarys_own_is_not_made_a_host_value(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, k = tt.dvector("x"), tt.iscalar("k")
    with config.change_flags(torch__compile=False):
        f = function([x, k], x * k + 1, mode=library)
    argument = array_of(library, np.array([1.0, 2.0]))
    monkeypatch.setattr(tt.TensorType, "filter", None)
    monkeypatch.setattr(tt.TensorType, "accept", None)
    np.testing.assert_array_equal(f(argument, array_of(library, np.int32(3))), [4.0, 7.0])


@pytest.mark.parametrize("library", ["JAX", "PYTORCH"])
def test_argument_of_another_dtype_rank_or_length_is_converted_or_refused(library: str) -> None:
    x, y = tt.dvector("x"), tt.TensorType("float64", (2,))("y")
    with config.change_flags(torch__compile=False):
        f = function([x, y], x.sum() + y.sum(), mode=library)
    good = array_of(library, np.array([1.0, 2.0]))
    assert float(f(array_of(library, np.array([1.0, 2.0], "float32")), good)) == 6.0
    with pytest.raises(TypeError):
        f(array_of(library, np.ones((2, 2))), good)
    with pytest.raises(TypeError):
        f(good, array_of(library, np.ones(3)))
