"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import Form, Infix, Precedence, composed, static_op
from treadle.tensor.arguments.axes import normalize_axes
from treadle.tensor.arguments.values import as_items, known_integer
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import AxisError, DtypeError, ShapeError, TensorTypeError
from treadle.tensor.ops.tensor_op import Derivatives, StackOp, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import aligned, most_batch
from treadle.tensor.shapes.broadcasting import broadcast_static, sum_to
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle, matrix_transpose, shape_padleft, squeeze
from treadle.tensor.shapes.shape import lengths, reshape
from treadle.tensor.types.conversion import as_tensor_variable, cotangent_of, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorNode, TensorVariable

__all__ = ["Gemm", "MatMul", "dot", "matmul", "outer", "tensordot"]


@static_op
class MatMul(StackOp):
    """Product of stacks of matrices: inputs of one rank, 2 or more; all dimensions but the last two broadcast."""

    linear = "each"
    linear_count = 2
    gufunc_signature = "(m,k),(k,n)->(m,n)"
    signature = gufunc_signature

    def _props_dict(self) -> dict[str, object]:
        """Return the parameters of the `Blockwise` op that computes the same; classes of such ops take them."""
        return {"core_op": self, "signature": self.gufunc_signature}

    def infer(self, *types: Type) -> Sequence[TensorType]:
        """Return the type of the product; bool times bool is bool, as in NumPy."""
        a, b = types
        if not isinstance(a, TensorType) or not isinstance(b, TensorType) or a.ndim != b.ndim or a.ndim < 2:
            msg = f"matmul: two tensors of one rank of 2 or more are needed, got {a} and {b}. Use tt.matmul or tt.dot."
            raise TensorTypeError(msg)
        inner = {a.shape[-1], b.shape[-2]} - {None}
        if len(inner) > 1:
            msg = (
                f"matmul: the inner lengths must be equal, got shapes {a.shape} and {b.shape} "
                f"({a.shape[-1]} and {b.shape[-2]}). Transpose one of the two, or check their shapes."
            )
            raise ShapeError(msg)
        batch = broadcast_static("matmul", [a.shape[:-2], b.shape[:-2]])
        dtype = np.result_type(a.numpy_dtype, b.numpy_dtype)
        return [TensorType(dtype, (*batch, a.shape[-2], b.shape[-1]))]

    def printed_form(self, node: Apply) -> Form:
        """Write ``a @ b``."""
        return _PRODUCT.form(node.inputs)

    def squeezed_form(self, node: Apply, dropped: tuple[int, ...]) -> Form | None:
        """Write ``x @ w`` where one factor is a vector made a matrix, whose dimension is dropped afterwards."""
        a, b = node.inputs
        ndim = getattr(a.type, "ndim", 0)
        row, column = _vector_behind(a, (NEW, 0)), _vector_behind(b, (0, NEW))
        added = (*((ndim - 2,) if row is not None else ()), *((ndim - 1,) if column is not None else ()))
        if not added or dropped != added:
            return None
        return _PRODUCT.form([a if row is None else row, b if column is None else column])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Multiply with NumPy."""
        a, b = inputs
        output_storage[0][0] = np.matmul(a, b)

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return rows of the first, columns of the second, and the lengths of the stacks broadcast together."""
        a, b = (shapes.of(x) for x in node.inputs)
        batch = [shapes.broadcast(pair) for pair in zip(a[:-2], b[:-2], strict=True)]
        return [*batch, a[-2], b[-1]]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Multiply: batch dimensions are further dimensions of the stacks."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        batch = most_batch(pairs)
        return self.make_node(*(aligned(old, new, batch) for old, new in pairs))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Multiply the cotangent by the other factor's conjugate transpose, summed over broadcast stacks."""
        a, b = tensors(inputs)
        ct = cotangents[0]
        terms = (MatMul()(ct, adjoint(b)), MatMul()(adjoint(a), ct))
        return [stacked_term(t, x) for t, x in zip(terms, (a, b), strict=True)]


def adjoint(x: TensorVariable) -> TensorVariable:
    """Return the conjugate transposes of matrices, in the last two dimensions."""
    return matrix_transpose(x.conj())


_PRODUCT = Infix("@", Precedence.PRODUCT)


def _vector_behind(x: Variable, order: tuple[int | str, ...]) -> Variable | None:
    """Return the vector that a matrix of one row or column is made of, or None."""
    if x.owner is None or x.owner.op != DimShuffle(order, 1):
        return None
    return x.owner.inputs[0]


def stacked_term(term: TensorVariable, x: TensorVariable) -> TensorVariable | None:
    """Return what flows back to stacks of matrices: summed over a batch that they were broadcast to."""
    if x.type.numpy_dtype.kind not in "fc":
        return None
    term = cotangent_of(x, term)
    # Nothing is summed of two matrices; the type gets the lengths that the factor's has and the term's has not.
    is_precise = all(n is None or n == m for n, m in zip(x.type.shape, term.type.shape[-x.ndim :], strict=True))
    return term if x.ndim == 2 and is_precise else sum_to(term, x)


