"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.tensor.linalg import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor.linalg": (
                "BlockDiagonal Cholesky CholeskySolve Eigvalsh Expm LU LUFactor PivotToPermutations QR QZ Schur Solve "
                "SolveTriangular block_diag cho_solve cholesky eigvalsh expm kron lu lu_factor lu_solve ordqz "
                "pivot_to_permutation qr qz schur solve solve_continuous_lyapunov solve_discrete_are "
                "solve_discrete_lyapunov solve_sylvester solve_triangular"
            ),
        },
    )
