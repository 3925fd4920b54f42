"""The text of a whole program: the graph's statements in functions of bounded size, and the entry around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import Apply, Block, Branching, LoweringError
from treadle.link.numba.choices import Arm, write_choice
from treadle.link.numba.library import LIBRARY
from treadle.link.numba.table import TABLE
from treadle.link.numba.unit import Unit, make_kernel
from treadle.link.numba.values import ArrayValue, ScalarValue
from treadle.link.numba.writer import GraphWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Constant, FunctionGraph, Variable
    from treadle.link.numba.values import Value

PART = 60  # statements grow faster than linearly costly to compile in one function
_ASSIGNED = re.compile(r"^\s*(\w+(?:, \w+)*) = ", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_STOP = re.compile(r"STOP\((\w+)\)")


@dataclass(frozen=True, slots=True)
class Written:
    """A program's text.

    Attributes
    ----------
    entry
        The function to call from Python.
    constants
        The constants that its table holds.
    uses_blas
        Whether its table holds the addresses of BLAS routines.
    """

    entry: Unit
    constants: tuple[Constant, ...]
    uses_blas: bool


def write_program(fgraph: FunctionGraph) -> Written:
    """Write the program of a graph."""
    writer = GraphWriter(fgraph)
    blocks = _Blocks(writer, fgraph)
    blocks.write()
    results = [_result(writer, v, fgraph.outputs[:i]) for i, v in enumerate(fgraph.outputs)]
    given = ["table", "frame", *(name for names in writer.input_names for name in names)]
    wanted = list(dict.fromkeys(n for r in results for n in r.dims if n in writer.made))
    graph = _graph_unit(writer, blocks.texts(), given, wanted)
    return Written(_entry(fgraph, writer, graph, results, wanted), tuple(writer.constants), writer.uses_blas)


class _Text:
    """The statements of a block being written, cut into parts, and what to return to afterwards."""

    __slots__ = ("count", "lines", "marks", "values")

    def __init__(self, lines: list[str], values: dict[Variable, Value]) -> None:
        self.lines = lines
        self.values = values
        self.marks: list[int] = []
        self.count = 0

    def texts(self) -> list[list[str]]:
        """Return the parts."""
        cuts = [0, *self.marks, len(self.lines)]
        return [self.lines[a:b] for a, b in pairwise(cuts)]


class _Blocks:
    """Writes the nodes of a graph; each branch of a choice becomes a function of its own."""

    def __init__(self, writer: GraphWriter, fgraph: FunctionGraph) -> None:
        self.writer = writer
        self.branching = Branching.of(fgraph)
        self.last = self.branching.last_uses(self.branching.linear(), fgraph.outputs)
        self._open = [_Text(writer.lines, {})]
        self._branches: dict[Block, tuple[list[list[str]], list[Value]]] = {}

    def texts(self) -> list[list[str]]:
        """Return the statements of the outermost block, cut into parts."""
        return self._open[0].texts()

    def write(self) -> None:
        """Write all nodes."""
        stack: list[Block | tuple[Apply | Block, bool]] = [
            (node, False) for node in reversed(self.branching.root.nodes)
        ]
        while stack:
            item = stack.pop()
            if isinstance(item, tuple):
                what, done = item
                branches = self.branching.inside.get(what) if isinstance(what, Apply) else None
                if isinstance(what, Block):
                    self._leave(what)
                elif branches is None or done:
                    self._write_node(what, branches)
                else:
                    stack += [(what, True), branches[1], branches[0]]
            else:
                self._enter()
                stack.append((item, True))
                stack += [(node, False) for node in reversed(item.nodes)]

    def _enter(self) -> None:
        self.writer.lines = []
        self._open.append(_Text(self.writer.lines, dict(self.writer.values)))

    def _leave(self, block: Block) -> None:
        """End a branch: what was taken up in it is not known outside."""
        values = [self.writer.value(v) for v in block.results]
        ended = self._open.pop()
        self._branches[block] = (ended.texts(), values)
        self.writer.values = ended.values
        self.writer.lines = self._open[-1].lines

    def _write_node(self, node: Apply, branches: tuple[Block, Block] | None) -> None:
        writer, text = self.writer, self._open[-1]
        if text.count % PART == 0 and text.count:
            text.marks.append(len(writer.lines))
        text.count += 1
        dead = self.last[node]
        writer.dying = frozenset(dead)
        before = writer.slots
        writer.add(f"# {_one_line(str(node.op))}")
        if branches is None:
            rule = TABLE.rule(node)
            returned = rule(node.op, node, writer)
            if returned is not None or not all(out in writer.values for out in node.outputs):
                raise _rule_error(rule, node, returned)
        else:
            arms = [self._arm(block) for block in branches]
            write_choice(writer, node, arms)
        _forget(writer, dead, before)

    def _arm(self, block: Block) -> Arm:
        """Return a branch as the statements that call its function, and the values it results in."""
        texts, values = self._branches.pop(block)
        if not any(texts):
            return Arm([], values)
        writer = self.writer
        assigned = _assigned("\n".join(line for lines in texts for line in lines))
        wanted = [name for name in dict.fromkeys(n for value in values for n in value.names()) if name in assigned]
        given = [name for names in writer.input_names for name in names]
        parts = _parts(writer, texts, given, wanted)
        unit, enters = parts[0][:2] if len(parts) == 1 else _joined(writer, parts, None, wanted)
        writer.units[unit.name] = unit
        status = writer.name("status")
        call = f"{', '.join([status, *wanted])} = {unit.name}({', '.join(enters)})"
        return Arm([call, f"if {status} != 0:", f"    return STOP({status})"], values)


def _rule_error(rule: object, node: Apply, returned: object) -> LoweringError:
    """Return the error of a rule that did not write its node."""
    name = getattr(rule, "__qualname__", repr(rule))
    what = "bound no value for an output" if returned is None else f"returned {text_of(returned)}"
    return LoweringError(
        f"numba: the rule {name} of {node.op} {what}{node.where()}. A rule (op, node, writer) returns nothing: it "
        "writes statements with the GraphWriter, and makes every output by new_output, or names it by bind or "
        'bind_scalar; see "Add a lowering" in the README of link-numba. To call a Python function, leave the op '
        "without a rule."
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:100]


def _forget(writer: GraphWriter, dead: Sequence[Variable], before: int) -> None:
    """Give back the buffers that no value needs any more: those of the dead, and the rule's own."""
    ended = set(range(before + 1, writer.slots + 1))
    for v in dead:
        value = writer.values.pop(v, None)
        if isinstance(value, ArrayValue):
            ended.update(value.slots)
    for value in writer.values.values():
        if isinstance(value, ArrayValue):
            ended.difference_update(value.slots)
    for slot in sorted(ended):
        writer.drop(slot)


