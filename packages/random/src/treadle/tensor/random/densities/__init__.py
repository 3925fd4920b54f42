"""Densities, distribution functions, quantiles and moments of distributions, found as attributes of these."""
