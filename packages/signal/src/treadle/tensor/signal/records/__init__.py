"""Records of the families of `treadle.tensor.signal`."""
