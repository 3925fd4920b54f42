"""What backends do for kernels of sparse matrices, by backend: loaded when it first compiles."""
