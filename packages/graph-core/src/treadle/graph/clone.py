"""Copies of graphs, and graphs with parts exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.traversal import toposort
from treadle.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from treadle.graph.apply import Apply

Equivalence = dict[Any, Any]


def clone_get_equiv(
    inputs: Sequence[Variable],
    outputs: Iterable[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool = True,
    memo: Equivalence | None = None,
    strict: bool = True,
) -> Equivalence:
    """Copy the graph between `inputs` and `outputs`; return which new variable or node stands for which old one.

    Parameters
    ----------
    inputs
        Variables taken as given.
    outputs
        Variables to copy the computation of.
    copy_inputs
        Whether the inputs become new variables.
    copy_orphans
        Whether variables without owner that are not inputs become new ones. Constants and shared variables are
        always kept: they stand for a value.
    memo
        What stands for what already; it is extended and returned.
    strict
        Whether replaced inputs must keep the type.
    """
    equiv: Equivalence = {} if memo is None else memo
    for var in inputs:
        equiv.setdefault(var, var.clone() if copy_inputs else var)
    outs = list(outputs)
    for node in toposort(outs, [v for v in equiv if isinstance(v, Variable)]):
        for var in node.inputs:
            if var not in equiv:
                equiv[var] = _orphan(var, copy_orphans)
        if node not in equiv:
            _clone_node(node, equiv, strict)
    for out in outs:
        if out not in equiv:
            equiv[out] = _orphan(out, copy_orphans)
    return equiv


def _orphan(var: Variable, copy_orphans: bool) -> Variable:
    keep = not copy_orphans or isinstance(var, Constant) or getattr(var, "container", None) is not None
    return var if keep else var.clone()


def _clone_node(node: Apply, equiv: Equivalence, strict: bool) -> None:
    new = node.clone_with_new_inputs([equiv[v] for v in node.inputs], strict=strict)
    equiv[node] = new
    for old_out, new_out in zip(node.outputs, new.outputs, strict=True):
        equiv.setdefault(old_out, new_out)


def clone(
    inputs: Sequence[Variable], outputs: Sequence[Variable], copy_inputs: bool = True, copy_orphans: bool = True
) -> tuple[list[Variable], list[Variable]]:
    """Return copies of inputs and outputs of a graph (parameters as for `clone_get_equiv`)."""
    equiv = clone_get_equiv(inputs, outputs, copy_inputs, copy_orphans)
    return [equiv[v] for v in inputs], [equiv[v] for v in outputs]


def _pairs(replace: Any) -> list[tuple[Variable, Variable]]:
    items = list(replace.items()) if hasattr(replace, "items") else list(replace or ())
    for pair in items:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(v, Variable) for v in pair):
            msg = f"replace: pairs (old variable, new variable) are needed, got {pair!r}. Pass a dict or such pairs."
            raise GraphTypeError(msg)
    return [(old, new) for old, new in items]


def clone_replace(
    output: Variable | Sequence[Variable],
    replace: Mapping[Variable, Variable] | Iterable[tuple[Variable, Variable]] | None = None,
    *,
    rebuild_strict: bool = True,
) -> Any:
    """Return copies of the outputs in which variables are replaced; replacements are not searched themselves.

    Parameters
    ----------
    output
        One variable, or a sequence.
    replace
        Pairs of an old variable and what stands for it in the copy.
    rebuild_strict
        True: a replacement must keep (or refine, or losslessly convert to) the type. False: nodes are rebuilt with
        whatever type it has, so that result types may change.

    Returns
    -------
    A variable, or a list of variables.
    """
    outs = [output] if isinstance(output, Variable) else list(output)
    memo: Equivalence = {}
    for old, new in _pairs(replace):
        memo[old] = old.type.filter_variable(new) if rebuild_strict else new
    equiv = clone_get_equiv([], outs, copy_orphans=False, memo=memo, strict=rebuild_strict)
    result = [equiv[v] for v in outs]
    return result[0] if isinstance(output, Variable) else result


def graph_replace(
    outputs: Variable | Sequence[Variable],
    replace: Mapping[Variable, Variable] | Iterable[tuple[Variable, Variable]],
    *,
    strict: bool = True,
) -> Any:
    """Return the outputs with variables replaced, copying only the nodes that depend on a replaced one.

    Parameters
    ----------
    outputs
        One variable, or a sequence.
    replace
        Pairs of an old variable and what takes its place. Replacements apply at once, not one after the other.
    strict
        Whether each replaced variable must occur in the graph.

    Raises
    ------
    GraphValueError
        If `strict` and a variable to replace does not occur.
    """
    outs = [outputs] if isinstance(outputs, Variable) else list(outputs)
    equiv: dict[Variable, Variable] = dict(_pairs(replace))
    unused = set(equiv)
    unused.difference_update(outs)
    for node in toposort(outs, list(equiv)):
        unused.difference_update(node.inputs)
        new_inputs = [equiv.get(v, v) for v in node.inputs]
        if all(a is b for a, b in zip(new_inputs, node.inputs, strict=True)):
            continue
        new = node.clone_with_new_inputs(new_inputs)
        for old_out, new_out in zip(node.outputs, new.outputs, strict=True):
            equiv.setdefault(old_out, new_out)
    if strict and unused:
        names = ", ".join(sorted(map(str, unused)))
        msg = f"graph_replace: {names} does not occur in the graph. Leave it out, or pass strict=False."
        raise GraphValueError(msg)
    result = [equiv.get(v, v) for v in outs]
    return result[0] if isinstance(outputs, Variable) else result
