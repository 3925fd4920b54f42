"""A sparse matrix in its other forms: its three arrays, a dense matrix, another format. Imports `types`, `kernels`."""
