"""The table of elementwise functions, one module for each family; `treadle.tensor.row` says what a row is."""
