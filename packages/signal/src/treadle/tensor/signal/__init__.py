"""treadle.tensor.signal: convolution and correlation of signals, by SciPy's names."""

from treadle.tensor.signal.conv import convolve, convolve1d, convolve2d, correlate, correlate2d, fftconvolve

__all__ = ["convolve", "convolve1d", "convolve2d", "correlate", "correlate2d", "fftconvolve"]
