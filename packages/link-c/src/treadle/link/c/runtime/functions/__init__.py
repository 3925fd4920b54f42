"""C functions of numbers: complex ones, gamma functions, further special functions."""
