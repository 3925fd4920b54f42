"""Jacobians and Hessians: as matrices, and their products with vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import (
    DisconnectedType,
    Variable,
    VectorizeError,
    as_flag,
    composed,
    graph_replace,
    is_tree,
    tree_map,
    vectorize_graph,
)
from treadle.tensor.elementwise.arithmetic import mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.errors import DtypeError
from treadle.tensor.gradients.derivatives import like, listed, matched, pullback, pushforward, variables
from treadle.tensor.gradients.forward_mode import defined, jvp
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.gradients.nested import aligned
from treadle.tensor.gradients.reverse_mode import (
    as_constants,
    check_options,
    missing,
    refuse_function,
    remembered,
)
from treadle.tensor.indexing.ranges import arange, eye
from treadle.tensor.loops.plain import scan_with_carry
from treadle.tensor.shapes.broadcasting import alloc, zeros_like
from treadle.tensor.shapes.dimshuffle import dimshuffle
from treadle.tensor.shapes.shape import lengths, reshape
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["gauss_newton_vector_product", "hessian", "hessian_vector_product", "jacobian"]


def _real(function: str, expression: TensorLike) -> TensorVariable:
    var = as_tensor_variable(expression)
    if var.type.numpy_dtype.kind != "f":
        msg = f"{function}: the expression must be of a float dtype, got {var} of type {var.type}. Cast it first."
        raise DtypeError(msg)
    return var


@composed
def jacobian(
    expression: TensorLike,
    wrt: object = None,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool | None = None,
    forward: bool = False,
) -> Any:
    """Return the matrix of all derivatives of an expression.

    Parameters
    ----------
    expression
        A float tensor of any rank; or a dictionary or dataclass of such, nested as you like, for a tree of matrices.
    wrt
        A variable, a list of them, or a tree of them (as for `grad`), of any rank.
    consider_constant, disconnected_inputs
        As for `grad`.
    vectorize
        Whether all rows (columns in forward mode) are computed as one batch, rather than one after the other by a
        loop, which takes less memory. By default they are one batch where every op takes batches.
    forward
        Whether to take one directional derivative for each element of the variables, rather than one gradient for each
        element of the expression: cheaper where the variables have fewer elements.

    Returns
    -------
    For each variable a tensor of the shape of the expression followed by that of the variable; one, a list or a tuple,
    as `wrt` is, or a tree.

    Raises
    ------
    DtypeError
        If the expression is not of a float dtype; in forward mode, if a variable is not.
    DisconnectedInputError
        If the expression does not depend on a variable and `disconnected_inputs` is ``raise``.
    VectorizeError
        If an op of the gradient cannot be applied to a batch, and `vectorize` is True.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> tt.jacobian(x**2, x).eval({x: [1.0, 2.0]})
    array([[2., 0.],
           [0., 4.]])
    """
    refuse_function("jacobian", expression)
    options: dict[str, Any] = {"consider_constant": consider_constant, "disconnected_inputs": disconnected_inputs}
    if is_tree(expression) and not isinstance(expression, list | tuple):
        return tree_map(lambda part: jacobian(part, wrt, **options, vectorize=vectorize, forward=forward), expression)
    out = _real("jacobian", expression)
    targets = variables("jacobian", wrt)
    if as_flag("jacobian: forward", forward):
        constants = as_constants(consider_constant)
        columns = [_columns(out, target, constants, disconnected_inputs, vectorize) for target in targets]
        return like(wrt, [remembered(column, (out, *targets)) for column in columns])
    if out.ndim == 0:
        return like(wrt, list(grad(out, targets, **options, add_names=False)))
    cotangent: TensorVariable = out.type.make_variable("cotangent")
    slopes = pullback(out, targets, cotangent, **options)
    shape = lengths(out)
    rows = _for_each_element(slopes, cotangent, shape, vectorize)
    matrices = [
        remembered(
            reshape(row, (*shape, *lengths(target)), ndim=out.ndim + as_tensor_variable(target).ndim), (out, *targets)
        )
        for row, target in zip(rows, targets, strict=True)
    ]
    return like(wrt, matrices)


def _columns(
    out: TensorVariable, wrt: Variable, constants: Collection[Variable], on_disconnected: str, vectorize: bool | None
) -> TensorVariable:
    """Return the derivatives of an expression by one variable, in forward mode."""
    target = _real("jacobian, in forward mode", wrt)
    tangent: TensorVariable = target.type.make_variable("tangent")
    moved: Any = defined("jacobian", out, jvp([out], [target], [tangent], constants=constants)[0])
    inner, outer = lengths(target), lengths(out)
    if isinstance(moved.type, DisconnectedType):
        missing("jacobian", target, on_disconnected)
        return alloc(zeros_like(out, shape=()), *outer, *inner)
    if target.ndim == 0:
        column: TensorVariable = graph_replace(moved, {tangent: as_tensor_variable(target.type.numpy_dtype.type(1))})
        return column
    (columns,) = _for_each_element([moved], tangent, inner, vectorize)
    return reshape(dimshuffle(columns, [*range(1, out.ndim + 1), 0]), (*outer, *inner), ndim=out.ndim + target.ndim)


def _for_each_element(
    slopes: Sequence[TensorVariable], direction: TensorVariable, shape: Sequence[TensorVariable], vectorize: bool | None
) -> list[TensorVariable]:
    """Return expressions for each of the unit directions, along a new first dimension."""
    count: TensorVariable = shape[0]
    for length in shape[1:]:
        count = mul(count, length)
    rows = None
    if vectorize is not False:
        basis = reshape(eye(count, dtype=direction.dtype), (count, *shape), ndim=direction.ndim + 1)
        try:
            rows = vectorize_graph(list(slopes), {direction: basis})
        except VectorizeError:
            if vectorize:
                raise
    if rows is None:

        def row(carry: None, at: TensorVariable) -> tuple[None, list[Variable]]:
            unit = reshape(cast(eq(arange(count), at), direction.dtype), shape, ndim=direction.ndim)
            return carry, graph_replace(list(slopes), {direction: unit}, strict=False)

        rows = scan_with_carry(row, None, arange(count), name="jacobian")[1]
    # One that depends on no direction, as zeros do not, is the same for all.
    pairs = zip(rows, slopes, strict=True)
    return [row if row.ndim > slope.ndim else alloc(row, count, *lengths(slope)) for row, slope in pairs]


@composed
def hessian(
    cost: TensorLike,
    wrt: object = None,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """Return the matrix of second derivatives of a scalar cost, by each variable on its own.

    Parameters
    ----------
    cost
        A float scalar.
    wrt
        A variable, a list of them, or a tree of them (as for `grad`), of any rank.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    For each variable a tensor of its shape twice; one, a list, a tuple or a tree, as `wrt` is.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> tt.hessian((x**3).sum(), x).eval({x: [1.0, 2.0]})
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    refuse_function("hessian", cost)
    targets = variables("hessian", wrt)
    slopes = grad(cost, targets, consider_constant, disconnected_inputs, add_names=False)
    # A slope that does not depend on its variable is that of a linear cost: its derivatives are zeros.
    matrices = [
        jacobian(slope, target, consider_constant, disconnected_inputs="ignore", forward=True)
        for slope, target in zip(slopes, targets, strict=True)
    ]
    return like(wrt, matrices)


