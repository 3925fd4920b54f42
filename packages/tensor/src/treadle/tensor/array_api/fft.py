"""Fourier transforms by the array API standard's extension of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from treadle.tensor.array_api.devices import check_device
from treadle.tensor.array_api.public import tt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Norm = Literal["backward", "ortho", "forward"]


def _along_one(name: str) -> Callable[..., TensorVariable]:
    def transform(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> TensorVariable:
        result: TensorVariable = getattr(tt.fft, name)(x, n=n, axis=axis, norm=norm)
        return result

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"Return `treadle.tensor.fft.{name}` along an axis."
    return transform


def _along_several(name: str) -> Callable[..., TensorVariable]:
    def transform(
        x: TensorLike,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Norm = "backward",
    ) -> TensorVariable:
        result: TensorVariable = getattr(tt.fft, name)(x, s=s, axes=axes, norm=norm)
        return result

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"Return `treadle.tensor.fft.{name}` along axes, all of them by default."
    return transform


fft = _along_one("fft")
ifft = _along_one("ifft")
rfft = _along_one("rfft")
irfft = _along_one("irfft")
hfft = _along_one("hfft")
ihfft = _along_one("ihfft")
fftn = _along_several("fftn")
ifftn = _along_several("ifftn")
rfftn = _along_several("rfftn")
irfftn = _along_several("irfftn")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return the frequencies of a transform of length `n`, of samples at distance `d`."""
    check_device("fftfreq", device)
    return _frequencies(tt.fft.fftfreq(n, d), dtype)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None) -> TensorVariable:
    """Return the frequencies of a transform of `n` real numbers, of samples at distance `d`."""
    check_device("rfftfreq", device)
    return _frequencies(tt.fft.rfftfreq(n, d), dtype)


def _frequencies(frequencies: TensorVariable, dtype: DTypeLike | None) -> TensorVariable:
    return frequencies if dtype is None else frequencies.astype(dtype)


def fftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> TensorVariable:
    """Return a transform with the frequency 0 in the middle."""
    shifted: TensorVariable = tt.fft.fftshift(x, axes)
    return shifted


def ifftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> TensorVariable:
    """Return a transform with the frequency 0 in the middle as it was before."""
    shifted: TensorVariable = tt.fft.ifftshift(x, axes)
    return shifted


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn",
    "rfft", "rfftfreq", "rfftn",
]  # fmt: skip
