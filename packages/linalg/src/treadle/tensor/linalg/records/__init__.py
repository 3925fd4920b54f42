"""Records of the families of `treadle.tensor.linalg`."""
