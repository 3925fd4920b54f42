"""Exponentials of matrices in simpler ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.arrangement.diagonals import diagonal
from treadle.tensor.elementwise.arithmetic import abs_, maximum, minimum
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, gt, lt
from treadle.tensor.elementwise.exponential import exp, exp2, log2
from treadle.tensor.elementwise.rounding import ceil
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.matrix_op import REAL_OF
from treadle.tensor.loops.plain import fori_loop, while_loop
from treadle.tensor.reductions.reduction import all_, max_, sum_
from treadle.tensor.shapes.broadcasting import ones_like
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorVariable

# Coefficients of the Pade approximant of degree 13, by Higham (2005).
_PADE = [
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
]  # fmt: skip
# Up to which size of a matrix it is exact, and its first neglected coefficient (Al-Mohy and Higham 2009).
_LIMIT, _REMAINDER = 4.25, 1 / 113250775606021113483283660800000000


def scaled_and_squared(a: TensorVariable) -> TensorVariable:
    """Return the exponentials of finite matrices of a stack (Higham 2005; Al-Mohy and Higham 2009)."""
    real = REAL_OF[a.dtype]
    one = eye(shape_i(a, -1), dtype=a.dtype)
    # A matrix of norm 1 at most, and its powers, which then do not overflow.
    k = maximum(ceil(log2(_norm(a))), np.zeros((), real))
    b = a * exp2(-k)
    b2 = b @ b
    b4 = b2 @ b2
    b6 = b2 @ b4
    by6, by8, by10 = (_norm(x) ** np.array(1 / n, real) for x, n in ((b6, 6), (b4 @ b4, 8), (b4 @ b6, 10)))
    size = minimum(maximum(by6, by8), maximum(by8, by10))
    s = maximum(ceil(log2(size / np.array(_LIMIT, real)) + k), np.zeros((), real))
    s = s + _further(abs_(b), k - s)
    scale = exp2(k - s)
    x, x2, x4, x6 = b * scale, b2 * scale**2, b4 * scale**4, b6 * scale**6
    c = [np.array(coefficient / _PADE[0], real) for coefficient in _PADE]
    odd = x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2) + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one
    odd = x @ odd
    even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2) + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one

    def square(state: tuple[TensorVariable, TensorVariable]) -> tuple[TensorVariable, TensorVariable]:
        done, y = state
        return done + np.ones((), real), switch(lt(done, s), y @ y, y)

    most = max_(s, initial=0)
    start = constant(0, dtype=real), Solve(check_finite=False)(even - odd, even + odd)
    result = while_loop(lambda state: lt(state[0], most), square, start)[1]
    # Squares of diagonal matrices that overflow have NaN off the diagonal.
    of_diagonal = switch(cast(one, "bool"), exp(diagonal(a, 0, -2, -1))[..., None], np.zeros((), a.dtype))
    is_diagonal = all_(eq(a, a * one), axis=(-2, -1), keepdims=True)
    exponential: TensorVariable = switch(is_diagonal, of_diagonal, result)
    return exponential


def _norm(x: TensorVariable) -> TensorVariable:
    """Return the largest sum of absolute values in a column."""
    return max_(sum_(abs_(x), axis=-2, keepdims=True), axis=-1, keepdims=True, initial=0)


def _further(b: TensorVariable, exponent: TensorVariable) -> TensorVariable:
    """Return how many more times to halve the matrix b * 2**exponent until the first neglected term is small."""
    # Powers of a matrix that is far from normal decay faster than those of its norm: compare the norm of a power.
    row = ones_like(b[..., :1, :])
    power = fori_loop(0, 27, lambda _, y: y @ b, row)
    norm = _norm(b)
    total = max_(power, axis=-1, keepdims=True, initial=0) / switch(gt(norm, 0), norm, np.ones((), norm.dtype))
    bound = np.array(_REMAINDER / (np.finfo(b.dtype).eps / 2), b.dtype)
    needed = log2(total * bound) / np.array(26, b.dtype) + exponent
    return switch(gt(total, 0), maximum(ceil(needed), np.zeros((), b.dtype)), np.zeros((), b.dtype))
