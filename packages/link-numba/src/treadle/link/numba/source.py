"""The text of a whole program: the graph's statements in functions of bounded size, and the entry around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.link.numba import lower as _rules  # noqa: F401 - registers the lowerings
from treadle.link.numba.library import LIBRARY
from treadle.link.numba.table import TABLE
from treadle.link.numba.unit import Unit, make_kernel
from treadle.link.numba.values import ArrayValue, ScalarValue
from treadle.link.numba.writer import GraphWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Constant, FunctionGraph, Variable

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


def write_program(fgraph: FunctionGraph, order: Sequence[Apply]) -> Written:
    """Write the program of a graph.

    Parameters
    ----------
    fgraph
        The graph.
    order
        Its nodes in the order of computation.
    """
    writer = GraphWriter(fgraph)
    last = _last_uses(fgraph, order)
    marks: list[int] = []
    for at, node in enumerate(order):
        if at % PART == 0 and at:
            marks.append(len(writer.lines))
        writer.dying = frozenset(last.get(node, ()))
        before = writer.slots
        rule: Any = TABLE.find(node.op)
        writer.add(f"# {_one_line(str(node.op))}")
        rule(node.op, node, writer)
        _forget(writer, last.get(node, ()), before)
    results = [_result(writer, v, fgraph.outputs[:i]) for i, v in enumerate(fgraph.outputs)]
    texts = [writer.lines[a:b] for a, b in zip([0, *marks], [*marks, len(writer.lines)], strict=True)]
    given = ["table", "frame", *(name for names in writer.input_names for name in names)]
    wanted = list(dict.fromkeys(n for r in results for n in r.dims if n in writer.made))
    graph = _graph_unit(writer, texts, given, wanted)
    return Written(_entry(fgraph, writer, graph, results, wanted), tuple(writer.constants), writer.uses_blas)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:100]


def _last_uses(fgraph: FunctionGraph, order: Sequence[Apply]) -> dict[Apply, list[Variable]]:
    """Return for each node the variables that are not needed after it."""
    needed: set[Variable] = set(fgraph.outputs)
    dying: dict[Apply, list[Variable]] = {}
    for node in reversed(order):
        dead = [v for v in dict.fromkeys((*node.inputs, *node.outputs)) if v not in needed]
        needed.update(dead)
        dying[node] = dead
    return dying


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


def _graph_unit(
    writer: GraphWriter, texts: Sequence[Sequence[str]], given: Sequence[str], wanted: Sequence[str]
) -> Unit:
    """Return the unit that runs all statements: one function, or several called one after another."""
    codes = writer.codes
    parts: list[tuple[Unit, list[str], list[str]]] = []
    needed = list(wanted)
    for lines in reversed(texts):
        text = "\n".join(lines)
        assigned = {name for group in _ASSIGNED.findall(text) for name in group.split(", ")}
        leaves = [name for name in dict.fromkeys(needed) if name in assigned]
        used = dict.fromkeys(_NAME.findall("\n".join(line for line in lines if not line.lstrip().startswith("#"))))
        known = [name for name in used if name not in assigned and (name in given or name in writer.made)]
        enters = ["table", "frame", *(n for n in known if n not in {"table", "frame"})]
        if len(texts) == 1:
            enters = list(given)
        stop = ", ".join([r"\1", *(_zero(codes.get(n, "i8")) for n in leaves)])
        body = [_STOP.sub(stop, line) for line in lines]
        body.append(f"return {', '.join(['0', *leaves])}")
        params = [(name, codes.get(name, "i8")) for name in enters]
        uses = (*(u for n, u in writer.units.items() if n in used), *LIBRARY.used_by(text))
        parts.append((make_kernel("part", params, body, uses), enters, leaves))
        needed = [*(n for n in needed if n not in assigned), *enters]
    parts.reverse()
    if len(parts) == 1:
        return parts[0][0]
    lines = []
    for unit, enters, leaves in parts:
        targets = ", ".join(["status", *leaves])
        lines += [
            f"{targets} = {unit.name}({', '.join(enters)})",
            "if status != 0:",
            "    return " + ", ".join(["status", *(_zero(codes.get(n, "i8")) for n in wanted)]),
        ]
    lines.append(f"return {', '.join(['0', *wanted])}")
    return make_kernel("graph", [(n, codes.get(n, "i8")) for n in given], lines, [unit for unit, _, _ in parts])


def _entry(
    fgraph: FunctionGraph, writer: GraphWriter, graph: Unit, results: Sequence[_Result], wanted: Sequence[str]
) -> Unit:
    """Return the function called from Python: arrays taken apart, the graph run, arrays made of its buffers."""
    params = [("table", "i8")]
    lines = [f"frame = open_frame({writer.slots})"]
    for i, (var, names) in enumerate(zip(fgraph.inputs, writer.input_names, strict=True)):
        storage = writer.storage(var)
        kind: Any = var.type
        code = "b1" if storage.dtype == "bool" else storage.memory
        params.append((f"a{i}", f"array:{code}:{kind.ndim}"))
        lines.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = explode_{kind.ndim}(a{i})")
    arguments = ["table", "frame", *(name for names in writer.input_names for name in names)]
    lines.append(f"{', '.join(['status', *wanted])} = {graph.name}({', '.join(arguments)})")
    for i, r in enumerate(results):
        dims = f"({', '.join(r.dims)}{',' if len(r.dims) == 1 else ''})"
        lines.append(f"r{i} = wrap_{r.code}_{len(r.dims)}(take(frame, {r.slot}), {dims})")
    lines.append(f"close_frame(frame, {writer.slots})")
    returned = ["status", *(f"r{i}" for i in range(len(results)))]
    lines.append(f"return {', '.join(returned)}{',' if len(returned) == 1 else ''}")
    return make_kernel("run", params, lines, (graph, *LIBRARY.used_by("\n".join(lines))))
