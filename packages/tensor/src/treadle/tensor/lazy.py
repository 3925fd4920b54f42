"""Which names load a module when they are first asked for, so that importing the package stays quick."""

from __future__ import annotations

from types import ModuleType

from treadle.config import lazy_module
from treadle.tensor.names import LAZY, LINALG

# Ops of linear algebra, and functions that are not of linear algebra only: names of `treadle.tensor` that are found in
# `treadle.tensor.linalg` too.
LINALG_TOO = "BlockDiagonal Cholesky CholeskySolve Det Eig Eigh Eigvals Eigvalsh HouseholderProduct LU LUFactor LUFactorTridiagonal LUSolve Lstsq MatrixInverse MatrixPinv PivotToPermutations PolarFactor QR QZ SLogDet SVD Schur Solve SolveBanded SolveHermitianBanded SolveLUFactorTridiagonal SolveTriangular cross kron matmul matrix_dot matrix_norm matrix_transpose multi_dot norm outer tensordot vander vecdot vector_norm"
# Modules that are public themselves, as in ``treadle.tensor.special.softmax``.
SUBMODULES: tuple[str, ...] = ("linalg", "special")
NAMES = [*(name for names in LAZY.values() for name in names.split()), *SUBMODULES]
# Documented modules of further names, found as attributes too, as in ``treadle.tensor.math.exp``: no public names.
PATHS = ("basic", "extra_ops", "math", "sharedvar", "subtensor", "type", "utils", "variable")
_MODULES = LAZY | {name: name for name in (*SUBMODULES, *PATHS)}
# What `treadle.tensor` finds names in, by full names of modules.
MODULES = {f"treadle.tensor.{module}": names for module, names in _MODULES.items()}
# What `treadle.tensor.linalg` finds names in.
LINALG_MODULES = {f"treadle.tensor.linalg.{module}": names for module, names in LINALG.items()} | {
    "treadle.tensor": LINALG_TOO
}


def lazy_scipy_module(name: str) -> ModuleType:
    """Return a module of SciPy's, which is imported when an attribute of it is first asked for.

    >>> lazy_scipy_module("special").erf(0.0)
    0.0
    """
    module: ModuleType = lazy_module(f"scipy.{name}")
    return module
