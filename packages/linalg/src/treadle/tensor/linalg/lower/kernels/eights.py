"""Kernels for eight small matrices at once: an element is that of all eight, and what differs is selected by masks.

They return a bit for each matrix that has no result, from the lowest on.
"""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.language import OK, Number, Pointer, convert, epsilon, local, select, sqrt, which

T = TypeVar("T", bound=Number)
# Jacobi's method is the fastest one for symmetric matrices of up to this many rows.
JACOBI = 8
# A bit for each of eight matrices.
ALL = 255


@kernel(inline=True)
def cleared_beside_eights(a: Pointer[T], m: int, *, lower: bool) -> int:
    """Write zeros into the other triangle."""
    for i in range(m):
        for j in range(i + 1, m):
            a[i * m + j if lower else j * m + i] = convert(T, 0)
    return OK


@kernel(inline=True)
def eights_turned(a: Pointer[T], m: int) -> int:
    """Turn square matrices in place."""
    for i in range(m):
        for j in range(i):
            held = a[i * m + j]
            a[i * m + j] = a[j * m + i]
            a[j * m + i] = held
    return OK


@kernel(inline=True)
def eights_factored(m: int, a: Pointer[T], *, lower: bool) -> int:
    """Replace A by its Cholesky factor, row by row of a lower triangle."""
    by_row = m if lower else 1
    by_column = 1 if lower else m
    one = convert(T, 1)
    bad = one != one
    for j in range(m):
        own = a + j * by_row
        d = own[j * by_column]
        for k in range(j):
            d -= own[k * by_column] * own[k * by_column]
        bad = bad | ~(d > 0)
        d = sqrt(d)
        own[j * by_column] = d
        d = 1 / d
        for i in range(j + 1, m):
            other = a + i * by_row
            y = other[j * by_column]
            for k in range(j):
                y -= other[k * by_column] * own[k * by_column]
            other[j * by_column] = y * d
    return which(bad)


@kernel(inline=True)
def eights_substituted(
    m: int, n: int, a: Pointer[T], x: Pointer[T], *, lower: bool, transposed: bool, unit: bool
) -> int:
    """Solve A X = B or A^T X = B in place, for four columns of X at a time, so that A is read once for all four."""
    by_row = 1 if transposed else m
    by_column = m if transposed else 1
    left = 0
    while left + 4 <= n:
        for p in range(m):
            i = p if lower != transposed else m - 1 - p
            own = x + (i * n + left)
            y0 = own[0]
            y1 = own[1]
            y2 = own[2]
            y3 = own[3]
            for k in range(0 if lower != transposed else i + 1, i if lower != transposed else m):
                f = a[i * by_row + k * by_column]
                other = x + (k * n + left)
                y0 -= f * other[0]
                y1 -= f * other[1]
                y2 -= f * other[2]
                y3 -= f * other[3]
            pivot = a[i * (m + 1)]
            own[0] = y0 if unit else y0 / pivot
            own[1] = y1 if unit else y1 / pivot
            own[2] = y2 if unit else y2 / pivot
            own[3] = y3 if unit else y3 / pivot
        left += 4
    for j in range(left, n):
        for p in range(m):
            i = p if lower != transposed else m - 1 - p
            y = x[i * n + j]
            for k in range(0 if lower != transposed else i + 1, i if lower != transposed else m):
                y -= a[i * by_row + k * by_column] * x[k * n + j]
            x[i * n + j] = y if unit else y / a[i * (m + 1)]
    return OK


@kernel(inline=True)
def eights_solved(m: int, n: int, a: Pointer[T], x: Pointer[T], *, lower: bool) -> int:
    """Solve with the Cholesky factor A."""
    eights_substituted(m, n, a, x, lower=lower, transposed=not lower, unit=False)
    eights_substituted(m, n, a, x, lower=lower, transposed=lower, unit=False)
    return 0


