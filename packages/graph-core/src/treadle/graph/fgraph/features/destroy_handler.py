"""DestroyHandler: keeps in-place operations correct, change by change.

A variable that is a view of another one (``view_map``) shares its memory; the variable at the end of such a way is a
root. A node that overwrites an input (``destroy_map``) destroys the input's roots, so every other node that reads the
root, or a view of it, must run before. These orderings are kept in the graph's own order of evaluation, where a
change costs at most what lies between the nodes that it puts into another order (see `treadle.graph.fgraph.order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from treadle.graph.errors import CycleError, GraphValueError, InconsistencyError
from treadle.graph.fgraph.features.base import Feature
from treadle.graph.fgraph.features.protection import Supervisor
from treadle.graph.ir.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


class ProtocolError(GraphValueError):
    """The DestroyHandler was used with a graph that it does not belong to."""


class Memory:
    """What is known of one variable's memory; the numbers count the inputs of nodes that cause an entry."""

    __slots__ = ("destroyers", "impact", "parents", "readers", "roots", "views")

    def __init__(self) -> None:
        # The variables whose memory it may use; itself unless it is a view.
        self.roots: dict[Variable, None] = {}
        # What it is directly a view of, and its direct views.
        self.parents: dict[Variable, int] = {}
        self.views: dict[Variable, int] = {}
        # The nodes that take it as an input, and those that overwrite it.
        self.readers: dict[Apply, int] = {}
        self.destroyers: dict[Apply, int] = {}
        # For a root: the variables that use its memory, itself included, that anything reads.
        self.impact: dict[Variable, None] = {}


def _count(table: dict[Any, int], key: Any, step: int) -> int:
    """Add a step to a count, and remove it at 0; return the new count."""
    count = table.get(key, 0) + step
    if count:
        table[key] = count
    else:
        table.pop(key, None)
    return count


def _views(node: Apply) -> list[tuple[int, Variable]]:
    """Return pairs of an input's position and an output that is a view of it.

    An output that overwrites what it is a view of holds the new value: it begins a memory of its own.
    """
    op = node.op
    if not op.view_map:
        return []
    return [
        (i, node.outputs[o]) for o, places in op.view_map.items() for i in places if i not in op.destroy_map.get(o, ())
    ]


def _overwritten(node: Apply) -> list[int]:
    destroy_map = node.op.destroy_map
    return [i for places in destroy_map.values() for i in places] if destroy_map else []


