"""Public names of `treadle.tensor`, by the modules imported when one is asked for; written by `./dev pages`.

For each module the names of its ``__all__``. One line for each module, however long: these are tables.
"""

NAMES = {
    "treadle.tensor": {
        "treadle.tensor.fft": "fft",
        "treadle.tensor.fft.fourier": "FourierTransform",
        "treadle.tensor.signal": "signal",
        "treadle.tensor.signal.convolution": "ConvND",
        "treadle.tensor.signal.convolved": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "treadle.tensor.signal.filtering": "convolve correlate",
        "treadle.tensor.signal.polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
        "treadle.tensor.signal.pooling": "avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d pool_2d pool_3d",
        "treadle.tensor.signal.windows": "bartlett blackman hamming hanning kaiser",
    },
    "treadle.tensor.fft": {
        "treadle.tensor.fft.transforms": "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn",
    },
    "treadle.tensor.signal": {
        "treadle.tensor.signal.conv": "convolve convolve1d convolve2d correlate correlate2d fftconvolve",
    },
}