@dataclass(frozen=True, slots=True)
class _Result:
    slot: int
    dims: tuple[str, ...]
    code: str


def _result(writer: GraphWriter, var: Variable, earlier: Sequence[Variable]) -> _Result:
    """Write what is left to do for an output: it gets a buffer of its own, in C order."""
    value = writer.value(var)
    storage = value.storage
    code = "b1" if storage.dtype == "bool" else storage.memory
    if isinstance(value, ScalarValue):
        made = writer.allocate(["1"], storage)
        writer.add(f"as_{storage.memory}({made.address})[0] = {storage.stored(value.text)}")
        return _Result(made.slots[0], (), code)
    taken = {s for v in earlier for s in getattr(writer.values.get(v), "slots", ())}
    if value.fills_one_buffer and value.slots[0] not in taken:
        return _Result(value.slots[0], value.dims, code)
    made = writer.allocate(value.dims, storage)
    writer.copy_into(made, value)
    return _Result(made.slots[0], value.dims, code)


def _zero(code: str) -> str:
    return {"i8": "0", "b1": "False"}.get(code, f"{code}(0)")


def _assigned(text: str) -> set[str]:
    return {name for group in _ASSIGNED.findall(text) for name in group.split(", ")}


_Part = tuple[Unit, list[str], list[str]]


