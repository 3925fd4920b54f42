"""The pages about errors: docs/errors, and what `treadle explain` prints, from the table of causes."""
