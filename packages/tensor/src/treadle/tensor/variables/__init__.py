"""Tensor variables: their operators and methods."""
