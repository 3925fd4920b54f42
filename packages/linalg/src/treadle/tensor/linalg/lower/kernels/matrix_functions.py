"""Functions of matrices: products by BLAS, systems by LAPACK."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.blocks import cleared, copied
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    blas,
    ceil,
    compose,
    convert,
    cos,
    epsilon,
    exp,
    float64,
    imag,
    independent,
    int32,
    is_complex,
    lapack,
    local,
    log2,
    power,
    real,
    real_of,
    remainder,
    sin,
    sqrt,
)
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.functions.matrix_sign import MatrixSign
from treadle.tensor.linalg.lower.kernels.linear_systems import inverted
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)


@kernel(inline=True)
def size_of(x: T) -> float:
    """Return the absolute value; of a complex number |re| + |im|, which is larger by a factor of 1.4 at most."""
    size = float(abs(real(x)))
    if is_complex(T):
        size += float(abs(imag(x)))
    return size


@kernel
def largest_sum(n: int, x: Pointer[T]) -> float:
    """Return the 1-norm of a matrix by columns."""
    most = 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            total += size_of(x[j * n + i])
        if not total <= most:
            most = total
    return most


@kernel
def largest_sum_of_power(n: int, x: Pointer[T], sums: Pointer[float64]) -> float:
    """Return the 1-norm of |x|**27."""
    for i in range(n):
        sums[i] = 1.0
    for _ in range(27):
        for j in range(n):
            total = 0.0
            for i in range(n):
                total += sums[i] * size_of(x[j * n + i])
            sums[n + j] = total
        copied(sums + n, sums, n)
    most = 0.0
    for i in range(n):
        if sums[i] > most:
            most = sums[i]
    return most


@kernel(inline=True)
def scaled(count: int, x: Pointer[T], scale: R) -> int:
    """Multiply numbers by a real one."""
    for i in independent(range(count)):
        x[i] = x[i] * scale
    return OK


@kernel(inline=True)
def multiplied(n: int, a: Pointer[T], b: Pointer[T], o: Pointer[T], kept: int) -> int:
    """Multiply matrices by columns; the product is added to the result if it is `kept`."""
    blas.gemm("N", "N", n, n, n, convert(T, 1), a, n, b, n, convert(T, kept), o, n)
    return OK


@kernel(inline=True)
def exponential(x: T) -> T:
    """Return exp of a number."""
    if is_complex(T):
        size = exp(real(x))
        if imag(x) == 0:
            return convert(T, size)
        return compose(size * cos(imag(x)), size * sin(imag(x)))
    return exp(x)


@kernel
def approximant(which: int, c: Pointer[R]) -> int:
    """Write the coefficients of a Pade approximant of exp by power, relative to the first."""
    degree = 13 if which == 4 else 3 + 2 * which
    ratio = 1.0
    for k in range(14):
        c[k] = convert(R, ratio) if k <= degree else 0
        ratio = ratio * float(degree - k) / float((2 * degree - k) * (k + 1)) if k < degree else 0.0
    return OK


@kernel
def powers_scaled(
    n: int, size: float, x: Pointer[T], x2: Pointer[T], x4: Pointer[T], x6: Pointer[T], u: Pointer[T], w: Pointer[T],
    sums: Pointer[float64],
) -> int:  # fmt: skip
    """Scale a matrix of a norm, and write its powers; return how often it has been halved."""
    # Scale to a norm of at most 1 first, so that powers do not overflow.
    exponent = ceil(log2(size))
    count = n * n
    scaled(count, x, convert(real_of(T), power(2.0, -exponent)))
    multiplied(n, x, x, x2, 0)
    multiplied(n, x2, x2, x4, 0)
    multiplied(n, x2, x4, x6, 0)
    multiplied(n, x4, x4, u, 0)
    multiplied(n, x4, x6, w, 0)
    by6 = power(largest_sum(n, x6), 1.0 / 6)
    by8 = power(largest_sum(n, u), 1.0 / 8)
    by10 = power(largest_sum(n, w), 1.0 / 10)
    least = by8
    if by8 < by6 <= by10:
        least = by6
    elif by8 < by10 < by6:
        least = by10
    halvings = 0.0
    if least > 0:
        needed = ceil(log2(least / 4.25) + exponent)
        if needed > 0:
            halvings = needed
    # More halvings where the first neglected term, which the norm of |x|**27 bounds, would not be small enough.
    most = largest_sum_of_power(n, x, sums)
    if most > 0:
        term = most / largest_sum(n, x) / 113250775606021113483283660800000000.0 / (epsilon(T) / 2)
        more = ceil(log2(term) / 26 + (exponent - halvings))
        if more > 0:
            halvings += more
    scale = convert(real_of(T), power(2.0, exponent - halvings))
    square = scale * scale
    scaled(count, x, scale)
    scaled(count, x2, square)
    scaled(count, x4, square * square)
    scaled(count, x6, square * square * square)
    return int(halvings)


@kernel
def coefficients_used(
    n: int, which: int, x2: Pointer[T], x4: Pointer[T], x6: Pointer[T], u: Pointer[T], w: Pointer[T], e: Pointer[T],
) -> int:  # fmt: skip
    """Write the even terms of an approximant to e, the odd ones divided by x to w."""
    count = n * n
    c = local(real_of(T), 14)
    approximant(which, c)
    for i in range(count):
        one = convert(real_of(T), int(remainder(i, n + 1) == 0))
        odd = x2[i] * c[3] + convert(T, c[1] * one)
        even = x2[i] * c[2] + convert(T, c[0] * one)
        if which > 0:
            odd += x4[i] * c[5]
            even += x4[i] * c[4]
        if which > 1:
            odd += x6[i] * c[7]
            even += x6[i] * c[6]
        w[i] = odd
        e[i] = even
    if which == 3:
        multiplied(n, x2, x6, u, 0)
        for i in independent(range(count)):
            w[i] += u[i] * c[9]
            e[i] += u[i] * c[8]
    if which == 4:
        for i in independent(range(count)):
            u[i] = x6[i] * c[13] + x4[i] * c[11] + x2[i] * c[9]
        multiplied(n, x6, u, w, 1)
        for i in independent(range(count)):
            u[i] = x6[i] * c[12] + x4[i] * c[10] + x2[i] * c[8]
        multiplied(n, x6, u, e, 1)
    return OK


@kernel
def diagonal_exponentiated(n: int, a: Pointer[T], ld_a: int, x: Pointer[T], e: Pointer[T]) -> bool:
    """Copy a matrix to x, and write its exponential if it is diagonal; return whether it is."""
    for i in range(n):
        copied(a + i * ld_a, x + i * n, n)
    for i in range(n):
        for j in range(n):
            if i != j and x[i * n + j] != 0:
                return False
    cleared(e, n * n)
    for i in range(n):
        e[i * (n + 1)] = exponential(x[i * (n + 1)])
    return True


@kernel(inline=True)
def exponentiated(
    n: int, a: Pointer[T], ld_a: int, e: Pointer[T], x: Pointer[T], x2: Pointer[T], x4: Pointer[T], x6: Pointer[T],
    w: Pointer[T], u: Pointer[T], sums: Pointer[float64], pivots: Pointer[int32],
) -> int:  # fmt: skip
    """Scale and square (Higham 2005; Al-Mohy and Higham 2009).

    Read by columns, a matrix in C order is its transpose, and f(A') = f(A)'.
    """
    count = n * n
    if diagonal_exponentiated(n, a, ld_a, x, e):
        return OK
    size = largest_sum(n, x)
    # The largest norms for each approximant.
    which = 0
    if not size <= 1.495585217958292e-2:
        which = 1
    if not size <= 2.539398330063230e-1:
        which = 2
    if not size <= 9.504178996162932e-1:
        which = 3
    if not size <= 2.097847961257068:
        which = 4
    halvings = 0
    if which == 4:
        halvings = powers_scaled(n, size, x, x2, x4, x6, u, w, sums)
    else:
        multiplied(n, x, x, x2, 0)
        if which > 0:
            multiplied(n, x2, x2, x4, 0)
        if which > 1:
            multiplied(n, x2, x4, x6, 0)
    coefficients_used(n, which, x2, x4, x6, u, w, e)
    multiplied(n, x, w, u, 0)
    for i in independent(range(count)):
        odd = u[i]
        u[i] = e[i] - odd
        e[i] = e[i] + odd
    info = lapack.gesv(n, n, u, n, pivots, e, n)
    for _ in range(halvings):
        multiplied(n, e, e, u, 0)
        copied(u, e, count)
    return info


@TABLE.register(Expm)
def expm(op: Expm, node: TensorNode, site: Site) -> None:
    """Scale and square."""
    stack = Stack(op, node, site, {"a": Operand()}, {"e": "rows"})
    n = stack.lengths["n"]
    rooms = dict.fromkeys(("x", "x2", "x4", "x6", "w", "u"), ("T", n * n))
    stack.run(exponentiated, {**rooms, "sums": ("float64", n * 2), "pivots": ("int32", n)})


@kernel
def sum_of_squares(count: int, x: Pointer[T]) -> float:
    """Return the sum of the squares of absolute values."""
    total = 0.0
    for i in range(count):
        re = float(real(x[i]))
        total += re * re
        if is_complex(T):
            im = float(imag(x[i]))
            total += im * im
    return total


@kernel(inline=True)
def sign_found(
    m: int, z: Pointer[T], inverse: Pointer[T], pivots: Pointer[int32], work: Pointer[T], n_work: int, *, steps: int,
) -> int:  # fmt: skip
    """Iterate (Higham 2008, chapter 5), once more when it is close; the sign of a transpose is that of the sign."""
    if n_work < 0:
        return inverted(m, inverse, max(m, 1), pivots, work, -1)
    count = m * m
    close = m == 0
    done = close
    step = 0
    while step < steps and not done:
        copied(z, inverse, count)
        if inverted(m, inverse, m, pivots, work, n_work) != 0:
            return 1
        ratio = sqrt(sum_of_squares(count, inverse)) / sqrt(sum_of_squares(count, z))
        c = convert(real_of(T), sqrt(ratio) / 2)
        d = 1 / (4 * c)
        for i in independent(range(count)):
            new = z[i] * c + inverse[i] * d
            inverse[i] = new - z[i]
            z[i] = new
        size = sum_of_squares(count, z)
        if not size < math.inf:
            return 1
        done = close
        close = sum_of_squares(count, inverse) <= epsilon(T) * size
        step += 1
    return OK if done else 1


@TABLE.register(MatrixSign)
def matrix_sign(op: MatrixSign, node: TensorNode, site: Site) -> None:
    """Iterate in the memory of the result."""
    stack = Stack(op, node, site, {"a": Operand(into="z")}, {"z": "rows"})
    m = stack.lengths["m"]
    rooms = {"inverse": ("T", m * m), "work": ("T", None), "pivots": ("int32", m)}
    stack.run(sign_found, rooms, steps=op.steps)
