"""C functions that draw random numbers."""
