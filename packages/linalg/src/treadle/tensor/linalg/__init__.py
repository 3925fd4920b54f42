"""treadle.tensor.linalg: linear algebra, by NumPy's and SciPy's names; each function takes stacks of matrices."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

# Names of `treadle.tensor` that are found here too: ops of linear algebra, and functions that are not of it only.
TOO = (
    "BlockDiagonal Cholesky CholeskySolve Det Eig Eigh Eigvals Eigvalsh HouseholderProduct LU LUFactor "
    "LUFactorTridiagonal LUSolve Lstsq MatrixInverse MatrixPinv PivotToPermutations PolarFactor QR QZ "
    "SLogDet SVD Schur Solve SolveBanded SolveHermitianBanded SolveLUFactorTridiagonal SolveTriangular "
    "cross kron matmul matrix_dot matrix_norm matrix_transpose multi_dot norm outer tensordot vander "
    "vecdot vector_norm"
)

if TYPE_CHECKING:
    from treadle.tensor import *  # noqa: F403

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.linalg.decompositions.cholesky import cho_factor as cho_factor
    from treadle.tensor.linalg.decompositions.cholesky import cho_solve as cho_solve
    from treadle.tensor.linalg.decompositions.cholesky import cholesky as cholesky
    from treadle.tensor.linalg.decompositions.eigenvalues import eig as eig
    from treadle.tensor.linalg.decompositions.eigenvalues import eigvals as eigvals
    from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import eigh as eigh
    from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import eigvalsh as eigvalsh
    from treadle.tensor.linalg.decompositions.lu import lu as lu
    from treadle.tensor.linalg.decompositions.lu import lu_factor as lu_factor
    from treadle.tensor.linalg.decompositions.lu import lu_solve as lu_solve
    from treadle.tensor.linalg.decompositions.lu import pivot_to_permutation as pivot_to_permutation
    from treadle.tensor.linalg.decompositions.qr import householder_product as householder_product
    from treadle.tensor.linalg.decompositions.qr import qr as qr
    from treadle.tensor.linalg.decompositions.schur import ordqz as ordqz
    from treadle.tensor.linalg.decompositions.schur import qz as qz
    from treadle.tensor.linalg.decompositions.schur import rsf2csf as rsf2csf
    from treadle.tensor.linalg.decompositions.schur import schur as schur
    from treadle.tensor.linalg.decompositions.svd import null_space as null_space
    from treadle.tensor.linalg.decompositions.svd import orth as orth
    from treadle.tensor.linalg.decompositions.svd import polar as polar
    from treadle.tensor.linalg.decompositions.svd import subspace_angles as subspace_angles
    from treadle.tensor.linalg.decompositions.svd import svd as svd
    from treadle.tensor.linalg.decompositions.svd import svdvals as svdvals
    from treadle.tensor.linalg.determinants import det as det
    from treadle.tensor.linalg.determinants import slogdet as slogdet
    from treadle.tensor.linalg.determinants import SlogdetResult as SlogdetResult
    from treadle.tensor.linalg.functions.matrix_equations import solve_continuous_are as solve_continuous_are
    from treadle.tensor.linalg.functions.matrix_equations import solve_continuous_lyapunov as solve_continuous_lyapunov
    from treadle.tensor.linalg.functions.matrix_equations import solve_discrete_are as solve_discrete_are
    from treadle.tensor.linalg.functions.matrix_equations import solve_discrete_lyapunov as solve_discrete_lyapunov
    from treadle.tensor.linalg.functions.matrix_equations import solve_sylvester as solve_sylvester
    from treadle.tensor.linalg.functions.matrix_functions import coshm as coshm
    from treadle.tensor.linalg.functions.matrix_functions import cosm as cosm
    from treadle.tensor.linalg.functions.matrix_functions import expm as expm
    from treadle.tensor.linalg.functions.matrix_functions import expm_frechet as expm_frechet
    from treadle.tensor.linalg.functions.matrix_functions import fractional_matrix_power as fractional_matrix_power
    from treadle.tensor.linalg.functions.matrix_functions import funm as funm
    from treadle.tensor.linalg.functions.matrix_functions import logm as logm
    from treadle.tensor.linalg.functions.matrix_functions import sinhm as sinhm
    from treadle.tensor.linalg.functions.matrix_functions import sinm as sinm
    from treadle.tensor.linalg.functions.matrix_functions import sqrtm as sqrtm
    from treadle.tensor.linalg.functions.matrix_functions import tanhm as tanhm
    from treadle.tensor.linalg.functions.matrix_functions import tanm as tanm
    from treadle.tensor.linalg.functions.matrix_sign import signm as signm
    from treadle.tensor.linalg.inverses import inv as inv
    from treadle.tensor.linalg.inverses import matrix_power as matrix_power
    from treadle.tensor.linalg.inverses import tensorinv as tensorinv
    from treadle.tensor.linalg.inverses import tensorsolve as tensorsolve
    from treadle.tensor.linalg.least_squares import cond as cond
    from treadle.tensor.linalg.least_squares import lstsq as lstsq
    from treadle.tensor.linalg.least_squares import matrix_rank as matrix_rank
    from treadle.tensor.linalg.least_squares import pinv as pinv
    from treadle.tensor.linalg.least_squares import pinvh as pinvh
    from treadle.tensor.linalg.linear_systems import solve as solve
    from treadle.tensor.linalg.linear_systems import solve_banded as solve_banded
    from treadle.tensor.linalg.linear_systems import solveh_banded as solveh_banded
    from treadle.tensor.linalg.matrix_diagonals import *  # noqa: F403
    from treadle.tensor.linalg.structured.block_diagonal import block_diag as block_diag
    from treadle.tensor.linalg.structured.from_vectors import *  # noqa: F403
    from treadle.tensor.linalg.structured.named_matrices import *  # noqa: F403
    from treadle.tensor.linalg.triangular_systems import solve_triangular as solve_triangular
    from treadle.tensor.linalg.tridiagonal_systems import tridiagonal_lu_factor as tridiagonal_lu_factor
    from treadle.tensor.linalg.tridiagonal_systems import tridiagonal_lu_solve as tridiagonal_lu_solve
else:
    __getattr__ = lazy_names(__name__, {"treadle.tensor": TOO})
