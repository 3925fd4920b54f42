"""Records of functions of numbers: statistics, polynomials, products, composed special functions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import special, stats

from treadle import tensor as tt
from treadle.testing.expressions import BOTH, CUBE, MATRIX, POINTS, SCALAR, VECTOR, apart, both
from treadle.testing.operands import of_shape
from treadle.testing.sample import Sample

_both = partial(both, "composed.numbers")
_apart = partial(apart, "composed.numbers")
_SQUARE = of_shape((2, 4, 4))
_THREE = of_shape((4, 3), static=(None, 3))
_FOUR = of_shape((4,), static=(4,))
_HOLED = of_shape((3, 4))


def _with_hole(xp: Any, x: Any) -> Any:
    """Replace the smallest element by NaN."""
    return xp.where(xp.equal(x, xp.min(x)), np.nan, x)


SAMPLES: tuple[Sample, ...] = (
    # Elementwise.
    _both("divmod", lambda _, x, y: divmod(x, y), MATRIX, MATRIX, dtypes=BOTH),
    _apart("largest", tt.largest, np.maximum, MATRIX, MATRIX, wrt=(0, 1)),
    _apart("smallest", tt.smallest, np.minimum, MATRIX, MATRIX, wrt=(0, 1)),
    _apart("variadic", lambda x, y: tt.variadic_mul(x, tt.variadic_add(x, y, x)), lambda x, y: x * (x + y + x),
           MATRIX, MATRIX, wrt=(0, 1)),
    _both("where", lambda xp, x, y: xp.where(x > 1.5, x, y), MATRIX, MATRIX, dtypes=BOTH, wrt=(0, 1)),
    _apart("iround", tt.iround, lambda x: np.round(x).astype("int64"), MATRIX),
    _both("isreal", lambda xp, x: xp.isreal(x), MATRIX),
    _apart("real_if_close", tt.real_if_close, lambda x: x, MATRIX, wrt=(0,)),
    _both("array_equal", lambda xp, x, y: xp.array_equal(x, y), MATRIX, MATRIX),
    _both("array_equiv", lambda xp, x: xp.array_equiv(x, x[:1]), MATRIX, variants=("plain",)),
    _both("unwrap", lambda xp, x: xp.unwrap(x * 7, axis=0), MATRIX, wrt=(0,), variants=("plain",)),
    _apart("factorial", tt.factorial, special.factorial, MATRIX, wrt=(0,)),
    _apart("loggamma", tt.loggamma, special.loggamma, MATRIX, wrt=(0,)),
    _apart("multigammaln", lambda x: tt.multigammaln(x + 2, 3), lambda x: special.multigammaln(x + 2, 3), VECTOR,
           wrt=(0,), variants=("plain",)),
    _apart("chi2sf", tt.chi2sf, stats.chi2.sf, MATRIX, MATRIX, wrt=(0,)),
    _apart("gammal", tt.gammal, lambda k, x: special.gammainc(k, x) * special.gamma(k), MATRIX, MATRIX, wrt=(1,)),
    _apart("gammau", tt.gammau, lambda k, x: special.gammaincc(k, x) * special.gamma(k), MATRIX, MATRIX, wrt=(1,)),
    *(
        _apart(name, getattr(tt, name), getattr(special, name), SCALAR, MATRIX, wrt=(1,))
        for name in ("ive", "kv", "yv", "yve")
    ),
    *(_apart(name, getattr(tt, name), getattr(special, name), MATRIX, wrt=(0,)) for name in ("k0e", "k1")),
    *(
        _apart(name, partial(getattr(tt, name), 2), partial(getattr(special, name), 2), MATRIX, wrt=(0,))
        for name in ("kn", "yn")
    ),
    # Reductions.
    _apart("max_and_argmax", lambda x: tt.max_and_argmax(x, axis=1), lambda x: (x.max(1), x.argmax(1)), MATRIX),
    _both("nansum", lambda xp, x: xp.nansum(_with_hole(xp, x), axis=0), _HOLED, wrt=(0,), variants=("plain",)),
    _both("nanprod", lambda xp, x: xp.nanprod(_with_hole(xp, x), axis=1), _HOLED, wrt=(0,), variants=("plain",)),
    _both("nanmin", lambda xp, x: xp.nanmin(_with_hole(xp, x), axis=1), _HOLED, wrt=(0,), variants=("plain",)),
    _both("nanstd", lambda xp, x: xp.nanstd(_with_hole(xp, x), axis=1), _HOLED, wrt=(0,), variants=("plain",)),
    _both("nanargmax", lambda xp, x: xp.nanargmax(_with_hole(xp, x), axis=1), _HOLED, variants=("plain",)),
    _both("nanargmin", lambda xp, x: xp.nanargmin(_with_hole(xp, x)), _HOLED, variants=("plain",)),
    _both("nancumprod", lambda xp, x: xp.nancumprod(_with_hole(xp, x), axis=1), _HOLED, wrt=(0,), variants=("plain",)),
    _both("nanmedian", lambda xp, x: xp.nanmedian(_with_hole(xp, x), axis=1), _HOLED, wrt=(0,), variants=("plain",)),
    _both("nanpercentile", lambda xp, x: xp.nanpercentile(_with_hole(xp, x), 30, axis=0), _HOLED, wrt=(0,),
          variants=("plain",)),
    _both("cumulative_prod", lambda xp, x: xp.cumulative_prod(x, axis=1, include_initial=True), MATRIX, wrt=(0,)),
    _apart("matrix_norm", lambda x: tt.matrix_norm(x, ord=1), lambda x: np.linalg.norm(x, 1, (-2, -1)), CUBE,
           wrt=(0,), variants=("plain",)),
    _apart("vector_norm", lambda x: tt.vector_norm(x, axis=1, ord=3), lambda x: np.linalg.norm(x, 3, 1), MATRIX,
           wrt=(0,)),
    _apart("trim_mean", lambda x: tt.trim_mean(x, 0.25, axis=1), lambda x: stats.trim_mean(x, 0.25, axis=1), MATRIX,
           wrt=(0,), variants=("plain",)),
    _apart("mode", lambda x: tuple(tt.mode(x % 3, axis=1)), lambda x: tuple(stats.mode(x % 3, axis=1)), MATRIX,
           dtypes=("int64",), variants=("plain",)),
    # Differences and sums.
    _both("ediff1d", lambda xp, x: xp.ediff1d(x, to_end=[1.0, 2.0], to_begin=0.5), VECTOR, wrt=(0,)),
    _apart("gradient", lambda x: tuple(tt.gradient(x, 0.5)), lambda x: tuple(np.gradient(x, 0.5)),
           MATRIX, wrt=(0,), variants=("plain",)),
    _apart("cumulative_trapezoid", lambda x: tt.cumulative_trapezoid(x, axis=1),
           lambda x: np.cumsum((x[:, 1:] + x[:, :-1]) / 2, axis=1), MATRIX, wrt=(0,)),
    _both("interp", lambda xp, x, y: xp.interp(x, [0.0, 1.0, 3.0], [2.0, -1.0, 4.0]) + y * 0, POINTS, SCALAR, wrt=(0,)),
    _apart("interpolate1d", lambda x: tt.interpolate1d([0.0, 1.0, 3.0], [2.0, -1.0, 4.0])(x + 0),
           lambda x: np.interp(x, [0.0, 1.0, 3.0], [2.0, -1.0, 4.0]), POINTS, wrt=(0,), variants=("plain",)),
    # Polynomials.
    _both("poly", lambda xp, x: xp.poly(x), _FOUR, wrt=(0,), variants=("plain",)),
    _both("polyadd", lambda xp, x, y: xp.polyadd(x, y[:2]), _FOUR, _FOUR, wrt=(0, 1), variants=("plain",)),
    _both("polysub", lambda xp, x, y: xp.polysub(x[:2], y), _FOUR, _FOUR, wrt=(0, 1), variants=("plain",)),
    _both("polymul", lambda xp, x, y: xp.polymul(x, y[:3]), _FOUR, _FOUR, wrt=(0, 1), variants=("plain",)),
    _both("polydiv", lambda xp, x, y: xp.polydiv(x, y[:2]), _FOUR, _FOUR, wrt=(0, 1), variants=("plain",)),
    _both("polyder", lambda xp, x: xp.polyder(x, 2), _FOUR, wrt=(0,), variants=("plain",)),
    _both("polyint", lambda xp, x: xp.polyint(x), _FOUR, wrt=(0,), variants=("plain",)),
    _both("polyval", lambda xp, x, y: xp.polyval(x, y), _FOUR, MATRIX, wrt=(0, 1), variants=("plain",)),
    # Products.
    _both("inner", lambda xp, x, y: xp.inner(x, y), MATRIX, MATRIX, wrt=(0, 1)),
    _both("vdot", lambda xp, x, y: xp.vdot(x, y), MATRIX, MATRIX, wrt=(0, 1)),
    _apart("dense_dot", tt.dense_dot, np.dot, MATRIX, of_shape((4, 2)), wrt=(0, 1)),
    _both("matvec", lambda xp, x, y: xp.matvec(x, y), CUBE, of_shape((4,)), wrt=(0, 1)),
    _apart("multi_dot", lambda x, y: tt.multi_dot([x, y, x]), lambda x, y: x @ y @ x, MATRIX, of_shape((4, 3)),
           wrt=(0, 1), variants=("plain",)),
    _apart("batched_tensordot", lambda x, y: tt.batched_tensordot(x, y, axes=[[2], [1]]),
           lambda x, y: np.einsum("bij,bjk->bik", x, y), of_shape((2, 3, 4)), _SQUARE, wrt=(0, 1),
           variants=("plain",)),
    _both("cross", lambda xp, x, y: xp.cross(x, y), _THREE, _THREE, wrt=(0, 1), variants=("plain",)),
)  # fmt: skip
