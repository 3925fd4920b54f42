"""The text of C programs: units, kernels and loops, and the expressions in them."""