@kernel(inline=True)
def eights_eliminated(m: int, a: Pointer[T], n: int, x: Pointer[T], sign: Pointer[T]) -> int:
    """Replace A by its LU factors, with partial pivoting, and X by L^-1 X; write the signs of the permutations.

    They go column by column, by sums of products as in OpenBLAS, so that most singular matrices get the same pivot of
    0. Returned are those with a pivot of 0.
    """
    zero = convert(T, 0)
    bad = zero != zero
    plus = convert(T, 1)
    for j in range(m):
        for i in range(1, m):
            y = zero
            for k in range(min(i, j)):
                y += a[i * m + k] * a[k * m + j]
            a[i * m + j] -= y
        best = abs(a[j * (m + 1)])
        row = convert(T, 0)
        step = convert(T, 0)
        for i in range(j + 1, m):
            size = abs(a[i * m + j])
            step += 1
            more = size > best
            best = select(more, size, best)
            row = select(more, step, row)
        bad = bad | (best == 0)
        step = convert(T, 0)
        for i in range(j + 1, m):
            step += 1
            here = row == step
            if m <= 6 or which(here) != 0:
                for k in range(m):
                    p = a[j * m + k]
                    q = a[i * m + k]
                    a[j * m + k] = select(here, q, p)
                    a[i * m + k] = select(here, p, q)
                for c in range(n):
                    p = x[j * n + c]
                    q = x[i * n + c]
                    x[j * n + c] = select(here, q, p)
                    x[i * n + c] = select(here, p, q)
                plus = select(here, -plus, plus)
        # As in LAPACK, multiply by the reciprocals of the pivots where they can be represented.
        pivot = a[j * (m + 1)]
        if which(best > (1e-37 if epsilon(T) > 1e-10 else 1e-307)) == ALL:
            inverse = 1 / pivot
            for i in range(j + 1, m):
                a[i * m + j] *= inverse
        else:
            for i in range(j + 1, m):
                a[i * m + j] = select(best == 0, 0 * best, a[i * m + j] / pivot)
    sign[0] = plus
    if n > 0:
        eights_substituted(m, n, a, x, lower=True, transposed=False, unit=True)
    return which(bad)


@kernel(inline=True)
def systems_of_eights_solved(m: int, n: int, a: Pointer[T], x: Pointer[T]) -> int:
    """Solve by elimination."""
    sign = local(T, 1)
    bad = eights_eliminated(m, a, n, x, sign)
    eights_substituted(m, n, a, x, lower=False, transposed=False, unit=False)
    return bad


@kernel(inline=True)
def positive_systems_of_eights_solved(m: int, n: int, a: Pointer[T], x: Pointer[T], *, lower: bool) -> int:
    """Solve by Cholesky factors."""
    bad = eights_factored(m, a, lower=lower)
    eights_solved(m, n, a, x, lower=lower)
    return bad


@kernel(inline=True)
def triangles_of_eights_solved(m: int, n: int, a: Pointer[T], x: Pointer[T], *, lower: bool, unit: bool) -> int:
    """Solve with triangles, which have no result where the diagonal has a 0."""
    one = convert(T, 1)
    bad = one != one
    if not unit:
        for i in range(m):
            bad = bad | (a[i * (m + 1)] == 0)
    eights_substituted(m, n, a, x, lower=lower, transposed=False, unit=unit)
    return which(bad)


@kernel(inline=True)
def eights_inverted(m: int, a: Pointer[T], x: Pointer[T]) -> int:
    """Solve for the identity."""
    for i in range(m * m):
        x[i] = convert(T, 0)
    for i in range(m):
        x[i * (m + 1)] = convert(T, 1)
    return systems_of_eights_solved(m, m, a, x)


@kernel(inline=True)
def pair_of_eights_turned(one: Pointer[T], other: Pointer[T], s: T, tau: T) -> int:
    """Turn two elements by an angle, of which the sine and the tangent of its half are given."""
    x = one[0]
    y = other[0]
    one[0] = x - s * (y + tau * x)
    other[0] = y + s * (x - tau * y)
    return OK


