"""The text of a whole program: the graph's statements, in functions of bounded size, and the entry function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from treadle.config import dataclass, text_of
from treadle.graph import Apply, Block, Branching, Constant, FunctionGraph, LoweringError, Variable
from treadle.kernels import Address
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.choices import Arm, write_choice
from treadle.link.numba.text.entry import Result, entry, performing
from treadle.link.numba.text.parts import called, whole
from treadle.link.numba.text.unit import Unit
from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value, names_of
from treadle.link.numba.text.writer import GraphWriter

PART = 60  # statements grow faster than linearly costly to compile in one function


@dataclass(frozen=True, slots=True)
class Written:
    """A program's text."""

    # The function to call from Python.
    entry: Unit
    # The constants in its table.
    constants: tuple[Constant | Address, ...]
    # Whether it may overwrite an argument.
    overwrites: bool


def write_program(fgraph: FunctionGraph, rule: Callable[[Apply], Callable[..., object]] = TABLE.rule) -> Written:
    """Write the program of a graph, each node by the rule that a function returns for it."""

    def statements(inner: FunctionGraph) -> list[list[str]]:
        around, writer.lines = writer.lines, []
        blocks = _Blocks(writer, inner, rule)
        blocks.write()
        writer.lines = around
        return blocks.texts()

    writer = GraphWriter(fgraph, statements)
    blocks = _Blocks(writer, fgraph, rule)
    blocks.write()
    results = [_result(writer, v, fgraph.outputs[:i]) for i, v in enumerate(fgraph.outputs)]
    parameters = ["table", "frame", *(name for names in writer.input_names for name in names)]
    lengths = list(dict.fromkeys(n for r in results for n in r.dims if n in writer.local_names))
    graph = whole(writer, blocks.texts(), parameters, lengths)
    perform = performing(fgraph, graph, parameters[2:], results, lengths, writer.slots, writer.words)
    return Written(entry(fgraph, perform), tuple(writer.constants), writer.overwrites)


class _Text:
    """The statements of a block being written, cut into parts, and the values known outside of it."""

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

    def __init__(
        self, writer: GraphWriter, fgraph: FunctionGraph, rule: Callable[[Apply], Callable[..., object]]
    ) -> None:
        self.writer = writer
        self._rule = rule
        self._fgraph = fgraph
        self.branching = Branching.of(fgraph)
        self._home = {node: block for block in self.branching.blocks for node in block.nodes}
        self.last = self.branching.last_uses(self.branching.linear(), fgraph.outputs)
        self._open = [_Text(writer.lines, {})]
        self._branches: dict[Block, tuple[list[list[str]], list[Value]]] = {}

    def texts(self) -> list[list[str]]:
        """Return the statements of the outermost block, cut into parts."""
        return self._open[0].texts()

    def write(self) -> None:
        """Write all nodes."""
        around, self.writer.reader_of = self.writer.reader_of, self._reader_of
        self._write_nodes()
        self.writer.reader_of = around

    def _reader_of(self, var: Variable) -> Apply | None:
        readers = {reader for reader, _ in self._fgraph.get_clients(var)}
        if len(readers) != 1 or var.owner is None:
            return None
        (reader,) = readers
        return reader if reader in self._home and self._home[reader] is self._home[var.owner] else None

    def _write_nodes(self) -> None:
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
        """End a branch: inputs and constants that were first read in it are not known outside."""
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
        writer.add(f"# {' '.join(str(node.op).split())[:100]}")
        if branches is None:
            rule = self._rule(node)
            returned = rule(node.op, node, writer)
            if returned is not None or not all(out in writer.values or out in writer.numbers for out in node.outputs):
                raise _rule_error(rule, node, returned)
        else:
            arms = [self._arm(block) for block in branches]
            write_choice(writer, node, arms)
        _forget(writer, dead, before)

    def _arm(self, block: Block) -> Arm:
        """Return the statements that call the function of a branch, and its results."""
        texts, values = self._branches.pop(block)
        return Arm(called(self.writer, texts, [name for value in values for name in names_of(value)]), values)


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


def _forget(writer: GraphWriter, dead: Sequence[Variable], before: int) -> None:
    """Write the release of buffers that no value needs: those of dead variables, and the rule's scratch buffers."""
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


def _result(writer: GraphWriter, var: Variable, earlier: Sequence[Variable]) -> Result:
    """Write a copy of an output into a buffer of its own, in C order, unless it already lies in one."""
    value = writer.value(var)
    if isinstance(value, ScalarValue):
        return Result(0, (), writer.kept_number(value))
    used_slots = {s for v in earlier for s in getattr(writer.values.get(v), "slots", ())}
    if value.fills_one_buffer and value.slots[0] not in used_slots:
        return Result(value.slots[0], value.dims)
    return Result(writer.copied(value, value.storage).slots[0], value.dims)
