"""Schur forms of matrices and of pairs of matrices, by LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    complex128,
    compose,
    conj,
    convert,
    hypot,
    imag,
    int32,
    is_complex,
    lapack,
    local,
    real,
    real_of,
    sqrt,
)
from treadle.tensor.linalg.decompositions.schur import QZ, RealToComplexSchur, Schur
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)
N = TypeVar("N", bound=Number)
Z = TypeVar("Z", bound=Number)


@kernel(inline=True)
def schur_factored(
    m: int, t: Pointer[T], ld_t: int, z: Pointer[T], ld_z: int, work: Pointer[T], n_work: int, w: Pointer[T],
    wi: Pointer[T], rwork: Pointer[R], found: Pointer[int32],
) -> int:  # fmt: skip
    """Replace a matrix by its Schur form, and write the vectors; eigenvalues go to w, imaginary parts to wi."""
    if is_complex(T):
        return lapack.gees("V", "N", None, m, t, ld_t, found, w, z, ld_z, work, n_work, rwork, 0)
    return lapack.gees("V", "N", None, m, t, ld_t, found, w, wi, z, ld_z, work, n_work, 0)


@kernel(inline=True)
def comes_first(x: R, y: R, *, sort: str) -> bool:
    """Whether an eigenvalue x + iy comes first."""
    if sort == "lhp":
        return x < 0
    if sort == "rhp":
        return x >= 0
    return hypot(x, y) <= 1 if sort == "iuc" else hypot(x, y) > 1


@kernel(inline=True)
def flagged(m: int, w: Pointer[T], wi: Pointer[T], flags: Pointer[int32], *, sort: str) -> int:
    """Set a flag for eigenvalues that come first; return whether they do not come before the others."""
    total = 0
    late = 0
    for i in range(m):
        flags[i] = int(comes_first(real(w[i]), imag(w[i]) if is_complex(T) else real(wi[i]), sort=sort))
        if flags[i] == 1:
            if total < i:
                late = 1
            total += 1
    return late


@kernel(inline=True)
def schur_sorted(
    m: int, t: Pointer[T], ld_t: int, z: Pointer[T], ld_z: int, count: Pointer[N], work: Pointer[T], n_work: int,
    w: Pointer[T], wi: Pointer[T], rwork: Pointer[R], found: Pointer[int32], flags: Pointer[int32], *, sort: str,
) -> int:  # fmt: skip
    """Order the form so that some eigenvalues come first, and count these."""
    info = schur_factored(m, t, ld_t, z, ld_z, work, n_work, w, wi, rwork, found)
    if n_work < 0:
        return info
    flagged(m, w, wi, flags, sort=sort)
    if info == 0 and m > 0:
        some = local(real_of(T), 2)
        if is_complex(T):
            info = lapack.trsen("N", "V", flags, m, t, ld_t, z, ld_z, w, found, some, some + 1, work, n_work)
        else:
            info = lapack.trsen(
                "N", "V", flags, m, t, ld_t, z, ld_z, w, wi, found, some, some + 1, work, n_work, found, 1
            )
    # Rounding may have moved some eigenvalues across the boundary.
    if flagged(m, w, wi, flags, sort=sort) == 1:
        info = 1
    total = 0
    for i in range(m):
        total += flags[i]
    count[0] = total
    return info


@TABLE.register(Schur)
def schur(op: Schur, node: TensorNode, site: Site) -> None:
    """Call gees, and trsen if the eigenvalues are to be sorted."""
    is_complex_ = node.inputs[0].type.numpy_dtype.kind == "c"
    results = {"t": "columns", "z": "columns", **({} if op.sort is None else {"count": "rows"})}
    stack = Stack(op, node, site, {"a": Operand("columns", into="t")}, results)
    m = stack.lengths["m"]
    rooms = {"work": ("T", None), "w": ("T", m), "wi": ("T", 0 if is_complex_ else m), "found": ("int32", 2)}
    rooms["rwork"] = ("R", m if is_complex_ else 0)
    if op.sort is None:
        stack.run(schur_factored, rooms)
    else:
        stack.run(schur_sorted, {**rooms, "flags": ("int32", m)}, sort=op.sort)


@kernel(inline=True)
def ratio_comes_first(x: float, y: float, b: float, *, sort: str) -> bool:
    """Whether an eigenvalue (x + iy) / b comes first."""
    up = hypot(x, y)
    if b == 0:
        return up > 0 and sort == "ouc"
    if sort == "lhp":
        return x / b < 0
    if sort == "rhp":
        return x / b > 0
    return up / abs(b) < 1 if sort == "iuc" else up / abs(b) > 1


@kernel(inline=True)
def qz_factored(
    m: int, s: Pointer[T], ld_s: int, t: Pointer[T], ld_t: int, alpha: Pointer[Z], beta: Pointer[T], q: Pointer[T],
    ld_q: int, z: Pointer[T], ld_z: int, work: Pointer[T], n_work: int, reals: Pointer[R], imags: Pointer[R],
    flags: Pointer[int32], found: Pointer[int32], *, sort: str,
) -> int:  # fmt: skip
    """Replace two matrices by their Schur forms, ordered unless `sort` is none, and write the vectors."""
    if is_complex(T):
        info = lapack.gges(
            "V", "V", "N", None, m, s, ld_s, t, ld_t, found, alpha, beta, q, ld_q, z, ld_z, work, n_work, reals, 0
        )
    else:
        info = lapack.gges(
            "V", "V", "N", None, m, s, ld_s, t, ld_t, found, reals, imags, beta, q, ld_q, z, ld_z, work, n_work, 0
        )
    if n_work < 0:
        # To sort takes this much.
        if int(real(work[0])) < 4 * m + 16:
            work[0] = convert(T, 4 * m + 16)
        return info
    if sort != "none":
        for i in range(m):
            x = float(real(alpha[i]) if is_complex(T) else reals[i])
            y = float(imag(alpha[i]) if is_complex(T) else imags[i])
            flags[i] = int(ratio_comes_first(x, y, float(real(beta[i])), sort=sort))
        if info == 0 and m > 0:
            parts = local(real_of(T), 4)
            if is_complex(T):
                info = lapack.tgsen(
                    0, 1, 1, flags, m, s, ld_s, t, ld_t, alpha, beta, q, ld_q, z, ld_z, found, parts, parts + 1,
                    parts + 2, work, n_work, found + 1, 1,
                )  # fmt: skip
            else:
                info = lapack.tgsen(
                    0, 1, 1, flags, m, s, ld_s, t, ld_t, reals, imags, beta, q, ld_q, z, ld_z, found, parts,
                    parts + 1, parts + 2, work, n_work, found + 1, 1,
                )  # fmt: skip
    if not is_complex(T):
        for i in range(m):
            alpha[i] = compose(reals[i], imags[i])
    return info


@TABLE.register(QZ)
def qz(op: QZ, node: TensorNode, site: Site) -> None:
    """Call gges, and tgsen if the eigenvalues are to be sorted."""
    is_complex_ = node.inputs[0].type.numpy_dtype.kind == "c"
    operands = {"a": Operand("columns", into="s"), "b": Operand("columns", into="t")}
    results = {"s": "columns", "t": "columns", "alpha": "rows", "beta": "rows", "q": "columns", "z": "columns"}
    stack = Stack(op, node, site, operands, results)
    m = stack.lengths["m"]
    rooms = {"work": ("T", None), "reals": ("R", m * 8 if is_complex_ else m), "imags": ("R", 0 if is_complex_ else m)}
    stack.run(qz_factored, {**rooms, "flags": ("int32", m), "found": ("int32", 2)}, sort=op.sort or "none")


@kernel
def square_root(z: complex128) -> complex128:
    """Return the square root right of the imaginary axis; that of a negative number is above the real axis."""
    size = abs(z)
    if size == 0:
        return z
    large = sqrt((size + abs(real(z))) / 2)
    small = abs(imag(z)) / (2 * large)
    if real(z) >= 0:
        return compose(large, small if imag(z) >= 0 else -small)
    return compose(small, large if imag(z) >= 0 else -large)


@kernel(inline=True)
def columns_turned(x: Pointer[Z], ld: int, rows: int, c: Z, s: Z) -> int:
    """Turn two columns."""
    for i in range(rows):
        row = x + i * ld
        first = row[0]
        second = row[1]
        row[0] = first * c + second * conj(s)
        row[1] = second * conj(c) - first * conj(s)
    return OK


@kernel(inline=True)
def made_triangular(
    m: int, t: Pointer[T], ld_t: int, z: Pointer[T], ld_z: int, made: Pointer[Z], ld_made: int, turned: Pointer[Z],
    ld_turned: int,
) -> int:  # fmt: skip
    """Write one complex rotation for each 2 x 2 block, from the last to the first.

    It makes the element below the diagonal 0; the first eigenvalue of a pair is the one above the real axis. Rotations
    are computed in double precision.
    """
    for i in range(m):
        for j in range(m):
            made[i * ld_made + j] = convert(Z, t[i * ld_t + j])
            turned[i * ld_turned + j] = convert(Z, z[i * ld_z + j])
    for k in range(m - 1, 0, -1):
        above = made + (k - 1) * ld_made
        below = made + k * ld_made
        first = convert(complex128, above[k - 1])
        last = convert(complex128, below[k])
        beside = convert(complex128, below[k - 1])
        if abs(beside) > 2.220446049250313e-16 * (abs(first) + abs(last)):
            half = (first - last) * 0.5
            shift = half + square_root(half * half + convert(complex128, above[k]) * beside)
            length = hypot(abs(shift), abs(beside))
            c = convert(Z, shift / length)
            s = convert(Z, beside / length)
            for j in range(k - 1, m):
                x = above[j]
                y = below[j]
                above[j] = conj(c) * x + s * y
                below[j] = c * y - s * x
            columns_turned(made + (k - 1), ld_made, k + 1, c, s)
            columns_turned(turned + (k - 1), ld_turned, m, c, s)
        below[k - 1] = 0
    return OK


@TABLE.register(RealToComplexSchur)
def rsf2csf(op: RealToComplexSchur, node: TensorNode, site: Site) -> None:
    """Turn 2 x 2 blocks."""
    stack = Stack(op, node, site, {"t": Operand(), "z": Operand()}, {"made": "rows", "turned": "rows"})
    stack.run(made_triangular)