@composed
def hessian_vector_product(cost: TensorLike, wrt: object, p: object, **grad_kwargs: Any) -> Any:
    """Return the product of the matrix of second derivatives of a scalar cost with vectors, without the matrix.

    Parameters
    ----------
    cost
        A float scalar.
    wrt
        A variable, a list of them, or a tree of them (as for `grad`), of any rank.
    p
        For each variable a tensor of its shape.
    **grad_kwargs
        Passed to `grad`.

    Returns
    -------
    For each variable a tensor of its shape; one, a list, a tuple or a tree, as `wrt` is.

    Notes
    -----
    The derivative of the gradient in a direction costs a small multiple of the cost itself (B. A. Pearlmutter, "Fast
    exact multiplication by the Hessian", 1994).

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> v = tt.dvector("v")
    >>> tt.hessian_vector_product((x**3).sum(), [x], [v])[0].eval({x: [1.0, 2.0], v: [1.0, 0.0]})
    array([6., 0.])
    """
    refuse_function("hessian_vector_product", cost)
    check_options("hessian_vector_product", grad_kwargs)
    targets = variables("hessian_vector_product", wrt)
    slopes = grad(cost, targets, **{"add_names": False, **grad_kwargs})
    vectors = matched("hessian_vector_product: p", targets, aligned("hessian_vector_product: p", wrt, p))
    moved = jvp(slopes, targets, vectors, constants=as_constants(grad_kwargs.get("consider_constant")))
    products = [
        zeros_like(s) if isinstance(m.type, DisconnectedType) else defined("hessian_vector_product", s, m)
        for s, m in zip(slopes, moved, strict=True)
    ]
    return like(wrt, [remembered(product, (*slopes, *targets, *vectors)) for product in products])


@composed
def gauss_newton_vector_product(cost: TensorLike, outputs: object, wrt: object, v: object) -> Any:
    """Return the product of the Gauss-Newton matrix of a cost with vectors, without the matrix.

    The matrix is J^T H J: J the Jacobian of the outputs of a model by its parameters, H the matrix of second
    derivatives of the cost by these outputs. Where the cost is convex in the outputs, no eigenvalue of it is negative.

    Parameters
    ----------
    cost
        A float scalar, computed from the outputs.
    outputs
        What the cost is computed from, a variable or a list of them, computed from `wrt`.
    wrt
        A variable, a list of them, or a tree of them (as for `grad`), of any rank.
    v
        For each variable of `wrt` a tensor of its shape.

    Returns
    -------
    For each variable a tensor of its shape; one, a list, a tuple or a tree, as `wrt` is.

    Notes
    -----
    One product from the right with J, one with H and one from the left with J (N. N. Schraudolph, "Fast curvature
    matrix-vector products for second-order gradient descent", 2002).

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> v = tt.dvector("v")
    >>> y = x**2
    >>> tt.gauss_newton_vector_product((y**2).sum(), y, [x], [v])[0].eval({x: [1.0, 2.0], v: [1.0, 0.0]})
    array([8., 0.])
    """
    results = [as_tensor_variable(out) for out in listed("gauss_newton_vector_product: outputs", outputs)]
    targets = variables("gauss_newton_vector_product", wrt)
    vectors = matched("gauss_newton_vector_product: v", targets, aligned("gauss_newton_vector_product: v", wrt, v))
    moved = pushforward(results, targets, vectors, disconnected_outputs="ignore")
    slopes = grad(cost, results, consider_constant=results, add_names=False)
    curved = pushforward(slopes, results, moved, disconnected_outputs="ignore")
    return like(wrt, list(pullback(results, targets, curved, disconnected_inputs="ignore")))