@static_op
class Gemm(TensorOp):
    """Accumulated product of matrices, beta * c + alpha * (a @ b): one call of BLAS.

    Rewriting makes it, for backends that gain from it. Inputs, in order: the matrix `c`, the scalar `alpha`, the
    matrices `a` and `b`, the scalar `beta`, all float32 or all float64. Matrix and product broadcast together as in
    the expression; the one call does where they turn out to have one shape.
    """

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of the result."""
        kinds = [t for t in types if isinstance(t, TensorType)]
        ranks = tuple(t.ndim for t in kinds)
        dtypes = {t.dtype for t in kinds}
        if len(types) != 5 or ranks != (2, 0, 2, 2, 0) or len(dtypes) != 1 or not dtypes <= {"float32", "float64"}:
            msg = (
                f"gemm: a matrix, a scalar, two matrices and a scalar are needed, all float32 or all float64, got "
                f"{', '.join(map(str, types))}. Use tt.matmul, * and +, which take everything."
            )
            raise TensorTypeError(msg)
        c, _, a, b, _ = kinds
        product = MatMul().infer(a, b)[0]
        return [TensorType(c.dtype, broadcast_static("gemm", [c.shape, product.shape]))]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Multiply with NumPy, and add."""
        output_storage[0][0] = self.apply(*inputs)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the product, scaled and added."""
        c, alpha, a, b, beta = inputs
        return [add(mul(beta, c), mul(alpha, MatMul()(a, b)))]

    def printed_form(self, node: Apply) -> Form:
        """Write ``beta * c + alpha * (a @ b)``."""
        return Form.like(self.decompose(*node.inputs)[0])

    @staticmethod
    def apply(c: np.ndarray, alpha: np.ndarray, a: np.ndarray, b: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return the result for NumPy arrays."""
        result: np.ndarray = np.matmul(a, b)
        if result.shape != c.shape:
            total: np.ndarray = beta * c + alpha * result
            return total
        if alpha != 1:
            result *= alpha
        result += c if beta == 1 else beta * c
        return result

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Broadcast the matrix and the product."""
        c, _, a, b, _ = (shapes.of(x) for x in node.inputs)
        return [shapes.broadcast((c[0], a[0])), shapes.broadcast((c[1], b[1]))]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Sequence[Variable]:
        """Write out what BLAS has for single matrices only."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        batch = most_batch(pairs)
        return self.decompose(*(aligned(old, new, batch, 2) for old, new in pairs))


def converted(what: str, x: TensorLike, dtype: DTypeLike | None) -> TensorVariable:
    """Return an operand in the dtype to compute in, as NumPy's ufuncs convert it: never to a lower kind."""
    var = as_tensor_variable(x)
    if dtype is None:
        return var
    target = TensorType(dtype).numpy_dtype
    if not np.can_cast(var.type.numpy_dtype, target, "same_kind"):
        msg = f"{what}: {var.type} cannot be converted to {target}. Cast it before, or leave dtype out."
        raise DtypeError(msg)
    return cast(var, dtype)


