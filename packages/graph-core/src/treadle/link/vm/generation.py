"""Source text of the straight-line function that runs a graph."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.graph import Variable, memory_roots, roots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from treadle.graph import Apply, FunctionGraph, Roots

CHUNK = 400
_NUMBER = itertools.count()


@dataclass(slots=True)
class Listing:
    """A compiled program text: what to call, and which node each line of it runs."""

    run: Callable[..., Any]
    source: str
    names: dict[Variable, str]
    nodes: dict[CodeType, dict[int, Apply]]

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


def last_uses(order: Sequence[Apply], keep: Sequence[Variable]) -> dict[Apply, list[Variable]]:
    """Return for each node the variables that nothing after it needs, neither inputs' nor outputs' of the graph."""
    alive = set(keep)
    dying: dict[Apply, list[Variable]] = {}
    for node in reversed(order):
        dead = [v for v in dict.fromkeys((*node.inputs, *node.outputs)) if v not in alive]
        alive.update(dead)
        dying[node] = dead
    return dying


def unsafe_overwrites(fgraph: FunctionGraph, order: Sequence[Apply]) -> dict[Apply, set[int]]:
    """Return, for nodes that overwrite inputs, which of these must be copied first.

    An input may be overwritten only if it is a value of the graph's own that no output is made of, and that nothing
    uses later or beside.
    """
    destroyers = [node for node in order if node.op.destroy_map]
    if not destroyers:
        return {}
    roots = memory_roots(order, versions=True)
    last: dict[Variable, Apply] = {}
    for node in order:
        last.update((root, node) for x in node.inputs for root in roots_of(x, roots))
    kept = {root for out in fgraph.outputs for root in roots_of(out, roots)}
    copied: dict[Apply, set[int]] = {}
    for node in destroyers:
        for i in {i for inputs in node.op.destroy_map.values() for i in inputs}:
            own = roots_of(node.inputs[i], roots)
            others = {r for k, x in enumerate(node.inputs) if k != i for r in roots_of(x, roots)}
            if any(r.owner is None or r in kept or r in others or last[r] is not node for r in own):
                copied.setdefault(node, set()).add(i)
    return copied


def _results(fgraph: FunctionGraph, names: dict[Variable, str], scope: dict[str, Any], roots: Roots) -> list[str]:
    """Return the expressions of the outputs: copies where one may be an input's, a constant's or another's memory."""
    taken: set[Variable] = set()
    results = []
    for i, var in enumerate(fgraph.outputs):
        own = roots_of(var, roots)
        if any(root.owner is None or root in taken for root in own):
            scope[f"copy{i}"] = var.type.copy_value
            results.append(f"copy{i}({names[var]})")
        else:
            results.append(names[var])
        taken |= own
    return results


def _chunks(order: Sequence[Apply]) -> list[Sequence[Apply]]:
    return [order[i : i + CHUNK] for i in range(0, len(order), CHUNK)]


def _tuple(names: Sequence[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")


def generate(fgraph: FunctionGraph, callables: dict[Apply, Callable[..., Any]], free: bool) -> Listing:
    """Write and compile the function that runs the graph.

    Parameters
    ----------
    fgraph
        The graph.
    callables
        What to call for each node: values in, one value or a tuple of values out.
    free
        Whether to drop every intermediate value after its last use.

    Notes
    -----
    A long program is cut into functions of at most `CHUNK` nodes with explicit arguments and results, because the
    interpreter's own compiler slows down on very long functions.
    """
    order = fgraph.toposort()
    names: dict[Variable, str] = {v: f"a{i}" for i, v in enumerate(fgraph.inputs)}
    scope: dict[str, Any] = {}
    made = {out for node in order for out in node.outputs}
    for i, var in enumerate(v for v in fgraph.variables if v not in names and v not in made):
        names[var] = f"c{i}"
        scope[f"c{i}"] = var.data if hasattr(var, "data") else var.container.read_host()  # type: ignore[attr-defined]  # orphans are constants or shared variables
    for i, var in enumerate(out for node in order for out in node.outputs):
        names[var] = f"v{i}"
    for i, node in enumerate(order):
        scope[f"f{i}"] = callables[node]
    roots = memory_roots(order)
    calls = _calls(order, names, scope, unsafe_overwrites(fgraph, order))
    dying = last_uses(order, [*fgraph.inputs, *fgraph.outputs]) if free else {}
    writer = _Writer(scope)
    chunks = _chunks(order)
    arguments = [names[v] for v in fgraph.inputs]
    results = _results(fgraph, names, scope, roots)
    if len(chunks) <= 1:
        writer.add(f"def run({', '.join(arguments)}):")
        for node in order:
            _write_node(writer, node, names, calls, dying)
        writer.add(f"    return ({_tuple(results)})")
        writer.finish("run")
    else:
        _write_chunks(writer, fgraph, chunks, names, calls, dying, results)
    return Listing(scope["run"], "\n".join(writer.sources), names, writer.nodes)


def _calls(
    order: Sequence[Apply], names: dict[Variable, str], scope: dict[str, Any], copied: dict[Apply, set[int]]
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


def _write_node(
    writer: _Writer,
    node: Apply,
    names: dict[Variable, str],
    calls: dict[Apply, str],
    dying: dict[Apply, list[Variable]],
) -> None:
    targets = [names[v] for v in node.outputs]
    writer.add(f"    {_tuple(targets) if len(targets) != 1 else targets[0]} = {calls[node]}", node)
    dead = [names[v] for v in dying.get(node, ()) if not names[v].startswith("c")]
    if dead:
        writer.add(f"    del {', '.join(dead)}")


def _write_chunks(
    writer: _Writer,
    fgraph: FunctionGraph,
    chunks: Sequence[Sequence[Apply]],
    names: dict[Variable, str],
    calls: dict[Apply, str],
    dying: dict[Apply, list[Variable]],
    results: Sequence[str],
) -> None:
    needed_later: set[Variable] = set(fgraph.outputs)
    plans: list[tuple[list[str], list[str], list[str]]] = []
    for chunk in reversed(chunks):
        made = dict.fromkeys(out for node in chunk for out in node.outputs)
        used = dict.fromkeys(v for node in chunk for v in node.inputs)
        enters = [v for v in used if v not in made and not names[v].startswith("c")]
        leaves = [v for v in made if v in needed_later]
        dead = [v for v in enters if v not in needed_later and not names[v].startswith("a")]
        plans.append(([names[v] for v in enters], [names[v] for v in leaves], [names[v] for v in dead]))
        needed_later.update(enters)
    plans.reverse()
    for k, (chunk, (enters_, leaves_, _)) in enumerate(zip(chunks, plans, strict=True)):
        inside = {v for node in chunk for v in (*node.inputs, *node.outputs)}
        escaping = set(leaves_)
        writer.add(f"def chunk{k}({', '.join(enters_)}):")
        for node in chunk:
            local = {node: [v for v in dying.get(node, ()) if v in inside and names[v] not in escaping]}
            _write_node(writer, node, names, calls, local)
        writer.add(f"    return ({_tuple(leaves_)})" if leaves_ else "    return ()")
        writer.finish(f"chunk{k}")
    writer.add(f"def run({', '.join(names[v] for v in fgraph.inputs)}):")
    for k, (enters_, leaves_, dead_) in enumerate(plans):
        call = f"chunk{k}({', '.join(enters_)})"
        writer.add(f"    {_tuple(leaves_)} = {call}" if leaves_ else f"    {call}")
        if dead_ and dying:
            writer.add(f"    del {', '.join(dead_)}")
    writer.add(f"    return ({_tuple(results)})")
    writer.finish("run")