class DestroyHandler(Feature):
    """Feature that orders every read before the overwriting, and refuses graphs in which that is impossible.

    It installs on the graph ``destroyers(var)``, the nodes that overwrite a variable's memory,
    ``has_destroyers(variables)``, whether there is such a node for one of them, and ``destroy_handler``, itself.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> fgraph = treadle.graph.FunctionGraph([v], [tt.exp(v)], features=[DestroyHandler()])
    >>> fgraph.has_destroyers([fgraph.inputs[0]])
    False
    """

    keeps_orderings = True

    def __init__(self) -> None:
        self._fgraph: FunctionGraph | None = None
        self._memories: dict[Variable, Memory] = {}
        # The inputs of each node, as last reported.
        self._inputs: dict[Apply, list[Variable]] = {}
        # Pairs of a reader and the destroyer that it must precede, with the number of reasons.
        self._orderings: dict[tuple[Apply, Apply], int] = {}
        # Roots that are overwritten, with the nodes that do it.
        self._destroyed: dict[Variable, dict[Apply, int]] = {}
        # Outputs' stand-ins that read what a node overwrites.
        self._outputs: dict[Apply, dict[Apply, int]] = {}
        # Destroyers to look at when the graph is validated.
        self._suspects: dict[Apply, None] = {}
        # Whether there may be a cycle of views, so that roots may be wrong until it is broken.
        self._maybe_cyclic = False

    # Attaching

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Install the methods and look at every node; a handler of another graph raises a ProtocolError."""
        self.refuse_second(self._fgraph, ProtocolError)
        self.install(fgraph, destroyers=self.destroyers, has_destroyers=self.has_destroyers, destroy_handler=self)
        self._fgraph = fgraph
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")
        for out in fgraph.outputs:
            for node, _ in fgraph.clients[out]:
                if not node.outputs and node not in self._inputs:
                    self.on_add_output(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Take back every ordering."""
        for first, second in self._orderings:
            fgraph.remove_ordering(first, second)
        self.__init__()  # type: ignore[misc]  # back to the state before it was attached

    def clone(self) -> DestroyHandler:
        """Return a handler for another graph."""
        return type(self)()

    def __getstate__(self) -> dict[str, Any]:
        """Leave everything out of pickles: it is found anew when the feature is attached."""
        return vars(type(self)())

    # Questions

    def destroyers(self, var: Variable) -> list[Apply]:
        """Return the nodes that overwrite the memory of a variable."""
        return list(dict.fromkeys(node for root in self.roots_of(var) for node in self._destroyed.get(root, ())))

    def roots_of(self, var: Variable) -> list[Variable]:
        """Return the variables whose memory a variable may use: itself, unless it is a view."""
        memory = self._memories.get(var)
        return [var] if memory is None else list(memory.roots)

    def has_destroyers(self, variables: Iterable[Variable]) -> bool:
        """Whether a node overwrites the memory of one of the variables."""
        return any(self.destroyers(var) for var in variables)

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, Sequence[Apply]]:
        """Return, for each node that overwrites something, those that must run before it."""
        before: dict[Apply, list[Apply]] = {}
        for first, second in self._orderings:
            before.setdefault(second, []).append(first)
        return dict(before)

    # Validation

    def validate(self, fgraph: FunctionGraph) -> None:
        """Refuse a graph in which something would be read after it was overwritten.

        Raises
        ------
        InconsistencyError
            If so; the message names both nodes, or the node and what it must not overwrite.
        """
        for node in list(self._suspects):
            self._check(node)
            del self._suspects[node]
        try:
            fgraph.repair_order()
        except CycleError as error:
            nodes = error.nodes
            for first, second in zip(nodes, (*nodes[1:], nodes[0]), strict=True):
                if (first, second) in self._orderings:
                    self._refuse_order(first, second, error)
            raise
        self._maybe_cyclic = False

    def _refuse_order(self, reader: Apply, node: Apply, error: CycleError) -> NoReturn:
        msg = (
            f"{node.op}: the node overwrites what {reader.op} reads{reader.where()}, but cannot run after it"
            f"{node.where()}: {reader.op} needs what it computes. Use the op that does not work in place."
        )
        raise InconsistencyError(msg) from error

    def _check(self, node: Apply) -> None:
        """Refuse a node that overwrites what it must not."""
        places = set(_overwritten(node))
        for i in sorted(places):
            var = node.inputs[i]
            for root in self._memories[var].roots:
                if isinstance(root, Constant) or (root._tag is not None and getattr(root.tag, "indestructible", False)):
                    self._refuse(node, f"input {i} shares the memory of {root}, which must not be overwritten")
                for other in self._destroyed[root]:
                    if other is not node:
                        self._refuse(node, f"input {i} is overwritten by {other.op} too{other.where()}")
        for output in self._outputs.get(node, ()):
            self._refuse(node, f"it overwrites {output.inputs[0]}, an output of the graph or a view of one")
        self._check_aliases(node, places)

    def _check_aliases(self, node: Apply, places: set[int]) -> None:
        """Refuse a node that overwrites the memory of another one of its inputs."""
        users: dict[Variable, list[int]] = {}
        for i, var in enumerate(node.inputs):
            for root in self._memories[var].roots:
                users.setdefault(root, []).append(i)
        for i in places:
            for root in self._memories[node.inputs[i]].roots:
                for j in users[root]:
                    if j != i and not self._tolerates(node, i, j):
                        self._refuse(node, f"it overwrites input {i}, and input {j} shares its memory")

    @staticmethod
    def _tolerates(node: Apply, i: int, j: int) -> bool:
        """Whether an op declares that two inputs may be the same, or share memory."""
        same = getattr(node.op, "destroyhandler_tolerate_same", ())
        if node.inputs[i] is node.inputs[j] and ((i, j) in same or (j, i) in same):
            return True
        return (i, j) in getattr(node.op, "destroyhandler_tolerate_aliased", ())

    @staticmethod
    def _refuse(node: Apply, what: str) -> NoReturn:
        msg = f"{node.op}: {what}{node.where()}. Use the op that does not work in place."
        raise InconsistencyError(msg)

    # What happens to the graph

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Record a node."""
        self._inputs[node] = list(node.inputs)
        for var in node.outputs:
            self._memory(var)
        views = _views(node)
        for i, var in enumerate(node.inputs):
            self._add_read(node, var)
            for place, out in views:
                if place == i:
                    self._add_view(var, out)
        for i in _overwritten(node):
            self._destroy(node, node.inputs[i], 1)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Forget a node."""
        inputs = self._inputs.pop(node)
        for i in _overwritten(node):
            self._destroy(node, inputs[i], -1)
        for place, out in _views(node):
            self._remove_view(inputs[place], out)
        for var in inputs:
            self._remove_read(node, var)
        for out in node.outputs:
            self._release(out)
        self._suspects.pop(node, None)
        self._outputs.pop(node, None)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Record a changed input."""
        self._inputs[node][i] = new_var
        destroyed = _overwritten(node).count(i)
        views = [out for place, out in _views(node) if place == i]
        # Where the memory is the same, nothing changes for views of it, or for those that read it.
        roots_change = self._maybe_cyclic or self._memory(new_var).roots.keys() != self._memories[var].roots.keys()
        self._add_read(node, new_var)
        if destroyed:
            self._destroy(node, new_var, destroyed, roots_change)
            self._destroy(node, var, -destroyed, roots_change)
        for out in views:
            self._add_view(new_var, out, roots_change)
            self._remove_view(var, out, roots_change)
        self._remove_read(node, var)
        if node.op.destroy_map:
            self._suspects[node] = None

    def on_add_output(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Record the reader of an output."""
        self._inputs[node] = list(node.inputs)
        self._add_read(node, node.inputs[0])

    def on_remove_output(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Forget the reader of an output."""
        (var,) = self._inputs.pop(node)
        self._remove_read(node, var)

    # Memory

    def _memory(self, var: Variable) -> Memory:
        memory = self._memories.get(var)
        if memory is None:
            memory = self._memories[var] = Memory()
            memory.roots[var] = None
            memory.impact[var] = None
        return memory

    def _release(self, var: Variable) -> None:
        """Forget a variable that nothing refers to."""
        memory = self._memories.get(var)
        if memory is None or memory.readers or memory.destroyers or memory.views or memory.parents:
            return
        # While views form a cycle, others may use the memory of a variable that nothing refers to, or it theirs.
        if any(other is not var for other in memory.impact):
            return
        for root in memory.roots:
            self._memories[root].impact.pop(var, None)
        del self._memories[var]

    def _add_read(self, node: Apply, var: Variable) -> None:
        memory = self._memory(var)
        if _count(memory.readers, node, 1) == 1:
            for root in memory.roots:
                for destroyer in self._destroyed.get(root, ()):
                    self._order(node, destroyer, 1)

    def _remove_read(self, node: Apply, var: Variable) -> None:
        memory = self._memories[var]
        if _count(memory.readers, node, -1) == 0:
            for root in memory.roots:
                for destroyer in self._destroyed.get(root, ()):
                    self._order(node, destroyer, -1)
            self._release(var)

    def _destroy(self, node: Apply, var: Variable, step: int, roots_change: bool = True) -> None:
        """Note that a node overwrites a variable's memory, or no longer does; its roots only if they change."""
        memory = self._memory(var)
        _count(memory.destroyers, node, step)
        if roots_change:
            for root in memory.roots:
                self._destroy_root(node, root, step)
        self._suspects[node] = None

    def _destroy_root(self, node: Apply, root: Variable, step: int) -> None:
        nodes = self._destroyed.setdefault(root, {})
        before = nodes.get(node, 0)
        after = _count(nodes, node, step)
        if not nodes:
            del self._destroyed[root]
        if (before == 0) != (after == 0):
            for var in self._memories[root].impact:
                for reader in self._memories[var].readers:
                    self._order(reader, node, 1 if after else -1)

    def _order(self, reader: Apply, destroyer: Apply, step: int) -> None:
        """Add or remove a reason for a reader to run before a destroyer."""
        if reader is destroyer:
            self._suspects[destroyer] = None
            return
        if not reader.outputs:
            waiting = self._outputs.setdefault(destroyer, {})
            _count(waiting, reader, step)
            if not waiting:
                del self._outputs[destroyer]
            self._suspects[destroyer] = None
            return
        count = _count(self._orderings, (reader, destroyer), step)
        graph = self._fgraph
        if graph is not None and count == 0:
            graph.remove_ordering(reader, destroyer)
        elif graph is not None and step > 0 and count == 1:
            graph.add_ordering(reader, destroyer)

    # Views

    def _add_view(self, var: Variable, out: Variable, roots_change: bool = True) -> None:
        """Make a variable a view of another one, and recompute its roots if they change."""
        _count(self._memory(out).parents, var, 1)
        if _count(self._memory(var).views, out, 1) == 1 and roots_change:
            self._recompute_roots(out)

    def _remove_view(self, var: Variable, out: Variable, roots_change: bool = True) -> None:
        """Take back `_add_view`."""
        _count(self._memories[out].parents, var, -1)
        if _count(self._memories[var].views, out, -1) == 0 and roots_change:
            self._recompute_roots(out)

    def _recompute_roots(self, out: Variable) -> None:
        """Recompute the roots of a variable and of its views."""
        below: dict[Variable, None] = {}
        pending = [out]
        while pending:
            var = pending.pop()
            if var not in below:
                below[var] = None
                pending.extend(self._memories[var].views)
        for var in below:
            self._leave_roots(var)
        for var in self._parents_first(below):
            self._join_roots(var)

    def _parents_first(self, variables: dict[Variable, None]) -> list[Variable]:
        """Return the variables, each after those that it is a view of."""
        waiting = {var: sum(parent in variables for parent in self._memories[var].parents) for var in variables}
        order = [var for var, count in waiting.items() if not count]
        for var in order:
            for view in self._memories[var].views:
                waiting[view] -= 1
                if not waiting[view]:
                    order.append(view)
        if len(order) < len(variables):
            # Views in a cycle: validation refuses the graph, and roots are recomputed when the cycle is broken.
            self._maybe_cyclic = True
            order += [var for var, count in waiting.items() if count > 0]
        return order

    def _leave_roots(self, var: Variable) -> None:
        """Separate a variable from its roots."""
        memory = self._memories[var]
        for root in memory.roots:
            for node, count in memory.destroyers.items():
                self._destroy_root(node, root, -count)
            for destroyer in self._destroyed.get(root, ()):
                for reader in memory.readers:
                    self._order(reader, destroyer, -1)
            self._memories[root].impact.pop(var, None)
        memory.roots = {}

    def _join_roots(self, var: Variable) -> None:
        """Connect a variable to the roots of what it is a view of."""
        memory = self._memories[var]
        for parent in memory.parents:
            memory.roots.update(self._memories[parent].roots)
        if not memory.roots:
            memory.roots[var] = None
        for root in memory.roots:
            self._memories[root].impact[var] = None
            for destroyer in self._destroyed.get(root, ()):
                for reader in memory.readers:
                    self._order(reader, destroyer, 1)
            for node, count in memory.destroyers.items():
                self._destroy_root(node, root, count)
        for reader in memory.readers:
            if reader.op.destroy_map:
                self._suspects[reader] = None


def inplace_candidates(
    fgraph: FunctionGraph, inputs: Iterable[Variable], protected_inputs: Iterable[Variable] | None = None
) -> list[Variable]:
    """Return the inputs of a node that an in-place version of it might overwrite.

    Left out are constants, variables whose memory is overwritten already, those that share memory with another of
    the inputs, and protected ones with their views.

    Parameters
    ----------
    fgraph
        A graph with a `DestroyHandler`.
    inputs
        The inputs of the node.
    protected_inputs
        Variables that must not be overwritten; what its supervisors protect, and its outputs, if None.

    Raises
    ------
    ProtocolError
        If the graph has no `DestroyHandler`.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> fgraph = treadle.graph.FunctionGraph([v], [tt.exp(tt.sin(v))], features=[treadle.graph.DestroyHandler()])
    >>> [str(var.owner.op) for var in inplace_candidates(fgraph, fgraph.outputs[0].owner.inputs)]
    ['Sin']
    """
    handler: DestroyHandler | None = getattr(fgraph, "destroy_handler", None)
    if handler is None:
        msg = f"inplace_candidates: {fgraph} has no DestroyHandler. Attach one to it first."
        raise ProtocolError(msg)
    if protected_inputs is None:
        supervised = (var for f in fgraph.features if isinstance(f, Supervisor) for var in f.protected)
        protected_inputs = [*supervised, *fgraph.outputs]
    protected = {root for var in protected_inputs for root in handler.roots_of(var)}
    candidates = list(dict.fromkeys(inputs))
    users: dict[Variable, int] = {}
    for var in candidates:
        for root in handler.roots_of(var):
            users[root] = users.get(root, 0) + 1
    return [
        var
        for var in candidates
        if not any(isinstance(r, Constant) or r in protected or users[r] > 1 for r in handler.roots_of(var))
        and not handler.destroyers(var)
    ]
