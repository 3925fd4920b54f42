"""Iterative walks over graphs. Nothing here recurses, so depth is bounded by memory alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from treadle.config import config, text_of
from treadle.graph.errors import CycleError, GraphTypeError
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.variable import Variable, has_value, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

# A cycle is shown with this many of its nodes.
SHOWN_OF_CYCLE = 6


@overload
def walk(
    nodes: Iterable[T],
    expand: Callable[[T], Iterable[T] | None],
    bfs: bool = True,
    return_children: Literal[False] = False,
) -> Iterator[T]: ...


@overload
def walk(
    nodes: Iterable[T], expand: Callable[[T], Iterable[T] | None], bfs: bool = True, *, return_children: Literal[True]
) -> Iterator[tuple[T, Iterable[T] | None]]: ...


def walk(
    nodes: Iterable[T], expand: Callable[[T], Iterable[T] | None], bfs: bool = True, return_children: bool = False
) -> Iterator[Any]:
    """Yield each object reachable from `nodes` once.

    Parameters
    ----------
    nodes
        Where to begin.
    expand
        Returns the neighbours of an object, or None.
    bfs
        Breadth first: by distance. Otherwise depth first, from the last of several on.
    return_children
        Whether to yield pairs of an object and what `expand` returned for it.

    >>> links = {1: [2, 3], 2: [4], 3: [4], 4: []}
    >>> list(walk([1], links.get))
    [1, 2, 3, 4]
    >>> list(walk([1], links.get, bfs=False))
    [1, 3, 4, 2]
    """
    pending = list(nodes)
    seen: set[int] = set()
    at = 0
    while at < len(pending):
        item = pending[at] if bfs else pending.pop()
        at += bfs
        if id(item) in seen:
            continue
        seen.add(id(item))
        neighbours = expand(item)
        if neighbours is not None:
            neighbours = list(neighbours)
            pending.extend(neighbours)
        yield (item, neighbours) if return_children else item


def ancestors(graphs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Variable]:
    """Yield the variables and all they are computed from, not going beyond the blockers.

    The order is depth first, from the last variable and the last input of each node on.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> list(ancestors([tt.exp(x) + y]))
    [Add.out, y, Exp.out, x]
    """
    stop = _stops(blockers)

    def expand(var: Variable) -> Iterable[Variable]:
        return () if var.owner is None or var in stop else var.owner.inputs

    return walk(listed("graph", graphs), expand, bfs=False)


def reading_order(graphs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Variable]:
    """Yield the variables and all they are computed from, as `ancestors`, but from the first one on.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> list(reading_order([tt.exp(x) + y]))
    [Add.out, Exp.out, x, y]
    """
    return _in_reading_order(listed("graph", graphs), _stops(blockers))


def _in_reading_order(graphs: Sequence[Variable], stop: Collection[Variable]) -> Iterator[Variable]:
    pending = list(reversed(graphs))
    seen: set[Variable] = set()
    while pending:
        var = pending.pop()
        if var in seen:
            continue
        seen.add(var)
        if var.owner is not None and var not in stop:
            pending.extend([x for x in reversed(var.owner.inputs) if x not in seen])
        yield var


def _stops(blockers: Collection[Variable] | None) -> set[Variable]:
    return set() if blockers is None else set(listed("blocker", blockers))


def variable_ancestors(graphs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Variable]:
    """Yield the variables and all they are computed from (another documented name of `ancestors`).

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> list(variable_ancestors([x * y]))
    [Mul.out, y, x]
    """
    return ancestors(graphs, blockers)


def apply_ancestors(graphs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Apply]:
    """Yield the nodes that the variables are computed by, each once, in the order of `ancestors`.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> [str(node.op) for node in apply_ancestors([tt.exp(x) + y])]
    ['Add', 'Exp']
    """
    stop = _stops(blockers)
    owners = (var.owner for var in ancestors(graphs, stop) if var.owner is not None and var not in stop)
    return iter(dict.fromkeys(owners))


def graph_inputs(graphs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> Iterator[Variable]:
    """Yield the variables without owner (constants too) that the given ones are computed from.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> list(graph_inputs([2 * x + y]))
    [y, x, 2.0]
    """
    return (v for v in ancestors(graphs, blockers) if v.owner is None)


def explicit_graph_inputs(graph: Variable | Iterable[Variable]) -> Iterator[Variable]:
    """Yield the inputs that are neither constant nor shared: those a function must be given.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> w = tt.shared(1.0, name="w")
    >>> list(explicit_graph_inputs(2 * x + y * w))
    [y, x]
    """
    roots = [graph] if isinstance(graph, Variable) else graph
    for var in graph_inputs(roots):
        if not has_value(var):
            yield var


def vars_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Variable]:
    """Yield the variables on the way from `ins` to `outs`, both included, and inputs met on the way.

    All outputs of a node come, also those that nothing needs. The order is that of `ancestors`, with the outputs of a
    node behind its inputs.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> middle = x * y
    >>> list(vars_between([middle], [tt.exp(middle)]))
    [Exp.out, Mul.out]
    """
    stop = set(listed("input", ins))

    def expand(var: Variable) -> Iterable[Variable]:
        if var.owner is None or var in stop:
            return ()
        return [*var.owner.inputs, *var.owner.outputs]

    return walk(listed("output", outs), expand, bfs=False)


def orphans_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Variable]:
    """Yield the variables without owner, constants too, that `outs` need and that are not among `ins`.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> list(orphans_between([x], [x * y]))
    [y]
    """
    inputs = set(listed("input", ins))
    return (v for v in vars_between(inputs, outs) if v.owner is None and v not in inputs)


def applys_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Apply]:
    """Yield the nodes between `ins` and `outs`, each once, in the order of `ancestors`.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> middle = x * y
    >>> [str(node.op) for node in applys_between([middle], [tt.exp(middle)])]
    ['Exp']
    """
    return apply_ancestors(outs, ins)


# Orders


def toposort(graphs: Iterable[Variable], blockers: Collection[Variable] | None = None) -> list[Apply]:
    """Return the nodes that compute variables, every node after those it needs.

    The order is depth first, from the first variable and the first input of each node on, or from the last ones on
    (option ``toposort_from``).

    Parameters
    ----------
    graphs
        Variables to compute.
    blockers
        Variables taken as given.

    Raises
    ------
    CycleError
        If a node needs its own output.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> [str(node.op) for node in toposort([tt.exp(x * y)])]
    ['Mul', 'Exp']
    """
    stop = _stops(blockers)
    return order_nodes(listed("graph", graphs), stop.__contains__ if stop else None, from_last=_from_last())


def toposort_with_orderings(
    graphs: Iterable[Variable],
    *,
    blockers: Collection[Variable] | None = None,
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes that compute variables, under further conditions.

    Parameters
    ----------
    graphs
        Variables to compute.
    blockers
        Variables taken as given.
    orderings
        For a node, others that must come before it. Those that the variables do not need come too if a node needed
        is to follow them.

    Raises
    ------
    CycleError
        If there is no such order.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> first, second = tt.exp(x), tt.log(x)
    >>> order = toposort_with_orderings([first, second], orderings={first.owner: [second.owner]})
    >>> [str(node.op) for node in order]
    ['Log', 'Exp']
    """
    stop = _stops(blockers)
    is_given = stop.__contains__ if stop else None
    return order_nodes(listed("graph", graphs), is_given, orderings, from_last=_from_last())