@kernel(inline=True)
def pair_of_eights_swapped(one: Pointer[T], other: Pointer[T], first: T, second: T) -> int:
    """Exchange two elements where the first of two other numbers is larger."""
    x = one[0]
    y = other[0]
    one[0] = select(first > second, y, x)
    other[0] = select(first > second, x, y)
    return OK


@kernel(inline=True)
def eigenvalues_of_eights_sorted(m: int, u: Pointer[T], q: Pointer[T], *, vectors: bool) -> int:
    """Sort the diagonal in ascending order, and the columns of eigenvectors with it."""
    for i in range(m):
        for j in range(i + 1, m):
            x = u[i * (JACOBI + 1)]
            y = u[j * (JACOBI + 1)]
            pair_of_eights_swapped(u + i * (JACOBI + 1), u + j * (JACOBI + 1), x, y)
            if vectors:
                for k in range(m):
                    pair_of_eights_swapped(q + (k * JACOBI + i), q + (k * JACOBI + j), x, y)
    return OK


@kernel(inline=True)
def eigenvalues_of_eights_begun(m: int, a: Pointer[T], u: Pointer[T], q: Pointer[T], *, lower: bool) -> T:
    """Copy the triangle to an upper one, write the identity to Q; return the largest element, or NaN."""
    zero = convert(T, 0)
    largest = zero
    sum = zero
    for i in range(m):
        for j in range(i + 1):
            x = a[i * m + j if lower else j * m + i]
            size = abs(x)
            sum += 0 * x
            largest = select(size > largest, size, largest)
            u[j * JACOBI + i] = x
            q[i * JACOBI + j] = zero
            q[j * JACOBI + i] = zero
        q[i * (JACOBI + 1)] = convert(T, 1)
    return largest + sum


@kernel(inline=True)
def eights_diagonalised(m: int, a: Pointer[T], w: Pointer[T], v: Pointer[T], *, vectors: bool, lower: bool) -> int:
    """Write the eigenvalues of symmetric A in ascending order, and the eigenvectors to V, which may be A itself.

    Jacobi's method, for one pair of rows after another (G. H. Golub and C. F. van Loan, Matrix Computations, section
    8.5), until all elements off the diagonal are rounding errors of the largest one.
    """
    u = local(T, JACOBI * JACOBI)
    q = local(T, JACOBI * JACOBI)
    zero = convert(T, 0)
    least = eigenvalues_of_eights_begun(m, a, u, q, lower=lower)
    bad = which(~(least == least))
    least = least * (epsilon(T) / 8)
    turns = 1
    for sweep in range(30):
        if turns == 0:
            break
        turns = 0
        for k in range(m):
            for h in range(k + 1, m):
                beside = u[k * JACOBI + h]
                here = abs(beside) > least
                if which(here) == 0:
                    continue
                turns = sweep + 1
                theta = (u[h * (JACOBI + 1)] - u[k * (JACOBI + 1)]) / (2 * beside)
                t = 1 / (abs(theta) + sqrt(theta * theta + 1))
                t = select(0 * theta > theta, -t, t)
                t = select(here, t, zero)
                c = 1 / sqrt(t * t + 1)
                s = t * c
                tau = s / (1 + c)
                u[k * (JACOBI + 1)] -= t * beside
                u[h * (JACOBI + 1)] += t * beside
                u[k * JACOBI + h] = select(here, zero, beside)
                for i in range(m):
                    if i != k and i != h:
                        one = i * JACOBI + k if i < k else k * JACOBI + i
                        other = i * JACOBI + h if i < h else h * JACOBI + i
                        pair_of_eights_turned(u + one, u + other, s, tau)
                    if vectors:
                        pair_of_eights_turned(q + (i * JACOBI + k), q + (i * JACOBI + h), s, tau)
    eigenvalues_of_eights_sorted(m, u, q, vectors=vectors)
    for i in range(m):
        w[i] = u[i * (JACOBI + 1)]
        if vectors:
            for j in range(m):
                v[i * m + j] = q[i * JACOBI + j]
    return bad
