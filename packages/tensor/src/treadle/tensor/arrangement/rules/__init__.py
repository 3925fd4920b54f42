"""Rules for diagonals."""
