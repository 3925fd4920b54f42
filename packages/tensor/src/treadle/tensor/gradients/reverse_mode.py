"""Reverse-mode differentiation."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import config, text_of
from treadle.graph import (
    Apply,
    Constant,
    DisconnectedType,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    IfElse,
    MethodNotDefinedError,
    NullType,
    Op,
    Variable,
    as_list,
    clone_replace,
    composing,
    connections,
    expand,
    graph_inputs,
    note_op,
    toposort,
)
from treadle.tensor.arguments.values import as_items
from treadle.tensor.elementwise.cast import identity
from treadle.tensor.errors import DisconnectedInputError, DtypeError, NullTypeGradError, ShapeError, TensorTypeError
from treadle.tensor.gradients.adding import summed, zeros_of
from treadle.tensor.gradients.demand import ALWAYS, Demands
from treadle.tensor.gradients.elementwise_demand import Masks, is_switch
from treadle.tensor.gradients.nested import nested_form, nested_variables
from treadle.tensor.gradients.signs import Signs
from treadle.tensor.ops.replacing import replaced
from treadle.tensor.ops.undefined_draws import null_terms
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.shape import shared_lengths
from treadle.tensor.types.conversion import (
    as_differentiable,
    as_tensor_variable,
    cotangent_of,
    is_smooth,
    zero_not_refused,
)
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor.gradients.demand import Demand
    from treadle.tensor.gradients.elementwise_demand import Pull
    from treadle.tensor.variables.variable import TensorLike

Cotangents = dict[Variable, Variable]


def _in_long_form(seeds: Cotangents, kept: Sequence[Variable]) -> Cotangents:
    """Return a cost with what ops that are short forms of others stand for, where that loses none of some variables.

    What is known of whole graphs, such as which branch of a choice is taken, is then known of all of it.
    """
    order = toposort(seeds)
    if not any(node.op.is_short_form for node in order) or any(var.owner is not None for var in kept):
        return seeds
    inputs = [x for x in graph_inputs(seeds) if not isinstance(x, Constant)]
    expanded = expand(FunctionGraph(inputs, list(seeds)), lambda node: not node.op.is_short_form)
    given = dict(zip(expanded.inputs, inputs, strict=True))
    return dict(zip(clone_replace(list(expanded.outputs), given), seeds.values(), strict=True))


def gradients_of_parts(cotangents: Mapping[Variable, TensorLike], wrt: object, **options: Any) -> Any:
    """Return the gradient of several expressions together, each with its cotangent.

    Where one of them leads to another, its cotangent adds to what flows from that one. The options are those of `grad`.
    """
    return gradients_by(None, wrt, cotangents, replaces=False, **options)


def gradients_by(
    cost: TensorLike | None, wrt: Any, known_grads: Mapping[Variable, TensorLike] | None, *, replaces: bool,
    consider_constant: Collection[Variable] | None = None, disconnected_inputs: str = "raise",
    add_names: bool = True, return_disconnected: str = "zero", null_gradients: str = "raise",
) -> Any:  # fmt: skip
    """Return gradients as `grad` does; `replaces` says whether nothing adds to what is known."""
    on_disconnected = choice("grad: disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    returned = choice("grad: return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    on_null = choice("grad: null_gradients", null_gradients, ("raise", "return"))
    constants = as_constants(consider_constant)
    single = isinstance(wrt, Variable)
    form = nested_form(wrt)
    targets: list[Any]
    if form is not None:
        targets = nested_variables("grad: wrt", wrt, form)
    else:
        targets = [wrt] if single else as_items("grad: wrt", wrt)
    for target in targets:
        if not isinstance(target, Variable):
            msg = (
                f"grad: a gradient is taken with respect to variables, got {text_of(target)}. Pass the variable itself."
            )
            raise GraphTypeError(msg)
    seeds = _seeds(cost, known_grads)
    # What is known of other variables than the cost, or is a constant, stays a variable of the graph.
    starts = seeds if known_grads else _in_long_form(seeds, [*targets, *constants])
    with shared_lengths():
        slopes = accumulate(starts, targets, constants, known=frozenset(known_grads or ()) if replaces else frozenset())
    sources = (*seeds, *(known_grads or {}).values(), *targets)
    result = []
    for target in targets:
        gradient = slopes.get(target)
        if gradient is None or isinstance(gradient.type, DisconnectedType):
            if zero_not_refused() and _depends(seeds, target, constants):
                result.append(remembered(zeros_like(target, dtype=_slope_dtype(target)), sources))
                continue
            zero = _disconnected(target, on_disconnected, returned)
            result.append(zero if zero is None else remembered(zero, sources))
            continue
        if isinstance(gradient.type, NullType) and on_null == "raise":
            msg = f"grad: the gradient with respect to {target} is not defined: {gradient.type.why}."
            raise NullTypeGradError(msg)
        gradient = remembered(gradient, sources)
        if add_names and gradient.name is None and target.name is not None and gradient.owner is not None:
            gradient.name = f"(d{getattr(cost, 'name', None) or 'cost'}/d{target.name})"
        result.append(gradient)
    if form is not None:
        return form.fill(result)
    return result[0] if single else type(wrt)(result) if isinstance(wrt, tuple) else result


def remembered(derivative: Any, sources: tuple[object, ...]) -> Any:
    """Return a derivative that notes the sources it was written with; a copy of it where it is a source or a leaf.

    The derivative of a linear expression does not depend on all of them (see `treadle.graph.origins`).
    """
    if not isinstance(derivative.type, TensorType):
        return derivative
    if derivative.owner is None or any(derivative is source for source in sources):
        derivative = identity(derivative)
    derivative.written_with += tuple(source for source in sources if isinstance(source, Variable))
    return derivative


_OPTIONS = frozenset(
    ("consider_constant", "disconnected_inputs", "add_names", "known_grads", "return_disconnected", "null_gradients")
)


def check_options(what: str, options: Iterable[str]) -> None:
    """Refuse keywords that `grad` does not take."""
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        msg = (
            f"{what}: unexpected keyword arguments, got {', '.join(unknown)}. There are {', '.join(sorted(_OPTIONS))}."
        )
        raise GraphTypeError(msg)


def refuse_function(what: str, argument: Any) -> None:
    """Refuse a function where what it returns belongs."""
    if callable(argument):
        msg = (
            f"{what}: {what} takes an expression, not a function, got {text_of(argument)}. Call the function with "
            "variables, and pass what it returns."
        )
        raise GraphTypeError(msg)


def choice(what: str, value: str, allowed: Sequence[str]) -> str:
    """Return one of the words of a choice, written in any case."""
    word = value.lower() if isinstance(value, str) else None
    if word not in allowed:
        msg = f"{what} must be one of {', '.join(allowed)}, got {text_of(value)}."
        raise GraphValueError(msg)
    return word


def as_constants(constants: Collection[Variable] | None) -> frozenset[Variable]:
    """Return the variables given as `consider_constant`: nothing flows back through them."""
    if constants is None:
        return frozenset()
    items = None if isinstance(constants, Variable) or not isinstance(constants, Collection) else as_list(constants)
    wrong = constants if items is None else next((v for v in items if not isinstance(v, Variable)), None)
    if wrong is not None or items is None:
        msg = f"grad: consider_constant takes a list of variables, got {text_of(wrong)}. Put the variables into a list."
        raise GraphTypeError(msg)
    return frozenset(items)


def _seeds(cost: TensorLike | None, known_grads: Mapping[Variable, TensorLike] | None) -> Cotangents:
    """Return the gradients to begin with."""
    if known_grads is not None and not hasattr(known_grads, "items"):
        msg = f"grad: known_grads maps variables to their gradients, got {text_of(known_grads)}. Pass a dictionary."
        raise GraphTypeError(msg)
    seeds = {var: _known(var, gradient) for var, gradient in (known_grads or {}).items()}
    if cost is None:
        if not seeds:
            msg = "grad: a cost is needed, or known_grads. Pass a scalar cost."
            raise GraphTypeError(msg)
        return seeds
    stand_in = as_differentiable(cost)
    var = as_tensor_variable(cost if isinstance(stand_in.type, TensorType) else stand_in.type.to_carrier(stand_in))
    if var.ndim != 0:
        msg = f"grad: the cost must be a scalar, got {var} of type {var.type}. Take its sum or mean first."
        raise ShapeError(msg)
    if var.type.numpy_dtype.kind in "biu" and zero_not_refused():
        seeds.setdefault(var, as_tensor_variable(np.dtype(config.floatX).type(1)))
        return seeds
    if var.type.numpy_dtype.kind != "f":
        hint = "Take its real(), imag() or abs()" if var.type.numpy_dtype.kind == "c" else "Cast it"
        msg = f"grad: the cost must be of a float dtype, got {var} of type {var.type}. {hint} first."
        raise DtypeError(msg)
    seeds.setdefault(var, as_tensor_variable(var.type.numpy_dtype.type(1)))
    return seeds


def _known(var: object, value: TensorLike) -> Variable:
    """Return a gradient given in `known_grads`."""
    if not isinstance(var, Variable):
        msg = f"grad: known_grads holds gradients by variable, got {text_of(var)}. Pass the variable itself."
        raise GraphTypeError(msg)
    absent = isinstance(value, Variable) and isinstance(value.type, DisconnectedType | NullType)
    if absent or not isinstance(var.type, TensorType):
        return value  # type: ignore[return-value]  # only the package of such a type knows what its gradients are
    gradient = as_tensor_variable(value)
    if gradient.ndim != var.type.ndim:
        msg = (
            f"grad: the gradient of {var} of type {var.type} given in known_grads has rank {gradient.ndim}. "
            "Give it the rank of the variable."
        )
        raise ShapeError(msg)
    return gradient


def _depends(seeds: Collection[Variable], target: Variable, constants: Collection[Variable]) -> bool:
    """Whether one of the seeds is computed from a target by ops that say it is connected."""
    if not isinstance(target.type, TensorType):
        return False
    _, reached = _connected(toposort(seeds), [target], constants)
    return any(seed in reached for seed in seeds)


def _slope_dtype(target: Variable) -> str:
    """Return the dtype of the gradient by a tensor."""
    return str(target.type.dtype if is_smooth(target) else config.floatX)  # type: ignore[attr-defined]  # a tensor


def _disconnected(target: Variable, action: str, returned: str) -> Variable | None:
    missing("grad", target, action)
    if returned == "none":
        return None
    return DisconnectedType()() if returned == "disconnected" else zeros_of(target)


def missing(function: str, target: Variable, action: str) -> None:
    """Raise an error or warn, or neither, where a cost does not depend on a variable."""
    text = (
        f"{function}: the cost does not depend on {target} in a differentiable way. Leave it out of wrt, "
        "or pass disconnected_inputs='ignore' for zeros."
    )
    if action == "raise":
        raise DisconnectedInputError(text)
    if action == "warn":
        warnings.warn(text, UserWarning, stacklevel=4)


# What an op says about its node: for each input, for each output, whether they are connected.
Pattern = list[list[bool]]


def _connected(
    order: Sequence[Apply], targets: Collection[Variable], constants: Collection[Variable]
) -> tuple[dict[Apply, Pattern], set[Variable]]:
    """Return the nodes through which a gradient may reach a target, and the variables from which it may."""
    reached: set[Variable] = set(targets)
    patterns: dict[Apply, Pattern] = {}
    for node in order:
        moving = [i for i, x in enumerate(node.inputs) if x in reached]
        if not moving:
            continue
        pattern = connections(node)
        through = [
            out for o, out in enumerate(node.outputs) if out not in constants and any(pattern[i][o] for i in moving)
        ]
        if through:
            patterns[node] = pattern
            reached.update(through)
    return patterns, reached


def accumulate(
    seeds: Cotangents,
    targets: Sequence[Variable],
    constants: Collection[Variable] = frozenset(),
    blockers: Collection[Variable] | None = None,
    known: Collection[Variable] = frozenset(),
) -> Cotangents:
    """Carry the seeds back through the graph; return the gradient of every variable that leads to a target.

    Nothing flows back through `constants`, nothing is added to the seeds in `known`, and the graph is not looked at
    beyond `blockers`, behind which no target stands.
    """
    order = toposort(seeds, blockers)
    patterns, reached = _connected(order, targets, constants)
    gradients: Cotangents = dict(seeds)
    demands = Demands(order, seeds) if any(isinstance(node.op, IfElse) for node in order) else None
    pull = pulled_back
    if any(map(is_switch, patterns)):
        pull = Masks(order, patterns, {*seeds, *targets}, pulled_back).pulled_back
    undefined = null_terms(order, patterns, reached, seeds, constants)
    # Masks are made of the cotangents as they are.
    signs = Signs() if demands is None and pull is pulled_back else None
    add_up = summed if signs is None else signs.summed
    for node in reversed(order):
        pattern = patterns.get(node)
        if pattern is None:
            continue
        nulls = undefined.get(node)
        if nulls is not None:
            gradients.update((x, null) for x, null in zip(node.inputs, nulls, strict=True) if null is not None)
        cotangents = [
            None if out in constants or _is_integer(out) else _present(gradients.get(out)) for out in node.outputs
        ]
        # Of each input, the cotangents that flow back to it.
        flows = [
            [c for c, joined in zip(cotangents, row, strict=True) if joined and c is not None] if x in reached else []
            for x, row in zip(node.inputs, pattern, strict=True)
        ]
        if not any(flows):
            continue
        pulled = partial(_terms, node, flows=flows, demands=demands, pull=pull)
        terms = pulled(cotangents) if signs is None else signs.terms(node, cotangents, pulled)
        for x, term in zip(node.inputs, terms, strict=True):
            if term is not None and x not in known:
                gradients[x] = add_up(gradients.get(x), term)
    return gradients if demands is None else _right_always(gradients, demands, targets)


def _is_integer(var: Variable) -> bool:
    """Whether a variable is a tensor of integers: nothing flows back through what computes it."""
    return type(var.type) is TensorType and var.type.numpy_dtype.kind in "biu"


def _present(var: Variable | None) -> Variable | None:
    """Return a gradient, or None where nothing flows."""
    # Nearly all are tensors: this check alone is quick.
    return var if var is None or type(var.type) is TensorType or not isinstance(var.type, DisconnectedType) else None


def _terms(
    node: Apply,
    cotangents: Sequence[Variable | None],
    flows: Sequence[Sequence[Variable]],
    demands: Demands | None,
    pull: Pull,
) -> Sequence[Variable | None]:
    """Return what flows back to each input, or None.

    The gradient of an input that is connected to an output without a defined gradient is not defined either. The op
    gives those of the other inputs as if that output did not matter.
    """
    nulls = [next((c for c in flowing if isinstance(c.type, NullType)), None) for flowing in flows]
    if all(null is not None or not flowing for null, flowing in zip(nulls, flows, strict=True)):
        return nulls
    defined = [None if c is None or isinstance(c.type, NullType) else c for c in cotangents]
    terms = pull(node, defined) if demands is None else _guarded_terms(node, defined, demands, pull)
    return [
        (_present(term) if null is None else null) if flowing else None
        for term, null, flowing in zip(terms, nulls, flows, strict=True)
    ]


def _right_always(gradients: Cotangents, demands: Demands, targets: Sequence[Variable]) -> Cotangents:
    """Return gradients with those asked for valid everywhere, not only where they are needed."""
    asked = {
        target: _guarded(gradients[target], demands, demands.of(target), target, ALWAYS)
        for target in targets
        if target in gradients
    }
    return {**gradients, **asked}


def _guarded_terms(
    node: Apply, cotangents: Sequence[Variable | None], demands: Demands, pull: Pull
) -> Sequence[Variable | None]:
    """Return what flows back through a choice, or a node that may stand in a branch."""
    if isinstance(node.op, IfElse):
        return _terms_of_choice(node.op, node, cotangents, demands)
    own = demands.of_node(node)
    guarded = [
        c if c is None else _guarded(c, demands, demands.of(out), out, own)
        for c, out in zip(cotangents, node.outputs, strict=True)
    ]
    terms = pull(node, guarded)
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
    if term is None or is_absent(term):
        return term
    return demands.guarded(term, demand, like, wider)


def pulled_back(node: Apply, cotangents: Sequence[Variable | None]) -> Sequence[Variable | None]:
    """Return what the op says flows back through a node, checked."""
    connected = [
        (zeros_like(out) if isinstance(out.type, TensorType) else DisconnectedType()()) if c is None else c
        for c, out in zip(cotangents, node.outputs, strict=True)
    ]
    try:
        terms = node.op.pullback(node.inputs, node.outputs, connected)
    except MethodNotDefinedError as error:
        parts = _through_parts(node, connected)
        if parts is None:
            note_op(error, node.op, "pullback", node.where())
            raise
        terms = parts
    except Exception as error:
        note_op(error, node.op, "pullback", node.where())
        raise
    if not isinstance(terms, Sequence) or len(terms) != len(node.inputs):
        returned = len(terms) if isinstance(terms, Sequence) else repr(terms)
        msg = (
            f"{node.op}: the gradient must be a list with one term for each of {len(node.inputs)} inputs, "
            f"got {returned}{node.where()}. Correct its pullback (or L_op, or grad)."
        )
        raise GraphTypeError(msg)
    return [_checked(node, x, t) for x, t in zip(node.inputs, terms, strict=True)]


def _through_parts(node: Apply, cotangents: Sequence[Variable]) -> list[Variable | None] | None:
    """Return what flows back through what an op decomposes into; None if it does not decompose.

    The parts are made of new variables: where one input is computed from another, nothing flows through that.
    """
    op = node.op
    if type(op).decompose is Op.decompose:
        return None
    with composing():
        own = [x.type.make_variable() if is_smooth(x) else x for x in node.inputs]
        parts = op.decompose(*own)
        if parts is None:
            return None
        seeds: Cotangents = {}
        for part, cotangent in zip(parts, cotangents, strict=True):
            if is_smooth(part) and not is_absent(cotangent):
                seeds[part] = summed(seeds.get(part), cotangent)
        smooth = [x for x in own if is_smooth(x)]
        gradients = accumulate(seeds, smooth, blockers=own) if seeds else {}
        reached = {x: gradients[x] for x in smooth if x in gradients}
        replacements: dict[Variable, Variable] = dict(zip(own, node.inputs, strict=True))
        terms = dict(zip(reached, replaced(list(reached.values()), replacements, [*own, *cotangents]), strict=True))
    return [terms.get(x) for x in own]


def is_absent(term: Variable) -> bool:
    """Whether a gradient or tangent is none: disconnected, or not defined."""
    return type(term.type) is not TensorType and isinstance(term.type, DisconnectedType | NullType)


def _checked(node: Apply, x: Variable, term: Variable | None) -> Variable | None:
    if term is None or (isinstance(term, Variable) and is_absent(term)):
        return term
    kind = x.type
    if not isinstance(kind, TensorType):
        # Only the package of such a type knows what its gradients are.
        return term
    if kind.numpy_dtype.kind not in "fc" and not zero_not_refused():
        return None
    try:
        var = as_tensor_variable(term)
    except TensorTypeError as error:
        note_op(error, node.op, "pullback", node.where())
        raise
    if var.ndim != kind.ndim:
        msg = (
            f"{node.op}: the gradient of {x} of type {kind} has rank {var.ndim}{node.where()}. "
            "It must have the input's rank. Correct the op's pullback (or L_op, or grad)."
        )
        raise ShapeError(msg)
    return cotangent_of(x, var)  # type: ignore[arg-type]  # a tensor by its type, see above
