"""Whose memory a variable may use, by what ops declare: views of inputs, and inputs that are overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.ir.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable

Roots = dict["Variable", frozenset["Variable"]]


def memory_roots(order: Iterable[Apply], versions: bool = False) -> Roots:
    """Return the variables whose memory a variable may use, for those that may use another's.

    Parameters
    ----------
    order
        The nodes, each after those it needs.
    versions
        True: what overwrites an input is a root of its own, the new value in the old one's place. False: it uses the
        input's memory.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> view = v[1:]
    >>> roots = memory_roots([view.owner])
    >>> roots_of(view, roots) == {v}
    True
    """
    roots: Roots = {}
    for node in order:
        views, destroyed = node.op.view_map, node.op.destroy_map
        for o in (*views, *(o for o in destroyed if o not in views)):
            if versions and o in destroyed:
                continue
            shown = _shown_inputs(node, o)
            if shown:
                roots[node.outputs[o]] = frozenset().union(*(roots_of(x, roots) for x in shown))
    return roots


def _shown_inputs(node: Apply, o: int) -> list[Variable]:
    """Return the inputs of a node whose memory one of its outputs may use."""
    op = node.op
    kept = (i for i in op.destroy_map.get(o, ()) if i not in op.working_inputs)
    return [node.inputs[i] for i in (*op.view_map.get(o, ()), *kept)]


def roots_of(var: Variable, roots: Roots) -> frozenset[Variable]:
    """Return the variables whose memory a variable may use: itself, unless `roots` says otherwise.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> doubled = v * 2
    >>> roots_of(doubled, memory_roots([doubled.owner])) == {doubled}
    True
    """
    return roots.get(var) or frozenset((var,))


def overwritten_arguments(inputs: Sequence[Variable], order: Sequence[Apply]) -> frozenset[int]:
    """Return the positions of a graph's inputs whose memory its nodes, in order, may overwrite.

    A call that has failed must not run such a graph a second time, on values that are gone.
    """
    roots = memory_roots(order)
    destroyed = (node.inputs[i] for node in order for places in node.op.destroy_map.values() for i in places)
    memory = frozenset().union(*(roots_of(x, roots) for x in destroyed))
    return frozenset(i for i, x in enumerate(inputs) if x in memory)


def may_use_input(var: Variable) -> bool:
    """Whether a variable may use the memory of one that no node computes, and that is no constant: a graph's input.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> may_use_input(v[1:]), may_use_input((2 * v)[1:])
    (True, False)
    """
    pending, seen = [var], {var}
    while pending:
        x = pending.pop()
        if x.owner is None:
            if not isinstance(x, Constant):
                return True
            continue
        shown = [y for y in _shown_inputs(x.owner, x.owner.outputs.index(x)) if y not in seen]
        seen.update(shown)
        pending += shown
    return False
