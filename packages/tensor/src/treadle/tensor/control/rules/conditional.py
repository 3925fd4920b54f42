"""Rules for choices between branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Branching, Constant, IfElse, Variable
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.logic import invert, logical_not
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import applies, is_used_once, kind_of, made_by
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeGuard

    from treadle.graph import Apply, Block, FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("ifelse")


def _rebuilt(node: NodeOf[IfElse], condition: Variable, pairs: Sequence[tuple[Variable, Variable]]) -> list[Variable]:
    """Return a choice like that of a node between other values."""
    new = IfElse(len(pairs), node.op.as_view, node.op.name)
    return new(condition, *(x for x, _ in pairs), *(y for _, y in pairs), return_list=True)


def _pairs(node: NodeOf[IfElse]) -> list[tuple[Variable, Variable]]:
    return list(zip(*node.op.branches(node), strict=True))


def _fitting(node: NodeOf[IfElse], replacements: Sequence[Any]) -> Sequence[Any] | None:
    """Return replacements of a node's outputs, None among them for those that stay, if all types fit."""
    fits = all(new is None or old.type.is_super(new.type) for old, new in zip(node.outputs, replacements, strict=True))
    return replacements if fits else None


def _truth(var: Variable) -> bool | None:
    """Return whether a constant condition is true, or None."""
    if not isinstance(var, Constant):
        return None
    return bool(np.asarray(var.data).item()) if isinstance(var.data, np.ndarray | np.generic) else bool(var.data)


@RULES.rule(EARLY_AND_LATE, IfElse, tags=BOTH)
def ifelse_of_constant(node: NodeOf[IfElse]) -> Sequence[Variable] | None:
    """ifelse(constant, x, y) -> x or y."""
    truth = _truth(node.inputs[0])
    if truth is None:
        return None
    return _fitting(node, node.op.branches(node)[0 if truth else 1])


def _is_same(x: Variable, y: Variable) -> bool:
    return x is y or (isinstance(x, Constant) and x.type == y.type and x.equals(y))


@RULES.rule(EARLY_AND_LATE, IfElse, tags=BOTH)
def ifelse_of_same(node: NodeOf[IfElse]) -> Sequence[Variable | None] | None:
    """ifelse(c, x, x) -> x."""
    pairs = _pairs(node)
    kept = [pair for pair in pairs if not _is_same(*pair)]
    if len(kept) == len(pairs):
        return None
    fresh = iter(_rebuilt(node, node.inputs[0], kept) if kept else ())
    return _fitting(node, [x if _is_same(x, y) else next(fresh) for x, y in pairs])


@RULES.rule(EARLY_AND_LATE, IfElse, tags=BOTH)
def ifelse_of_not(node: NodeOf[IfElse]) -> Sequence[Variable] | None:
    """ifelse(not c, x, y) -> ifelse(c, y, x)."""
    inner = node.inputs[0].owner
    is_bool = kind_of(tensors(node.inputs)[0]) == "b"
    if not (applies(inner, logical_not) or (is_bool and applies(inner, invert))):
        return None
    return _fitting(node, _rebuilt(node, inner.inputs[0], [(y, x) for x, y in _pairs(node)]))


@RULES.rule(EARLY_AND_LATE, IfElse, tags=BOTH)
def ifelse_in_ifelse(node: NodeOf[IfElse]) -> Sequence[Variable] | None:
    """ifelse(c, ifelse(c, x, y), z) -> ifelse(c, x, z), and so in the other branch."""
    condition = node.inputs[0]
    pairs = [(_taken(x, condition, 0), _taken(y, condition, 1)) for x, y in _pairs(node)]
    if pairs == _pairs(node):
        return None
    return _fitting(node, _rebuilt(node, condition, pairs))


def _taken(var: Variable, condition: Variable, side: int) -> Variable:
    """Return what a variable is, given the outcome of a condition."""
    while var.owner is not None and isinstance(var.owner.op, IfElse) and var.owner.inputs[0] is condition:
        var = var.owner.op.branches(var.owner)[side][var.index or 0]
    return var


