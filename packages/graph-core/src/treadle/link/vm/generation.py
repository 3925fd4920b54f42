"""Source text of the straight-line function that runs a graph."""

from __future__ import annotations

import itertools
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass
from treadle.graph import Branching, Constant, Supervisor, Variable, ViewOp, memory_roots, roots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import CodeType

    from treadle.graph import Apply, Block, Compute, FunctionGraph, Roots, Value

CHUNK = 400
_NUMBER = itertools.count()


@dataclass(slots=True)
class Listing:
    """A compiled program text: what to call, and which node each line of it runs."""

    run: Compute
    source: str
    names: dict[Variable, str]
    nodes: dict[CodeType, dict[int, Apply]]
    # The nodes by the names of the functions that compute them.
    steps: dict[str, Apply] = field(default_factory=dict)

    def node_at(self, code: CodeType, line: int) -> Apply | None:
        """Return the node that a line of this listing runs."""
        return self.nodes.get(code, {}).get(line)


class _Writer:
    """Writes functions, each compiled by itself, and notes which line of which runs which node."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope
        self.sources: list[str] = []
        self.nodes: dict[CodeType, dict[int, Apply]] = {}
        self._lines: list[str] = []
        self._nodes_by_line: dict[int, Apply] = {}

    def add(self, text: str, node: Apply | None = None) -> None:
        """Add a line to the function being written."""
        self._lines.append(text)
        if node is not None:
            self._nodes_by_line[len(self._lines)] = node

    def finish(self, name: str) -> None:
        """Compile the function written so far into the scope, under its name."""
        source = "\n".join(self._lines) + "\n"
        file = f"<treadle vm {next(_NUMBER)}>"
        exec(compile(source, file, "exec"), self.scope)
        self.nodes[self.scope[name].__code__] = self._nodes_by_line
        self.sources.append(source)
        self._lines = []
        self._nodes_by_line = {}


def unsafe_overwrites(fgraph: FunctionGraph, order: Sequence[Apply]) -> dict[Apply, set[int]]:
    """Return, for nodes that overwrite inputs, which of these must be copied first.

    An input may be overwritten only if it is a value of the graph's own, or an input of the graph that no Supervisor
    protects where there is one, that no output is made of, and that nothing uses later or beside.
    """
    destroyers = [node for node in order if node.op.destroy_map]
    if not destroyers:
        return {}
    roots = memory_roots(order, versions=True)
    last: dict[Variable, Apply] = {}
    for node in order:
        last.update((root, node) for x in node.inputs for root in roots_of(x, roots))
    escaping = {root for out in fgraph.outputs for root in roots_of(out, roots)}
    free = unprotected_inputs(fgraph)
    copied: dict[Apply, set[int]] = {}
    for node in destroyers:
        for i in {i for inputs in node.op.destroy_map.values() for i in inputs}:
            input_roots = roots_of(node.inputs[i], roots)
            other_roots = {r for k, x in enumerate(node.inputs) if k != i for r in roots_of(x, roots)}
            if any(
                (r.owner is None and r not in free) or r in escaping or r in other_roots or last[r] is not node
                for r in input_roots
            ):
                copied.setdefault(node, set()).add(i)
    return copied


def unprotected_inputs(fgraph: FunctionGraph) -> set[Variable]:
    """Return the inputs that may be overwritten: none, unless Supervisors say which are protected."""
    supervisors = [feature for feature in fgraph.features if isinstance(feature, Supervisor)]
    protected = {var for feature in supervisors for var in feature.protected}
    return set(fgraph.inputs) - protected if supervisors else set()


def _results(
    fgraph: FunctionGraph,
    names: dict[Variable, str],
    scope: dict[str, object],
    roots: Roots,
    copy: Callable[[object], object] | None,
) -> list[str]:
    """Return the expressions of the outputs: copies where one may be an input's, a constant's or another's memory."""
    results = [names[var] for var in fgraph.outputs]
    for i in sharing_outputs(fgraph, roots):
        scope[f"copy{i}"] = copy or fgraph.outputs[i].type.copy_value
        results[i] = f"copy{i}({results[i]})"
    return results


def sharing_outputs(fgraph: FunctionGraph, roots: Roots) -> list[int]:
    """Return the positions of the outputs that may share memory with inputs, constants or outputs before them."""
    used: set[Variable] = set()
    positions: list[int] = []
    for i, var in enumerate(fgraph.outputs):
        output_roots = roots_of(var, roots)
        # An output of `ViewOp` is meant to share memory.
        shares = var.owner is not None and isinstance(var.owner.op, ViewOp)
        if not shares and any(root.owner is None or root in used for root in output_roots):
            positions.append(i)
        used |= output_roots
    return positions


