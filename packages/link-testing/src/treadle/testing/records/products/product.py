"""Records of matrix products."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import SMALL, WIDE
from treadle.testing.operands import NO_SPECIAL, SAME_SHAPE, of_shape
from treadle.testing.sample import COMPOSED, FLOATS, INTEGERS, Function, Operand, Sample, Traits

F = "product"
# BLAS has two real dtypes.
LEFT_OUT = {tt.Gemm: ("bool", *INTEGERS)}
_LOSSY = {"float32": (1e-4, 1e-4), "float64": (1e-11, 1e-11)}


def _product(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {"variants": NO_SPECIAL, "wrt": (0, 1), "tolerances": _LOSSY, **record}
    return Sample(name, F, build, oracle, operands, **traits)


def _composed(name: str, build: Function, oracle: Function, *shapes: tuple[int, ...]) -> Sample:
    operands = (of_shape(shape, domain=SMALL) for shape in shapes)
    wrt = tuple(range(len(shapes)))
    return _product(name, build, oracle, *operands, dtypes=("float64",), variants=SAME_SHAPE, kinds=COMPOSED, wrt=wrt)


def _einsum(name: str, subscripts: str, *shapes: tuple[int, ...]) -> Sample:
    return _composed(name, partial(tt.einsum, subscripts), partial(np.einsum, subscripts), *shapes)


_A = of_shape((3, 4), broadcast=(1, 4), empty=(3, 0), long=(11, 97), domain=SMALL)
_B = of_shape((4, 2), broadcast=(4, 1), empty=(0, 2), long=(97, 13), domain=SMALL)
_V = of_shape((4,), empty=(0,), long=(97,), domain=SMALL)

SAMPLES: tuple[Sample, ...] = (
    _product("matrix_matrix", tt.matmul, np.matmul, _A, _B),
    _product("matrix_vector", tt.matmul, np.matmul, _A, _V),
    _product("vector_matrix", tt.matmul, np.matmul, _V, _B),
    # Four columns at a time, and what is left of them.
    _product("small_matrix_vector", tt.matmul, np.matmul, of_shape((9, 6), domain=SMALL), of_shape((6,), domain=SMALL),
             variants=SAME_SHAPE),
    _product("vector_small_matrix", tt.matmul, np.matmul, of_shape((6,), domain=SMALL), of_shape((6, 11), domain=SMALL),
             variants=SAME_SHAPE),
    _product("vector_vector", tt.matmul, np.matmul, _V, _V),
    _product("wraps", tt.matmul, np.matmul, of_shape((3, 4), domain=WIDE), of_shape((4, 2), domain=WIDE),
             dtypes=INTEGERS),
    _product("transposed", lambda a, b: tt.matmul(a.T, b.T), lambda a, b: np.matmul(a.T, b.T),
             of_shape((4, 3), long=(97, 11), domain=SMALL), of_shape((2, 4), long=(13, 97), domain=SMALL)),
    _product("stacks", tt.matmul, np.matmul,
             of_shape((2, 3, 4), broadcast=(1, 3, 4), empty=(0, 3, 4), domain=SMALL),
             of_shape((2, 4, 2), broadcast=(5, 4, 2), empty=(1, 4, 2), domain=SMALL)),
    _product("stack_matrix", tt.matmul, np.matmul, of_shape((2, 3, 4), empty=(2, 0, 4), domain=SMALL),
             of_shape((4, 2), domain=SMALL)),
    _product("dot_scalar", tt.dot, np.dot, of_shape(()), _V, tolerances={}),
    _product("tensordot", lambda a, b: tt.tensordot(a, b, axes=((1, 2), (0, 1))),
             lambda a, b: np.tensordot(a, b, axes=((1, 2), (0, 1))),
             of_shape((2, 3, 4), broadcast=(1, 3, 1), domain=SMALL), of_shape((3, 4, 2), broadcast=(3, 1, 2),
                                                                              domain=SMALL)),
    # Rewriting creates this op from sums with products, but not for backends that gain nothing from it.
    _product("accumulated", tt.Gemm(),
             lambda c, x, a, b, y: y * c + x * np.matmul(a, b),
             of_shape((3, 2), broadcast=(1, 2), empty=(3, 2), long=(11, 13), domain=SMALL), of_shape((), domain=SMALL),
             _A, _B, of_shape((), domain=SMALL), dtypes=FLOATS, wrt=(0, 1, 2, 3, 4), optional=True),
    _product("outer", tt.outer, np.outer, of_shape((3,), empty=(0,)), of_shape((4,))),
    _product("mixed", tt.matmul, np.matmul, _A, of_shape((4, 2), dtype="float32", empty=(0, 2), long=(97, 13)),
             tolerances={"float32": (1e-4, 1e-4), "float64": (1e-11, 1e-11)}, order=1),
    _einsum("einsum_chain", "ij,jk,lk->li", (2, 3), (3, 4), (5, 4)),
    _einsum("einsum_several", "bijk,bkjl->lbi", (2, 3, 4, 2), (2, 2, 4, 3)),
    _einsum("einsum_diagonal", "iji,j...->...i", (3, 2, 3), (2, 4)),
    _einsum("einsum_elementwise", "ab,b,ca->ca", (2, 3), (3,), (4, 2)),
    _composed("batched_dot", tt.batched_dot, np.matmul, (2, 3, 4), (2, 4, 2)),
    _composed("vecdot", tt.vecdot, np.vecdot, (2, 3), (4, 1, 3)),
    _composed("vecmat", tt.vecmat, np.vecmat, (4, 1, 3), (2, 3, 2)),
    _composed("kron", tt.kron, np.kron, (2, 3), (3, 2)),
    Sample("cross", F, lambda a, b: tt.cross(a, b, axisa=0), lambda a, b: np.cross(a, b, axisa=0),
           (of_shape((3, 2), static=(3, None)), of_shape((2, 3), static=(None, 3))), ("float64",), (0, 1),
           variants=SAME_SHAPE, kinds=COMPOSED),
)  # fmt: skip
