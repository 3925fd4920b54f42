"""Records of the families of `treadle.tensor.elementwise`."""
