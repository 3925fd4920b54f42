"""Records of the families of `treadle.tensor.fft`."""
