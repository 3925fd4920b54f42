"""Records of diagonals."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import number, of_shape
from treadle.testing.sample import COMPOSED, Sample

F = "diagonals"
_MATRIX = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)
_CUBE = of_shape((2, 3, 4), broadcast=(1, 3, 1), empty=(2, 0, 4), long=(5, 7, 33), domain=WIDE)
_VECTOR = of_shape((4,), broadcast=(1,), empty=(0,), long=(17,), domain=WIDE)
_FEW = ("int64", "float64")


def _filled(x: Array, value: object, wrap: bool = False) -> Array:
    filled = np.array(x)
    np.fill_diagonal(filled, value, wrap)
    return filled


def _put(x: Array, n: int, m: int, k: int) -> Array:
    matrix = np.zeros((*x.shape[:-1], n, m), x.dtype)
    matrix[..., np.eye(n, m, k, dtype=bool)] = x
    return matrix


SAMPLES: tuple[Sample, ...] = (
    Sample("main", F, tt.diagonal, np.diagonal, (_MATRIX,), wrt=(0,)),
    Sample("above", F, lambda x: tt.diagonal(x, 2, 2, 0), lambda x: np.diagonal(x, 2, 2, 0), (_CUBE,), wrt=(0,)),
    Sample("below", F, lambda x: tt.diagonal(x, -1, -2, -1), lambda x: np.diagonal(x, -1, -2, -1), (_CUBE,), wrt=(0,)),
    Sample("matrix_of_vector", F, lambda v: tt.diag(v, 1), lambda v: np.diag(v, 1), (_VECTOR,), wrt=(0,)),
    Sample("matrix_of_vector_below", F, lambda v: tt.diag(v, -2), lambda v: np.diag(v, -2), (_VECTOR,), wrt=(0,)),
    Sample("matrices_of_vectors", F, lambda v: tt.AllocDiag(-1)(v, 5, 4), lambda v: _put(v, 5, 4, -1),
           (of_shape((2, 4), empty=(0, 4)),), wrt=(0,), refuses_empty=True),
    Sample("trace", F, tt.trace, np.trace, (of_shape((3, 4), empty=(0, 4), long=(11, 97)),), dtypes=("bool", *_FEW),
           wrt=(0,), kinds=COMPOSED),
    Sample("identity_like", F, tt.identity_like, lambda x: np.eye(x.shape[0], x.shape[1], dtype=x.dtype), (_MATRIX,),
           dtypes=_FEW, kinds=COMPOSED),
    Sample("fill_tall", F, lambda x: tt.fill_diagonal(x, 3), lambda x: _filled(x, 3), (of_shape((7, 3)),),
           dtypes=_FEW, wrt=(0,), kinds=COMPOSED),
    Sample("fill_wrapped", F, lambda x, y: tt.fill_diagonal(x, y, wrap=True), lambda x, y: _filled(x, y, True),
           (of_shape((7, 3)), of_shape((2,))), dtypes=_FEW, wrt=(0, 1), kinds=COMPOSED),
    Sample("fill_cube", F, lambda x: tt.fill_diagonal(x, -1), lambda x: _filled(x, -1), (of_shape((3, 3, 3)),),
           dtypes=_FEW, wrt=(0,), kinds=COMPOSED),
    Sample("fill_offset", F, tt.fill_diagonal_offset,
           lambda x, y, k: np.where(np.eye(x.shape[0], x.shape[1], int(k), dtype=bool), y, x),
           (_MATRIX, of_shape(()), number(-1)), dtypes=_FEW, wrt=(0, 1), kinds=COMPOSED),
)  # fmt: skip
