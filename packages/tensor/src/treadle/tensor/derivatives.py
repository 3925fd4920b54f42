"""Derivatives of whole expressions: products with Jacobians from either side, Jacobians and Hessians themselves."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph import (
    DisconnectedType,
    GraphTypeError,
    GraphValueError,
    NullType,
    Variable,
    composed,
    vectorize_graph,
)
from treadle.tensor.arguments import as_items
from treadle.tensor.broadcasting import alloc, zeros_like
from treadle.tensor.conversion import as_tensor_variable
from treadle.tensor.errors import DisconnectedInputError, DtypeError, NullTypeGradError, ShapeError
from treadle.tensor.joining import eye
from treadle.tensor.jvp import jvp
from treadle.tensor.reverse_mode import choice, grad
from treadle.tensor.shape import lengths, reshape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = [
    "Lop",
    "Rop",
    "hessian",
    "hessian_vector_product",
    "jacobian",
    "pullback",
    "pushforward",
    "pushforward_through_pullback",
    "subgraph_grad",
]


def _listed(what: str, given: Any) -> list[Any]:
    return [given] if not isinstance(given, list | tuple) else as_items(what, given)


def _like(given: Any, found: list[Any]) -> Any:
    """Return results in the form of an argument: one, a list or a tuple."""
    if not isinstance(given, list | tuple):
        return found[0]
    return tuple(found) if isinstance(given, tuple) else found


def _matched(what: str, variables: Sequence[Variable], vectors: Any) -> list[Any]:
    """Return a vector for each variable, of its rank."""
    given = _listed(what, vectors)
    if len(given) != len(variables):
        msg = f"{what}: one is needed for each of {len(variables)} variables, got {len(given)}."
        raise GraphValueError(msg)
    found: list[TensorVariable | None] = []
    for var, vector in zip(variables, given, strict=True):
        if vector is None or (isinstance(vector, Variable) and isinstance(vector.type, DisconnectedType)):
            found.append(None)
            continue
        tensor = as_tensor_variable(vector)
        if tensor.ndim != as_tensor_variable(var).ndim:
            msg = f"{what}: that of {var} of type {var.type} has rank {tensor.ndim}. Give it the rank of the variable."
            raise ShapeError(msg)
        found.append(tensor)
    return found


@composed
def pullback(
    f: Any,
    wrt: Any,
    cotangents: Any,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """Return the product of row vectors with the Jacobian of an expression: reverse mode.

    Parameters
    ----------
    f
        An expression, or a list of them.
    wrt
        A variable, or a list of them.
    cotangents
        For each expression a tensor of its shape.
    consider_constant, disconnected_inputs, return_disconnected
        As for `grad`.

    Returns
    -------
    For each variable a tensor of its shape; one, a list or a tuple, as `wrt` is.

    Raises
    ------
    GraphValueError, ShapeError
        If the cotangents are not as many, or not of the ranks of the expressions.
    DisconnectedInputError
        If nothing depends on a variable and `disconnected_inputs` is ``raise``.
    """
    outputs = [as_tensor_variable(out) for out in _listed("pullback: f", f)]
    vectors = _matched("pullback: the cotangents", outputs, cotangents)
    known: dict[Variable, Any] = {}
    for out, vector in zip(outputs, vectors, strict=True):
        if vector is not None:
            known[out] = known[out] + vector if out in known else vector
    if not known:
        msg = "pullback: no cotangent is connected. Give at least one."
        raise GraphValueError(msg)
    targets = _listed("pullback: wrt", wrt)
    found = grad(
        None, targets, known_grads=known, consider_constant=consider_constant,
        disconnected_inputs=disconnected_inputs, return_disconnected=return_disconnected, add_names=False,
    )  # fmt: skip
    return _like(wrt, list(found))


@composed
def pushforward(
    f: Any,
    wrt: Any,
    tangents: Any,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
    use_op_pushforward: bool = True,
) -> Any:
    """Return the product of the Jacobian of an expression with column vectors: forward mode, directional derivatives.

    Parameters
    ----------
    f
        An expression, or a list of them.
    wrt
        A variable, or a list of them. One that is computed from another one moves with it as well, as a gradient by
        the one flows through the other.
    tangents
        For each variable a tensor of its shape, the direction in which it moves; None where it does not.
    disconnected_outputs
        What to do where an expression depends on no variable: ``raise``, ``warn`` or ``ignore``.
    return_disconnected
        What to return there: ``zero``, ``none`` or ``disconnected``.
    use_op_pushforward
        Whether to visit each node once and ask its op for its own rule, `Op.pushforward` or `Op.R_op`; ops without one
        are asked for two pullbacks, one by one. If False, that is done for the whole graph at once
        (`pushforward_through_pullback`): results are the same, the graph is larger, and loops run backwards twice.

    Returns
    -------
    For each expression a tensor of its shape; one, a list or a tuple, as `f` is.

    Raises
    ------
    GraphValueError, ShapeError
        If the tangents are not as many, or not of the ranks of the variables.
    DisconnectedInputError
        If an expression depends on no variable and `disconnected_outputs` is ``raise``.
    NullTypeGradError
        If a derivative is not defined.
    """
    on_disconnected = choice("pushforward: disconnected_outputs", disconnected_outputs, ("raise", "warn", "ignore"))
    returned = choice("pushforward: return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    outputs = [as_tensor_variable(out) for out in _listed("pushforward: f", f)]
    targets = _variables("pushforward", wrt)
    vectors = _matched("pushforward: the tangents", targets, tangents)
    found: list[Any] = []
    for out, moved in zip(outputs, jvp(outputs, targets, vectors, use_op_pushforward), strict=True):
        if isinstance(moved.type, NullType):
            msg = f"pushforward: the derivative of {out} is not defined: {moved.type.why}."
            raise NullTypeGradError(msg)
        if not isinstance(moved.type, DisconnectedType):
            found.append(moved)
            continue
        text = (
            f"pushforward: {out} does not depend on what moves in a differentiable way. Leave it out, or pass "
            "disconnected_outputs='ignore' for zeros."
        )
        if on_disconnected == "raise":
            raise DisconnectedInputError(text)
        if on_disconnected == "warn":
            warnings.warn(text, UserWarning, stacklevel=3)
        found.append(zeros_like(out) if returned == "zero" else None if returned == "none" else moved)
    return _like(f, found)


def pushforward_through_pullback(
    outputs: Any,
    inputs: Any,
    tangents: Any,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """Return what `pushforward` does, from the gradient of the outputs and the gradient of that; no op's rule is asked.

    Parameters
    ----------
    outputs
        An expression, or a list of them.
    inputs
        A variable, or a list of them.
    tangents, disconnected_outputs, return_disconnected
        As for `pushforward`.

    Notes
    -----
    The gradient is linear in the cotangents, and its own gradient by these is the derivative in the given directions
    (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
    """
    return pushforward(outputs, inputs, tangents, disconnected_outputs, return_disconnected, use_op_pushforward=False)


def Lop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """Return `pullback`, by its documented older name."""
    return pullback(f, wrt, eval_points, consider_constant, disconnected_inputs, return_disconnected)


def Rop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
    use_op_rop_implementation: bool = True,
) -> Any:
    """Return `pushforward`, by its documented older name."""
    return pushforward(f, wrt, eval_points, disconnected_outputs, return_disconnected, use_op_rop_implementation)


def _variables(function: str, wrt: Any) -> list[Variable]:
    targets = _listed(f"{function}: wrt", wrt)
    for target in targets:
        if not isinstance(target, Variable):
            msg = f"{function}: derivatives are taken by variables, got {text_of(target)}. Pass the variable itself."
            raise GraphTypeError(msg)
    return targets


def _real(function: str, expression: TensorLike) -> TensorVariable:
    var = as_tensor_variable(expression)
    if var.type.numpy_dtype.kind != "f":
        msg = f"{function}: the expression must be of a float dtype, got {var} of type {var.type}. Cast it first."
        raise DtypeError(msg)
    return var


@composed
def jacobian(
    expression: TensorLike,
    wrt: Any,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = True,
) -> Any:
    """Return the matrix of all derivatives of an expression.

    Parameters
    ----------
    expression
        A float tensor of any rank.
    wrt
        A variable, or a list of them, of any rank.
    consider_constant, disconnected_inputs
        As for `grad`.
    vectorize
        Without effect: the gradients of all elements are always one batch.

    Returns
    -------
    For each variable a tensor of the shape of the expression followed by that of the variable; one, a list or a tuple,
    as `wrt` is.

    Raises
    ------
    DtypeError
        If the expression is not of a float dtype.
    DisconnectedInputError
        If the expression does not depend on a variable and `disconnected_inputs` is ``raise``.
    VectorizeError
        If an op of the gradient cannot be applied to a batch.
    """
    del vectorize
    out = _real("jacobian", expression)
    targets = _variables("jacobian", wrt)
    given: dict[str, Any] = {"consider_constant": consider_constant, "disconnected_inputs": disconnected_inputs}
    if out.ndim == 0:
        return _like(wrt, list(grad(out, targets, **given, add_names=False)))
    cotangent: TensorVariable = out.type.make_variable("cotangent")
    slopes = pullback(out, targets, cotangent, **given)
    shape = lengths(out)
    count: Any = shape[0]
    for length in shape[1:]:
        count = count * length
    basis = reshape(eye(count, dtype=out.dtype), (count, *shape), ndim=out.ndim + 1)
    rows = vectorize_graph(slopes, {cotangent: basis})
    found = []
    for row, slope, target in zip(rows, slopes, targets, strict=True):
        own = as_tensor_variable(target)
        # One that depends on no cotangent, as zeros do not, is the same for all.
        full = row if row.ndim > slope.ndim else alloc(row, count, *lengths(own))
        found.append(reshape(full, (*shape, *lengths(own)), ndim=out.ndim + own.ndim))
    return _like(wrt, found)


@composed
def hessian(
    cost: TensorLike,
    wrt: Any,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """Return the matrix of second derivatives of a scalar cost, by each variable on its own.

    Parameters
    ----------
    cost
        A float scalar.
    wrt
        A variable, or a list of them, of any rank.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    For each variable a tensor of its shape twice; one, a list or a tuple, as `wrt` is.
    """
    targets = _variables("hessian", wrt)
    slopes = grad(cost, targets, consider_constant, disconnected_inputs, add_names=False)
    # A slope that does not depend on its variable is that of a linear cost: its derivatives are zeros.
    found = [
        jacobian(slope, target, consider_constant, disconnected_inputs="ignore")
        for slope, target in zip(slopes, targets, strict=True)
    ]
    return _like(wrt, found)


@composed
def hessian_vector_product(cost: TensorLike, wrt: Any, p: Any, **grad_kwargs: Any) -> Any:
    """Return the product of the matrix of second derivatives of a scalar cost with vectors, without the matrix.

    Parameters
    ----------
    cost
        A float scalar.
    wrt
        A variable, or a list of them, of any rank.
    p
        For each variable a tensor of its shape.
    **grad_kwargs
        Passed to `grad`.

    Returns
    -------
    For each variable a tensor of its shape; one, a list or a tuple, as `wrt` is.

    Notes
    -----
    The derivative of the gradient in a direction costs a small multiple of the cost itself (B. A. Pearlmutter, "Fast
    exact multiplication by the Hessian", 1994).
    """
    targets = _variables("hessian_vector_product", wrt)
    slopes = grad(cost, targets, **{"add_names": False, **grad_kwargs})
    vectors = _matched("hessian_vector_product: p", targets, p)
    return _like(wrt, pushforward(list(slopes), targets, vectors, disconnected_outputs="ignore"))


@composed
def subgraph_grad(
    wrt: Sequence[Variable],
    end: Sequence[Variable],
    start: dict[Variable, Any] | None = None,
    cost: TensorLike | None = None,
    details: bool = False,
) -> Any:
    """Return gradients by variables, and by the ends of a stretch of graph through which they flow on.

    Parameters
    ----------
    wrt
        Variables within the stretch.
    end
        Variables at which it ends, towards the inputs: nothing flows through them.
    start
        Gradients that are known, by the variables at which the stretch begins.
    cost
        A scalar that counts too.
    details
        Whether to return what comes from `start` and from the cost apart as well.

    Returns
    -------
    The gradients by `wrt`, and those by `end`; with `details` also those from `start`, and from the cost, each by
    `wrt` and `end` in this order (None where one is not given).

    Raises
    ------
    GraphValueError
        If there is neither a start nor a cost.
    """
    if start is None and cost is None:
        msg = "subgraph_grad: gradients begin at a cost or at known ones. Pass cost or start."
        raise GraphValueError(msg)
    inner, ends = _variables("subgraph_grad", list(wrt)), _variables("subgraph_grad", list(end))
    targets = [*inner, *ends]
    kwargs: dict[str, Any] = {"consider_constant": ends, "disconnected_inputs": "ignore", "add_names": False}
    from_start = None if start is None else list(grad(None, targets, known_grads=start, **kwargs))
    from_cost = None if cost is None else list(grad(cost, targets, **kwargs))
    parts = [part for part in (from_start, from_cost) if part is not None]
    total = parts[0] if len(parts) == 1 else [a + b for a, b in zip(*parts, strict=True)]
    result = (total[: len(inner)], total[len(inner) :])
    return (*result, from_start, from_cost) if details else result
