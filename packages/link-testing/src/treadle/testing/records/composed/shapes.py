"""Records of functions that make, rearrange, join and split tensors."""

from __future__ import annotations

from functools import partial

import numpy as np

from treadle import tensor as tt
from treadle.testing.expressions import BOTH, COUNT, CUBE, MATRIX, POINTS, SCALAR, VECTOR, apart, both
from treadle.testing.sample import Sample

_both = partial(both, "composed.shapes")
_apart = partial(apart, "composed.shapes")

SAMPLES: tuple[Sample, ...] = (
    # Creation.
    _both("tri", lambda xp, n: xp.tri(n, 4, 1), COUNT, dtypes=("int64",)),
    _both("tril_indices", lambda xp, n: xp.tril_indices(n, -1, 5), COUNT, dtypes=("int64",)),
    _both("triu_indices", lambda xp, n: xp.triu_indices(n, 1, 5), COUNT, dtypes=("int64",)),
    _both("tril_indices_from", lambda xp, x: xp.tril_indices_from(x, 1), MATRIX),
    _both("triu_indices_from", lambda xp, x: xp.triu_indices_from(x), MATRIX),
    _both("triu", lambda xp, x: xp.triu(x, -1), CUBE, dtypes=BOTH, wrt=(0,)),
    _both("diag_indices", lambda xp, n: xp.diag_indices(n, 3), COUNT, dtypes=("int64",)),
    _both("diag_indices_from", lambda xp, x: xp.diag_indices_from(x[:, :3]), MATRIX, variants=("plain",)),
    _both("indices", lambda xp, n: xp.indices((n, 2)), COUNT, dtypes=("int64",)),
    _both("mask_indices", lambda xp: xp.mask_indices(3, xp.triu), optional=True),
    _both("full", lambda xp, x, n: xp.full((2, n), x), SCALAR, COUNT, wrt=(0,)),
    _both("ones", lambda xp, n: xp.ones((n, 2), dtype="int16"), COUNT, dtypes=("int64",)),
    _both("geomspace", lambda xp, x: xp.geomspace(x, 50.0, 6), SCALAR, wrt=(0,)),
    _both("logspace", lambda xp, x: xp.logspace(x, 2.0, 5, base=3.0), SCALAR, wrt=(0,)),
    _apart("empty", lambda n: tt.empty((n, 2)).shape, lambda n: np.array([int(n), 2]), COUNT, dtypes=("int64",)),
    _apart("empty_like", lambda x: tt.empty_like(x).shape, lambda x: np.array(x.shape), MATRIX),
    # Rearrangement.
    _both("diagflat", lambda xp, x: xp.diagflat(x, 1), MATRIX, wrt=(0,)),
    _both("flip", lambda xp, x: xp.flip(x, (0, 2)), CUBE, dtypes=BOTH, wrt=(0,)),
    _both("fliplr", lambda xp, x: xp.fliplr(x), MATRIX, wrt=(0,)),
    _both("flipud", lambda xp, x: xp.flipud(x), MATRIX, wrt=(0,)),
    _both("rot90", lambda xp, x: xp.rot90(x, 3, (1, 2)), CUBE, wrt=(0,)),
    _both("rollaxis", lambda xp, x: xp.rollaxis(x, 2), CUBE, wrt=(0,)),
    _both("resize", lambda xp, x: xp.resize(x, (3, 5)), MATRIX, wrt=(0,), variants=("plain",)),
    _both("ravel", lambda xp, x: xp.ravel(x), CUBE, wrt=(0,)),
    _both("swapaxes", lambda xp, x: xp.swapaxes(x, 0, -1), CUBE, wrt=(0,)),
    _both("matrix_transpose", lambda xp, x: xp.matrix_transpose(x), CUBE, wrt=(0,)),
    _both("expand_dims", lambda xp, x: xp.expand_dims(x, (0, -1)), MATRIX, wrt=(0,)),
    _both("atleast_1d", lambda xp, x, y: xp.atleast_1d(x, y), SCALAR, MATRIX, wrt=(0, 1)),
    _both("atleast_2d", lambda xp, x: xp.atleast_2d(x), VECTOR, wrt=(0,)),
    _both("atleast_3d", lambda xp, x: xp.atleast_3d(x), MATRIX, wrt=(0,)),
    _apart("atleast_nd", lambda x: tt.atleast_Nd(x, n=4, left=False), lambda x: x[..., None, None], MATRIX, wrt=(0,)),
    _apart("shape_padleft", lambda x: tt.shape_padleft(x, 2), lambda x: x[None, None], MATRIX, wrt=(0,)),
    _apart("shape_padright", lambda x: tt.shape_padright(x, 2), lambda x: x[..., None, None], MATRIX, wrt=(0,)),
    _apart("shape_padaxis", lambda x: tt.shape_padaxis(x, 1), lambda x: x[:, None], MATRIX, wrt=(0,)),
    _apart("extract_diag", tt.extract_diag, np.diagonal, MATRIX, wrt=(0,)),
    _both("pad", lambda xp, x: xp.pad(x, ((1, 2), (0, 3)), constant_values=7), MATRIX, dtypes=BOTH, wrt=(0,)),
    *(
        _both(f"pad_{mode}", lambda xp, x, mode=mode: xp.pad(x, ((2, 1), (0, 3)), mode), MATRIX, wrt=(0,),
              variants=("plain",))
        for mode in ("edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")
    ),
    _both("pad_odd", lambda xp, x: xp.pad(x, 4, "reflect", reflect_type="odd"), POINTS, wrt=(0,), variants=("plain",)),
    # Joining and splitting.
    _both("append", lambda xp, x, y: xp.append(x, y, axis=1), MATRIX, MATRIX, wrt=(0, 1)),
    _both("concatenate", lambda xp, x, y: xp.concatenate([x, y], axis=None), MATRIX, VECTOR, wrt=(0, 1)),
    _both("concat", lambda xp, x: xp.concat([x, x[:2]]), MATRIX, wrt=(0,)),
    _both("hstack", lambda xp, x, y: xp.hstack([x, y]), MATRIX, MATRIX, wrt=(0, 1)),
    _both("vstack", lambda xp, x, y: xp.vstack([x, y]), VECTOR, VECTOR, wrt=(0, 1)),
    _apart("row_stack", lambda x, y: tt.row_stack([x, y]), lambda x, y: np.vstack([x, y]), VECTOR, VECTOR, wrt=(0,)),
    _both("dstack", lambda xp, x, y: xp.dstack([x, y]), MATRIX, MATRIX, wrt=(0, 1)),
    _both("column_stack", lambda xp, x, y: xp.column_stack([x, y]), VECTOR, VECTOR, wrt=(0, 1)),
    _apart("horizontal_stack", tt.horizontal_stack, lambda x, y: np.hstack([x, y]), MATRIX, MATRIX, wrt=(0, 1)),
    _apart("vertical_stack", tt.vertical_stack, lambda x, y: np.vstack([x, y]), MATRIX, MATRIX, wrt=(0, 1)),
    _apart("concat_with_broadcast", lambda x, y: tt.concat_with_broadcast([x, y[:, :1]], axis=1),
           lambda x, y: np.concatenate([x, y[:, :1]], 1), MATRIX, MATRIX, wrt=(0, 1)),
    _apart("stacklists", lambda x, y: tt.stacklists([[x, y], [y, x]]), lambda x, y: np.array([[x, y], [y, x]]),
           SCALAR, SCALAR, wrt=(0, 1)),
    _both("unstack", lambda xp, x: xp.unstack(xp.reshape(x, (3, 4)), axis=1), MATRIX, wrt=(0,), variants=("plain",)),
    _both("hsplit", lambda xp, x: tuple(xp.hsplit(x, [1, 3])), MATRIX, wrt=(0,)),
    _both("vsplit", lambda xp, x: tuple(xp.vsplit(x, [1])), MATRIX, wrt=(0,)),
    _both("dsplit", lambda xp, x: tuple(xp.dsplit(x, [2])), CUBE, wrt=(0,)),
    # Lengths and dtypes.
    _both("size", lambda xp, x: xp.size(x), CUBE),
    _apart("broadcast_shape", lambda x, y: tt.stack(tt.broadcast_shape(x[:, :1], y)),
           lambda x, y: np.array(np.broadcast_shapes(x[:, :1].shape, y.shape)), MATRIX, MATRIX, variants=("plain",)),
    _apart("shape_tuple", lambda x: tt.stack(tt.shape_tuple(x)), lambda x: np.array(x.shape), CUBE),
    _both("asarray", lambda xp, x: xp.asarray(x, dtype="float32"), MATRIX),
    _apart("asanyarray", tt.asanyarray, np.array, MATRIX, wrt=(0,)),
    _apart("ascontiguousarray", lambda x: tt.ascontiguousarray(x.T), lambda x: np.array(x.T), MATRIX, wrt=(0,)),
    _both("array", lambda xp, x: xp.array(x, dtype="float32"), MATRIX, wrt=()),
    _both("astype", lambda xp, x: xp.astype(x, "int32"), MATRIX),
    _both("copy", lambda xp, x: xp.copy(x), MATRIX, wrt=(0,)),
)  # fmt: skip
