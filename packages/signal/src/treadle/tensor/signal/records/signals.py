"""Records of the user functions for convolutions, pooling, Fourier transforms and windows."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import signal

from treadle import tensor as tt
from treadle.testing.expressions import COUNT, MATRIX, POINTS, apart, both
from treadle.testing.operands import number, of_shape
from treadle.testing.sample import Sample

_both = partial(both, "composed.signals")
_apart = partial(apart, "composed.signals", variants=("plain",))
_SHORT = of_shape((3,))
_IMAGES, _FILTERS = of_shape((2, 2, 6, 5)), of_shape((3, 2, 3, 2), static=(3, 2, 3, 2))
_LINES, _LINE_FILTERS = of_shape((2, 2, 7)), of_shape((3, 2, 3), static=(3, 2, 3))
_VOLUMES, _VOLUME_FILTERS = of_shape((1, 2, 4, 3, 3)), of_shape((2, 2, 2, 2, 2), static=(2, 2, 2, 2, 2))


def correlated(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the sum over channels of correlations, for each image and filter."""
    return np.array([
        [sum(signal.correlate(c, f, "valid", "direct") for c, f in zip(image, filters, strict=True)) for filters in w]
        for image in x
    ])  # fmt: skip


def transposed(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the sum over channels of full convolutions: filters are (in, out, ...)."""
    return np.array([
        [
            sum(signal.convolve(c, f[out], "full", "direct") for c, f in zip(image, w, strict=True))
            for out in range(w.shape[1])
        ]
        for image in x
    ])  # fmt: skip


def pooled(x: np.ndarray, size: int, reduce: object) -> np.ndarray:
    """Return the reduction of adjacent windows of a size in every spatial dimension."""
    for d in range(2, x.ndim):
        n = x.shape[d] // size
        covered = np.take(x, range(n * size), axis=d)
        x = reduce(covered.reshape(*x.shape[:d], n, size, *x.shape[d + 1 :]), axis=d + 1)  # type: ignore[operator]
    return x


SAMPLES: tuple[Sample, ...] = (
    _apart("conv1d", tt.conv1d, correlated, _LINES, _LINE_FILTERS, wrt=(0, 1)),
    _apart("conv2d", tt.conv2d, correlated, _IMAGES, _FILTERS, wrt=(0, 1)),
    _apart("conv3d", tt.conv3d, correlated, _VOLUMES, _VOLUME_FILTERS, wrt=(0, 1), refuses_empty=True),
    _apart("conv_transpose1d", tt.conv_transpose1d, transposed, _LINES, of_shape((2, 3, 3), static=(2, 3, 3)),
           wrt=(0, 1)),
    _apart("conv_transpose2d", tt.conv_transpose2d, transposed, _IMAGES, of_shape((2, 3, 3, 2), static=(2, 3, 3, 2)),
           wrt=(0, 1)),
    _apart("conv_transpose3d", tt.conv_transpose3d, transposed, _VOLUMES, _VOLUME_FILTERS, wrt=(0, 1),
           refuses_empty=True),
    _apart("avg_pool1d", lambda x: tt.avg_pool1d(x, 2), lambda x: pooled(x, 2, np.mean), _LINES, wrt=(0,)),
    _apart("avg_pool3d", lambda x: tt.avg_pool3d(x, 2), lambda x: pooled(x, 2, np.mean), _VOLUMES, wrt=(0,)),
    _apart("max_pool1d", lambda x: tt.max_pool1d(x, 2), lambda x: pooled(x, 2, np.max), _LINES, wrt=(0,)),
    _apart("max_pool3d", lambda x: tt.max_pool3d(x, 2), lambda x: pooled(x, 2, np.max), _VOLUMES, wrt=(0,)),
    _apart("pool_2d", lambda x: tt.pool_2d(x, (2, 2), ignore_border=True), lambda x: pooled(x, 2, np.max), _IMAGES,
           wrt=(0,)),
    _apart("pool_3d", lambda x: tt.pool_3d(x, (2, 2, 2), ignore_border=True), lambda x: pooled(x, 2, np.max),
           _VOLUMES, wrt=(0,)),
    _both("convolve", lambda xp, x, y: xp.convolve(x, y, "same"), POINTS, _SHORT, wrt=(0, 1), variants=("plain",)),
    _both("correlate", lambda xp, x, y: xp.correlate(x, y, "full"), POINTS, _SHORT, wrt=(0, 1), variants=("plain",)),
    _apart("signal_convolve", tt.signal.convolve, signal.convolve, of_shape((4, 5)),
           of_shape((2, 3)), wrt=(0, 1)),
    _apart("convolve1d", tt.signal.convolve1d, np.convolve, POINTS, _SHORT, wrt=(0, 1)),
    _apart("convolve2d", lambda x, y: tt.signal.convolve2d(x, y, mode="same", boundary="wrap"),
           lambda x, y: signal.convolve2d(x, y, "same", "wrap"), of_shape((4, 5)), of_shape((2, 3)), wrt=(0, 1)),
    _apart("signal_correlate", lambda x, y: tt.signal.correlate(x, y, "valid"),
           lambda x, y: signal.correlate(x, y, "valid"), of_shape((4, 5)), of_shape((2, 3)), wrt=(0, 1)),
    _apart("correlate2d", tt.signal.correlate2d, signal.correlate2d, of_shape((4, 5)),
           of_shape((2, 3)), wrt=(0, 1)),
    _apart("fftconvolve", tt.signal.fftconvolve, signal.fftconvolve, of_shape((4, 5)),
           of_shape((2, 3)), wrt=(0, 1)),
    _both("fft2", lambda xp, x: xp.fft.fft2(x), MATRIX, wrt=(0,), variants=("plain",)),
    _both("ifft2", lambda xp, x: xp.fft.ifft2(x, norm="ortho"), MATRIX, wrt=(0,), variants=("plain",)),
    _both("fftn", lambda xp, x: xp.fft.fftn(x, s=(4, 3), axes=(0, 1)), MATRIX, wrt=(0,), variants=("plain",)),
    _both("ifftn", lambda xp, x: xp.fft.ifftn(x), MATRIX, wrt=(0,), variants=("plain",)),
    _both("rfft2", lambda xp, x: xp.fft.rfft2(x), MATRIX, wrt=(0,), variants=("plain",)),
    _both("irfft2", lambda xp, x: xp.fft.irfft2(x), MATRIX, wrt=(0,), variants=("plain",)),
    _both("rfftn", lambda xp, x: xp.fft.rfftn(x, axes=(0,)), MATRIX, wrt=(0,), variants=("plain",)),
    _both("irfftn", lambda xp, x: xp.fft.irfftn(x, s=(3, 5), axes=(0, 1)), MATRIX, wrt=(0,), variants=("plain",)),
    _both("hfft", lambda xp, x: xp.fft.hfft(x), POINTS, wrt=(0,), variants=("plain",)),
    _both("ihfft", lambda xp, x: xp.fft.ihfft(x, norm="forward"), POINTS, wrt=(0,), variants=("plain",)),
    _apart("fftfreq", lambda n: tt.fft.fftfreq(n, 0.5), lambda n: np.fft.fftfreq(int(n), 0.5), COUNT,
           dtypes=("int64",)),
    _apart("rfftfreq", tt.fft.rfftfreq, lambda n: np.fft.rfftfreq(int(n)), number(8), dtypes=("int64",)),
    _both("fftshift", lambda xp, x: xp.fft.fftshift(x), MATRIX, wrt=(0,), variants=("plain",)),
    _both("ifftshift", lambda xp, x: xp.fft.ifftshift(x, axes=1), MATRIX, wrt=(0,), variants=("plain",)),
    _apart("kaiser", lambda n: tt.kaiser(n, 5.0), lambda n: np.kaiser(int(n), 5.0), number(7), dtypes=("int64",)),
    *(
        _both(name, lambda xp, n, name=name: getattr(xp, name)(n), number(7), dtypes=("int64",), variants=("plain",))
        for name in ("bartlett", "blackman", "hamming", "hanning")
    ),
)  # fmt: skip
