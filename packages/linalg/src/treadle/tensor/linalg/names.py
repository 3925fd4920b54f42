"""Public names of `treadle.tensor`, by the modules imported when one is asked for; written by `./dev pages`.

For each module the names of its ``__all__``. One line for each module, however long: these are tables.
"""

NAMES = {
    "treadle.tensor": {
        "treadle.tensor.linalg": "linalg",
        "treadle.tensor.linalg.norms": "matrix_norm norm vector_norm",
        "treadle.tensor.linalg.ops.banded": "LUFactorTridiagonal SolveBanded SolveHermitianBanded SolveLUFactorTridiagonal",
        "treadle.tensor.linalg.ops.block_diagonal": "BlockDiagonal",
        "treadle.tensor.linalg.ops.cholesky": "Cholesky CholeskyPullback CholeskySolve",
        "treadle.tensor.linalg.ops.determinants": "Det SLogDet SingularCofactors",
        "treadle.tensor.linalg.ops.eigenvalues": "Eig Eigh Eigvals Eigvalsh",
        "treadle.tensor.linalg.ops.inverse": "MatrixInverse",
        "treadle.tensor.linalg.ops.least_squares": "Lstsq MatrixPinv",
        "treadle.tensor.linalg.ops.linear_systems": "Solve",
        "treadle.tensor.linalg.ops.lu": "LU LUFactor LUSolve PivotToPermutations",
        "treadle.tensor.linalg.ops.matrix_equations": "Riccati Sylvester",
        "treadle.tensor.linalg.ops.matrix_functions": "Expm Logm Sqrtm",
        "treadle.tensor.linalg.ops.matrix_op": "MatrixOp",
        "treadle.tensor.linalg.ops.matrix_sign": "MatrixSign",
        "treadle.tensor.linalg.ops.qr": "HouseholderProduct QR",
        "treadle.tensor.linalg.ops.schur": "QZ RealToComplexSchur Schur",
        "treadle.tensor.linalg.ops.svd": "PolarFactor SVD",
        "treadle.tensor.linalg.ops.triangular": "SolveTriangular",
    },
    "treadle.tensor.linalg": {
        "treadle.tensor.linalg.banded_systems": "solve_banded solveh_banded tridiagonal_lu_factor tridiagonal_lu_solve",
        "treadle.tensor.linalg.eigenvalues": "eig eigh eigvals eigvalsh",
        "treadle.tensor.linalg.inverses": "SlogdetResult det inv matrix_power slogdet tensorinv tensorsolve",
        "treadle.tensor.linalg.least_squares": "cond lstsq matrix_rank pinv pinvh",
        "treadle.tensor.linalg.matrix_diagonals": "diagonal trace",
        "treadle.tensor.linalg.matrix_equations": "solve_continuous_are solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov solve_sylvester",
        "treadle.tensor.linalg.matrix_functions": "coshm cosm expm expm_frechet fractional_matrix_power funm logm signm sinhm sinm sqrtm tanhm tanm",
        "treadle.tensor.linalg.named_matrices": "dft hadamard helmert hilbert invhilbert invpascal pascal",
        "treadle.tensor.linalg.orthogonal": "householder_product null_space orth polar qr subspace_angles svd svdvals",
        "treadle.tensor.linalg.positive_definite": "cho_factor cho_solve cholesky",
        "treadle.tensor.linalg.schur_forms": "ordqz qz rsf2csf schur",
        "treadle.tensor.linalg.structured": "block_diag circulant companion convolution_matrix fiedler fiedler_companion hankel leslie toeplitz",
        "treadle.tensor.linalg.systems": "lu lu_factor lu_solve pivot_to_permutation solve",
        "treadle.tensor.linalg.triangular_systems": "solve_triangular",
    },
}
