"""treadle.tensor.fft: discrete Fourier transforms, by NumPy's names (as numpy.fft)."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.fft.transforms import *  # noqa: F403
else:
    __getattr__ = lazy_names(__name__, {})
