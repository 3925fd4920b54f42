"""Functions made of other functions only: statistics, interpolation, padding."""
