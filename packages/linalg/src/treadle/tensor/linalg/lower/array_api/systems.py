"""Linear systems and inverses. The standard has one solver, which takes no structure."""

from __future__ import annotations

from typing import Any

from treadle.link.array_api import ARRAY_API
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.cholesky import CholeskySolve
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.lower.array_api.matrices import Arrays, settled, with_linalg
from treadle.tensor.linalg.triangular_systems import SolveTriangular


def _turned(xp: Any, x: Any) -> Any:
    turned = xp.matrix_transpose(x)
    return xp.conj(turned) if xp.isdtype(x.dtype, "complex floating") else turned


@ARRAY_API.register(MatrixInverse)
def inverse(op: MatrixInverse, node: TensorNode) -> Any:
    """Lower to linalg.inv."""
    lib = with_linalg()

    def run(a: Any) -> Arrays:
        return (lib.xp.linalg.inv(a),)

    return settled(lib, op.on_error, op.check_finite, run)


@ARRAY_API.register(Solve)
def solve(op: Solve, node: TensorNode) -> Any:
    """Lower to linalg.solve; of matrices said to be positive definite, the Cholesky factors are tried."""
    lib = with_linalg()
    xp = lib.xp

    def run(a: Any, b: Any) -> Arrays:
        if op.assume_a == "pos":
            factor = xp.linalg.cholesky(a)
            return (xp.linalg.solve(_turned(xp, factor), xp.linalg.solve(factor, b)),)
        return (xp.linalg.solve(a, b),)

    def of_half(a: Any, b: Any) -> Any:
        if op.assume_a == "gen":
            return checked(a, b)
        read = xp.tril(a) if op.lower else xp.triu(a)
        beside = xp.tril(a, k=-1) if op.lower else xp.triu(a, k=1)
        if op.assume_a == "sym" or not xp.isdtype(a.dtype, "complex floating"):
            return checked(read + xp.matrix_transpose(beside), b)
        # The diagonal of a Hermitian matrix is real.
        diagonal = xp.astype(xp.real(read - beside), a.dtype)
        return checked(beside + diagonal + _turned(xp, beside), b)

    checked = settled(lib, op.on_error, op.check_finite, run)
    return of_half


@ARRAY_API.register(SolveTriangular)
def solve_triangular(op: SolveTriangular, node: TensorNode) -> Any:
    """Lower to linalg.solve of the triangle."""
    lib = with_linalg()
    xp, outside = lib.xp, -1 if op.unit_diagonal else 0

    def run(a: Any, b: Any) -> Arrays:
        if op.unit_diagonal:
            a = a + xp.eye(a.shape[-1], dtype=a.dtype, device=lib.device)
        return (xp.linalg.solve(a, b),)

    def of_triangle(a: Any, b: Any) -> Any:
        return checked(xp.tril(a, k=outside) if op.lower else xp.triu(a, k=-outside), b)

    checked = settled(lib, op.on_error, op.check_finite, run)
    return of_triangle


@ARRAY_API.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode) -> Any:
    """Lower to linalg.solve with each of the factors."""
    lib = with_linalg()
    xp = lib.xp

    def run(factor: Any, b: Any) -> Arrays:
        first, second = (factor, _turned(xp, factor)) if op.lower else (_turned(xp, factor), factor)
        return (xp.linalg.solve(second, xp.linalg.solve(first, b)),)

    def of_triangle(factor: Any, b: Any) -> Any:
        return checked(xp.tril(factor) if op.lower else xp.triu(factor), b)

    checked = settled(lib, op.on_error, op.check_finite, run)
    return of_triangle
