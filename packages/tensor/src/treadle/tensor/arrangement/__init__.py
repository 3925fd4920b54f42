"""Elements moved, repeated, spread out or taken along axes and diagonals."""
