"""Loops that compute only single numbers: one C loop, with variables that the compiler keeps in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from treadle.graph import Apply, FrozenFunctionGraph, FunctionGraph, IfElse, Variable
from treadle.link.c.conventions.dtypes import ctype, loaded, stored
from treadle.link.c.text.expression import expression
from treadle.link.c.text.kernel import on_numbers
from treadle.link.c.text.unit import Unit
from treadle.tensor import (
    At,
    Elemwise,
    Scan,
    ShapeI,
    Subtensor,
    Symbolic,
    TensorNode,
    TensorType,
    TensorVariable,
    tensors,
)

Bodies = Callable[[FrozenFunctionGraph], FunctionGraph]


# A body with more nodes than this is divided into functions: compilers take more than linear time for long ones.
MOST_NODES = 300
# Loops first check for an interrupt at this step, since a step takes only nanoseconds.
FIRST_LOOK = 4096


class Place(NamedTuple):
    """The place of an array that a step reads: a C pointer, and dimensions `first` and further of an array of ``v``."""

    pointer: str
    at: int
    first: int = 0


def is_of_numbers(op: Scan, graph: FunctionGraph, bodies: Bodies) -> bool:
    """Whether a loop carries, stacks and computes only single numbers, and only reads arrays."""
    inner = op.sorted(graph.inputs)
    own = [*inner.carries, *(x for x in graph.outputs)]
    if not all(_is_number(x) for x in own) or len(graph.toposort()) > MOST_NODES:
        return False
    return all(_is_simple(node, graph, bodies) for node in graph.apply_nodes)


def _is_number(var: Variable) -> bool:
    return isinstance(var.type, TensorType) and var.type.ndim == 0


def _is_simple(node: Apply, graph: FunctionGraph, bodies: Bodies) -> bool:
    op = node.op
    if not all(map(_is_number, node.outputs)):
        return False
    if isinstance(op, Elemwise | IfElse):
        return all(map(_is_number, node.inputs))
    inputs = graph.inputs
    if isinstance(op, ShapeI):
        return node.inputs[0] in inputs
    if isinstance(op, Subtensor):
        return node.inputs[0] in inputs and all(isinstance(e, At) for e in op.entries)
    if not isinstance(op, Scan) or op.n_stacked:
        return False
    if any(not _is_number(x) and x not in inputs for x in node.inputs):
        return False
    return is_of_numbers(op, bodies(op.fgraph), bodies)


class ScalarLoop:
    """Writes the C function of a loop over single numbers."""

    def __init__(self, node: TensorNode, unit: Unit, graph: FunctionGraph, bodies: Bodies) -> None:
        # The loop, and the unit that it is a node of, whose arrays are ``v``.
        self.node = node
        self.unit = unit
        # The body, expanded into ops that C has rules for.
        self.graph = graph
        # A function that expands the body of an inner loop likewise.
        self._bodies = bodies
        self._names: dict[Variable, str] = {}
        self._places: dict[Variable, Place] = {}
        self._before: list[str] = []
        self._count = 0

    def write(self) -> None:
        """Write the function and its call."""
        unit, node = self.unit, self.node
        op: Scan = node.op  # type: ignore[assignment]  # the rule is that of loops
        body = Unit(self.graph, around=unit)
        for x in dict.fromkeys(node.inputs):
            self._enter(x, unit.slot(x))
        outs = [node.outputs[op.n_carries + k] for k in range(op.n_stacked)]
        inner_rows = tensors(self.graph.outputs)[op.n_carries :]
        stacked = [(out, y) for out, y in zip(outs, inner_rows, strict=False) if unit.fgraph.get_clients(out)]
        rows = [f"{{v + {unit.owns(out)}, 1, {ctype(out).size}, 0, 0, 0}}" for out, _ in stacked]
        loop = self._loop(node, body, [y for _, y in stacked], _Level("", unit.number))
        name = f"{body.prefix}loop0"
        lines = [
            f"static int64_t {name}(tr_var *v, const uintptr_t *F) {{",
            "  int64_t r = 0, made = 0;",
            *([f"  tr_rows t[] = {{{', '.join(rows)}}};"] if rows else []),
            *(f"  {text}" for text in (*self._before, *loop, *self._results(op, len(rows)))),
            "done:",
            "  v->arena->steps += made;",
            "  (void)F;",
            "  return r;",
            "}",
        ]
        unit.functions.append("\n".join(lines))
        unit.line(f"if ((r = {name}(v, F))) return r;")

    def _results(self, op: Scan, rows: int) -> list[str]:
        """Return the statements that make the node's outputs after the last step."""
        unit, level = self.unit, _Level("", self.unit.number)
        lines = []
        if op.has_until:
            lines += [level.failing(f"tr_rows_end(t + {k}, made)") for k in range(rows)]
        last = [*self.node.outputs[: op.n_carries], *self.node.outputs[op.n_carries + op.n_stacked :]]
        for out in last:
            if unit.fgraph.get_clients(out):
                at, kind = unit.owns(out), ctype(out)
                lines.append(level.failing(f"tr_alloc(v + {at}, 0, {kind.size})"))
                lines.append(f"*({kind.stored} *)v[{at}].p = {stored(out.type.dtype, self._names[out])};")
        return lines

    # Names

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _declared(self, var: TensorVariable, text: str) -> str:
        """Return the declaration of a constant C variable for a number."""
        name = self._names[var] = self._new("n")
        return f"const {ctype(var).computed} {name} = {text};"

    def _enter(self, var: TensorVariable, at: int) -> None:
        """Record the place of an array of ``v``."""
        self._places[var] = Place(f"v[{at}].p", at)
        if var.type.ndim == 0:
            self._before.append(self._declared(var, self._read(var, f"v[{at}].p")))

    @staticmethod
    def _read(var: TensorVariable, pointer: str) -> str:
        """Return the expression that reads a number from memory."""
        return loaded(var.type.dtype, f"*(const {ctype(var).stored} *){pointer}")

    def _hand_in(self, outer: Sequence[TensorVariable], inner: Sequence[TensorVariable]) -> None:
        """Bind the inputs of a body to variables around the loop."""
        for x, var in zip(outer, inner, strict=True):
            if x in self._names:
                self._names[var] = self._names[x]
            if x in self._places:
                self._places[var] = self._places[x]

    # Text

    def _loop(self, node: TensorNode, body: Unit, rows: Sequence[TensorVariable], around: _Level) -> list[str]:
        """Return the text of a loop; `rows` are the variables that it stacks, in the order of their places in ``t``."""
        op: Scan = node.op  # type: ignore[assignment]  # a loop
        inner, outer = op.sorted(tensors(body.fgraph.inputs)), op.sorted(node.inputs[1:])
        i, steps = self._new("i"), self._new("s")
        look, watch, until, left = (self._new(letter) for letter in ("look", "watch", "until", "left"))
        for var in body.own_constants:
            self._enter(var, self.unit.constant(var))
        lines = [f"int64_t {i} = 0;", f"const int64_t {steps} = {self._names[node.inputs[0]]};"]
        lines.append(around.failing(f"{steps} < 0 ? TR_STEPS : 0"))
        step, onward = self._sequences(outer.sequences, inner.sequences, lines, steps, around)
        self._hand_in(outer.constants, inner.constants)
        for x, carry in zip(outer.carries, inner.carries, strict=True):
            name = self._new("c")
            lines.append(f"{ctype(carry).computed} {name} = {self._names[x]};")
            self._names[carry] = name
        for k in range(len(rows)):
            lines.append(around.failing(f"tr_rows_begin(t + {k}, 0, {steps}, {int(op.has_until)})"))
            lines.append(f"char *y{k} = t[{k}].o->p;")
            if op.has_until:
                grown = around.failing(f"tr_rows_grow(t + {k}, {steps}, 0, 0, 0)")
                step.append(f"if ({i} == t[{k}].room) {{ {grown} y{k} = t[{k}].o->p; }}")
        step += self._nodes(body, body.layout.blocks[-1], i)
        outputs = tensors(body.fgraph.outputs)
        for k, y in enumerate(rows):
            step.append(f"(({ctype(y).stored} *)y{k})[{i}] = {stored(y.type.dtype, self._names[y])};")
        # All new carries are computed before the first one is assigned.
        for carry, y in zip(inner.carries, outputs, strict=False):
            name = self._new("n")
            step.append(f"const {ctype(y).computed} {name} = {self._names[y]};")
            onward.append(f"{self._names[carry]} = {name};")
        step += onward
        if op.has_until:
            name = self._new("n")
            step.insert(len(step) - len(onward), f"const int {name} = {self._names[outputs[-1]]} != 0;")
            step.append(f"if ({name}) {{ {i}++; goto {left}; }}")
        self._hand_in(inner.carries, node.outputs[: op.n_carries])
        if op.has_until:
            self._names[node.outputs[-1]] = i
        # An inner loop runs the steps between two checks for an interrupt, so that these do not slow it down.
        interrupted = f"({look} = tr_watched(F, &{watch}, {i})) < 0"
        return [
            *lines,
            f"int64_t {look} = {FIRST_LOOK};",
            f"tr_watch {watch} = {{0, 0, 0}};",
            f"while ({i} < {steps}) {{",
            f"  if ({i} == {look} && {interrupted}) {around.ending('TR_INTERRUPT')}",
            f"  const int64_t {until} = {look} < {steps} ? {look} : {steps};",
            f"  for (; {i} < {until}; {i}++) {{",
            *(f"    {text}" for text in step),
            "  }",
            "}",
            *([f"{left}:"] if op.has_until else []),
            f"made += {i};",
        ]

    def _sequences(
        self,
        outer: Sequence[TensorVariable],
        inner: Sequence[TensorVariable],
        lines: list[str],
        steps: str,
        around: _Level,
    ) -> tuple[list[str], list[str]]:
        """Return the statements that read rows at the start of a step, and those that advance to the next row."""
        reads, onward = [], []
        for x, row in zip(outer, inner, strict=True):
            place, pointer, stride = self._places[x], self._new("p"), self._new("d")
            at, d = place.at, place.first
            lines.append(around.failing(f"v[{at}].n[{d}] < {steps} ? TR_SEQUENCE : 0"))
            lines.append(f"const char *{pointer} = {place.pointer};\nconst int64_t {stride} = v[{at}].s[{d}];")
            self._places[row] = Place(pointer, at, d + 1)
            if row.type.ndim == 0:
                reads.append(self._declared(row, self._read(row, pointer)))
            onward.append(f"{pointer} += {stride};")
        return reads, onward

    def _nodes(self, body: Unit, positions: Sequence[int], i: str) -> list[str]:
        lines = []
        for at in positions:
            node: TensorNode = body.layout.order[at]  # type: ignore[assignment]  # of tensors
            body.begin(at)
            level = _Level(i, body.number)
            op = node.op
            if isinstance(op, IfElse):
                lines += self._choice(node, body, body.layout.arms[at], i)
            elif isinstance(op, Scan):
                inner = Unit(self._bodies(op.fgraph), around=body)
                lines += self._loop(node, inner, (), level)
            elif isinstance(op, Subtensor):
                lines += self._element(node, op, level)
            elif isinstance(op, ShapeI):
                place = self._places[node.inputs[0]]
                lines.append(self._declared(node.outputs[0], f"v[{place.at}].n[{place.first + op.axis}]"))
            else:
                lines += self._elemwise(node, body, level)
        return lines

    def _elemwise(self, node: TensorNode, body: Unit, level: _Level) -> list[str]:
        operations = expression(node.op, node)  # type: ignore[arg-type]  # elementwise
        names = [self._names[x] for x in node.inputs]
        lines = on_numbers(operations, names, self._new("r") + "_", level.ending("TR_POWER"))
        body.calls("\n".join(lines))
        for out, value in zip(node.outputs, operations.outputs, strict=True):
            self._names[out] = names[value]
        return lines

    def _choice(self, node: TensorNode, body: Unit, arms: tuple[int, int], i: str) -> list[str]:
        op: IfElse = node.op  # type: ignore[assignment]  # a choice
        names = [self._new("n") for _ in node.outputs]
        lines = [f"{ctype(out).computed} {name};" for out, name in zip(node.outputs, names, strict=True)]
        for arm, branch, head in zip(
            arms, op.branches(node), (f"if ({self._names[node.inputs[0]]})", "else"), strict=True
        ):
            lines.append(f"{head} {{")
            lines += (f"  {text}" for text in self._nodes(body, body.layout.blocks[arm], i))
            lines += (f"  {name} = {self._names[x]};" for name, x in zip(names, branch, strict=True))
            lines.append("}")
        self._names.update(zip(node.outputs, names, strict=True))
        return lines

    def _element(self, node: TensorNode, op: Subtensor, level: _Level) -> list[str]:
        """Return the statements that read one element of an array."""
        x, *parts = node.inputs
        place, pointer = self._places[x], self._new("p")
        positions = iter(parts)
        lines = [f"const char *{pointer} = {place.pointer};"]
        for d, entry in enumerate(op.entries, place.first):
            value = f"INT64_C({entry.value})"  # type: ignore[union-attr]  # positions alone
            if isinstance(entry.value, Symbolic):  # type: ignore[union-attr]
                var = next(positions)
                value = self._names[var]
                if var.type.dtype == "uint64":
                    value = f"{value} > INT64_MAX ? INT64_MAX : (int64_t){value}"
            name = self._new("j")
            length = f"v[{place.at}].n[{d}]"
            lines.append(f"int64_t {name} = {value};")
            lines.append(f"if ({name} < 0) {name} += {length};")
            lines.append(f"if ({name} < 0 || {name} >= {length}) {level.ending('TR_INDEX')}")
            lines.append(f"{pointer} += {name} * v[{place.at}].s[{d}];")
        lines.append(self._declared(node.outputs[0], self._read(node.outputs[0], pointer)))
        return lines


class _Level(NamedTuple):
    """The location that a failure reports: the C variable of the step, empty outside of loops, and the node."""

    step: str
    number: int

    def ending(self, code: str) -> str:
        """Return the statement that ends the function with a status."""
        status = f"{code} | INT64_C({self.number}) << 8"
        if not self.step:
            return f"{{ r = {status}; goto done; }}"
        return f"{{ made += {self.step}; r = tr_in_step({status}, {self.step}); goto done; }}"

    def failing(self, text: str) -> str:
        """Return the statement that ends the function if a call returns another status than 0."""
        return f"if ((r = {text})) {self.ending('r')}"