def _parts(
    writer: GraphWriter, texts: Sequence[Sequence[str]], given: Sequence[str], wanted: Sequence[str]
) -> list[_Part]:
    """Return a function for each part of the statements, with the names it takes and those it returns."""
    codes = writer.codes
    parts: list[_Part] = []
    needed = list(wanted)
    for lines in reversed(texts):
        text = "\n".join(lines)
        assigned = _assigned(text)
        leaves = [name for name in dict.fromkeys(needed) if name in assigned]
        used = dict.fromkeys(_NAME.findall("\n".join(line for line in lines if not line.lstrip().startswith("#"))))
        known = [name for name in used if name not in assigned and (name in given or name in writer.made)]
        enters = ["table", "frame", *(n for n in known if n not in {"table", "frame"})]
        stop = ", ".join([r"\1", *(_zero(codes.get(n, "i8")) for n in leaves)])
        body = [_STOP.sub(stop, line) for line in lines]
        body.append(f"return {', '.join(['0', *leaves])}" if leaves else "return 0")
        params = [(name, codes.get(name, "i8")) for name in enters]
        uses = (*(u for n, u in writer.units.items() if n in used), *LIBRARY.used_by(text))
        parts.append((make_kernel("part", params, body, uses), enters, leaves))
        needed = [*(n for n in needed if n not in assigned), *enters]
    parts.reverse()
    return parts


def _joined(
    writer: GraphWriter, parts: Sequence[_Part], given: Sequence[str] | None, wanted: Sequence[str]
) -> tuple[Unit, list[str]]:
    """Return the function that calls parts one after another, and the names it takes: those needed if not given."""
    codes = writer.codes
    lines = []
    made: set[str] = set()
    needed: dict[str, None] = {}
    for unit, enters, leaves in parts:
        needed.update((name, None) for name in enters if name not in made)
        made.update(leaves)
        targets = ", ".join(["status", *leaves])
        stop = ["status", *(_zero(codes.get(n, "i8")) for n in wanted)]
        lines += [
            f"{targets} = {unit.name}({', '.join(enters)})",
            "if status != 0:",
            f"    return {', '.join(stop)}",
        ]
    lines.append(f"return {', '.join(['0', *wanted])}")
    names = list(needed) if given is None else list(given)
    return make_kernel("graph", [(n, codes.get(n, "i8")) for n in names], lines, [unit for unit, _, _ in parts]), names


def _graph_unit(
    writer: GraphWriter, texts: Sequence[Sequence[str]], given: Sequence[str], wanted: Sequence[str]
) -> Unit:
    """Return the unit that runs all statements, called with all that is given."""
    return _joined(writer, _parts(writer, texts, given, wanted), given, wanted)[0]


def _entry(
    fgraph: FunctionGraph, writer: GraphWriter, graph: Unit, results: Sequence[_Result], wanted: Sequence[str]
) -> Unit:
    """Return the function called from Python: arrays taken apart, the graph run, arrays made of its buffers."""
    params = [("table", "i8")]
    lines = [f"frame = open_frame({writer.slots})"]
    for i, (var, names) in enumerate(zip(fgraph.inputs, writer.input_names, strict=True)):
        storage, ndim = writer.storage(var), (len(names) - 1) // 2
        code = "b1" if storage.dtype == "bool" else storage.memory
        params.append((f"a{i}", f"array:{code}:{ndim}"))
        lines.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = explode_{ndim}(a{i})")
    arguments = ["table", "frame", *(name for names in writer.input_names for name in names)]
    lines.append(f"{', '.join(['status', *wanted])} = {graph.name}({', '.join(arguments)})")
    for i, r in enumerate(results):
        dims = f"({', '.join(r.dims)}{',' if len(r.dims) == 1 else ''})"
        lines.append(f"r{i} = wrap_{r.code}_{len(r.dims)}(take(frame, {r.slot}), {dims})")
    lines.append(f"close_frame(frame, {writer.slots})")
    returned = ["status", *(f"r{i}" for i in range(len(results)))]
    lines.append(f"return {', '.join(returned)}{',' if len(returned) == 1 else ''}")
    return make_kernel("run", params, lines, (graph, *LIBRARY.used_by("\n".join(lines))))
