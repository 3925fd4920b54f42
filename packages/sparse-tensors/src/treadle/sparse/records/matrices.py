"""Records of sparse matrices, made of vectors of elements at fixed positions, with SciPy's as the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

import treadle.tensor as tt
from treadle.sparse.elementwise.arithmetic import add, col_scale, multiply, row_scale
from treadle.sparse.elementwise.functions import sin
from treadle.sparse.forms.dense import DenseFromSparse, SparseFromDense, as_dense, csr_from_dense
from treadle.sparse.forms.parts import CSM, CSMProperties, compressed, csm_data
from treadle.sparse.kernels.lines import Densified, LineOfEntry
from treadle.sparse.kernels.patterns import (
    CombinedPattern,
    ProductPattern,
    Sampled,
    SampledSparseProduct,
    TransposedPattern,
)
from treadle.sparse.kernels.products import LinesProduct, SampledProduct, TransposedLinesProduct
from treadle.sparse.operands import Operand
from treadle.sparse.products import Dot, TrueDot, dot, sampling_dot, sparse_product, structured_dot, true_dot
from treadle.sparse.reductions import SpSum, diag, sp_sum
from treadle.testing.domain import NONZERO, Domain
from treadle.testing.operands import SAME_SHAPE, of_shape
from treadle.testing.sample import REALS, LeftOut, Sample, costly

if TYPE_CHECKING:
    from treadle.testing.domain import Array

F = "composed.sparse"
_NUMBERS = ("float32", "float64")
_ANY = Domain(-2.0, 2.0, special=False)

# A row without elements, and one whose elements are not sorted.
_POSITIONS = {"csr": ([0, 2, 3, 1, 2], [0, 2, 2, 5]), "csc": ([2, 0, 1, 2, 0], [0, 2, 3, 3, 5])}
_OTHERS = {"csr": ([1, 2, 0, 2], [0, 2, 3, 4]), "csc": ([0, 2, 1, 2], [0, 1, 2, 3, 4])}
_SHAPE = (3, 4)
_ELEMENTS = of_shape((5,), domain=_ANY)
_FOUR = of_shape((4,), domain=_ANY)
_DENSE = of_shape(_SHAPE, domain=_ANY)


def _made(data: Operand, name: str = "csr", others: bool = False) -> Operand:
    """Return a sparse variable, or for an array SciPy's matrix."""
    indices, indptr = (_OTHERS if others else _POSITIONS)[name]
    if isinstance(data, np.ndarray):
        kind = {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}[name]
        # Some of SciPy's methods sort a matrix in place.
        return kind((data.copy(), indices, indptr), _SHAPE)
    return CSM(name)(data, indices, indptr, _SHAPE)


def _positions(*values: int) -> Operand:
    return tt.constant(np.array(values, "int32"))


def _dense(x: Operand, *like: Array) -> Operand:
    return np.asarray(x.toarray() if scipy.sparse.issparse(x) else x, np.result_type(*like))


def _products(data: Operand, y: Operand) -> Operand:
    csr, csc = _made(data), _made(data, "csc")
    return dot(csr, y), structured_dot(csr, y), structured_dot(csc, y), dot(y[:, 0], csc.T)


def _products_of_scipy(data: Array, y: Array) -> object:
    csr, csc = _made(data), _made(data, "csc")
    return tuple(_dense(x, data) for x in (csr @ y, csr @ y, csc @ y, csc @ y[:, 0]))


def _pair(data: Operand, others: Operand) -> tuple[Operand, Operand]:
    return _made(data), _made(others, "csc", others=True)


def _combined(data: Operand, others: Operand) -> Operand:
    x, y = _pair(data, others)
    return as_dense(add(x, y)), as_dense(multiply(x, y))


def _combined_by_scipy(data: Array, others: Array) -> object:
    x, y = _pair(data, others)
    return _dense(x + y, data), _dense(x.multiply(y), data)


def _sparse_products(data: Operand, others: Operand) -> Operand:
    x, y = _pair(data, others)
    by_kernels = sparse_product(compressed(x), compressed(y.T)).variable()
    return DenseFromSparse(structured=False)(true_dot(x, y.T)), dot(x, y.T), as_dense(by_kernels)


def _sparse_products_by_scipy(data: Array, others: Array) -> object:
    x, y = _pair(data, others)
    return (_dense(x @ y.T, data),) * 3


