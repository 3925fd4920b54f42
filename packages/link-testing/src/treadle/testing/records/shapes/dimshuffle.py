"""Records of DimShuffle, and of graphs whose outputs are inputs, constants or views."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.operands import of_shape
from treadle.testing.sample import Sample

F = "dimshuffle"
_MATRIX = (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE),)
_CUBE = (of_shape((2, 3, 4), broadcast=(1, 3, 1), empty=(2, 0, 4), long=(5, 7, 33), domain=WIDE),)
_THIN = (of_shape((3, 1, 4), broadcast=(1, 1, 1), empty=(0, 1, 4), domain=WIDE),)
_TABLE = np.arange(6.0).reshape(2, 3)

SAMPLES: tuple[Sample, ...] = (
    Sample("transpose", F, lambda x: x.T, lambda x: x.T, _MATRIX, wrt=(0,), signed_zeros=True),
    Sample("permute", F, lambda x: x.dimshuffle(2, 0, 1), lambda x: x.transpose(2, 0, 1), _CUBE, wrt=(0,)),
    Sample("insert", F, lambda x: x.dimshuffle("x", 1, "x", 0), lambda x: x.T[None, :, None], _MATRIX, wrt=(0,)),
    Sample("drop", F, lambda x: x.dimshuffle(0, 2), lambda x: x[:, 0, :], _THIN, wrt=(0,)),
    Sample("drop_and_turn", F, lambda x: x.dimshuffle(2, "x", 0), lambda x: x[:, 0, :].T[:, None], _THIN, wrt=(0,)),
    Sample("expand_scalar", F, lambda x: x.dimshuffle("x", "x"), lambda x: x[None, None], (of_shape(()),), wrt=(0,)),
    Sample("squeeze", F, tt.squeeze, lambda x: x[:, 0], (of_shape((3, 1), static=(None, 1), empty=(0, 1)),), wrt=(0,)),
    Sample("moveaxis", F, lambda x: tt.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), _CUBE, wrt=(0,)),
    Sample("input_as_output", F, lambda x: x, np.array, _MATRIX, signed_zeros=True),
    Sample("one_output_twice", F, lambda x: (x, x, x.T, x.T), lambda x: (x, x, x.T, x.T), _MATRIX),
    Sample(
        "constant_as_output",
        F,
        lambda x: (tt.constant(_TABLE), tt.constant(_TABLE).T, x),
        lambda x: (_TABLE, _TABLE.T, x),
        _MATRIX,
    ),
)
