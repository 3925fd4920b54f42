"""Compiled routines that programs call: BLAS, LAPACK, special functions, transforms, generators."""
