"""Kernels of special functions: of one number each, and in `gamma_blocks` and `inverse_error_blocks` of many."""
