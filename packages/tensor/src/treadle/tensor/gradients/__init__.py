"""Derivatives of graphs: reverse mode, forward mode, their products with vectors, finite differences."""
