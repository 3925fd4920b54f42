"""What rules write C with: loops over stacks of matrices, calls of LAPACK and BLAS, and text for small matrices."""
