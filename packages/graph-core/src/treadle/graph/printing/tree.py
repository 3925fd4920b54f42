"""debugprint: a graph as an indented tree of text, each node once."""

from __future__ import annotations

import sys
from functools import singledispatch
from typing import TYPE_CHECKING, Any, TextIO

from treadle.graph.errors import GraphValueError
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.variable import Variable
from treadle.graph.printing.roots import Printed, op_text, read, stored_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

    from treadle.graph.ir.type import Type
    from treadle.graph.printing.roots import GraphNode

# A long chain would otherwise print a triangle of bars.
WIDEST = 100
ID_TYPES = ("CHAR", "int", "id", "auto", "")


def char_from_number(number: int) -> str:
    """Return A, B … Z, AA, AB … for 0, 1, 2 …, in the order of a spreadsheet's columns.

    >>> [char_from_number(n) for n in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']

    Raises
    ------
    GraphValueError
        For a negative number.
    """
    if number < 0:
        msg = f"char_from_number: a number of 0 or more is needed, got {number}."
        raise GraphValueError(msg)
    text = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        text = chr(ord("A") + letter) + text
    return text


@singledispatch
def op_debug_information(op: object, node: Apply) -> Mapping[Variable, str]:
    """Return an op's remarks on the inputs of a node, shown by `debugprint` with ``print_op_info=True``.

    Register a function for a class of ops with ``@op_debug_information.register(MyOp)``; it returns a text for each
    input that there is something to say of.

    Parameters
    ----------
    op
        The node's op.
    node
        The node.
    """
    del op, node
    return {}


class Options:
    """Which parts of each line `debugprint` shows."""

    depth: int
    type: bool
    shape: bool
    stop_on_name: bool
    storage: bool
    op_info: bool
    destroy_map: bool
    view_map: bool
    fgraph_inputs: bool
    lines: bool
    assumptions: bool

    def __init__(self, **options: object) -> None:
        vars(self).update(options)


class Identities:
    """The ids that stand for variables and nodes, assigned in the order in which these are met."""

    __slots__ = ("kind", "used")

    def __init__(self, kind: str, used: MutableMapping[object, str] | None) -> None:
        if kind not in ID_TYPES:
            msg = f"debugprint: id_type must be one of {', '.join(map(repr, ID_TYPES))}, got {kind!r}."
            raise GraphValueError(msg)
        self.kind = kind
        self.used: MutableMapping[object, str] = {} if used is None else used

    def of(self, thing: GraphNode) -> str:
        """Return `` [id A]``, or nothing where no ids are shown."""
        if not self.kind:
            return ""
        text = self.used.get(thing)
        if text is None:
            text = self.used[thing] = self._new_id(thing)
        return f" [id {text}]"

    def _new_id(self, thing: GraphNode) -> str:
        number = len(self.used)
        if self.kind == "CHAR":
            return char_from_number(number)
        if self.kind == "id":
            return hex(id(thing))
        return f"auto_{number}" if self.kind == "auto" else str(number)


