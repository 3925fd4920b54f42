"""The lowerings of tensor ops, one module for each family."""
