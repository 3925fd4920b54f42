"""Graphs in the language of Graphviz, and pictures drawn from it by the program `dot`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module
from treadle.graph.algorithms.traversal import reading_order, toposort
from treadle.graph.errors import GraphError, GraphTypeError, GraphValueError
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.shared_variable import SharedVariable
from treadle.graph.ir.variable import Constant, Variable
from treadle.graph.printing.roots import op_text, read

if TYPE_CHECKING:
    import shutil
    import subprocess
    from collections.abc import Iterable, Mapping, Sequence
else:
    shutil = lazy_module("shutil")
    subprocess = lazy_module("subprocess")


class MissingProgramError(GraphError, FileNotFoundError):
    """A program that is needed to draw a picture is not installed."""


class PictureError(GraphError, RuntimeError):
    """A picture could not be drawn."""


# Frames nested more deeply are not indented further, so that the text stays of linear size.
_DEEPEST = 20


class Palette:
    """Colours of nodes: of ops by words in the name of their class, of variables by their role."""

    __slots__ = ("by_word",)

    INPUT = "#9ecae1"
    OUTPUT = "#fdae6b"
    UPDATE = "#fdd0a2"
    SHARED = "#a1d99b"
    CONSTANT = "#d9d9d9"
    OP = "#f7f7f7"
    UNUSED = "#f4a6a6"

    def __init__(self, colours: Mapping[str, str] | None) -> None:
        self.by_word = (
            {"MatMul": "#dadaeb", "Elemwise": "#ffffcc", "DimShuffle": "#e5f5e0", "Reduction": "#fde0dd"}
            if colours is None
            else dict(colours)
        )

    def of_op(self, node: Apply) -> str:
        """Return the colour of a node."""
        name = type(node.op).__name__
        return next((colour for word, colour in self.by_word.items() if word in name), self.OP)


def quoted(text: str) -> str:
    r"""Return text as a string of the DOT language.

    >>> quoted('say "hi"' + chr(10) + "twice")
    '"say \\"hi\\"\\ntwice"'
    """
    inside = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r\n", "\n").replace("\r", "\n")
    clean = "".join(c if c == "\n" or c.isprintable() else f"\\\\x{ord(c):02x}" for c in inside)
    return '"' + clean.replace("\n", "\\n") + '"'


class _Frame:
    """A name scope: the lines of its own nodes, and the scopes inside."""

    __slots__ = ("inner", "lines", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.inner: dict[str, _Frame] = {}


class DotWriter:
    """One graph being written, under options of `dot_text`."""

    def __init__(self, **options: Any) -> None:
        self.compact: bool = options["compact"]
        self.with_ids: bool = options["with_ids"]
        self.high_contrast: bool = options["high_contrast"]
        self.longest: int = options["max_label_size"]
        self.simple_names: bool = options["var_with_name_simple"]
        self.palette = Palette(options["color_codes"])
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self.clusters = 0
        self.borders: dict[Apply, str] = {}
        self.roles: dict[Variable, str] = {}
        self.remarks: dict[Variable, str] = {}

    # Pieces

    def name(self, thing: object) -> str:
        """Return the DOT name of a variable or node: ``v0``, ``n1`` … in the order in which they are met."""
        dot_name = self.names.get(thing)
        if dot_name is None:
            letter = "n" if isinstance(thing, Apply) else "v"
            dot_name = self.names[thing] = f"{letter}{len(self.names)}"
        return dot_name

    def label(self, text: str) -> str:
        """Return a label, shortened at its end where it is too long."""
        return quoted(text if len(text) <= self.longest else text[: max(1, self.longest - 1)] + "…")

    def _filled(self, colour: str) -> str:
        return f', style=filled, fillcolor="{colour}"' if self.high_contrast else f', color="{colour}"'

    def _op_line(self, node: Apply, position: int | None) -> str:
        text = op_text(node)
        if self.with_ids and position is not None:
            text += f" id={position}"
        border = self.borders.get(node)
        edge = f', color="{border}", penwidth=3' if border else ""
        look = self._filled(self.palette.of_op(node)) + edge
        return f"{self.name(node)} [label={self.label(text)}, shape=ellipse{look}];"

    def _variable_line(self, var: Variable) -> str:
        look = self._filled(self._colour(var))
        return f"{self.name(var)} [label={self.label(self._variable_text(var))}, shape=box{look}];"

    def _variable_text(self, var: Variable) -> str:
        remark = self.remarks.get(var, "")
        if isinstance(var, Constant):
            return f"{var}{remark}" if self.simple_names and var.name else f"{var} {var.type}{remark}"
        if var.name is not None:
            return f"{var.name}{remark}" if self.simple_names else f"{var.name} {var.type}{remark}"
        return f"{var.type}{remark}"

    def _colour(self, var: Variable) -> str:
        if var in self.roles:
            return self.roles[var]
        if isinstance(var, Constant):
            return Palette.CONSTANT
        if isinstance(var, SharedVariable):
            return Palette.SHARED
        return Palette.INPUT if var.owner is None else Palette.OP

    def is_drawn(self, var: Variable) -> bool:
        """Whether a variable gets a box: if compact, unnamed intermediate values are edges instead."""
        return not self.compact or var.owner is None or var.name is not None or var in self.roles

    # Edges

    def add_edges(self, node: Apply) -> None:
        """Add the edges from the inputs of a node to it, and from it to the boxes of its outputs."""
        several = len(node.inputs) > 1
        for i, x in enumerate(node.inputs):
            parts = [str(i)] if several else []
            if self.is_drawn(x):
                source = self.name(x)
            else:
                source = self.name(x.owner)
                parts.append(self._output_text(x))
            self._edge(source, self.name(node), " ".join(parts))
        for out in node.outputs:
            if out in self.names:
                index = str(out.index) if len(node.outputs) > 1 else ""
                self._edge(self.name(node), self.name(out), index)

    @staticmethod
    def _output_text(var: Variable) -> str:
        several = var.owner is not None and len(var.owner.outputs) > 1
        return f"(output {var.index}) {var.type}" if several else str(var.type)

    def _edge(self, source: str, target: str, text: str) -> None:
        label = f" [label={self.label(text)}]" if text else ""
        self.lines.append(f"{source} -> {target}{label};")

    # Whole graphs

    def add_graph(self, inputs: Iterable[Variable], outputs: Sequence[Variable], order: Sequence[Apply]) -> None:
        """Add boxes, nodes grouped by name scope, and edges."""
        used = dict.fromkeys(reading_order(outputs))
        computed = {out: None for node in order for out in node.outputs}
        for var in dict.fromkeys([*inputs, *(v for v in used if v.owner is None)]):
            if var not in used:
                self.roles.setdefault(var, Palette.UNUSED)
            self.lines.append(self._variable_line(var))
        drawn = [v for v in computed if self.is_drawn(v) and (v in used or not self.compact)]
        boxes: dict[Apply, list[str]] = {}
        for var in drawn:
            if var.owner is not None:
                boxes.setdefault(var.owner, []).append(self._variable_line(var))
        positions = {node: i for i, node in enumerate(order)}
        self._scopes({n: [self._op_line(n, positions[n]), *boxes.get(n, ())] for n in order})
        for node in order:
            self.add_edges(node)

    def _scopes(self, lines: Mapping[Apply, Sequence[str]]) -> None:
        """Add the lines of nodes inside frames, one for each name scope, nested as scopes are."""
        outermost = _Frame("")
        for node, texts in lines.items():
            frame = outermost
            for name in filter(None, (getattr(node, "scope", "") or "").split("/")):
                frame = frame.inner.setdefault(name, _Frame(name))
            frame.lines += texts
        pending: list[_Frame | None] = [outermost]
        while pending:
            opened = pending.pop()
            if opened is None:
                self.lines.append("}")
                continue
            if opened is not outermost:
                self.clusters += 1
                self.lines.append(f"subgraph cluster_{self.clusters} {{")
                self.lines.append(f'label={self.label(opened.name)}; color="#969696"; style=rounded;')
                pending.append(None)
            self.lines += opened.lines
            pending += reversed(opened.inner.values())

    def add_inner_graphs(self, order: Sequence[Apply]) -> None:
        """Add the graphs inside ops, and those inside them, each in a cluster of its own."""
        pending = [node.op for node in order if isinstance(node.op, HasInnerGraph)]
        drawn_ops: set[object] = set()
        for op in pending:  # it grows while inner graphs are shown
            if op in drawn_ops:
                continue
            drawn_ops.add(op)
            nodes = toposort(op.inner_outputs)
            self.clusters += 1
            self.lines.append(f"subgraph cluster_{self.clusters} {{")
            self.lines.append(f"label={self.label(f'inside {op}')}; style=dashed;")
            self.roles.update((v, Palette.OUTPUT) for v in op.inner_outputs)
            self.add_graph(op.inner_inputs, op.inner_outputs, nodes)
            self.lines.append("}")
            pending += [node.op for node in nodes if isinstance(node.op, HasInnerGraph)]


def _branching_node(choice: object, order: Sequence[Apply]) -> Apply:
    """Return the node that chooses between branches: the one given, or the one of an op of that name."""
    if isinstance(choice, Variable):
        choice = choice.owner
    if isinstance(choice, Apply):
        nodes = [node for node in order if node is choice]
    else:
        name = "IfElse" if choice is True else str(choice)
        nodes = [n for n in order if name in {getattr(n.op, "name", None), type(n.op).__name__, str(n.op)}]
    if len(nodes) != 1 or len(nodes[0].inputs) < 3:
        msg = f"cond_highlight: one node that chooses between branches is needed, got {choice!r}, which is {nodes}."
        raise GraphValueError(msg)
    return nodes[0]


def _branch_borders(node: Apply, order: Sequence[Apply]) -> dict[Apply, str]:
    """Return a border colour for each node that one branch of a choice needs, or both."""
    half = (len(node.inputs) - 1) // 2
    first = set(toposort(node.inputs[1 : 1 + half]))
    second = set(toposort(node.inputs[1 + half :]))
    borders = {}
    for n in order:
        if n in first or n in second:
            borders[n] = "#984ea3" if n in first and n in second else "#377eb8" if n in first else "#e41a1c"
    return borders


def dot_text(
    graph: object,
    *,
    compact: bool = True,
    with_ids: bool = False,
    high_contrast: bool = True,
    cond_highlight: object = None,
    color_codes: Mapping[str, str] | None = None,
    max_label_size: int = 70,
    var_with_name_simple: bool = False,
    inner_graphs: bool = False,
) -> str:
    """Return a graph as a text in the language of Graphviz.

    Ellipses are ops, boxes are variables; nodes of one name scope stand in a frame of their own. The text depends on
    the graph only: it is the same in every process.

    Parameters
    ----------
    graph
        A variable, node, FunctionGraph, compiled function, or a list of them.
    compact
        Whether values in between that have no name are edges between ops, not boxes.
    with_ids
        Whether to number ops in the order of evaluation.
    high_contrast
        Whether boxes are filled with their colours; otherwise their borders have them.
    cond_highlight
        A node that chooses between branches (its first input is the condition, then come the values of the first
        branch and as many of the second), or the name of its op, or True for the only IfElse: what only the first
        branch needs gets a blue border, what only the second needs a red one, what both need a purple one.
    color_codes
        Colours of ops by a word in the name of the op's class.
    max_label_size
        Longest label.
    var_with_name_simple
        Whether to show the name only of variables that have one.
    inner_graphs
        Whether to draw the graphs inside ops, each once.

    Raises
    ------
    GraphTypeError
        For something that is no graph.
    GraphValueError
        If `cond_highlight` is not one node of the graph.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> dot_text(x + y).splitlines()[0]
    'digraph G {'
    """
    writer = DotWriter(
        compact=compact,
        with_ids=with_ids,
        high_contrast=high_contrast,
        max_label_size=max_label_size,
        color_codes=color_codes,
        var_with_name_simple=var_with_name_simple,
    )
    inputs: dict[Variable, None] = {}
    outputs: dict[Variable, None] = {}
    for printed in read("dot_text", graph):
        outputs.update(dict.fromkeys(printed.outputs))
        if printed.fgraph is not None:
            inputs.update(dict.fromkeys(printed.fgraph.inputs))
        for at, target in printed.updates().items():
            writer.roles[printed.outputs[at]] = Palette.UPDATE
            writer.remarks[printed.outputs[at]] = f" (new value of {target})"
    for var in outputs:
        writer.roles.setdefault(var, Palette.OUTPUT)
    order = toposort(outputs)
    if cond_highlight is not None and cond_highlight is not False:
        writer.borders = _branch_borders(_branching_node(cond_highlight, order), order)
    writer.add_graph(inputs, list(outputs), order)
    if inner_graphs:
        writer.add_inner_graphs(order)
    return "\n".join(["digraph G {", *_indented(writer.lines), "}", ""])


def _indented(lines: Iterable[str]) -> list[str]:
    result: list[str] = []
    depth = 1
    for line in lines:
        if line == "}":
            depth -= 1
        result.append("  " * min(depth, _DEEPEST) + line)
        if line.endswith(" {"):
            depth += 1
    return result


def drawn(source: str, format: str) -> bytes:  # noqa: A002 - Graphviz's word for it
    """Return a picture of a DOT text, drawn by the program `dot`."""
    program = shutil.which("dot")
    if program is None:
        msg = (
            "dot: the program that draws pictures is not installed, and a picture was asked for as "
            f"{format!r}. Install Graphviz (apt-get install graphviz, brew install graphviz, conda install graphviz), "
            "or write the text to a file with the ending .dot."
        )
        raise MissingProgramError(msg)
    done = subprocess.run([program, f"-T{format}"], input=source.encode(), capture_output=True, check=False)
    if done.returncode:
        stderr = " ".join(done.stderr.decode(errors="replace").split())[:500]
        msg = (
            f"dot: the picture in format {format!r} could not be drawn: {stderr}. Choose another format, such as 'svg'."
        )
        raise PictureError(msg)
    return done.stdout


def pydotprint(
    fct: object,
    outfile: object = None,
    compact: bool = True,
    format: str = "png",  # noqa: A002 - the documented name
    with_ids: bool = False,
    high_contrast: bool = True,
    cond_highlight: object = None,
    colorCodes: Mapping[str, str] | None = None,  # noqa: N803 - the documented name
    max_label_size: int = 70,
    scan_graphs: bool = False,
    var_with_name_simple: bool = False,
    print_output_file: bool = True,
    return_image: bool = False,
) -> bytes | None:
    """Draw a graph into a file, by the program `dot` of Graphviz.

    Parameters
    ----------
    fct
        A variable, node, FunctionGraph, compiled function, or a list of them.
    outfile
        Path of the file; its ending, where it has one, is the format. ``.dot`` and ``.gv`` write the text itself,
        which needs no program. ``graph.<format>`` in the working directory if None.
    compact, with_ids, high_contrast, cond_highlight, max_label_size, var_with_name_simple
        As for `dot_text`.
    format
        Format of the picture (``png``, ``svg``, ``pdf`` …) where the file's ending does not say it.
    colorCodes
        Colours of ops by a word in the name of the op's class.
    scan_graphs
        Whether to draw the graphs inside ops too.
    print_output_file
        Whether to say which file was written.
    return_image
        Whether to return the picture's bytes and write no file.

    Returns
    -------
    The picture, if `return_image`.

    Raises
    ------
    MissingProgramError
        If a picture is asked for and Graphviz is not installed.
    PictureError
        If Graphviz cannot draw it.
    """
    source = dot_text(
        fct,
        compact=compact,
        with_ids=with_ids,
        high_contrast=high_contrast,
        cond_highlight=cond_highlight,
        color_codes=colorCodes,
        max_label_size=max_label_size,
        var_with_name_simple=var_with_name_simple,
        inner_graphs=scan_graphs,
    )
    path, kind = _target(outfile, format)
    picture = source.encode() if kind in {"dot", "gv"} else drawn(source, kind)
    if return_image:
        return picture
    with open(path, "wb") as file:  # noqa: PTH123 - pathlib is slow to import and not needed here
        file.write(picture)
    if print_output_file:
        sys.stdout.write(f"The graph is drawn in {path}\n")
    return None


def _target(outfile: object, format: str) -> tuple[str, str]:  # noqa: A002 - as above
    """Return the file to write, and its format."""
    if outfile is None:
        return f"graph.{format}", format
    if not isinstance(outfile, str) and not hasattr(outfile, "__fspath__"):
        msg = f"pydotprint: outfile must be a path, got {outfile!r}."
        raise GraphTypeError(msg)
    path: str = os.fspath(outfile)
    ending = os.path.splitext(path)[1]  # noqa: PTH122 - as above
    return (path, ending[1:].lower()) if ending else (f"{path}.{format}", format)