class TreePrinter:
    """One run of debugprint: what has been shown, and how."""

    def __init__(self, options: Options, ids: Identities, done: MutableMapping[object, str]) -> None:
        self.options = options
        self.ids = ids
        self.done = done
        self.lines: list[str] = []
        # Ops with graphs of their own that have been met, with the text of the first node of each.
        self._inner: list[tuple[HasInnerGraph, str]] = []
        self._inner_ops: set[object] = set()
        self._storage: Mapping[Variable, object] = {}
        self._order: dict[Apply, int] = {}
        self._notes: dict[tuple[Apply, Variable], str] = {}
        self._readers: dict[type[Type], Callable[[Variable], Iterable[str]]] = {}

    def add(self, printed: Printed) -> None:
        """Add the trees of one thing."""
        graph = printed.fgraph
        self._storage = printed.storage
        self._order = {} if graph is None else {node: i for i, node in enumerate(graph.toposort())}
        if graph is not None and self.options.fgraph_inputs:
            self._inputs(graph.inputs)
        updates = printed.updates()
        for at, root in enumerate(printed.outputs):
            self._tree(root, f" (new value of {updates[at]})" if at in updates else "")

    def add_inner_graphs(self) -> None:
        """Add the graphs inside ops, and those inside them, each once."""
        self._storage, self._order = {}, {}
        if self._inner:
            self.lines += ["", "Inner graphs:"]
        for op, text in self._inner:  # it grows while the inner graphs are shown
            self.lines += ["", text]
            if self.options.fgraph_inputs:
                self._inputs(op.inner_inputs)
            for out in op.inner_outputs:
                self._tree(out, "")

    def _inputs(self, inputs: Sequence[Variable]) -> None:
        self.lines += [f" → {self._leaf(var)}" for var in inputs]

    # Lines

    def _leaf(self, var: Variable) -> str:
        return f"{var}{self._types(var)}{self.ids.of(var)}{self._tail(var)}"

    def _computed(self, var: Variable, node: Apply) -> str:
        parts = [op_text(node)]
        if len(node.outputs) > 1:
            parts.append(f".{var.index}")
        parts += [self._types(var), self.ids.of(node)]
        if var.name is not None:
            parts.append(f" '{var.name}'")
        if self.options.destroy_map and node.op.destroy_map:
            parts.append(f" d={node.op.destroy_map}")
        if self.options.view_map and node.op.view_map:
            parts.append(f" v={node.op.view_map}")
        if node in self._order:
            parts.append(f" {self._order[node]}")
        parts.append(self._tail(var))
        if self.options.lines and node.user_line is not None:
            parts.append(f" at {node.user_line}")
        return "".join(parts)

    def _types(self, var: Variable) -> str:
        text = f" <{var.type}>" if self.options.type else ""
        if self.options.shape:
            shape = getattr(var.type, "shape", None)
            if shape is not None:
                lengths = ", ".join("?" if n is None else str(n) for n in shape)
                text += f" shape=({lengths}{',' if len(shape) == 1 else ''})"
        return text

    def _tail(self, var: Variable) -> str:
        facts = self._facts(var) if self.options.assumptions else ""
        value = stored_value(var, self._storage) if self.options.storage else None
        return facts if value is None else f"{facts} = {value}"

    def _facts(self, var: Variable) -> str:
        kind = type(var.type)
        if kind not in self._readers:
            self._readers[kind] = kind.fact_reader()
        facts = ", ".join(self._readers[kind](var))
        return facts and f" {{{facts}}}"

    # Trees

    def _tree(self, root: Variable, remark: str) -> None:
        """Add the lines of one tree; the remark follows its first line."""
        pending: list[tuple[Variable, str, str, int, str]] = [(root, "", "", 1, remark)]
        while pending:
            var, lead, below, level, note = pending.pop()
            node = var.owner
            text = self._leaf(var) if var.owner is None else self._computed(var, var.owner)
            self.lines.append(f"{lead}{text}{note}")
            if node is None:
                continue
            if isinstance(node.op, HasInnerGraph) and node.op not in self._inner_ops:
                self._inner_ops.add(node.op)
                self._inner.append((node.op, text))
            if node in self.done:
                if node.inputs:
                    self.lines.append(f"{below} └─ ···")
                continue
            if self._ends(var, root, level):
                continue
            self.done[node] = text
            pending += self._branches(node, below, level)

    def _ends(self, var: Variable, root: Variable, level: int) -> bool:
        """Whether nothing is shown below a variable."""
        stops = self.options.stop_on_name and var.name is not None and var is not root
        return stops or 0 < self.options.depth <= level

    def _branches(self, node: Apply, below: str, level: int) -> list[tuple[Variable, str, str, int, str]]:
        """Return the entries to show below a node, the first input last."""
        remarks = op_debug_information(node.op, node) if self.options.op_info else {}
        if len(below) > WIDEST:
            below = f"⟨{level}⟩"
        last = len(node.inputs) - 1
        branches = []
        for i in range(last, -1, -1):
            var = node.inputs[i]
            branch, bar = (" └─ ", "    ") if i == last else (" ├─ ", " │  ")
            remark = f" ({remarks[var]})" if var in remarks else ""
            branches.append((var, below + branch, below + bar, level + 1, remark))
        return branches


def _wants_inner_graphs(choice: bool | str, depth: int) -> bool:
    if choice == "auto":
        return depth < 0
    if isinstance(choice, bool):
        return choice
    msg = f"debugprint: print_inner_graphs must be True, False or 'auto', got {choice!r}."
    raise GraphValueError(msg)


