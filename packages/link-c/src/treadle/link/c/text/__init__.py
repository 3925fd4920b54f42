"""The text of C programs: units, kernels and loops, and what expressions in them are written with."""