def matmul(x1: TensorLike, x2: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Multiply matrices, vectors, or stacks of matrices (as numpy.matmul).

    Parameters
    ----------
    x1, x2
        Tensors of rank 1 or more.
    dtype
        Dtype to compute in; by default that which both have in common.

    Raises
    ------
    ShapeError
        If one operand is a scalar, or the inner lengths are known and differ.

    Examples
    --------
    >>> tt.matmul([[1, 2], [3, 4]], [1, 1]).eval()
    array([3, 7])
    """
    x, y = converted("matmul", x1, dtype), converted("matmul", x2, dtype)
    if x.ndim == 0 or y.ndim == 0:
        msg = f"matmul: scalars cannot be multiplied as matrices, got {x.type} and {y.type}. Use * instead."
        raise ShapeError(msg)
    left, right = x.ndim == 1, y.ndim == 1
    if left:
        x = dimshuffle(x, "x", 0)
    if right:
        y = dimshuffle(y, 0, "x")
    ndim = max(x.ndim, y.ndim)
    out: TensorVariable = MatMul()(shape_padleft(x, ndim - x.ndim), shape_padleft(y, ndim - y.ndim))
    drop = (*((ndim - 2,) if left else ()), *((ndim - 1,) if right else ()))
    return squeeze(out, drop) if drop else out


@composed
def dot(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Multiply as numpy.dot: scalars elementwise, else sum over the last axis of `a` and the last but one of `b`.

    Examples
    --------
    >>> tt.dot([1, 2], [3, 4]).eval()
    array(11)
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if x.ndim == 0 or y.ndim == 0:
        return mul(x, y)
    if y.ndim <= 2 and x.ndim <= 2:
        return matmul(x, y)
    return tensordot(x, y, axes=((x.ndim - 1,), (max(0, y.ndim - 2),)))


@composed
def tensordot(a: TensorLike, b: TensorLike, axes: AxisLike | Sequence[AxisLike] = 2) -> TensorVariable:
    """Sum products over pairs of axes (as numpy.tensordot).

    Parameters
    ----------
    a, b
        Tensors.
    axes
        How many of the last axes of `a` and first ones of `b`, or a pair of axes, or of sequences of as many axes.

    Raises
    ------
    AxisError
        If an axis is not an integer, out of range, or named twice; if `axes` is a number below 0 or above a rank.
    ShapeError
        If `axes` is not a pair, or names more axes of one tensor; if lengths to sum over are known and differ.

    Examples
    --------
    >>> tt.tensordot(np.ones((2, 3)), np.ones((3, 2)), axes=1).eval()
    array([[3., 3.],
           [3., 3.]])
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    xs, ys = _summed_axes(x, y, axes)
    free_x = [d for d in range(x.ndim) if d not in xs]
    free_y = [d for d in range(y.ndim) if d not in ys]
    nx, ny = lengths(x), lengths(y)
    inner = product_of_lengths(nx[d] for d in xs)
    left = reshape(dimshuffle(x, *free_x, *xs), [product_of_lengths(nx[d] for d in free_x), inner])
    common = common_size("tensordot", x, y, xs, ys)
    right = reshape(dimshuffle(y, *ys, *free_y), [common, product_of_lengths(ny[d] for d in free_y)])
    return reshape(matmul(left, right), [*(nx[d] for d in free_x), *(ny[d] for d in free_y)])


def _summed_axes(
    x: TensorVariable, y: TensorVariable, axes: AxisLike | Sequence[AxisLike]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of both tensors that tensordot sums over."""
    count = known_integer(axes)
    if count is not None:
        if not 0 <= count <= min(x.ndim, y.ndim):
            msg = (
                f"tensordot: {count} axes cannot be summed over in tensors of rank {x.ndim} and {y.ndim}. "
                f"Pass a number from 0 to {min(x.ndim, y.ndim)}, or a pair of sequences of axes."
            )
            raise AxisError(msg)
        return tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    pair = as_items("tensordot: axes", axes)  # type: ignore[arg-type]  # refuses anything else
    if len(pair) != 2 or any(named is None for named in pair):
        msg = f"tensordot: axes must be a number, or one or several axes for each tensor, got {text_of(axes)}."
        raise ShapeError(msg)
    xs, ys = normalize_axes("tensordot", pair[0], x.ndim), normalize_axes("tensordot", pair[1], y.ndim)
    if len(xs) != len(ys):
        msg = f"tensordot: as many axes of both tensors are needed, got {xs} and {ys}."
        raise ShapeError(msg)
    return xs, ys


def common_size(
    what: str, x: TensorVariable, y: TensorVariable, xs: Sequence[int], ys: Sequence[int]
) -> TensorVariable | int:
    """Return the product of the lengths summed over, one more where they turn out to differ; refuse known ones that do.

    Products may be equal where lengths are not. With one more, there are too few elements or, if there are none, the
    matrix product's inner lengths differ. Those of a single axis the matrix product compares anyway.
    """
    known = [(x.type.shape[d], y.type.shape[e]) for d, e in zip(xs, ys, strict=True)]
    for d, e, (n, m) in zip(xs, ys, known, strict=True):
        if n is not None and m is not None and n != m:
            msg = (
                f"{what}: the lengths summed over must be equal, got {n} and {m} (dimension {d} of shape "
                f"{x.type.shape} and dimension {e} of shape {y.type.shape}). Name other axes, or check the shapes."
            )
            raise ShapeError(msg)
    size = product_of_lengths(lengths(y)[e] for e in ys)
    if len(xs) < 2:
        return size
    agree: TensorVariable | None = None
    for d, e, (n, m) in zip(xs, ys, known, strict=True):
        if n is None or m is None:
            same = eq(lengths(x)[d], lengths(y)[e])
            agree = same if agree is None else bitwise_and(agree, same)
    return size if agree is None else switch(agree, size, size + 1)


def product_of_lengths(numbers: Iterable[TensorVariable]) -> TensorVariable | int:
    """Return how many elements dimensions of these lengths have together; 1 without dimensions."""
    result: TensorVariable | int = 1
    for n in numbers:
        value = getattr(n, "data", None)
        if value is not None and isinstance(result, int):
            result *= int(value)
        else:
            result = n if isinstance(result, int) and result == 1 else mul(n, result)
    return result


@composed
def outer(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Multiply every element of one vector by every element of another (as numpy.outer).

    Examples
    --------
    >>> tt.outer([1, 2], [3, 4]).eval()
    array([[3, 4],
           [6, 8]])
    """
    x, y = as_tensor_variable(a).flatten(), as_tensor_variable(b).flatten()
    return mul(dimshuffle(x, 0, "x"), dimshuffle(y, "x", 0))
