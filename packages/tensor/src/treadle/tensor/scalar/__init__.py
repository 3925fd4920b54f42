"""The table of elementwise functions, one module for each family; see `treadle.tensor.scalar_op`."""
