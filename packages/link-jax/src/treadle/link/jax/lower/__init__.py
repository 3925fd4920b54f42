"""Lowerings of treadle's own ops to JAX, one module for each family; importing them imports JAX."""
