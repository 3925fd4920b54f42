"""Products with Jacobians of whole expressions from either side, and gradients of a stretch of graph."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph import DisconnectedType, GraphTypeError, GraphValueError, Variable, as_flag, composed
from treadle.tensor.arguments.values import as_items
from treadle.tensor.errors import DisconnectedInputError, ShapeError
from treadle.tensor.gradients.adding import zeros_of
from treadle.tensor.gradients.forward_mode import defined, jvp
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.gradients.nested import aligned, nested_form, nested_variables
from treadle.tensor.gradients.reverse_mode import (
    choice,
    gradients_of_parts,
    refuse_function,
    remembered,
)
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import as_differentiable, as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from treadle.tensor.variables.variable import TensorLike

__all__ = ["Lop", "Rop", "as_list_or_tuple", "pullback", "pushforward", "pushforward_through_pullback", "subgraph_grad"]


def listed(what: str, argument: object) -> list[Any]:
    """Return one, several in a list or tuple, or the leaves of a tree, as a list."""
    form = nested_form(argument)
    if form is not None:
        return form.leaves(argument, what)
    return [argument] if not isinstance(argument, list | tuple) else as_items(what, argument)


def like(argument: object, results: Sequence[object]) -> Any:
    """Return results in the form of an argument: one, a list, a tuple or a tree."""
    form = nested_form(argument)
    if form is not None:
        return form.fill(results)
    if not isinstance(argument, list | tuple):
        return results[0]
    return tuple(results) if isinstance(argument, tuple) else results


def as_list_or_tuple(use_list: bool, use_tuple: bool, outputs: object) -> Any:
    """Return results as a list or tuple, or the one that there is if neither is asked for.

    Parameters
    ----------
    use_list, use_tuple
        The form asked for; not both.
    outputs
        A result, or a list or tuple of them.

    Raises
    ------
    GraphValueError
        If both forms are asked for, or there are several results and neither is.

    Examples
    --------
    >>> tt.as_list_or_tuple(False, True, [1, 2])
    (1, 2)
    """
    use_list = as_flag("as_list_or_tuple: use_list", use_list)
    use_tuple = as_flag("as_list_or_tuple: use_tuple", use_tuple)
    results = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    if (use_list and use_tuple) or (len(results) != 1 and not (use_list or use_tuple)):
        msg = f"as_list_or_tuple: one form is needed for {len(results)} results. Pass use_list or use_tuple as True."
        raise GraphValueError(msg)
    return results if use_list else tuple(results) if use_tuple else results[0]


def matched(what: str, variables: Sequence[Variable], vectors: object) -> list[Variable | None]:
    """Return a vector for each variable, of its rank."""
    candidates = listed(what, vectors)
    if len(candidates) != len(variables):
        msg = f"{what}: one is needed for each of {len(variables)} variables, got {len(candidates)}."
        raise GraphValueError(msg)
    result: list[Variable | None] = []
    for var, vector in zip(variables, candidates, strict=True):
        if vector is None or (isinstance(vector, Variable) and isinstance(vector.type, DisconnectedType)):
            result.append(None)
            continue
        if not isinstance(as_differentiable(var).type, TensorType):
            result.append(var.type.filter_variable(vector))
            continue
        tensor, kind = as_tensor_variable(vector), as_tensor_variable(var).type
        if tensor.ndim != kind.ndim:
            msg = f"{what}: that of {var} of type {var.type} has rank {tensor.ndim}. Give it the rank of the variable."
            raise ShapeError(msg)
        pairs = list(zip(tensor.type.shape, kind.shape, strict=True))
        if any(a is not None and b is not None and a != b for a, b in pairs):
            msg = f"{what}: that of {var} of type {var.type} has shape {tensor.type.shape}. Give it the variable's."
            raise ShapeError(msg)
        # Rules, and bodies of loops, are about as much as is known of the variable.
        known = any(a is None and b is not None for a, b in pairs)
        result.append(specify_shape(tensor, kind.shape) if known else tensor)
    return result


@composed
def pullback(
    f: object,
    wrt: object,
    cotangents: object,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """Return the product of row vectors with the Jacobian of an expression: reverse mode.

    Parameters
    ----------
    f
        An expression, a list of them, or a tree.
    wrt
        A variable, a list of them, or a tree.
    cotangents
        For each expression a tensor of its shape, nested as `f` is.
    consider_constant, disconnected_inputs, return_disconnected
        As for `grad`.

    Returns
    -------
    For each variable a tensor of its shape; one, a list, a tuple or a tree, as `wrt` is.

    Raises
    ------
    GraphValueError, ShapeError
        If the cotangents are not as many, or not of the ranks of the expressions.
    DisconnectedInputError
        If nothing depends on a variable and `disconnected_inputs` is ``raise``.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> v = tt.dvector("v")
    >>> tt.pullback(x**2, x, v).eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    refuse_function("pullback", f)
    outputs = [as_differentiable(out) for out in listed("pullback: f", f)]
    vectors = matched("pullback: the cotangents", outputs, aligned("pullback: the cotangents", f, cotangents))
    known: dict[Variable, Any] = {}
    for out, vector in zip(outputs, vectors, strict=True):
        if vector is not None:
            known[out] = known[out] + vector if out in known else vector
    if not known:
        msg = "pullback: no cotangent is connected. Give at least one."
        raise GraphValueError(msg)
    targets = listed("pullback: wrt", wrt)
    gradients = gradients_of_parts(
        known, targets, consider_constant=consider_constant,
        disconnected_inputs=disconnected_inputs, return_disconnected=return_disconnected, add_names=False,
    )  # fmt: skip
    return like(wrt, list(gradients))


