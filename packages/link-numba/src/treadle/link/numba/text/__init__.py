"""The text of Numba programs: units, the source of kernels, and what LLVM code is emitted from it."""
