"""Gradients of costs, with the types that checkers and editors see: a tensor by a tensor, a list by a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from treadle.graph import composed
from treadle.tensor.gradients.reverse_mode import check_options, gradients_by, refuse_function
from treadle.tensor.types.conversion import as_differentiable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    T = TypeVar("T", bound=TensorVariable)

__all__ = ["grad", "value_and_grad"]


@overload
def grad(
    cost: TensorLike | None,
    wrt: TensorVariable,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, TensorLike] | None = None,
) -> TensorVariable: ...


@overload
def grad(
    cost: TensorLike | None,
    wrt: list[T],
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, TensorLike] | None = None,
) -> list[TensorVariable]: ...


@overload
def grad(
    cost: TensorLike | None,
    wrt: object = None,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, TensorLike] | None = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any: ...


@composed
def grad(
    cost: TensorLike | None,
    wrt: object = None,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, TensorLike] | None = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:
    """Return the gradient of a scalar cost, by reverse mode.

    Parameters
    ----------
    cost
        A float scalar; None if `known_grads` is given.
    wrt
        A variable, a sequence of them, or a tree of them (variables in dictionaries, tuples, dataclasses, nested as
        you like; see `treadle.graph.tree_flatten`), to differentiate with respect to.
    consider_constant
        Variables that nothing flows back through: what they are computed from gets nothing by way of them. The
        gradient by one of them is what reaches it.
    disconnected_inputs
        What to do where the cost does not depend on a variable: ``raise``, ``warn`` or ``ignore``.
    add_names
        Whether to name gradients after cost and variable.
    known_grads
        Gradients of intermediate variables that are known already, as variables or values of the variables' ranks.
        They are the gradients by these variables: what flows to them from the cost, or from one another, is left out.
    return_disconnected
        What to return there: ``zero``, ``none`` or ``disconnected``.
    null_gradients
        What to do where a gradient is not defined: ``raise``, or ``return`` the null variable.

    Returns
    -------
    A variable of the shape and dtype of `wrt`, or a list, a tuple or a tree of them as `wrt` is.

    Raises
    ------
    GraphTypeError, GraphValueError
        If an argument is of the wrong kind, or none of the words listed.
    ShapeError
        If the cost is not a scalar.
    DtypeError
        If the cost is not a float.
    DisconnectedInputError
        If the cost does not depend on a variable and `disconnected_inputs` is ``raise``.
    NullTypeGradError
        If a gradient is not defined and `null_gradients` is ``raise``.

    Notes
    -----
    The gradient with respect to a complex z = a + ib is d/da + i d/db: the direction in which the cost grows fastest.

    Reverse accumulation over the graph in reverse order of evaluation (Griewank and Walther, Evaluating Derivatives,
    2008, chapter 3); each node is visited once.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> tt.grad((x**2).sum(), x).eval({x: [1.0, 2.0]})
    array([2., 4.])
    """
    refuse_function("grad", cost)
    return gradients_by(
        cost, wrt, known_grads, replaces=True, consider_constant=consider_constant,
        disconnected_inputs=disconnected_inputs, add_names=add_names, return_disconnected=return_disconnected,
        null_gradients=null_gradients,
    )  # fmt: skip


@overload
def value_and_grad(
    cost: TensorLike, wrt: TensorVariable, **grad_kwargs: Any
) -> tuple[TensorVariable, TensorVariable]: ...


@overload
def value_and_grad(
    cost: TensorLike, wrt: list[T], **grad_kwargs: Any
) -> tuple[TensorVariable, list[TensorVariable]]: ...


@overload
def value_and_grad(cost: TensorLike, wrt: object = None, **grad_kwargs: Any) -> tuple[TensorVariable, Any]: ...


def value_and_grad(cost: TensorLike, wrt: object = None, **grad_kwargs: Any) -> tuple[TensorVariable, Any]:
    """Return a scalar cost and its gradient, to be computed together: the gradient reuses what the cost computes.

    Parameters
    ----------
    cost
        A float scalar.
    wrt
        A variable, a sequence of them, or a tree of them, as for `grad`.
    **grad_kwargs
        Passed to `grad`.

    Examples
    --------
    >>> from treadle.tensor import dvector, value_and_grad
    >>> x = dvector("x")
    >>> cost, slope = value_and_grad((x**2).sum(), x)
    >>> slope.eval({x: [1.0, -2.0]}).tolist()
    [2.0, -4.0]
    """
    refuse_function("value_and_grad", cost)
    check_options("value_and_grad", grad_kwargs)
    value: Any = as_differentiable(cost)
    return value, grad(value, wrt, **grad_kwargs)
