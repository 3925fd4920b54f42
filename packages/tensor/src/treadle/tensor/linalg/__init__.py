"""treadle.tensor.linalg: linear algebra, by NumPy's and SciPy's names; each function takes stacks of matrices."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names
from treadle.tensor.lazy import LINALG_MODULES

# For each module here its public names: its ``__all__``. One line for each module, however long: it is a table.
LAZY: dict[str, str] = {
    "eigenvalues": "eigh eigvalsh",
    "inverses": "SlogdetResult det inv matrix_power slogdet tensorinv tensorsolve",
    "least_squares": "cond lstsq matrix_rank pinv pinvh",
    "matrix_equations": "solve_continuous_lyapunov solve_sylvester",
    "matrix_functions": "expm expm_frechet signm",
    "matrix_functions": "expm expm_frechet",
    "orthogonal": "householder_product null_space orth polar qr subspace_angles svd svdvals",
    "positive_definite": "cho_factor cho_solve cholesky",
    "structured": "block_diag",
    "systems": "solve",
    "triangular_systems": "solve_triangular",
}
# Ops, and functions that are not of linear algebra only, by the modules that they are found in.
ELSEWHERE = {
    "treadle.tensor": "BlockDiagonal Cholesky CholeskySolve Det HouseholderProduct Lstsq MatrixInverse MatrixPinv PolarFactor QR SLogDet SVD Solve SolveTriangular cross diagonal kron matmul matrix_dot matrix_norm matrix_transpose multi_dot norm outer tensordot trace vecdot vector_norm",
}

if TYPE_CHECKING:
    from treadle.tensor import *  # noqa: F403
    from treadle.tensor.linalg.banded_systems import *  # noqa: F403
    from treadle.tensor.linalg.eigenvalues import *  # noqa: F403
    from treadle.tensor.linalg.inverses import *  # noqa: F403
    from treadle.tensor.linalg.least_squares import *  # noqa: F403
    from treadle.tensor.linalg.matrix_equations import *  # noqa: F403
    from treadle.tensor.linalg.matrix_functions import *  # noqa: F403
    from treadle.tensor.linalg.named_matrices import *  # noqa: F403
    from treadle.tensor.linalg.orthogonal import *  # noqa: F403
    from treadle.tensor.linalg.positive_definite import *  # noqa: F403
    from treadle.tensor.linalg.schur_forms import *  # noqa: F403
    from treadle.tensor.linalg.structured import *  # noqa: F403
    from treadle.tensor.linalg.systems import *  # noqa: F403
    from treadle.tensor.linalg.triangular_systems import *  # noqa: F403
else:
    __getattr__ = lazy_names(__name__, LINALG_MODULES)