@composed
def pushforward(
    f: object,
    wrt: object,
    tangents: object,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
    use_op_pushforward: bool = True,
) -> Any:
    """Return the product of the Jacobian of an expression with column vectors: forward mode, directional derivatives.

    Parameters
    ----------
    f
        An expression, a list of them, or a tree.
    wrt
        A variable, a list of them, or a tree. One that is computed from another one moves with it as well, as a
        gradient by the one flows through the other.
    tangents
        For each variable a tensor of its shape, the direction in which it moves, nested as `wrt` is; None where it does
        not.
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
    For each expression a tensor of its shape; one, a list, a tuple or a tree, as `f` is.

    Raises
    ------
    GraphValueError, ShapeError
        If the tangents are not as many, or not of the ranks of the variables.
    DisconnectedInputError
        If an expression depends on no variable and `disconnected_outputs` is ``raise``.
    NullTypeGradError
        If a derivative is not defined.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> v = tt.dvector("v")
    >>> tt.pushforward(x**2, x, v).eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    refuse_function("pushforward", f)
    on_disconnected = choice("pushforward: disconnected_outputs", disconnected_outputs, ("raise", "warn", "ignore"))
    returned = choice("pushforward: return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    outputs = [as_differentiable(out) for out in listed("pushforward: f", f)]
    targets = variables("pushforward", wrt)
    vectors = matched("pushforward: the tangents", targets, aligned("pushforward: the tangents", wrt, tangents))
    sources = (*outputs, *targets, *vectors)
    derivatives: list[Variable | None] = []
    for out, moved in zip(outputs, jvp(outputs, targets, vectors, use_op_pushforward), strict=True):
        if not isinstance(defined("pushforward", out, moved).type, DisconnectedType):
            derivatives.append(remembered(moved, sources))
            continue
        text = (
            f"pushforward: {out} does not depend on what moves in a differentiable way. Leave it out, or pass "
            "disconnected_outputs='ignore' for zeros."
        )
        if on_disconnected == "raise":
            raise DisconnectedInputError(text)
        if on_disconnected == "warn":
            warnings.warn(text, UserWarning, stacklevel=3)
        zero = remembered(zeros_of(out), sources) if returned == "zero" else None
        derivatives.append(moved if returned == "disconnected" else zero)
    return like(f, derivatives)


def pushforward_through_pullback(
    outputs: object, inputs: object, tangents: object, disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:  # fmt: skip
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

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> v = tt.dvector("v")
    >>> tt.pushforward_through_pullback([x**2], [x], [v])[0].eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    return pushforward(outputs, inputs, tangents, disconnected_outputs, return_disconnected, use_op_pushforward=False)


def Lop(
    f: object,
    wrt: object,
    eval_points: object,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """Return `pullback`, by its documented older name.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> v = tt.dvector("v")
    >>> tt.Lop(x**2, x, v).eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    return pullback(f, wrt, eval_points, consider_constant, disconnected_inputs, return_disconnected)


def Rop(
    f: object,
    wrt: object,
    eval_points: object,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
    use_op_rop_implementation: bool = True,
) -> Any:
    """Return `pushforward`, by its documented older name.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> v = tt.dvector("v")
    >>> tt.Rop(x**2, x, v).eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    return pushforward(f, wrt, eval_points, disconnected_outputs, return_disconnected, use_op_rop_implementation)


def variables(function: str, wrt: object) -> list[Variable]:
    """Return the variables that derivatives are taken by."""
    form = nested_form(wrt)
    if form is not None:
        return nested_variables(f"{function}: wrt", wrt, form)
    targets = listed(f"{function}: wrt", wrt)
    for target in targets:
        if not isinstance(target, Variable):
            msg = f"{function}: derivatives are taken by variables, got {text_of(target)}. Pass the variable itself."
            raise GraphTypeError(msg)
    return targets


@composed
def subgraph_grad(
    wrt: Sequence[Variable],
    end: Sequence[Variable],
    start: Mapping[Variable, TensorLike] | None = None,
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

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> y = x**2
    >>> (by_x,), (by_y,) = tt.subgraph_grad([x], [y], cost=3 * y)
    >>> [by_x.eval({x: 2.0}), by_y.eval()]
    [array(0.), array(3.)]
    """
    if start is None and cost is None:
        msg = "subgraph_grad: gradients begin at a cost or at known ones. Pass cost or start."
        raise GraphValueError(msg)
    inner, ends = variables("subgraph_grad", list(wrt)), variables("subgraph_grad", list(end))
    targets = [*inner, *ends]
    kwargs: dict[str, Any] = {"consider_constant": ends, "disconnected_inputs": "ignore", "add_names": False}
    from_start = None if start is None else list(grad(None, targets, known_grads=start, **kwargs))
    from_cost = None if cost is None else list(grad(cost, targets, **kwargs))
    parts = [part for part in (from_start, from_cost) if part is not None]
    total = parts[0] if len(parts) == 1 else [a + b for a, b in zip(*parts, strict=True)]
    result = (total[: len(inner)], total[len(inner) :])
    return (*result, from_start, from_cost) if details else result
