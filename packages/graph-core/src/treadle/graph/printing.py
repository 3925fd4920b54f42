"""debugprint: a graph as an indented tree of text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from treadle.graph.apply import Apply
from treadle.graph.errors import GraphTypeError
from treadle.graph.fg import FunctionGraph
from treadle.graph.op import HasInnerGraph
from treadle.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence


_WIDEST = 100


def _label(number: int) -> str:
    """Return A, B … Z, AA, AB … for 0, 1, 2, in the order of spreadsheet columns."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _roots(graph: Any) -> tuple[list[Variable], FunctionGraph | None]:
    if isinstance(graph, Variable):
        return [graph], None
    if isinstance(graph, Apply):
        return list(graph.outputs), None
    if isinstance(graph, FunctionGraph):
        return list(graph.outputs), graph
    inner = getattr(getattr(graph, "maker", None), "fgraph", None)
    if isinstance(inner, FunctionGraph):
        return list(inner.outputs), inner
    if isinstance(graph, list | tuple):
        return [v for part in graph for v in _roots(part)[0]], None
    msg = f"debugprint: a variable, node, graph, function or list of them is needed, got {graph!r}."
    raise GraphTypeError(msg)


class _Printer:
    """One run of debugprint: what has been shown, and how."""

    def __init__(self, depth: int, print_type: bool, id_type: str, stop_on_name: bool, maps: tuple[bool, bool]) -> None:
        self.depth = depth
        self.print_type = print_type
        self.id_type = id_type
        self.stop_on_name = stop_on_name
        self.print_destroy_map, self.print_view_map = maps
        self.lines: list[str] = []
        self.ids: dict[Any, str] = {}
        self.done: set[Any] = set()
        self.inner: dict[Any, str] = {}
        # Positions of a FunctionGraph's nodes in the order of evaluation.
        self.order: dict[Apply, int] = {}

    def identity(self, thing: Any) -> str:
        """Return `` [id A]`` or nothing."""
        if not self.id_type:
            return ""
        known = self.ids.get(thing)
        if known is None:
            known = self.ids[thing] = hex(id(thing)) if self.id_type == "id" else _label(len(self.ids))
        return f" [id {known}]"

    def describe(self, var: Variable) -> str:
        """Return the text of a variable's line."""
        node = var.owner
        shown_type = f" <{var.type}>" if self.print_type else ""
        if node is None:
            return f"{var}{shown_type}{self.identity(var)}"
        parts = [str(node.op)]
        if len(node.outputs) > 1:
            parts.append(f".{var.index}")
        parts += [shown_type, self.identity(node)]
        if var.name is not None:
            parts.append(f" '{var.name}'")
        if self.print_destroy_map and node.op.destroy_map:
            parts.append(f" d={node.op.destroy_map}")
        if self.print_view_map and node.op.view_map:
            parts.append(f" v={node.op.view_map}")
        if node in self.order:
            parts.append(f" {self.order[node]}")
        return "".join(parts)

    def tree(self, root: Variable) -> None:
        """Add the lines of one tree."""
        pending: list[tuple[Variable, str, str, int]] = [(root, "", "", 1)]
        while pending:
            var, lead, below, level = pending.pop()
            node = var.owner
            text = self.describe(var)
            if node is not None and node in self.done:
                self.lines.append(f"{lead}{text}")
                if node.inputs:
                    self.lines.append(f"{below} └─ ···")
                continue
            self.lines.append(f"{lead}{text}")
            if node is None:
                continue
            if isinstance(node.op, HasInnerGraph):
                self.inner.setdefault(node.op, text)
            if (0 < self.depth <= level) or (self.stop_on_name and var.name is not None and var is not root):
                continue
            self.done.add(node)
            last = len(node.inputs) - 1
            if len(below) > _WIDEST:  # a long chain would otherwise print a triangle of bars
                below = f"⟨{level}⟩"
            for i in range(last, -1, -1):
                branch, bar = (" └─ ", "    ") if i == last else (" ├─ ", " │  ")
                pending.append((node.inputs[i], below + branch, below + bar, level + 1))

    def inner_graphs(self) -> None:
        """Add the graphs inside ops, and those inside them."""
        shown: set[Any] = set()
        while len(shown) < len(self.inner):
            op, text = next((o, t) for o, t in self.inner.items() if o not in shown)
            shown.add(op)
            if len(shown) == 1:
                self.lines += ["", "Inner graphs:"]
            self.lines += ["", text]
            for out in op.inner_outputs:
                self.tree(out)


def debugprint(
    graph: Any,
    depth: int = -1,
    print_type: bool = False,
    file: str | TextIO | None = None,
    id_type: str = "CHAR",
    stop_on_name: bool = False,
    print_destroy_map: bool = False,
    print_view_map: bool = False,
    print_inner_graphs: bool = True,
) -> str | TextIO:
    """Print a graph as a tree, each node once.

    Parameters
    ----------
    graph
        A variable, node, FunctionGraph, compiled function, or a sequence of them.
    depth
        How many levels to show; all if -1.
    print_type
        Whether to show types.
    file
        A text file; ``"str"`` to return the text instead; standard output if None.
    id_type
        ``"CHAR"`` for letters, ``"id"`` for addresses, ``""`` for none.
    stop_on_name
        Whether to show nothing below a named variable.
    print_destroy_map, print_view_map
        Whether to show what ops overwrite and alias.
    print_inner_graphs
        Whether to show the graphs inside ops, after the outer one.

    Returns
    -------
    The text, or the file written to.
    """
    roots, fgraph = _roots(graph)
    printer = _Printer(depth, print_type, id_type, stop_on_name, (print_destroy_map, print_view_map))
    if fgraph is not None:
        printer.order = {node: i for i, node in enumerate(fgraph.toposort())}
    for root in roots:
        printer.tree(root)
    if print_inner_graphs:
        printer.inner_graphs()
    text = "\n".join(printer.lines)
    if file == "str":
        return text
    target: TextIO = sys.stdout if file is None or isinstance(file, str) else file
    target.write(text + "\n")
    target.flush()
    return target


def print_inputs(variables: Sequence[Variable]) -> str:
    """Return a one-line description of variables for messages."""
    return ", ".join(f"{v} of type {v.type}" if not isinstance(v, Constant) else str(v) for v in variables)