def debugprint(
    graph_like: Any,
    depth: int = -1,
    print_type: bool = False,
    print_shape: bool = False,
    file: str | TextIO | None = None,
    id_type: str = "CHAR",
    stop_on_name: bool = False,
    done: MutableMapping[Any, str] | None = None,
    print_storage: bool = False,
    used_ids: MutableMapping[Any, str] | None = None,
    print_op_info: bool = False,
    print_destroy_map: bool = False,
    print_view_map: bool = False,
    print_memory_map: bool = False,
    print_inner_graphs: bool | str = "auto",
    print_fgraph_inputs: bool = False,
    print_assumptions: bool = False,
    print_lines: bool = False,
) -> str | TextIO | None:
    """Print a graph as a tree, each node once.

    A node met again shows ``···`` in place of its inputs. Behind each node of a FunctionGraph or a function stands
    its position in the order of evaluation.

    Parameters
    ----------
    graph_like
        A variable, node, FunctionGraph, compiled function, or a list of them, nested or not.
    depth
        How many levels to show; all if -1.
    print_type
        Whether to show types.
    print_shape
        Whether to show static shapes, ``?`` for an unknown length, where types have a shape.
    file
        A text file; ``"str"`` to return the text instead; standard output if None.
    id_type
        What stands for variables and nodes: ``"CHAR"`` letters, ``"int"`` numbers, ``"auto"`` numbers with the
        prefix ``auto_``, ``"id"`` the addresses of the objects, ``""`` nothing.
    stop_on_name
        Whether to show nothing below a named variable.
    done
        Nodes shown already, with their text; they are not shown again, and those shown now are added.
    print_storage
        Whether to show values: of shared variables, and the inputs' defaults that a function keeps. (A constant's
        own text is its value.)
    used_ids
        Ids in use, by variable or node; those given out now are added.
    print_op_info
        Whether to show what ops say of their inputs (see `op_debug_information`).
    print_destroy_map, print_view_map
        Whether to show what ops overwrite (``d=``) and alias (``v=``).
    print_memory_map
        Both of them.
    print_inner_graphs
        Whether to show the graphs inside ops, each once, after the outer one; ``"auto"``: if `depth` is -1.
    print_fgraph_inputs
        Whether to list the inputs of graphs, outer and inner, in front of them.
    print_assumptions
        Whether to show the facts that are known of each value, such as ``{symmetric}``, where its type knows any.
    print_lines
        Whether to show the user's line that made each node.

    Returns
    -------
    The text, or the file written to; None after printing to standard output, as notebooks show what a cell returns.

    Raises
    ------
    GraphTypeError
        For something that is no graph.
    GraphValueError
        For an unknown id type, or a file that is another text than ``"str"``.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> x = tt.dvector("x")
    >>> tt.debugprint(tt.exp(x) * x)
    Mul [id A]
     ├─ Exp [id B]
     │   └─ x [id C]
     └─ x [id C]
    """
    if isinstance(file, str) and file != "str":
        msg = f"debugprint: file must be an open text file or 'str', got {file!r}. Open the file first."
        raise GraphValueError(msg)
    options = Options(
        depth=depth,
        type=print_type,
        shape=print_shape,
        stop_on_name=stop_on_name,
        storage=print_storage,
        op_info=print_op_info,
        destroy_map=print_destroy_map or print_memory_map,
        view_map=print_view_map or print_memory_map,
        fgraph_inputs=print_fgraph_inputs,
        lines=print_lines,
        assumptions=print_assumptions,
    )
    printer = TreePrinter(options, Identities(id_type, used_ids), {} if done is None else done)
    with_inner = _wants_inner_graphs(print_inner_graphs, depth)
    for printed in read("debugprint", graph_like):
        printer.add(printed)
    if with_inner:
        printer.add_inner_graphs()
    text = "\n".join(printer.lines)
    if isinstance(file, str):
        return text
    target: TextIO = sys.stdout if file is None else file
    target.write(text + "\n")
    target.flush()
    return file


dprint = debugprint


def get_node_by_id(graphs: Any, target_var_id: str | int, id_types: str = "CHAR") -> GraphNode | None:
    """Return the object that `debugprint` shows under an id: a node, or a variable that no node computes; or None.

    Parameters
    ----------
    graphs
        What is printed, as for `debugprint`.
    target_var_id
        The id, such as ``"C"``.
    id_types
        The id type with which it is printed.
    """
    used: dict[Any, str] = {}
    debugprint(graphs, file="str", id_type=id_types, used_ids=used)
    target = str(target_var_id)
    return next((thing for thing, text in used.items() if text == target), None)


def min_informative_str(
    obj: Variable,
    indent_level: int = 0,
    _prev_obs: MutableMapping[Variable, str] | None = None,
    _tag_generator: Iterator[str] | None = None,
) -> str:
    """Return a variable as a tree that says no more than is needed to recognise it.

    Each line is a letter and a name, or the op of an unnamed variable with its inputs below; a variable shown
    already is its letter only: ``<B>``.

    Parameters
    ----------
    obj
        The variable.
    indent_level
        How far the first line is indented.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> print(treadle.printing.min_informative_str(tt.exp(x)))
    A. Exp
     B. x
    """
    tags = map(char_from_number, range(sys.maxsize)) if _tag_generator is None else _tag_generator
    letters: MutableMapping[Variable, str] = {} if _prev_obs is None else _prev_obs
    lines: list[str] = []
    pending = [(obj, indent_level)]
    while pending:
        var, level = pending.pop()
        indent = " " * level if level <= WIDEST else f"⟨{level}⟩"
        if var in letters:
            lines.append(f"{indent}<{letters[var]}>")
            continue
        tag = letters[var] = next(tags)
        if var.name is not None or var.owner is None:
            lines.append(f"{indent}{tag}. {var}")
            continue
        several = f".{var.index}" if len(var.owner.outputs) > 1 else ""
        lines.append(f"{indent}{tag}. {var.owner.op}{several}")
        pending.extend((x, level + 1) for x in reversed(var.owner.inputs))
    return "\n".join(lines)
