"""Functions made of other functions only: statistics, polynomials, interpolation, padding."""
