"""Records of functions whose results' lengths depend on values, which compilers for known shapes refuse."""

from __future__ import annotations

from functools import partial

import numpy as np

from treadle import tensor as tt
from treadle.testing.expressions import MATRIX, POINTS, apart, both
from treadle.testing.operands import positions
from treadle.testing.sample import Sample

_both = partial(both, "composed.sets", variants=("plain",))
_apart = partial(apart, "composed.sets", variants=("plain",))
_MANY, _OTHERS = positions(3, 1, 2, 1, 3, 3), positions(1, 5, 3)
_INT = ("int64",)

SAMPLES: tuple[Sample, ...] = (
    _both("argwhere", lambda xp, x: xp.argwhere(x > 1.5), MATRIX, optional=True),
    _both("compress", lambda xp, x: xp.compress([True, False, True], x, axis=0), MATRIX, wrt=(0,), optional=True),
    _both("extract", lambda xp, x: xp.extract(x > 1.5, x), MATRIX, wrt=(0,), optional=True),
    _apart("nonzero_values", lambda x: tt.nonzero_values(x * (x > 1.5)), lambda x: x[x > 1.5], MATRIX, optional=True),
    _both("intersect1d", lambda xp, x, y: xp.intersect1d(x, y), _MANY, _OTHERS, dtypes=_INT, optional=True),
    _both("setdiff1d", lambda xp, x, y: xp.setdiff1d(x, y), _MANY, _OTHERS, dtypes=_INT, optional=True),
    _both("unique_all", lambda xp, x: tuple(xp.unique_all(x)), _MANY, dtypes=_INT, optional=True),
    _both("unique_counts", lambda xp, x: tuple(xp.unique_counts(x)), _MANY, dtypes=_INT, optional=True),
    _both("unique_inverse", lambda xp, x: tuple(xp.unique_inverse(x)), _MANY, dtypes=_INT, optional=True),
    _both("unique_values", lambda xp, x: xp.sort(xp.unique_values(x)), _MANY, dtypes=_INT, optional=True),
    _both("histogram_bin_edges", lambda xp, x: xp.histogram_bin_edges(x, 4), POINTS),
    _both("histogramdd", lambda xp, x, y: xp.histogramdd((x, y), bins=(2, 3))[0], POINTS, POINTS),
    _apart("inverse_permutation", tt.inverse_permutation, np.argsort, positions(2, 0, 3, 1), dtypes=_INT),
    _both("ix_", lambda xp, x, y: x[xp.ix_([0, 2], y)], MATRIX, positions(3, 1), wrt=(0,)),
    _apart("argpartition", lambda x: tt.take_along_axis(x, tt.argpartition(x, 1, axis=1), 1)[:, 1],
           lambda x: np.sort(x, axis=1)[:, 1], MATRIX),
    _apart("partition", lambda x: tt.partition(x, 2, axis=1)[:, 2], lambda x: np.sort(x, axis=1)[:, 2], MATRIX,
           wrt=(0,)),
    _apart("sort_complex", tt.sort_complex, np.sort_complex, POINTS, optional=True),
)  # fmt: skip
