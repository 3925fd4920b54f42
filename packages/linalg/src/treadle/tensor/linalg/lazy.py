"""Names of `treadle.tensor` that `treadle.tensor.linalg` offers too: ops, and functions that several rooms share."""

MODULES = {
    "treadle.tensor": "BlockDiagonal Cholesky CholeskySolve Det Eig Eigh Eigvals Eigvalsh HouseholderProduct LU LUFactor LUFactorTridiagonal LUSolve Lstsq MatrixInverse MatrixPinv PivotToPermutations PolarFactor QR QZ SLogDet SVD Schur Solve SolveBanded SolveHermitianBanded SolveLUFactorTridiagonal SolveTriangular cross kron matmul matrix_dot matrix_norm matrix_transpose multi_dot norm outer tensordot vander vecdot vector_norm",
}
