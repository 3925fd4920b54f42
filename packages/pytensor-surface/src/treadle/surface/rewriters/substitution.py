"""Rewriters of nodes that need no function: substitute an op, remove it, replace one pattern by another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant, Op, Variable
from treadle.rewrite import Law, NodeRewriter, Pattern, RuleDefinitionError
from treadle.rewrite.engine.run import replacements
from treadle.rewrite.engine.tracked import OpPattern, is_among, is_tracked
from treadle.rewrite.errors import require_kind
from treadle.rewrite.pattern import placed, standing_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.rewrite.engine.tracked import Tracked


class SubstitutionNodeRewriter(NodeRewriter):
    """Replaces one op by another, on the same inputs.

    Parameters
    ----------
    op1
        The op to replace.
    op2
        What takes its place; it must give outputs of the same types, or of refined ones.
    transfer_tags
        Whether the tags of node and outputs are carried over.
    name
        Its id.
    """

    depth = 1

    def __init__(self, op1: Op, op2: Op, transfer_tags: bool = True, name: str | None = None) -> None:
        for op in (op1, op2):
            require_kind("SubstitutionNodeRewriter", "an op to replace, and one to replace it by", op, Op)
        self.op1 = op1
        self.op2 = op2
        self.transfer_tags = transfer_tags
        self.name = name or f"{op1}_to_{op2}"

    def tracks(self) -> Sequence[Tracked]:
        """Return the op to replace."""
        return (self.op1,)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
        """Return the other op's outputs."""
        if node.op != self.op1:
            return None
        substitute = self.op2.make_node(*node.inputs)
        if self.transfer_tags:
            if node._tag is not None:
                substitute.tag = node._tag.copy()
            for old, new in zip(node.outputs, substitute.outputs, strict=False):
                if old._tag is not None:
                    new.tag = old._tag.copy()
        return substitute.outputs


class RemovalNodeRewriter(NodeRewriter):
    """Removes an op that gives back its inputs, each as the output of the same position.

    Parameters
    ----------
    op
        The op to remove.
    name
        Its id.
    """

    depth = 1

    def __init__(self, op: Op, name: str | None = None) -> None:
        require_kind("RemovalNodeRewriter", "an op to remove", op, Op)
        self.op = op
        self.name = name or f"remove_{op}"

    def tracks(self) -> Sequence[Tracked]:
        """Return the op to remove."""
        return (self.op,)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
        """Return the inputs."""
        if node.op != self.op or len(node.inputs) != len(node.outputs):
            return None
        return node.inputs


