"""Reverse-mode differentiation."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, DisconnectedType, GraphTypeError, IfElse, NullType, Variable, toposort
from treadle.tensor.broadcasting import ones_like, zeros_like
from treadle.tensor.conversion import as_tensor_variable
from treadle.tensor.demand import ALWAYS, Demands
from treadle.tensor.errors import DisconnectedInputError, DtypeError, NullTypeGradError, ShapeError
from treadle.tensor.scalar.arithmetic import add
from treadle.tensor.shape import shared_lengths
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from treadle.tensor.demand import Demand

Cotangents = dict[Variable, Variable]


def grad(
    cost: Any,
    wrt: Any,
    consider_constant: Collection[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:
    """Return the gradient of a scalar cost, by reverse mode.

    Parameters
    ----------
    cost
        A float scalar; None if `known_grads` is given.
    wrt
        A variable, or a sequence of them, to differentiate with respect to.
    consider_constant
        Variables that nothing flows back through.
    disconnected_inputs
        What to do where the cost does not depend on a variable: ``raise``, ``warn`` or ``ignore``.
    add_names
        Whether to name gradients after cost and variable.
    known_grads
        Gradients of intermediate variables that are known already; they add to what flows from the cost.
    return_disconnected
        What to return there: ``zero``, ``None`` or ``disconnected``.
    null_gradients
        What to do where a gradient is not defined: ``raise``, or ``return`` the null variable.

    Returns
    -------
    A variable of the shape and dtype of `wrt`, or a list or tuple of them as `wrt` is.

    Raises
    ------
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
    Reverse accumulation over the graph in reverse order of evaluation (Griewank and Walther, Evaluating Derivatives,
    2008, chapter 3); each node is visited once.
    """
    _check_choice("disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    _check_choice("return_disconnected", return_disconnected, ("zero", "None", "disconnected"))
    _check_choice("null_gradients", null_gradients, ("raise", "return"))
    single = isinstance(wrt, Variable)
    targets = [wrt] if single else list(wrt)
    for target in targets:
        if not isinstance(target, Variable):
            msg = f"grad: a gradient is taken with respect to variables, got {target!r}. Pass the variable itself."
            raise GraphTypeError(msg)
    seeds = _seeds(cost, known_grads)
    with shared_lengths():
        found = _accumulate(seeds, targets, set(consider_constant or ()))
    result = []
    for target in targets:
        gradient = found.get(target)
        if gradient is None or isinstance(gradient.type, DisconnectedType):
            result.append(_disconnected(target, disconnected_inputs, return_disconnected))
            continue
        if isinstance(gradient.type, NullType) and null_gradients == "raise":
            msg = f"grad: the gradient with respect to {target} is not defined: {gradient.type.why}."
            raise NullTypeGradError(msg)
        if add_names and gradient.name is None and target.name is not None and gradient.owner is not None:
            gradient.name = f"(d{getattr(cost, 'name', None) or 'cost'}/d{target.name})"
        result.append(gradient)
    return result[0] if single else type(wrt)(result) if isinstance(wrt, tuple) else result


def _check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        msg = f"grad: {name} must be one of {', '.join(allowed)}, got {value!r}."
        raise ShapeError(msg)


def _seeds(cost: Any, known_grads: Mapping[Variable, Variable] | None) -> Cotangents:
    """Return the gradients to begin with."""
    seeds: Cotangents = dict(known_grads or {})
    if cost is None:
        if not seeds:
            msg = "grad: a cost is needed, or known_grads. Pass a scalar cost."
            raise GraphTypeError(msg)
        return seeds
    var = as_tensor_variable(cost)
    if var.ndim != 0:
        msg = f"grad: the cost must be a scalar, got {var} of type {var.type}. Take its sum or mean first."
        raise ShapeError(msg)
    if var.type.numpy_dtype.kind != "f":
        msg = f"grad: the cost must be of a float dtype, got {var} of type {var.type}. Cast it first."
        raise DtypeError(msg)
    one = ones_like(var) if var.ndim else as_tensor_variable(var.type.numpy_dtype.type(1))
    seeds[var] = add(seeds[var], one) if var in seeds else one
    return seeds


def _disconnected(target: Variable, action: str, returned: str) -> Any:
    text = (
        f"grad: the cost does not depend on {target} in a differentiable way. Leave it out of wrt, "
        "or pass disconnected_inputs='ignore' for zeros."
    )
    if action == "raise":
        raise DisconnectedInputError(text)
    if action == "warn":
        warnings.warn(text, UserWarning, stacklevel=3)
    if returned == "None":
        return None
    return DisconnectedType()() if returned == "disconnected" else zeros_like(target)


def _depends(order: Sequence[Apply], targets: Collection[Variable], constants: set[Variable]) -> set[Apply]:
    """Return the nodes that are computed from a target."""
    reached: set[Variable] = set(targets)
    nodes = set()
    for node in order:
        if any(v in reached and v not in constants for v in node.inputs):
            nodes.add(node)
            reached.update(node.outputs)
    return nodes


def _accumulate(seeds: Cotangents, targets: Sequence[Variable], constants: set[Variable]) -> Cotangents:
    """Carry the seeds back through the graph; return the gradient of every variable reached."""
    order = toposort(seeds)
    relevant = _depends(order, targets, constants)
    found: Cotangents = dict(seeds)
    demands = Demands(order, seeds) if any(isinstance(node.op, IfElse) for node in order) else None
    for node in reversed(order):
        if node not in relevant:
            continue
        cotangents = [found.get(out) for out in node.outputs]
        if all(c is None for c in cotangents):
            continue
        flows = _flows(node, cotangents)
        if not any(flows):
            continue
        terms = _terms(node, cotangents) if demands is None else _guarded_terms(node, cotangents, demands)
        for x, term, flowing in zip(node.inputs, terms, flows, strict=True):
            if not flowing or term is None or x in constants or isinstance(term.type, DisconnectedType):
                continue
            found[x] = _sum(found.get(x), term)
    return found if demands is None else _right_always(found, demands, targets)


def _right_always(found: Cotangents, demands: Demands, targets: Sequence[Variable]) -> Cotangents:
    """Return gradients of which those asked for are right always, not only where they are needed."""
    asked = {
        target: _guarded(found[target], demands, demands.of(target), target, ALWAYS)
        for target in targets
        if target in found
    }
    return {**found, **asked}


def _guarded_terms(node: Apply, cotangents: Sequence[Variable | None], demands: Demands) -> Sequence[Variable | None]:
    """Return what flows back through a choice, or a node that may stand in a branch."""
    if isinstance(node.op, IfElse):
        return _terms_of_choice(node.op, node, cotangents, demands)
    own = demands.of_node(node)
    given = [
        c if c is None else _guarded(c, demands, demands.of(out), out, own)
        for c, out in zip(cotangents, node.outputs, strict=True)
    ]
    terms = _terms(node, given)
    return [_guarded(t, demands, own, x, demands.of(x)) for x, t in zip(node.inputs, terms, strict=True)]


def _terms_of_choice(
    op: IfElse, node: Apply, cotangents: Sequence[Variable | None], demands: Demands
) -> Sequence[Variable | None]:
    """Return what flows back through a choice: to the variables of either branch, where it is taken."""
    terms: list[Variable | None] = [None]
    for taken, branch in zip((True, False), op.branches(node), strict=True):
        for c, out, x in zip(cotangents, node.outputs, branch, strict=True):
            demand = demands.within(demands.of(out), node.inputs[0], taken)
            guarded = None if c is None else _guarded(c, demands, demand, x, demands.of(x))
            terms.append(None if guarded is None else _checked(node, x, guarded))
    return terms


def _guarded(term: Variable | None, demands: Demands, demand: Demand, like: Variable, wider: Demand) -> Any:
    """Return a term that is right under a demand as one that is right under a wider one."""
    if term is None or isinstance(term.type, DisconnectedType | NullType):
        return term
    return demands.guarded(term, demand, like, wider)


def _flows(node: Apply, cotangents: Sequence[Variable | None]) -> list[bool]:
    """Return for each input whether a cotangent reaches it."""
    pattern = node.op.connection_pattern(node)
    if len(pattern) != len(node.inputs) or any(len(row) != len(node.outputs) for row in pattern):
        msg = (
            f"{node.op}: connection_pattern must have {len(node.outputs)} booleans for each of {len(node.inputs)} "
            f"inputs, got {pattern!r}{node.where()}. Correct the op."
        )
        raise GraphTypeError(msg)
    return [any(c is not None and row[o] for o, c in enumerate(cotangents)) for row in pattern]


def _terms(node: Apply, cotangents: Sequence[Variable | None]) -> Sequence[Variable | None]:
    """Return what flows back through a node, checked."""
    given = [
        (zeros_like(out) if isinstance(out.type, TensorType) else DisconnectedType()()) if c is None else c
        for c, out in zip(cotangents, node.outputs, strict=True)
    ]
    null = next((c for c in given if isinstance(c.type, NullType)), None)
    if null is not None:
        return [null] * len(node.inputs)
    terms = node.op.pullback(node.inputs, node.outputs, given)
    if len(terms) != len(node.inputs):
        msg = (
            f"{node.op}: the gradient must have one term for each of {len(node.inputs)} inputs, "
            f"got {len(terms)}{node.where()}. Correct its pullback (or L_op, or grad)."
        )
        raise GraphTypeError(msg)
    return [_checked(node, x, t) for x, t in zip(node.inputs, terms, strict=True)]


def _checked(node: Apply, x: Variable, term: Variable | None) -> Variable | None:
    if term is None or isinstance(term.type, DisconnectedType | NullType):
        return term
    kind = x.type
    if not isinstance(kind, TensorType):
        # What a gradient by a value of another package's type is, that package knows.
        return term
    if kind.numpy_dtype.kind not in "fc":
        return None
    var = as_tensor_variable(term)
    if var.ndim != kind.ndim:
        msg = (
            f"{node.op}: the gradient of {x} of type {kind} has rank {var.ndim}{node.where()}. "
            "It must have the input's rank. Correct the op's pullback (or L_op, or grad)."
        )
        raise ShapeError(msg)
    return var if var.dtype == kind.dtype else var.astype(kind.dtype)


def _sum(old: Variable | None, new: Variable) -> Variable:
    if old is None:
        return new
    if isinstance(old.type, NullType):
        return old
    if isinstance(new.type, NullType):
        return new
    total: Variable = add(old, new)
    return total
