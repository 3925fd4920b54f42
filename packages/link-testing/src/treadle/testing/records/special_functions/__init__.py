"""Records of the families of `treadle.tensor.special_functions`."""
