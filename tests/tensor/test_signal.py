"""Convolution and correlation of signals against NumPy and SciPy, and windows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
import scipy.signal

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

_RNG = np.random.default_rng(0)
_MODES: tuple[Literal["full", "valid", "same"], ...] = ("full", "valid", "same")


def _array(*shape: int, dtype: str = "float64") -> np.ndarray:
    x = _RNG.normal(size=shape) * 3
    return (x + 1j * _RNG.normal(size=shape)).astype(dtype) if dtype.startswith("c") else x.astype(dtype)


def _same(results: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for x, y in zip(results, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "complex128"])
def test_vectors_convolve_and_correlate_as_in_numpy(dtype: str, known: bool) -> None:
    inputs, outputs, expected = [], [], []
    arrays: list[np.ndarray] = []
    for n, k in ((7, 4), (4, 7), (5, 5), (1, 4)):
        a, b = _array(n, dtype=dtype), _array(k, dtype=dtype)
        x, y = (tt.tensor(dtype=dtype, shape=v.shape if known else (None,)) for v in (a, b))
        inputs += [x, y]
        arrays += [a, b]
        for mode in _MODES:
            outputs += [tt.convolve(x, y, mode), tt.correlate(x, y, mode)]
            expected += [np.convolve(a, b, mode), np.correlate(a, b, mode)]
            if dtype != "bool":
                outputs += [tt.signal.convolve(x, y, mode), tt.signal.correlate(x, y, mode)]
                expected += [
                    scipy.signal.convolve(a, b, mode, "direct"),
                    scipy.signal.correlate(a, b, mode, "direct"),
                ]
            if dtype in {"float64", "complex128"}:
                outputs.append(tt.signal.fftconvolve(x, y, mode))
                expected.append(scipy.signal.fftconvolve(a, b, mode))
    _same(function(inputs, outputs, mode="VM")(*arrays), expected)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_images_convolve_as_in_scipy(boundary: str) -> None:
    inputs, arrays, outputs, expected = [], [], [], []
    for shapes in (((6, 7), (3, 2)), ((3, 2), (6, 7)), ((5, 4), (4, 4))):
        a, b = _array(*shapes[0]), _array(*shapes[1])
        known = [tt.tensor(dtype="float64", shape=v.shape) for v in (a, b)]
        free = [tt.dmatrix(), tt.dmatrix()]
        inputs += [*known, *free]
        arrays += [a, b, a, b]
        for mode, value in itertools.product(_MODES, (0, 2.5)):
            for x, y in (known, free):
                outputs += [
                    tt.signal.convolve2d(x, y, mode, boundary, value),
                    tt.signal.correlate2d(x, y, mode, boundary, value),
                ]
                expected += [
                    scipy.signal.convolve2d(a, b, mode, boundary, value),
                    scipy.signal.correlate2d(a, b, mode, boundary, value),
                ]
    _same(function(inputs, outputs, mode="VM")(*arrays), expected)


def test_signals_of_more_dimensions_and_batches() -> None:
    a, b = _array(3, 4, 5), _array(2, 3, 2)
    rows, line, lines = _array(2, 3, 9), _array(4), _array(3, 4)
    outputs = [
        tt.signal.convolve(a, b),
        tt.signal.convolve(a, b, "same", method="fft"),
        tt.signal.convolve1d(rows, line),
        tt.signal.convolve1d(rows, lines, "valid"),
        tt.signal.fftconvolve(rows, lines[None], axes=-1),
        tt.signal.convolve(2.0, 3.0),
    ]
    expected = [
        scipy.signal.convolve(a, b),
        scipy.signal.convolve(a, b, "same"),
        np.stack([[np.convolve(r, line) for r in q] for q in rows]),
        np.stack([[np.convolve(r, s, "valid") for r, s in zip(q, lines, strict=True)] for q in rows]),
        scipy.signal.fftconvolve(rows, lines[None], axes=-1),
        np.asarray(6.0),
    ]
    _same(function([], outputs, mode="VM")(), expected)


def test_gradient_of_a_convolution_is_a_correlation() -> None:
    x, w, ct = tt.dvectors("x", "w", "ct")
    f = function([x, w, ct], tt.grad((tt.convolve(x, w) * ct).sum(), [x, w]), mode="VM")
    a, b, c = _array(6), _array(3), _array(8)
    _same(f(a, b, c), [np.correlate(c, b), np.correlate(c, a)])


def test_what_does_not_fit_is_refused() -> None:
    a, b = np.ones((3, 5)), np.ones((4, 2))
    calls: tuple[Callable[[], object], ...] = (
        lambda: tt.signal.convolve2d(a, b, "valid"),
        lambda: tt.signal.fftconvolve(a, b, "valid"),
        lambda: tt.signal.convolve(a, b[0]),
        lambda: tt.convolve(a, b),
        lambda: tt.convolve(a[0], np.ones(0)),
        lambda: tt.hanning(2.5),
    )
    for call in calls:
        with pytest.raises(ShapeError):
            call()
    with pytest.raises(ArgumentError, match="mode"):
        tt.convolve(a[0], b[0], "most")


def test_windows_are_those_of_numpy() -> None:
    n = tt.lscalar()
    names = ("bartlett", "blackman", "hamming", "hanning")
    f = function([n], [getattr(tt, name)(n) for name in names], mode="VM")
    for count in (-3, 0, 1, 2, 5, 8):
        _same(f(count), [getattr(np, name)(count) for name in names])
        _same([tt.kaiser(count, 8.6).eval()], [np.kaiser(count, 8.6)])


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_stacks_of_unknown_numbers_convolve_pair_by_pair(mode: str) -> None:
    x, w = tt.tensor3s("x", "w")
    whole, part = tt.signal.convolve1d(x, w), tt.signal.convolve1d(x, w, mode="valid")
    f = function([x, w], [whole, part, *tt.grad((whole**2).sum(), [x, w])], mode=mode)
    for left, right in (
        ((2, 3, 10), (2, 3, 2)),
        ((1, 3, 10), (2, 1, 2)),
        ((2, 3, 4), (2, 3, 4)),
        ((2, 3, 2), (1, 1, 5)),
    ):
        a, b = _array(*left), _array(*right)
        batch = np.broadcast_shapes(left[:2], right[:2])
        pairs = list(zip(
            np.broadcast_to(a, (*batch, left[2])).reshape(-1, left[2]),
            np.broadcast_to(b, (*batch, right[2])).reshape(-1, right[2]), strict=True,
        ))  # fmt: skip
        expected = [
            np.array([np.convolve(p, q, way) for p, q in pairs]).reshape(*batch, -1) for way in ("full", "valid")
        ]
        results = f(a, b)
        _same(results[:2], expected)
        step, move = 1e-6, _array(*left)
        ahead, behind = ((f(a + s * step * move, b)[0] ** 2).sum() for s in (1, -1))
        np.testing.assert_allclose((results[2] * move).sum(), (ahead - behind) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "VM", "C"])
def test_convolutions_of_half_precision_stay_so(mode: str) -> None:
    h = tt.vector("h", dtype="float16")
    images = h[None, None]
    outs = [
        tt.convolve(h, h[:2]), tt.correlate(h, h[:2]), tt.polymul(h, h), tt.conv1d(images, images[..., :2]),
        tt.conv_transpose1d(images, images[..., :2]), *tt.grad(tt.convolve(h, h[:2]).sum(), [h]),
    ]  # fmt: skip
    for out, value in zip(outs, function([h], outs, mode=mode)(np.full(5, 300, "float16")), strict=True):
        assert out.dtype == value.dtype == "float16"
    with np.errstate(over="ignore"):
        assert np.isinf(function([h], outs[0], mode=mode)(np.full(5, 300, "float16"))).all()