@RULES.rule(Phase.SPECIALIZE, IfElse, tags=BOTH, needs_graph=True)
def ifelse_of_unused(fgraph: FunctionGraph, node: NodeOf[IfElse]) -> Mapping[Variable, Variable] | None:
    """ifelse(c, (x, u), (y, v)) of which only the first is used -> ifelse(c, x, y)."""
    used = [i for i, out in enumerate(node.outputs) if fgraph.clients[out]]
    if len(used) == len(node.outputs) or not used:
        return None
    pairs = _pairs(node)
    outputs = _rebuilt(node, node.inputs[0], [pairs[i] for i in used])
    return {node.outputs[i]: new for i, new in zip(used, outputs, strict=True)}


@RULES.rule(Phase.SPECIALIZE, DimShuffle, Elemwise, tags=("fast_run",), needs_graph=True, below=(IfElse,))
def ifelse_lift_single_if(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """f(ifelse(c, x, y)) -> ifelse(c, f(x), f(y)), for rearrangements and functions of one operand.

    Not for lengths: those of a choice are known to compilers that need one shape for both branches.
    """
    if len(node.inputs) != 1 or len(node.outputs) != 1:
        return None
    (var,) = tensors(node.inputs)
    inner = made_by(var, IfElse)
    if inner is None or not is_used_once(fgraph, var):
        return None
    first, second = _pairs(inner)[var.index or 0]
    choice = IfElse(1, name=inner.op.name)(inner.inputs[0], node.op(first), node.op(second))
    return choice if node.outputs[0].type.is_super(choice.type) else None


def is_choice(node: Apply) -> TypeGuard[NodeOf[IfElse]]:
    """Whether a node is a choice between branches."""
    return isinstance(node.op, IfElse)


@RULES.graph_pass(Phase.SPECIALIZE, tags=BOTH, needs=(IfElse,))
def cond_merge_ifs(fgraph: FunctionGraph) -> int:
    """ifelse(c, x, y), ifelse(c, u, v) -> one choice ifelse(c, (x, u), (y, v)).

    Only choices of one block and one level come together, the level being how many choices lie one after another
    below: what leads from one to another would have raised it.
    """
    home = Branching.of(fgraph).home
    level: dict[Variable, int] = {}
    groups: dict[tuple[Variable, int, Block, bool], list[NodeOf[IfElse]]] = {}
    for node in fgraph.toposort():
        at = max((level.get(x, 0) for x in node.inputs), default=0)
        if is_choice(node):
            groups.setdefault((node.inputs[0], at, home[node], node.op.as_view), []).append(node)
            at += 1
        level.update(dict.fromkeys(node.outputs, at))
    merged = [group for group in groups.values() if len(group) > 1]
    for group in merged:
        pairs = [pair for node in group for pair in _pairs(node)]
        outputs = _rebuilt(group[0], group[0].inputs[0], pairs)
        outputs[0].owner.user_line = group[0].user_line  # type: ignore[union-attr]  # the new node
        old = [out for node in group for out in node.outputs]
        fgraph.replace_all(zip(old, outputs, strict=True), "cond_merge_ifs")
    return len(merged)


@RULES.graph_pass(Phase.INPLACE, tags=("fast_run", "inplace"), before=("work_in_place",), needs=(IfElse,))
def cond_make_inplace(fgraph: FunctionGraph) -> int:
    """ifelse(c, x, y), a copy of x or y -> x or y itself."""
    changes = 0
    for node in fgraph.toposort():
        op = node.op
        if isinstance(op, IfElse) and not op.as_view:
            outputs = IfElse(op.n_outs, True, op.name)(*node.inputs, return_list=True)
            outputs[0].owner.user_line = node.user_line  # type: ignore[union-attr]  # just made by a node
            fgraph.replace_all(zip(node.outputs, outputs, strict=True), "cond_make_inplace")
            changes += 1
    return changes