def io_toposort(
    inputs: Collection[Variable],
    outputs: Iterable[Variable],
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
    clients: dict[Variable, list[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes between `inputs` and `outputs` in an order of evaluation.

    Parameters
    ----------
    inputs
        Variables taken as given.
    outputs
        Variables to compute.
    orderings
        For a node, others that must come before it.
    clients
        Filled with the nodes that use each variable, in order, if given.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> middle = x * y
    >>> [str(node.op) for node in io_toposort([middle], [tt.exp(middle)])]
    ['Exp']
    """
    order = toposort_with_orderings(outputs, blockers=inputs, orderings=orderings)
    if clients is not None:
        for node in order:
            for var in dict.fromkeys(node.inputs):
                clients.setdefault(var, []).append(node)
    return order


def order_nodes(
    outs: Iterable[Variable],
    is_given: Callable[[Variable], bool] | None,
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
    *,
    from_last: bool = False,
) -> list[Apply]:
    """Return the nodes that compute `outs` from given variables, every node after those it needs (see `toposort`).

    With `from_last`, the order begins at the last variable and the last input of each node, unless there are orderings.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> [str(node.op) for node in order_nodes([tt.exp(x * y)], None)]
    ['Mul', 'Exp']
    """
    if orderings:
        return _order_under(outs, is_given, orderings)
    order: list[Apply] = []
    state: dict[Apply, bool] = {}
    stack: list[Apply] = []
    roots = _owners(outs, is_given)
    for root in reversed(roots) if from_last else roots:
        stack.append(root)
        while stack:
            node = stack[-1]
            done = state.get(node)
            if done is None:
                state[node] = False
                for var in node.inputs if from_last else reversed(node.inputs):
                    owner = var.owner
                    if owner is None or (is_given is not None and is_given(var)):
                        continue
                    finished = state.get(owner)
                    if finished is None:
                        stack.append(owner)
                    elif not finished:
                        raise cycle_error(_open_path(stack, state, owner))
            else:
                stack.pop()
                if not done:
                    state[node] = True
                    order.append(node)
    return order


def _from_last() -> bool:
    """Whether orders begin at the last variables."""
    return bool(config.toposort_from == "last")


def _order_under(
    outs: Iterable[Variable],
    is_given: Callable[[Variable], bool] | None,
    orderings: Mapping[Apply, Iterable[Apply]],
) -> list[Apply]:
    # Needs of the data flow come first, so that the order stays close to the one without further conditions.
    def needs(node: Apply) -> list[Apply]:
        return [*_owners(node.inputs, is_given), *orderings.get(node, ())]

    return list(_ordered(_owners(outs, is_given), needs, {}))


def _owners(variables: Iterable[Variable], is_given: Callable[[Variable], bool] | None) -> list[Apply]:
    computed = variables if is_given is None else [v for v in variables if not is_given(v)]
    return [v.owner for v in computed if v.owner is not None]


def _open_path(stack: list[Any], state: Mapping[Any, bool], start: Any) -> list[Any]:
    """Return the objects on the path from `start` to the top of a depth-first stack, the last one first."""
    # An object may wait on the stack below the place where it was opened: the topmost counts.
    places = {item: at for at, item in enumerate(stack) if state.get(item) is False}
    path = sorted((at, number) for number, at in enumerate(places.values()))
    items = list(places)
    ordered = [items[number] for _, number in path]
    return ordered[ordered.index(start) :][::-1]


def cycle_error(items: Sequence[object]) -> CycleError:
    """Return the error for nodes (or other objects) of which each is needed by the next, and the last by the first."""
    names = [str(item.op if isinstance(item, Apply) else item) for item in (*items[:SHOWN_OF_CYCLE], items[0])]
    if len(items) > SHOWN_OF_CYCLE:
        names.insert(-1, f"{len(items) - SHOWN_OF_CYCLE} more")
    first = items[0]
    where = first.where() if isinstance(first, Apply) else ""
    msg = (
        f"{names[0]}: the graph contains a cycle through this node{where} ({' -> '.join(names)}). "
        "Take back the change that closed it."
    )
    error = CycleError(msg)
    error.nodes = tuple(items)
    return error


def general_toposort(
    outputs: Iterable[T],
    deps: Callable[[T], Iterable[T] | None] | None,
    compute_deps_cache: Callable[[T], Iterable[T] | None] | None = None,
    deps_cache: dict[T, list[T]] | None = None,
    clients: dict[T, list[T]] | None = None,
) -> list[T]:
    """Return all objects that `outputs` depend on, and these, every object after those it depends on.

    Parameters
    ----------
    outputs
        Hashable objects to begin with.
    deps
        Returns what an object depends on.
    compute_deps_cache
        Used instead of `deps` where given: a function that does its own caching in `deps_cache`.
    deps_cache
        What objects depend on, as far as known; it is extended.
    clients
        Filled with the objects that depend on each object, if given.

    Raises
    ------
    CycleError
        If an object depends on itself.
    GraphTypeError
        If no function of dependence is given.

    >>> needs = {"shoes": ["socks"], "socks": [], "coat": ["shoes"]}
    >>> general_toposort(["coat"], needs.get)
    ['socks', 'shoes', 'coat']
    """
    needs = compute_deps_cache or deps
    if needs is None:
        msg = "general_toposort: neither deps nor compute_deps_cache is given. Pass a function of dependence."
        raise GraphTypeError(msg)
    cache: dict[T, list[T]] = {} if deps_cache is None else deps_cache
    order = list(_ordered(outputs, needs, cache))
    if clients is not None:
        for item in order:
            for need in cache[item]:
                clients.setdefault(need, []).append(item)
    return order


def walk_toposort(graphs: Iterable[T], deps: Callable[[T], Iterable[T] | None]) -> Iterator[T]:
    """Yield all objects that `graphs` depend on, and these, every object after those it depends on.

    Parameters
    ----------
    graphs
        Hashable objects to begin with.
    deps
        Returns what an object depends on, or None.

    Raises
    ------
    CycleError
        If an object depends on itself.

    >>> needs = {"shoes": ["socks"], "socks": [], "coat": ["shoes"]}
    >>> list(walk_toposort(["coat"], needs.get))
    ['socks', 'shoes', 'coat']
    """
    return _ordered(graphs, deps, {})


def _ordered(outputs: Iterable[T], needs: Callable[[T], Iterable[T] | None], cache: dict[T, list[T]]) -> Iterator[T]:
    state: dict[T, bool] = {}
    stack: list[T] = []
    for out in outputs:
        stack.append(out)
        while stack:
            item = stack[-1]
            done = state.get(item)
            if done is None:
                state[item] = False
                if item not in cache:
                    cache[item] = list(needs(item) or ())
                for need in reversed(cache[item]):
                    finished = state.get(need)
                    if finished is None:
                        stack.append(need)
                    elif not finished:
                        raise cycle_error(_open_path(stack, state, need))
            else:
                stack.pop()
                if not done:
                    state[item] = True
                    yield item


# Questions of dependence


def check_node(what: str, node: object) -> None:
    """Refuse anything but a node."""
    if not isinstance(node, Apply):
        msg = f"{what}: a node is needed, got {text_of(node)}. Pass an Apply, such as the owner of a variable."
        raise GraphTypeError(msg)


def variable_depends_on(variable: Variable, depends_on: Variable | Collection[Variable]) -> bool:
    """Whether a variable is one of the others, or is computed from one.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> variable_depends_on(tt.exp(x), x), variable_depends_on(tt.exp(x), y)
    (True, False)
    """
    sources = {depends_on} if isinstance(depends_on, Variable) else set(listed("depends_on", depends_on))
    return any(v in sources for v in ancestors([variable]))


def apply_depends_on(apply: Apply, depends_on: Apply | Collection[Apply]) -> bool:
    """Whether a node is one of the others, or needs one.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> inner, outer = tt.exp(x), tt.log(tt.exp(x))
    >>> apply_depends_on(tt.log(inner).owner, inner.owner)
    True
    """
    check_node("apply_depends_on", apply)
    sources = set(depends_on) if isinstance(depends_on, list | tuple | set | frozenset | dict) else {depends_on}
    return any(node in sources for node in walk([apply], _needed))


def is_in_ancestors(l_apply: Apply, f_node: Apply) -> bool:
    """Whether `f_node` is `l_apply`, or one that `l_apply` needs.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> inner = tt.exp(x)
    >>> is_in_ancestors(tt.log(inner).owner, inner.owner)
    True
    """
    check_node("is_in_ancestors", l_apply)
    check_node("is_in_ancestors", f_node)
    return any(node is f_node for node in walk([l_apply], _needed))


def _needed(node: Apply) -> list[Apply]:
    return [var.owner for var in node.inputs if var.owner is not None]


def truncated_graph_inputs(
    outputs: Sequence[Variable], ancestors_to_include: Collection[Variable] | None = None
) -> list[Variable]:
    """Return the nearest variables that `outputs` can be computed from, keeping some ancestors among them.

    Parameters
    ----------
    outputs
        Variables to compute.
    ancestors_to_include
        Variables that are to be inputs where `outputs` depend on them.

    Returns
    -------
    The ancestors asked for, as far as they occur, and the nearest variables that depend on none of them; so without
    any, the outputs themselves. An ancestor that depends on another one is there beside it. The order is that of
    `ancestors`; outputs alone keep theirs.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> middle = x * y
    >>> truncated_graph_inputs([tt.exp(middle)], [middle])
    [Mul.out]
    >>> truncated_graph_inputs([tt.exp(middle) + x], [middle])
    [x, Mul.out]
    """
    outs = listed("output", outputs)
    chosen = _stops(ancestors_to_include)
    if not chosen:
        return list(dict.fromkeys(outs))
    dependent = _dependents(outs, chosen)
    nearest: dict[Variable, None] = {}

    def expand(var: Variable) -> Iterable[Variable]:
        if var in chosen or var not in dependent:
            nearest[var] = None
        return var.owner.inputs if var in dependent and var.owner is not None else ()

    for _ in walk(outs, expand, bfs=False):
        pass
    return list(nearest)


def _dependents(outputs: Iterable[Variable], chosen: set[Variable]) -> set[Variable]:
    """Return the variables that are computed from a chosen one."""
    dependent: set[Variable] = set()
    for node in toposort(outputs):
        if any(x in chosen or x in dependent for x in node.inputs):
            dependent.update(node.outputs)
    return dependent


def get_var_by_name(graphs: Iterable[Variable], target_var_id: str) -> tuple[Variable, ...]:
    """Return the variables of a name among those that `graphs` are computed from.

    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> get_var_by_name([tt.exp(x) + y], "y")
    (y,)
    """
    return tuple(v for v in ancestors(graphs) if v.name == target_var_id)