def _with_dense(data: Operand, d: Operand) -> Operand:
    csr, csc = _made(data), _made(data, "csc")
    scaled = row_scale(csr, d[:, 0]), col_scale(csc, d[0])
    return (
        add(csr, d),
        as_dense(multiply(csc, d)),
        *map(as_dense, scaled),
        csm_data(sampling_dot(d, d + 1, csr[:, :3])),
    )


def _with_dense_by_scipy(data: Array, d: Array) -> object:
    csr, csc = _made(data), _made(data, "csc")
    sampled = csr[:, :3].multiply(d @ (d + 1).T).tocsr()
    places = csr[:, :3].tocoo()
    elements = np.asarray(sampled[places.row, places.col]).ravel()
    results = (csr + d, csc.multiply(d), csr.multiply(d[:, :1]), csc.multiply(d[:1]), elements)
    return tuple(_dense(x, data) for x in results)


def _sums(data: Operand) -> Operand:
    csr, csc = _made(data), _made(data, "csc")
    return sp_sum(csr), sp_sum(csr, 1), sp_sum(csc, 0, sparse_grad=True), diag(csr[:, :3]), as_dense(csc.tocsr())


def _sums_by_scipy(data: Array) -> object:
    csr, csc = _made(data), _made(data, "csc")
    results = (csr.sum(), csr.sum(1), csc.sum(0), csr[:, :3].diagonal(), csc.toarray())
    shapes: tuple[tuple[int, ...], ...] = ((), (3,), (4,), (3,), _SHAPE)
    return tuple(_dense(x, data).reshape(shape) for x, shape in zip(results, shapes, strict=True))


def _arrays(data: Operand) -> Operand:
    indices, indptr = (_positions(*values) for values in _POSITIONS["csr"])
    return Densified()(data, indices, indptr, 4), LineOfEntry()(indices, indptr)


SAMPLES: tuple[Sample, ...] = costly(
    ("jax-*", "pytorch-*"),
    Sample("combined", F, _combined, _combined_by_scipy, (_ELEMENTS, _FOUR), dtypes=_NUMBERS, wrt=(0, 1),
           variants=("plain",), optional=True),
    Sample("sparse_products", F, _sparse_products, _sparse_products_by_scipy, (_ELEMENTS, _FOUR), dtypes=_NUMBERS,
           wrt=(0, 1), variants=("plain",), optional=True),
    Sample("with_dense", F, _with_dense, _with_dense_by_scipy, (_ELEMENTS, _DENSE), dtypes=_NUMBERS, wrt=(0, 1),
           variants=("plain",), optional=True),
    Sample("sums", F, _sums, _sums_by_scipy, (_ELEMENTS,), dtypes=_NUMBERS, wrt=(0,), variants=("plain",),
           optional=True),
    Sample("from_dense", F, lambda x: as_dense(sin(csr_from_dense(x))), np.sin,
           (of_shape(_SHAPE, domain=NONZERO),), dtypes=("float64",), wrt=(0,), variants=("plain",), optional=True),
) + costly(
    ("pytorch-once",),
    Sample("products", F, _products, _products_of_scipy, (_ELEMENTS, of_shape((4, 2), domain=_ANY)), dtypes=_NUMBERS,
           wrt=(0, 1), variants=SAME_SHAPE),
    Sample("arrays", F, _arrays, lambda data: (_made(data).toarray(), np.array([0, 0, 2, 2, 2], "int32")), (_ELEMENTS,),
           dtypes=_NUMBERS, wrt=(0,), variants=SAME_SHAPE),
)  # fmt: skip
# Integers are checked in tests/sparse: compilers take long for each dtype.
_INTEGERS = tuple(dtype for dtype in REALS if dtype not in _NUMBERS)
_AT_FLOATS = (
    CombinedPattern, CSM, CSMProperties, DenseFromSparse, Densified, Dot, LineOfEntry, LinesProduct, ProductPattern,
    Sampled, SampledProduct, SampledSparseProduct, SpSum, TransposedLinesProduct, TransposedPattern, TrueDot,
)  # fmt: skip
LEFT_OUT = (*(LeftOut(op, _INTEGERS) for op in _AT_FLOATS), LeftOut(SparseFromDense, (*_INTEGERS, "float32")))
RECORDS = (*SAMPLES, *LEFT_OUT)