def _tuple(names: Sequence[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")


def fixed_value(var: Variable) -> Value:
    """Return the value of a variable that is neither given nor computed: a constant's or a shared variable's."""
    variable: Value = var
    return variable.data if isinstance(var, Constant) else variable.container.read_host()


def generate(
    fgraph: FunctionGraph,
    callables: dict[Apply, Compute],
    free: bool,
    lazy: bool | None = None,
    copy: Callable[[Any], Any] | None = None,
    shares: bool = False,
    texts: Mapping[Apply, str] = MappingProxyType({}),
    value_of: Callable[[Variable], Value] = fixed_value,
) -> Listing:
    """Write and compile the function that runs the graph.

    Parameters
    ----------
    fgraph
        The graph.
    callables
        What to call for each node: values in, one value or a tuple of values out. That of an `IfElse` is given None
        for the values of the branch not taken.
    free
        Whether to drop every intermediate value after its last use.
    lazy
        Whether a branch runs only where it is taken; it does if None.
    copy
        Copies an output that may share memory; the type's own `copy_value` if None.
    shares
        Whether outputs may share memory with inputs, constants and each other: no output is copied then.
    texts
        Expressions to write in place of calls, with ``{0}`` for the first input.
    value_of
        Returns the value of a variable that is neither given nor computed, in the form that the callables take.

    Notes
    -----
    A branch is a function of its own with explicit arguments and results: it runs only if it is taken, and branches
    may be nested to any depth. A long program or branch is cut into functions of at most `CHUNK` nodes, because the
    interpreter's own compiler slows down on very long functions.
    """
    branching = Branching.of(fgraph, None if lazy is not False else lambda _node: False)
    order = branching.linear()
    names: dict[Variable, str] = {v: f"a{i}" for i, v in enumerate(fgraph.inputs)}
    scope: dict[str, Any] = {}
    computed = {out for node in order for out in node.outputs}
    for i, var in enumerate(v for v in fgraph.variables if v not in names and v not in computed):
        names[var] = f"c{i}"
        scope[f"c{i}"] = value_of(var)
    for i, var in enumerate(out for node in order for out in node.outputs):
        names[var] = f"v{i}"
    steps = {f"f{i}": node for i, node in enumerate(order)}
    scope.update((name, callables[node]) for name, node in steps.items())
    roots = memory_roots(order)
    calls = _calls(order, names, scope, unsafe_overwrites(fgraph, order))
    calls.update((node, text.format(*[names[v] for v in node.inputs])) for node, text in texts.items())
    dying = branching.last_uses(order, [*fgraph.inputs, *fgraph.outputs]) if free else {}
    writer = _Writer(scope)
    program = _ProgramWriter(writer, branching, names, calls, dying)
    results = [names[v] for v in fgraph.outputs] if shares else _results(fgraph, names, scope, roots, copy)
    for k, block in enumerate(branching.blocks[:-1]):
        program.write_branch(f"branch{k}", block)
    program.write("run", branching.root.nodes, fgraph.inputs, fgraph.outputs, results)
    return Listing(scope["run"], "\n".join(writer.sources), names, writer.nodes, steps)


def _calls(
    order: Sequence[Apply], names: dict[Variable, str], scope: dict[str, object], copied: dict[Apply, set[int]]
) -> dict[Apply, str]:
    """Return the expression that calls each node, destroyed inputs copied where that is needed."""
    calls = {}
    for i, node in enumerate(order):
        arguments = [names[v] for v in node.inputs]
        for k in copied.get(node, ()):
            scope[f"save{i}_{k}"] = node.inputs[k].type.copy_value
            arguments[k] = f"save{i}_{k}({arguments[k]})"
        calls[node] = f"f{i}({', '.join(arguments)})"
    return calls


class _Branch:
    """A branch that is written: the function to call, if it has nodes of its own, its arguments and results."""

    __slots__ = ("enters", "leaves", "name")

    def __init__(self, name: str, enters: list[Variable], leaves: list[Variable]) -> None:
        self.name = name
        self.enters = enters
        self.leaves = leaves


class _ProgramWriter:
    """Writes blocks of nodes as functions, inner blocks first."""

    def __init__(
        self,
        writer: _Writer,
        branching: Branching,
        names: dict[Variable, str],
        calls: dict[Apply, str],
        dying: dict[Apply, list[Variable]],
    ) -> None:
        self.writer = writer
        self.branching = branching
        self.names = names
        self.calls = calls
        self.dying = dying
        self.written: dict[Block, _Branch] = {}

    def _passed(self, variables: Iterable[Variable]) -> list[Variable]:
        """Return the variables that are passed as arguments: constants are known everywhere."""
        return [v for v in dict.fromkeys(variables) if not self.names[v].startswith("c")]

    def _used(self, node: Apply) -> list[Variable]:
        """Return the variables that a node takes: of a conditional, the condition and what the branches take."""
        branches = self.branching.inside.get(node)
        if branches is None:
            return node.inputs
        used = node.inputs[:1]
        for block in branches:
            branch = self.written[block]
            inside = set(branch.leaves)
            used += [*branch.enters, *(v for v in block.results if v not in inside)]
        return used

    def write_branch(self, name: str, block: Block) -> None:
        """Write the function of a branch."""
        computed = {out for node in block.nodes for out in node.outputs}
        enters = self._passed(v for node in block.nodes for v in self._used(node) if v not in computed)
        leaves = [v for v in dict.fromkeys(block.results) if v in computed]
        if block.nodes:
            self.write(name, block.nodes, enters, leaves, [self.names[v] for v in leaves])
        self.written[block] = _Branch(name, enters, leaves)

    def write(
        self,
        name: str,
        nodes: Sequence[Apply],
        enters: Sequence[Variable],
        leaves: Sequence[Variable],
        results: Sequence[str],
    ) -> None:
        """Write a function that runs nodes, and calls others that run parts of them if there are many."""
        head = f"def {name}({', '.join(self.names[v] for v in enters)}):"
        if len(nodes) <= CHUNK:
            self.writer.add(head)
            for node in nodes:
                self._write_node(node, self.dying.get(node, ()))
        else:
            parts = self._write_parts(name, nodes, leaves)
            self.writer.add(head)
            for call in parts:
                self.writer.add(call)
        self.writer.add(f"    return ({_tuple(results)})" if results else "    return ()")
        self.writer.finish(name)

    def _write_parts(self, name: str, nodes: Sequence[Apply], leaves: Sequence[Variable]) -> list[str]:
        """Write the functions of parts of the nodes; return the lines that call them."""
        needed_later = set(leaves)
        plans: list[tuple[Sequence[Apply], list[Variable], list[Variable], list[str]]] = []
        local_variables = {out for node in nodes for out in node.outputs}
        for start in reversed(range(0, len(nodes), CHUNK)):
            chunk = nodes[start : start + CHUNK]
            computed = dict.fromkeys(out for node in chunk for out in node.outputs)
            enters = self._passed(v for node in chunk for v in self._used(node) if v not in computed)
            leaving = [v for v in computed if v in needed_later]
            dead = [self.names[v] for v in enters if v not in needed_later and v in local_variables]
            plans.append((chunk, enters, leaving, dead))
            needed_later.update(enters)
        lines = []
        for k, (chunk, enters, leaving, dead) in enumerate(reversed(plans)):
            inside = {v for node in chunk for v in (*self._used(node), *node.outputs)}
            returned = set(leaving)
            texts = [self.names[v] for v in leaving]
            part = f"chunk{k}" if name == "run" else f"{name}_{k}"
            self.writer.add(f"def {part}({', '.join(self.names[v] for v in enters)}):")
            for node in chunk:
                self._write_node(node, [v for v in self.dying.get(node, ()) if v in inside and v not in returned])
            self.writer.add(f"    return ({_tuple(texts)})" if texts else "    return ()")
            self.writer.finish(part)
            call = f"{part}({', '.join(self.names[v] for v in enters)})"
            lines.append(f"    {_tuple(texts)} = {call}" if texts else f"    {call}")
            if dead and self.dying:
                lines.append(f"    del {', '.join(dead)}")
        return lines

    def _write_node(self, node: Apply, dying: Sequence[Variable]) -> None:
        targets = [self.names[v] for v in node.outputs]
        assigned = _tuple(targets) if len(targets) != 1 else targets[0]
        branches = self.branching.inside.get(node)
        within: set[Variable] = set()
        if branches is None:
            self.writer.add(f"    {assigned} = {self.calls[node]}", node)
        else:
            within = {v for block in branches for v in self.written[block].leaves}
            self._write_conditional(node, branches, assigned)
        dead = [self.names[v] for v in self._passed(dying) if v not in within]
        if dead:
            self.writer.add(f"    del {', '.join(dead)}")

    def _write_conditional(self, node: Apply, branches: tuple[Block, Block], assigned: str) -> None:
        """Write the test of a condition, and for each way the branch's call and the conditional's own."""
        op: Any = node.op
        function = self.calls[node].partition("(")[0]
        condition = self.names[node.inputs[0]]
        nothing = ["None"] * op.n_outs
        for is_first, block in zip((True, False), branches, strict=True):
            branch = self.written[block]
            self.writer.add(f"    if {condition}:" if is_first else "    else:", node)
            leaves = [self.names[v] for v in branch.leaves]
            if leaves:
                arguments = ", ".join(self.names[v] for v in branch.enters)
                self.writer.add(f"        {_tuple(leaves)} = {branch.name}({arguments})")
            values = [self.names[v] for v in block.results]
            arms = [*values, *nothing] if is_first else [*nothing, *values]
            self.writer.add(f"        {assigned} = {function}({', '.join([condition, *arms])})", node)
            if leaves and self.dying:
                self.writer.add(f"        del {', '.join(leaves)}")