class PatternNodeRewriter(NodeRewriter):
    """Replaces one pattern by another.

    Parameters
    ----------
    in_pattern
        What to look for. A tuple ``(op, *patterns)`` is an op, or any op of a class, applied; a string is a hole,
        the same variable wherever it occurs; a number or a constant is itself; a dict ``{"pattern": p,
        "constraint": f}`` is a pattern that matches only variables for which ``f(variable)`` is true. A `Pattern`
        may stand anywhere.
    out_pattern
        What takes its place: a pattern over the same holes, or a function ``(fgraph, node, match) -> variable``. Of a
        node with several outputs it replaces the default one; without a default one the node is left alone, unless
        the right side gives a variable for each output.
    allow_multiple_clients
        Whether results inside the pattern may have other uses.
    name
        Its id.
    tracks
        Ops to look at instead of the pattern's root; `get_nodes` then says where to look.
    get_nodes
        ``(fgraph, node) -> nodes`` to compare with the pattern, for nodes of the ops tracked.
    is_commutative
        Whether an op's operands may be exchanged.
    value_of
        The number that a variable is known to hold, or None; constants' own values if None.

    Raises
    ------
    RuleDefinitionError
        If a pattern is malformed, or the right side uses a hole that the left side lacks.

    Examples
    --------
    ``PatternNodeRewriter((add, "x", (neg, "y")), (sub, "x", "y"))``
    """

    def __init__(
        self,
        in_pattern: object,
        out_pattern: Any,
        allow_multiple_clients: bool = False,
        name: str | None = None,
        tracks: Sequence[Tracked] = (),
        get_nodes: Callable[[FunctionGraph, Apply], Sequence[Apply | Variable]] | None = None,
        *,
        is_commutative: Callable[[Op], bool] | None = None,
        value_of: Callable[[Variable], complex | None] | None = None,
    ) -> None:
        if tracks and get_nodes is None:
            msg = "PatternNodeRewriter: tracks is given without get_nodes. Give both, or neither."
            raise RuleDefinitionError(msg)
        self.in_pattern = in_pattern
        self.out_pattern = out_pattern
        self.allow_multiple_clients = allow_multiple_clients
        self.get_nodes = get_nodes
        in_law = _pattern(in_pattern, once=False, inside_once=not allow_multiple_clients)
        self._fgraph_made = callable(out_pattern) and not isinstance(out_pattern, Pattern)
        out_law = _matched if self._fgraph_made else _pattern(out_pattern, once=False, inside_once=False)
        if isinstance(out_law, bool | int | float | complex):
            out_law = partial(_number, out_law)
        self.law = Law(name or "pattern", in_law, out_law, None, is_commutative, value_of or _constant_value)
        self.op = self.law.op
        self.name = name or str(self.law)
        self._tracks = tuple(tracks) or (self.op,)
        self.depth = self.law.depth if not tracks else None

    def tracks(self) -> Sequence[Tracked]:
        """Return the op at the pattern's root, or the ops given."""
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Any:
        """Return the replacement where the pattern matches."""
        if self.get_nodes is None:
            return self._transform(fgraph, node)
        for candidate in self.get_nodes(fgraph, node):
            root = candidate.owner if isinstance(candidate, Variable) else candidate
            replacement = None if root is None else self._transform(fgraph, root)
            if root is not None and replacement is not None:
                pairs, removed = replacements(self.name, root, replacement)
                return {**dict(pairs), "remove": removed}
        return None

    def mismatch(self, fgraph: FunctionGraph, node: Apply) -> str | None:
        """Return in what a node differs from the pattern."""
        return self.law.mismatch(node, fgraph)

    def _transform(self, fgraph: FunctionGraph, node: Apply) -> object:
        if not is_among(node.op, (self.op,)):
            return None
        replacement = self.law(fgraph, node)
        if self._fgraph_made and replacement is not None:
            replacement = self.out_pattern(fgraph, node, replacement["match"])
            return None if replacement is False else placed(node, replacement)
        return replacement

    def __str__(self) -> str:
        """Show the name."""
        return self.name


def _matched(node: Apply, match: Mapping[str, Variable]) -> dict[str, object]:
    del node
    return {"match": match}


def _number(value: complex, node: Apply, match: Mapping[str, Variable]) -> Variable | None:
    """Return a number as a constant of the type of a node's output, or None where it cannot be one."""
    del match
    out = standing_for(node)
    try:
        return None if out is None else out.type.make_constant(value)
    except (OverflowError, TypeError, ValueError):
        return None


def _constant_value(var: Variable) -> complex | None:
    """Return a constant's value where it is one number; views of such a constant hold the same number."""
    while var.owner is not None and len(var.owner.inputs) == 1 and var.owner.op.view_map:
        var = var.owner.inputs[0]
    if not isinstance(var, Constant):
        return None
    data = var.data
    if isinstance(data, bool | int | float | complex):
        return data
    return data.item() if getattr(data, "size", None) == 1 else None


def _pattern(form: Any, once: bool, inside_once: bool) -> object:
    """Return a documented pattern as a Pattern; `once` asks for a single use of its result."""
    if isinstance(form, Pattern | bool | int | float | complex | Constant):
        return form
    if isinstance(form, str):
        return Pattern(form)
    if isinstance(form, dict):
        if set(form) != {"pattern", "constraint"} or not callable(form["constraint"]):
            msg = f"pattern: a dict has the keys 'pattern' and 'constraint' (a function), got {form!r}."
            raise RuleDefinitionError(msg)
        inner = _pattern(form["pattern"], once, inside_once)
        if not isinstance(inner, Pattern):
            msg = f"pattern: a constraint narrows a hole or an applied op, got {form!r}."
            raise RuleDefinitionError(msg)
        return inner.that(form["constraint"])
    is_applied = isinstance(form, tuple | list) and bool(form)
    op = form[0].ops if is_applied and isinstance(form[0], OpPattern) else form[0] if is_applied else None
    if not is_tracked(op):
        msg = f"pattern: give (op, *patterns), a name, a number, a constant or a dict, got {form!r}."
        raise RuleDefinitionError(msg)
    pattern = Pattern.pattern_of(op, [_pattern(x, inside_once, inside_once) for x in form[1:]])
    return pattern.only_used_once if once else pattern
