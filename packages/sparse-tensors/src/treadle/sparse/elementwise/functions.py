"""Functions of the stored elements of a sparse matrix: those that keep zeros, and structured ones of any kind."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

import treadle.tensor as tt
from treadle.sparse.errors import SparseShapeError
from treadle.sparse.forms.parts import compressed
from treadle.sparse.operands import Operand

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.sparse.types.variable import SparseVariable

__all__ = [
    "abs", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conj", "conjugate", "deg2rad", "expm1", "floor", "log1p",
    "rad2deg", "rint", "sign", "sin", "sinh", "sqr", "sqrt", "structured_abs", "structured_add", "structured_conjugate",
    "structured_elemwise", "structured_exp", "structured_log", "structured_maximum", "structured_minimum",
    "structured_pow", "structured_sigmoid", "tan", "tanh", "trunc",
]  # fmt: skip


def structured_elemwise(
    tensor_op: Callable[..., Operand],
) -> Callable[[Callable[..., Operand]], Callable[..., SparseVariable]]:
    """Return a decorator that makes a function of tensors one of the stored elements of a sparse matrix.

    The function decorated gives name, parameters and documentation. Further arguments are scalars. Gradients are
    structured, since the function is: what is not stored stays zero.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> from treadle.sparse import csr_matrix
    >>> @structured_elemwise(tt.cos)
    ... def structured_cos(x):
    ...     '''Take the cosine of the stored elements.'''
    >>> structured_cos(csr_matrix("x")).type.format
    'csr'
    """

    def decorate(function: Callable[..., Operand]) -> Callable[..., SparseVariable]:
        @wraps(function)
        def structured(x: Operand, *scalars: Operand) -> SparseVariable:
            arrays = compressed(x)
            for scalar in scalars:
                if tt.as_tensor_variable(scalar).ndim:
                    msg = (
                        f"{function.__name__}: a scalar is needed beside the matrix, got {scalar}. Scale rows instead."
                    )
                    raise SparseShapeError(msg)
            return arrays.with_data(tensor_op(arrays.data, *scalars)).variable()

        return structured

    return decorate


@structured_elemwise(tt.abs)
def abs(x: Operand) -> SparseVariable:  # type: ignore[empty-body]  # the decorator's
    """Return the absolute values of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.abs(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """


@structured_elemwise(tt.sigmoid)
def structured_sigmoid(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the logistic function of the stored elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.structured_sigmoid(A).eval().toarray().round(4)
    array([[0.    , 0.6225],
           [0.7311, 0.    ]])
    """


@structured_elemwise(tt.exp)
def structured_exp(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the exponential of the stored elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.structured_exp(A).eval().toarray().round(4)
    array([[0.    , 1.6487],
           [2.7183, 0.    ]])
    """


@structured_elemwise(tt.log)
def structured_log(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the logarithm of the stored elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.structured_log(A).eval().toarray().round(4)
    array([[ 0.    , -0.6931],
           [ 0.    ,  0.    ]])
    """


@structured_elemwise(tt.power)
def structured_pow(x: Operand, y: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the stored elements to the power of a scalar.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.structured_pow(A, 2.0).eval().toarray()
    array([[ 0., 16.],
           [81.,  0.]])
    """


@structured_elemwise(tt.minimum)
def structured_minimum(x: Operand, y: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the smaller of each stored element and a scalar.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.structured_minimum(A, 5.0).eval().toarray()
    array([[0., 4.],
           [5., 0.]])
    """


@structured_elemwise(tt.maximum)
def structured_maximum(x: Operand, y: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the larger of each stored element and a scalar.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.structured_maximum(A, 5.0).eval().toarray()
    array([[0., 5.],
           [9., 0.]])
    """


@structured_elemwise(tt.add)
def structured_add(x: Operand, y: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Add a scalar to the stored elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.structured_add(A, 5.0).eval().toarray()
    array([[ 0.,  9.],
           [14.,  0.]])
    """


@structured_elemwise(tt.sin)
def sin(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the sine of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.sin(A).eval().toarray().round(4)
    array([[0.    , 0.4794],
           [0.8415, 0.    ]])
    """


@structured_elemwise(tt.sinh)
def sinh(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the hyperbolic sine of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.sinh(A).eval().toarray().round(4)
    array([[0.    , 0.5211],
           [1.1752, 0.    ]])
    """


@structured_elemwise(tt.arcsin)
def arcsin(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the inverse sine of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.arcsin(A).eval().toarray().round(4)
    array([[0.    , 0.5236],
           [1.5708, 0.    ]])
    """


@structured_elemwise(tt.arcsinh)
def arcsinh(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the inverse hyperbolic sine of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.arcsinh(A).eval().toarray().round(4)
    array([[0.    , 0.4812],
           [0.8814, 0.    ]])
    """


@structured_elemwise(tt.tan)
def tan(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the tangent of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.tan(A).eval().toarray().round(4)
    array([[0.    , 0.5463],
           [1.5574, 0.    ]])
    """


@structured_elemwise(tt.tanh)
def tanh(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the hyperbolic tangent of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.tanh(A).eval().toarray().round(4)
    array([[0.    , 0.4621],
           [0.7616, 0.    ]])
    """


@structured_elemwise(tt.arctan)
def arctan(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the inverse tangent of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.arctan(A).eval().toarray().round(4)
    array([[0.    , 0.4636],
           [0.7854, 0.    ]])
    """


@structured_elemwise(tt.arctanh)
def arctanh(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the inverse hyperbolic tangent of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.arctanh(A * 0.5).eval().toarray().round(4)
    array([[0.    , 0.2554],
           [0.5493, 0.    ]])
    """


@structured_elemwise(tt.round)
def rint(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Round the elements to integers, halves to even ones.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.rint(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """


@structured_elemwise(tt.sign)
def sign(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the signs of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.sign(A).eval().toarray()
    array([[0., 1.],
           [1., 0.]])
    """


@structured_elemwise(tt.ceil)
def ceil(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Round the elements up.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.ceil(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """


@structured_elemwise(tt.floor)
def floor(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Round the elements down.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.floor(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """


@structured_elemwise(tt.log1p)
def log1p(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return log(1 + x) of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.log1p(A).eval().toarray().round(4)
    array([[0.    , 0.4055],
           [0.6931, 0.    ]])
    """


@structured_elemwise(tt.expm1)
def expm1(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return exp(x) - 1 of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.expm1(A).eval().toarray().round(4)
    array([[0.    , 0.6487],
           [1.7183, 0.    ]])
    """


@structured_elemwise(tt.deg2rad)
def deg2rad(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Convert the elements from degrees to radians.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.deg2rad(A).eval().toarray().round(4)
    array([[0.    , 0.0087],
           [0.0175, 0.    ]])
    """


@structured_elemwise(tt.rad2deg)
def rad2deg(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Convert the elements from radians to degrees.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 0.5], [1.0, 0.0]])
    >>> sparse.rad2deg(A).eval().toarray().round(4)
    array([[ 0.    , 28.6479],
           [57.2958,  0.    ]])
    """


@structured_elemwise(tt.trunc)
def trunc(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Round the elements towards 0.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.trunc(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """


@structured_elemwise(tt.sqr)
def sqr(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the squares of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.sqr(A).eval().toarray()
    array([[ 0., 16.],
           [81.,  0.]])
    """


@structured_elemwise(tt.sqrt)
def sqrt(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the square roots of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.sqrt(A).eval().toarray()
    array([[0., 2.],
           [3., 0.]])
    """


@structured_elemwise(tt.conj)
def conjugate(x: Operand) -> SparseVariable:  # type: ignore[empty-body]
    """Return the complex conjugates of the elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.conjugate(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """


structured_abs = abs
conj = structured_conjugate = conjugate
