"""Records of functions of singular values and vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from treadle import tensor as tt
from treadle.testing.domain import DISTINCT, UNIT
from treadle.testing.expressions import apart
from treadle.testing.operands import of_shape
from treadle.testing.sample import Sample

_apart = partial(apart, "composed.linear_algebra_svd", variants=("plain",))
_STACK = of_shape((2, 4, 3), domain=UNIT)
_SQUARE = of_shape((2, 3, 3), domain=UNIT)
_TALL = of_shape((4, 3), domain=UNIT)
# Added to small numbers, they separate singular values, and the absolute values of eigenvalues.
_SPREAD, _SIGNED = np.diag([3.0, 9.0, 6.0, 12.0])[:, :3], np.diag([3.0, -9.0, 6.0])

# Of a polynomial with zeros of different absolute value, all real.
_COEFFICIENTS = np.poly([1.0, -4.0, 12.0]) * 3


def _both(name: str, expression: Any, *operands: Any, theirs: Any = np.linalg, **record: Any) -> Sample:
    return _apart(name, partial(expression, tt.linalg), partial(expression, theirs), *operands, **record)


def _norm(order: Any) -> Sample:
    return _both(f"norm_{order}", lambda xp, a: xp.norm(a + _SPREAD, order, axis=(2, 1), keepdims=True), _STACK)


def _hermitian(xp: Any, a: Any) -> tuple[Any, ...]:
    u, s, vh = xp.svd(a + _SIGNED, hermitian=True)
    return s, (u * s[..., None, :] ** 2) @ vh


def _projector(basis: Any) -> Any:
    return basis @ basis.conj().T


SAMPLES: tuple[Sample, ...] = (
    _both("trace", lambda xp, a: xp.trace(a, offset=-1), _STACK, wrt=(0,)),
    _both("diagonal", lambda xp, a: xp.diagonal(a, offset=1), _STACK, wrt=(0,)),
    *map(_norm, (2, -2, "nuc")),
    _both("svd_hermitian", _hermitian, _SQUARE, wrt=(0,)),
    _both("matrix_rank", lambda xp, a: xp.matrix_rank(a + _SPREAD, 5.0), _STACK),
    _both("cond", lambda xp, a: xp.cond(a + _SPREAD), _STACK, wrt=(0,)),
    _both("cond_of_rows", lambda xp, a: xp.cond(a + _SIGNED, np.inf), _SQUARE),
    _both("polar", lambda xp, a: xp.polar(a + _SPREAD, "left"), _TALL, theirs=scipy.linalg, wrt=(0,)),
    _both("pinvh", lambda xp, a: xp.pinvh(a + _SIGNED, atol=1e-3, lower=False), of_shape((3, 3), domain=UNIT),
          theirs=scipy.linalg),
    _apart("polyfit", lambda x, y: tt.polyfit(x, y, 2, cov=True), lambda x, y: np.polyfit(x, y, 2, cov=True),
           of_shape((5,), domain=DISTINCT), of_shape((5,), domain=UNIT)),
    _apart("roots", lambda p: abs(tt.roots(p + _COEFFICIENTS)), lambda p: abs(np.roots(p + _COEFFICIENTS)),
           of_shape((4,), domain=UNIT)),
    _apart("matrix_dot", lambda a, b: tt.matrix_dot(a, b.T, a, a[0]),
           lambda a, b: np.linalg.multi_dot([a, b.T, a, a[0]]),
           of_shape((2, 4)), of_shape((2, 4), static=(2, 4))),
    # The number of vectors depends on values.
    *(
        _both(name, expression, _TALL, theirs=scipy.linalg, optional=True)
        for name, expression in (
            ("orth", lambda xp, a: _projector(xp.orth(a + _SPREAD))),
            ("null_space", lambda xp, a: _projector(xp.null_space((a + _SPREAD).T))),
            ("subspace_angles", lambda xp, a: xp.subspace_angles(a + _SPREAD, np.eye(4, 2))),
        )
    ),
)  # fmt: skip
