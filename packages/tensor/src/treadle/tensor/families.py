"""The families of ops: a package keeps its part of each in a module of that name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

FAMILIES = (
    # Elementwise functions, in treadle.tensor.scalar:
    "arithmetic",
    "bessel_functions",
    "cast",
    "comparison",
    "complex_numbers",
    "entropy",
    "error_functions",
    "exponential",
    "gamma_functions",
    "floating",
    "integers",
    "hypergeometric",
    "incomplete_beta",
    "incomplete_gamma",
    "logic",
    "rounding",
    "stable_quotients",
    "trigonometric",
    # Structured ops, in treadle.tensor (copying: in treadle.graph):
    "elemwise",
    "assertion",
    "accumulation",
    "assumption",
    "blockwise",
    "broadcasting",
    "conditional",
    "convolution",
    "copying",
    "diagonals",
    "dimshuffle",
    "eigenvalues",
    "external_op",
    "fourier",
    "from_function",
    "from_graph",
    "fused_reduction",
    "gradient_control",
    "indexing",
    "joining",
    "least_squares",
    "normalization",
    "loops",
    "optimize",
    "matrix_equations",
    "matrix_functions",
    "product",
    "qr",
    "reduction",
    "joined_axes",
    "splitting",
    "repetition",
    "schur",
    "searching",
    "shape",
    "sorting",
    "svd",
    "shape_specification",
    "triangular",
    "cholesky",
    "determinants",
    "inverse",
    "linear_systems",
    "lu",
    "block_diagonal",
    "banded",
    # Draws, in treadle.tensor.random:
    "generator_draws",
    "portable_draws",
)


def load_families(package: str) -> list[ModuleType]:
    """Import a package's modules of all families that it has a part of; return them, in the order of `FAMILIES`."""
    names = [f"{package}.{family}" for family in FAMILIES]
    return [import_module(name) for name in names if find_spec(name) is not None]
