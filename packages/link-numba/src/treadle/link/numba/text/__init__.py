"""The text of Numba programs: units, the source of kernels, and the LLVM code emitted from it."""
