"""Iterative walks over graphs. Nothing here recurses, so depth is bounded by memory alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from treadle.graph.errors import CycleError
from treadle.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from treadle.graph.apply import Apply

T = TypeVar("T")


def walk(start: Iterable[T], expand: Callable[[T], Iterable[T] | None], breadth_first: bool = True) -> Iterator[T]:
    """Yield each object reachable from `start` once.

    Parameters
    ----------
    start
        Where to begin.
    expand
        Returns the neighbours of an object, or None.
    breadth_first
        Order: by distance, or depth first.
    """
    pending = list(start)
    seen: set[int] = set()
    at = 0
    while at < len(pending):
        item = pending[at] if breadth_first else pending.pop()
        at += breadth_first
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        neighbours = expand(item)
        if neighbours:
            pending.extend(neighbours if breadth_first else reversed(list(neighbours)))


def ancestors(variables: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Variable]:
    """Yield the variables and all they are computed from, not going beyond the blockers."""
    stop = set(blockers or ())

    def expand(var: Variable) -> Iterable[Variable]:
        return () if var.owner is None or var in stop else var.owner.inputs

    return walk(variables, expand, breadth_first=False)


def graph_inputs(variables: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Variable]:
    """Yield the variables without owner (constants too) that the given ones are computed from."""
    return (v for v in ancestors(variables, blockers) if v.owner is None)


def explicit_graph_inputs(variables: Variable | Iterable[Variable]) -> Iterator[Variable]:
    """Yield the inputs that are neither constant nor shared: those a function must be given."""
    roots = [variables] if isinstance(variables, Variable) else variables
    for var in graph_inputs(roots):
        if not isinstance(var, Constant) and getattr(var, "container", None) is None:
            yield var


def vars_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Variable]:
    """Yield the variables on the way from `ins` to `outs`, both included, and inputs met on the way."""
    stop = set(ins)

    def expand(var: Variable) -> Iterable[Variable]:
        if var.owner is None or var in stop:
            return ()
        return [*var.owner.inputs, *var.owner.outputs]

    return walk(outs, expand)


def toposort(outs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> list[Apply]:
    """Return the nodes that compute `outs`, every node after those it needs.

    Parameters
    ----------
    outs
        Variables to compute.
    blockers
        Variables taken as given.

    Raises
    ------
    CycleError
        If a node needs its own output.
    """
    stop = set(blockers or ())
    return order_nodes(outs, stop.__contains__ if stop else None)


def order_nodes(outs: Iterable[Variable], is_given: Callable[[Variable], bool] | None) -> list[Apply]:
    """Return the nodes that compute `outs` from what is given, every node after those it needs (see `toposort`)."""
    order: list[Apply] = []
    state: dict[Apply, bool] = {}
    stack: list[Apply] = []
    for out in outs:
        if out.owner is None or (is_given is not None and is_given(out)):
            continue
        stack.append(out.owner)
        while stack:
            node = stack[-1]
            done = state.get(node)
            if done is None:
                state[node] = False
                for var in reversed(node.inputs):
                    owner = var.owner
                    if owner is None or (is_given is not None and is_given(var)):
                        continue
                    known = state.get(owner)
                    if known is None:
                        stack.append(owner)
                    elif not known:
                        msg = f"{node.op}: the graph contains a cycle through this node{node.where()}."
                        raise CycleError(msg)
            else:
                stack.pop()
                if not done:
                    state[node] = True
                    order.append(node)
    return order


def io_toposort(inputs: Collection[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """Return the nodes between `inputs` and `outputs` in an order of evaluation."""
    return toposort(outputs, inputs)


def applys_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Apply]:
    """Yield the nodes between `ins` and `outs`, each once."""
    return iter(toposort(outs, ins))


def apply_ancestors(outs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Apply]:
    """Yield the nodes that `outs` are computed by."""
    return iter(toposort(outs, blockers))


def variable_depends_on(var: Variable, others: Variable | Collection[Variable]) -> bool:
    """Whether `var` is one of the others, or is computed from one."""
    wanted = {others} if isinstance(others, Variable) else set(others)
    return any(v in wanted for v in ancestors([var]))


def is_in_ancestors(node: Apply, other: Apply) -> bool:
    """Whether `other` is `node`, or one that `node` needs."""
    return any(v.owner is other for v in ancestors(node.outputs))


def truncated_graph_inputs(
    outputs: Sequence[Variable], ancestors_to_include: Collection[Variable] | None = None
) -> list[Variable]:
    """Return the nearest variables that cut `outputs` off: the given ancestors on the way, else inputs."""
    chosen = set(ancestors_to_include or ())
    found: dict[Variable, Any] = {}
    for var in ancestors(outputs, chosen):
        if var.owner is None or var in chosen:
            found[var] = None
    return list(found)
