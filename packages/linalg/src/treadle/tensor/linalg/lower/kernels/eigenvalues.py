"""Eigenvalues and eigenvectors, by LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    compose,
    convert,
    int32,
    is_complex,
    lapack,
)
from treadle.tensor.linalg.decompositions.eigenvalues import Eig, Eigvals
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.lower.kernels.eights import JACOBI, eights_diagonalised
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Eights

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)
Z = TypeVar("Z", bound=Number)


@kernel(inline=True)
def hermitian_diagonalised(
    m: int, a: Pointer[T], ld_a: int, w: Pointer[R], work: Pointer[T], n_work: int, rwork: Pointer[R], n_rwork: int,
    iwork: Pointer[int32], n_iwork: int, *, vectors: bool, lower: bool,
) -> int:  # fmt: skip
    """Write the eigenvalues, and the eigenvectors in the place of the matrix, by divide and conquer."""
    if is_complex(T):
        return lapack.heevd(
            "V" if vectors else "N", "L" if lower else "U", m, a, ld_a, w, work, n_work, rwork, n_rwork, iwork, n_iwork
        )
    return lapack.syevd("V" if vectors else "N", "L" if lower else "U", m, a, ld_a, w, work, n_work, iwork, n_iwork)


@kernel(inline=True)
def hermitian_eigenvalues_found(
    m: int, a: Pointer[T], ld_a: int, t_a: int, w: Pointer[R], work: Pointer[T], n_work: int, rwork: Pointer[R],
    n_rwork: int, iwork: Pointer[int32], n_iwork: int, *, lower: bool,
) -> int:  # fmt: skip
    """Write the eigenvalues alone, of the matrix as it lies: its transpose, of the other triangle, has the same."""
    if t_a == 1:
        return hermitian_diagonalised(
            m, a, ld_a, w, work, n_work, rwork, n_rwork, iwork, n_iwork, vectors=False, lower=lower
        )
    return hermitian_diagonalised(
        m, a, ld_a, w, work, n_work, rwork, n_rwork, iwork, n_iwork, vectors=False, lower=not lower
    )


@kernel(inline=True)
def eigenvalues_of_eights(m: int, a: Pointer[T], w: Pointer[T], *, lower: bool) -> int:
    """Write the eigenvalues of eight at once."""
    return eights_diagonalised(m, a, w, a, vectors=False, lower=lower)


@kernel(inline=True)
def eigenvectors_of_eights(m: int, a: Pointer[T], w: Pointer[T], *, lower: bool) -> int:
    """Write eigenvalues, and eigenvectors in the place of the matrices."""
    return eights_diagonalised(m, a, w, a, vectors=True, lower=lower)


@TABLE.register(Eigh)
@TABLE.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode, site: Site) -> None:
    """Diagonalise in the memory of the eigenvectors, or in a copy; LAPACK has no results for NaN and infinity.

    Eight small matrices are turned at once by Jacobi's method; in stacks of fewer than 32, eigenvectors have LAPACK's
    signs.
    """
    vectors, half = isinstance(op, Eigh), "lower" if op.lower else "upper"
    if vectors:
        stack = Stack(op, node, site, {"x": Operand("columns", into="a", half=half)}, {"w": "rows", "a": "columns"})
    else:
        stack = Stack(op, node, site, {"a": Operand("either", writes=True, half=half)}, {"w": "rows"})
    is_complex_ = node.inputs[0].type.numpy_dtype.kind == "c"
    # As many integers as the routines' documentation says: each question is a kernel to compile.
    whole = stack.lengths["m"] * 5 + 3 if vectors else 1
    rooms = {"work": ("T", None), "rwork": ("R", None if is_complex_ else 0), "iwork": ("int32", whole)}
    body = eigenvectors_of_eights if vectors else eigenvalues_of_eights
    eights = Eights(body, {"lower": op.lower}, {"x": "a"} if vectors else {}, most=JACOBI, least=32)
    if vectors:
        stack.run(hermitian_diagonalised, rooms, finite=True, eights=eights, vectors=True, lower=op.lower)
    else:
        stack.run(hermitian_eigenvalues_found, rooms, finite=True, eights=eights, lower=op.lower)


@kernel(inline=True)
def complex_parts_joined(re: Pointer[R], im: Pointer[R], w: Pointer[Z], m: int) -> int:
    """Write complex numbers of two parts."""
    for j in range(m):
        w[j] = compose(re[j], im[j])
    return OK


@kernel(inline=True)
def eigenvalues_found(
    m: int, a: Pointer[T], ld_a: int, w: Pointer[Z], work: Pointer[T], n_work: int, re: Pointer[R], im: Pointer[R]
) -> int:
    """Write the eigenvalues; for real matrices LAPACK leaves real and imaginary parts."""
    if is_complex(T):
        return lapack.geev("N", "N", m, a, ld_a, w, w, 1, w, 1, work, n_work, re)
    other = lapack.geev("N", "N", m, a, ld_a, re, im, re, 1, re, 1, work, n_work)
    if other != 0 or n_work < 0:
        return other
    return complex_parts_joined(re, im, w, m)


@kernel(inline=True)
def eigenvectors_found(
    m: int, a: Pointer[T], ld_a: int, w: Pointer[Z], v: Pointer[Z], ld_v: int, work: Pointer[T], n_work: int,
    re: Pointer[R], im: Pointer[R], parts: Pointer[R],
) -> int:  # fmt: skip
    """Write eigenvalues and vectors; for real matrices the vectors of a conjugate pair share two columns."""
    if is_complex(T):
        return lapack.geev("N", "V", m, a, ld_a, w, w, 1, v, ld_v, work, n_work, re)
    other = lapack.geev("N", "V", m, a, ld_a, re, im, re, 1, parts, ld_v, work, n_work)
    if other != 0 or n_work < 0:
        return other
    complex_parts_joined(re, im, w, m)
    j = 0
    while j < m:
        column = parts + j * m
        if im[j] != 0 and j + 1 < m:
            beside = column + m
            for i in range(m):
                v[j * ld_v + i] = compose(column[i], beside[i])
                v[(j + 1) * ld_v + i] = compose(column[i], -beside[i])
            j += 2
        else:
            for i in range(m):
                v[j * ld_v + i] = convert(Z, column[i])
            j += 1
    return OK


@TABLE.register(Eig)
@TABLE.register(Eigvals)
def of_square(op: Eig | Eigvals, node: TensorNode, site: Site) -> None:
    """Call geev."""
    vectors, is_real = isinstance(op, Eig), node.inputs[0].type.numpy_dtype.kind == "f"
    results = {"w": "rows", "v": "columns"} if vectors else {"w": "rows"}
    stack = Stack(op, node, site, {"a": Operand("columns", writes=True)}, results)
    m = stack.lengths["m"]
    rooms = {"work": ("T", None), "re": ("R", m if is_real else m * 2), "im": ("R", m if is_real else 0)}
    if vectors:
        stack.run(eigenvectors_found, {**rooms, "parts": ("R", m * m if is_real else 0)})
    else:
        stack.run(eigenvalues_found, rooms)
