"""Whose memory results are in: what may be overwritten, and where an output must be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.errors import FunctionTypeError
from treadle.graph import DestroyHandler, SharedVariable, Supervisor, deep_copy_op, memory_roots, roots_of, view_op
from treadle.link.vm import unsafe_overwrites

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.compile.io import In, Out
    from treadle.graph import Apply, FunctionGraph, Roots, Variable


def add_supervisor_to_fgraph(fgraph: FunctionGraph, input_specs: Sequence[In], accept_inplace: bool = False) -> None:
    """Have a graph protect the values of the inputs that are not mutable, and all that are kept from call to call.

    Parameters
    ----------
    fgraph
        The graph before rewriting.
    input_specs
        An In for each of the first inputs of the graph; further ones are protected.
    accept_inplace
        Whether the graph may already hold ops that overwrite their inputs. Where they would overwrite what is
        protected, or what something else needs, they overwrite copies.

    Raises
    ------
    FunctionTypeError
        If there is such an op and it is not accepted.
    """
    destroyers = [node for node in fgraph.apply_nodes if node.op.destroy_map]
    if destroyers and not accept_inplace:
        first = destroyers[0]
        msg = (
            f"function: the graph holds {first.op}, which overwrites its input{first.where()}. In-place ops are put "
            "in by rewriting; use the op that does not work in place, or pass accept_inplace=True."
        )
        raise FunctionTypeError(msg)
    free = {
        var
        for var, spec in zip(fgraph.inputs, input_specs, strict=False)
        if spec.mutable and spec.value is None and not isinstance(var, SharedVariable)
    }
    fgraph.attach_feature(Supervisor([var for var in fgraph.inputs if var not in free]))
    if destroyers:
        for node, places in unsafe_overwrites(fgraph, fgraph.toposort()).items():
            for i in places:
                fgraph.change_node_input(node, i, deep_copy_op(node.inputs[i]), reason="accept_inplace")
        fgraph.attach_feature(DestroyHandler())


def alias_root(v: Variable) -> Variable:
    """Return the variable whose memory a variable is in, as views and in-place operations declare it."""
    while v.owner is not None and v.index is not None:
        op = v.owner.op
        places = op.view_map.get(v.index) or op.destroy_map.get(v.index)
        if not places:
            break
        v = v.owner.inputs[places[0]]
    return v


def view_tree_set(fgraph: FunctionGraph, v: Variable, treeset: set[Variable]) -> None:
    """Add a variable, and all in the graph that may be in its memory, to a set."""
    waiting = [v]
    treeset.add(v)
    while waiting:
        for node, i in fgraph.clients.get(waiting.pop(), ()):
            for o, places in (*node.op.view_map.items(), *node.op.destroy_map.items()):
                if i in places and o < len(node.outputs) and node.outputs[o] not in treeset:
                    treeset.add(node.outputs[o])
                    waiting.append(node.outputs[o])


def infer_reuse_pattern(fgraph: FunctionGraph, outputs_to_disown: Iterable[Variable]) -> set[Variable]:
    """Return the computed variables that may be in the same memory as one of some outputs.

    Parameters
    ----------
    fgraph
        The graph.
    outputs_to_disown
        Variables whose values the caller keeps, so that their memory may not be used again.
    """
    sharing: set[Variable] = set()
    for out in outputs_to_disown:
        view_tree_set(fgraph, alias_root(out), sharing)
    return {var for var in sharing if var.owner is not None}


def insert_deepcopy(
    fgraph: FunctionGraph, wrapped_inputs: Sequence[In], wrapped_outputs: Sequence[Out], *, views: bool = True
) -> None:
    """Put a copy before each output that would share memory which it may not share.

    A result shares no memory with an input or a shared variable unless both it and that input are borrowed (shared
    variables are), nor with another result unless both are borrowed; never with a constant. The new value of a shared
    variable shares memory with nothing, except that it may take over the old value of one that is updated too.

    Parameters
    ----------
    fgraph
        The rewritten graph; its ``update_mapping`` tells which outputs are new values of inputs.
    wrapped_inputs, wrapped_outputs
        An In for each input of the graph, and an Out for each output.
    views
        Whether to mark the outputs that may share memory and do, so that a program need not copy them.
    """
    sharing = _Sharing(fgraph, wrapped_inputs, wrapped_outputs)
    copied = {i for i in range(len(fgraph.outputs)) if sharing.needs_copy(i)}
    for i, out in enumerate(list(fgraph.outputs)):
        if i in copied:
            _change_output(fgraph, i, deep_copy_op(out))
        elif views and sharing.shares(i, copied):
            _change_output(fgraph, i, view_op(out))


class _Sharing:
    """Which outputs of a graph use the same memory, and which of them may."""

    def __init__(self, fgraph: FunctionGraph, inputs: Sequence[In], outputs: Sequence[Out]) -> None:
        self.inputs = dict(zip(fgraph.inputs, inputs, strict=True))
        self.outputs = outputs
        self.updates = frozenset(fgraph.update_mapping or ())
        roots = _output_roots(fgraph)
        self.own = [roots_of(out, roots) for out in fgraph.outputs]
        self.users: dict[Variable, list[int]] = {}
        for i, own in enumerate(self.own):
            for root in own:
                self.users.setdefault(root, []).append(i)

    def needs_copy(self, i: int) -> bool:
        """Whether an output would share memory which it may not share.

        The last of those outputs that share memory keeps it, the others are copied.
        """
        if any(root.owner is None and not self._may_share_input(i, root) for root in self.own[i]):
            return True
        return any(k > i and not (self._borrowed(i) and self._borrowed(k)) for k in self._others(i))

    def shares(self, i: int, copied: set[int]) -> bool:
        """Whether an output that is not copied shares memory with something."""
        return any(root.owner is None for root in self.own[i]) or bool(self._others(i) - copied)

    def _others(self, i: int) -> set[int]:
        return {k for root in self.own[i] for k in self.users[root]} - {i}

    def _borrowed(self, i: int) -> bool:
        return i not in self.updates and self.outputs[i].borrow

    def _may_share_input(self, i: int, root: Variable) -> bool:
        spec = self.inputs.get(root)
        if spec is None:
            return False
        if i in self.updates:
            return isinstance(spec.variable, SharedVariable) and spec.update is not None
        return self.outputs[i].borrow and spec.borrow


def _output_roots(fgraph: FunctionGraph) -> Roots:
    """Return whose memory the outputs use, looking only at the nodes that views of something lead to."""
    needed: dict[Apply, None] = {}
    waiting = [out.owner for out in fgraph.outputs if out.owner is not None]
    while waiting:
        node = waiting.pop()
        if node in needed or not (node.op.view_map or node.op.destroy_map):
            continue
        needed[node] = None
        places = {i for m in (node.op.view_map, node.op.destroy_map) for inputs in m.values() for i in inputs}
        waiting += [owner for i in places if (owner := node.inputs[i].owner) is not None]
    if not needed:
        return {}
    return memory_roots(node for node in fgraph.toposort() if node in needed)


def _change_output(fgraph: FunctionGraph, i: int, new: Variable) -> None:
    """Let a variable computed from an output take its place."""
    new.name = fgraph.outputs[i].name
    for node, at in list(fgraph.clients[fgraph.outputs[i]]):
        if not node.outputs and getattr(node.op, "idx", None) == i:
            fgraph.change_node_input(node, at, new, reason="insert_deepcopy")
            return
