"""The lowerings, one module for each family of `treadle.tensor`."""
