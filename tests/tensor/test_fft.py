"""Fourier transforms against numpy.fft."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import ArgumentError, FourierTransform, ShapeError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

_RNG = np.random.default_rng(0)
_ONE = (
    (None, -1, None), (5, 0, "ortho"), (3, 1, "forward"), (9, -1, "backward"), (1, 0, None),
)  # fmt: skip
_SEVERAL = (((5, 3), (-2, -1)), (None, (0, 1)), ((3, -1), (1, 2)), (None, (2,)))


def _array(*shape: int, dtype: str) -> np.ndarray:
    x = _RNG.normal(size=shape) * 3
    return (x + 1j * _RNG.normal(size=shape)).astype(dtype) if dtype.startswith("c") else x.astype(dtype)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "complex64", "int8"])
def test_transforms_are_those_of_numpy(dtype: str, known: bool) -> None:
    calls: list[tuple[str, tuple[Any, ...]]] = []
    calls += itertools.product(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), _ONE)
    nd = itertools.product(("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"), _SEVERAL)
    calls += [(name, (*arguments, "ortho")) for name, arguments in nd]
    x = _array(4, 3, 6, dtype=dtype)
    v = tt.tensor(dtype=dtype, shape=x.shape if known else (None,) * 3)
    outputs, expected = [], []
    for name, arguments in calls:
        if dtype.startswith("c") and name.startswith(("rfft", "ihfft")):
            with pytest.raises(TensorTypeError, match="real numbers"):
                getattr(tt.fft, name)(v, *arguments)
            continue
        outputs.append(getattr(tt.fft, name)(v, *arguments))
        expected.append(getattr(np.fft, name)(x, *arguments))
    small = 1e-4 if dtype in {"float32", "complex64"} else 1e-10
    for out, actual, wanted in zip(outputs, function([v], outputs, mode="VM")(x), expected, strict=True):
        assert out.dtype == actual.dtype == wanted.dtype
        assert not known or out.type.shape == wanted.shape
        np.testing.assert_allclose(actual, wanted, rtol=small, atol=20 * small)


def _slope(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """Return d/da + i d/db of the first result by finite differences."""
    result = np.zeros_like(x)
    for at in np.ndindex(*x.shape):
        for step in (1e-6, 1e-6j) if x.dtype.kind == "c" else (1e-6,):
            above, below = x.copy(), x.copy()
            above[at] += step
            below[at] -= step
            result[at] += step / abs(step) * (f(above)[0] - f(below)[0]) / 2e-6
    return result


@pytest.mark.parametrize("n", [None, 3, 4, 7])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_gradients_agree_with_finite_differences(name: str, n: int | None) -> None:
    for dtype in ("float64", "complex128"):
        if dtype == "complex128" and name in {"rfft", "ihfft"}:
            continue
        x, v = _array(5, dtype=dtype), tt.vector(dtype=dtype)
        y = getattr(tt.fft, name)(v, n)
        weights = _array(getattr(np.fft, name)(x, n).size, dtype="complex128")
        cost = (
            (abs(y * weights + weights) ** 2).sum() if y.dtype == "complex128" else ((y * weights.real + 1) ** 2).sum()
        )
        f = function([v], [cost, tt.grad(cost, v)], mode="VM")
        np.testing.assert_allclose(f(x)[1], _slope(f, x), rtol=1e-4, atol=1e-3)


def test_frequencies_and_shifts_are_those_of_numpy() -> None:
    for n in (1, 2, 5, 8):
        for name in ("fftfreq", "rfftfreq"):
            np.testing.assert_allclose(getattr(tt.fft, name)(n, 0.5).eval(), getattr(np.fft, name)(n, 0.5))
    x = _array(5, 4, dtype="float64")
    for name, axes in itertools.product(("fftshift", "ifftshift"), (None, 0, (1,))):
        np.testing.assert_array_equal(getattr(tt.fft, name)(x, axes).eval(), getattr(np.fft, name)(x, axes))


def test_lengths_may_be_known_when_the_program_runs() -> None:
    x, n = tt.dvector(), tt.lscalar()
    f = function([x, n], [tt.fft.fft(x, n), tt.fft.irfft(x, n), tt.fft.rfftfreq(n)], mode="VM")
    for count in (3, 6, 9):
        values = np.arange(6.0)
        for actual, wanted in zip(
            f(values, count),
            (np.fft.fft(values, count), np.fft.irfft(values, count), np.fft.rfftfreq(count)),
            strict=True,
        ):
            np.testing.assert_allclose(actual, wanted, atol=1e-12)


def test_shapes_are_found_without_transforms() -> None:
    x = tt.dvector()
    f = function([x], tt.fft.irfft(tt.fft.rfft(x), 9).shape)
    assert not any(isinstance(node.op, FourierTransform) for node in f.maker.fgraph.apply_nodes)
    assert list(f(np.ones(4))) == [9]


def test_what_cannot_be_transformed_is_refused() -> None:
    calls: tuple[Callable[[], object], ...] = (
        lambda: tt.fft.fft(np.ones(3), 0),
        lambda: tt.fft.fft(np.ones((2, 0))),
        lambda: tt.fft.irfft(np.ones(1)),
    )
    for call in calls:
        with pytest.raises(ShapeError, match="number of points"):
            call()
    with pytest.raises(ArgumentError, match="norm"):
        tt.fft.fft(np.ones(3), norm="half")
