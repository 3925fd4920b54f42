"""Functions for scalar ops, by the families of `treadle.tensor.scalar`."""

from treadle.tensor import load_families

load_families(__name__)
