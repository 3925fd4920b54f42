"""Loops: the body as a unit of its own, in the same file."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.graph import FunctionGraph
from treadle.link.c.checking import body_of
from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.scalar_loops import ScalarLoop, is_of_numbers
from treadle.link.c.text.unit import Unit, power_of
from treadle.tensor import Scan, TensorNode, TensorVariable, tensors

# The descriptions of more than this many arrays are allocated, not put on the stack.
MOST_ON_STACK = 500


@TABLE.register(Scan)
def scan(op: Scan, node: TensorNode, unit: Unit) -> None:
    """Write the functions of the body, one that calls them for every step, and its call."""
    graph = body_of(op.fgraph)
    if is_of_numbers(op, graph, body_of):
        ScalarLoop(node, unit, graph, body_of).write()
    else:
        _Loop(op, node, unit, graph).write()


class _Loop:
    """Writes one loop. Arrays of the body are ``w``, those of the graph around it ``v``."""

    def __init__(self, op: Scan, node: TensorNode, unit: Unit, graph: FunctionGraph) -> None:
        self.op = op
        self.node = node
        self.unit = unit
        self.outer = op.sorted(node.inputs[1:])
        self.body = _written(graph, unit, op.sorted(graph.inputs).carries)
        self.inner = op.sorted(self.body.fgraph.inputs)
        self.inner_outputs = tensors(self.body.fgraph.outputs)
        clients = unit.fgraph.get_clients
        # Stacked results that nothing reads are not kept.
        self.stacked = [k for k in range(op.n_stacked) if clients(node.outputs[op.n_carries + k])]
        self.grows = int(op.has_until)

    def write(self) -> None:
        """Write the functions, and the call of the one that runs the loop."""
        unit, body = self.unit, self.body
        steps, rows = unit.integer(self.node.inputs[0]), ", ".join(self._rows())
        head = [*self._checks(), *self._begin()]
        empty, step, last = self._empty(), self._step(), self._last()
        name = f"{body.prefix}loop0"
        lines = [
            f"static int64_t {name}(tr_var *v, const uintptr_t *F) {{",
            "  int64_t r = 0, i = 0;",
            f"  const int64_t steps = {steps};",
            *arrays(body.count),
            *([f"  tr_rows t[] = {{{rows}}};"] if rows else []),
            "  tr_arena *const arena = v->arena;",
            "  const int64_t most = arena->most;",
            "  int64_t look = 1;",
            "  tr_watch watch = {0, 0, 0};",
            *(f"  {text}" for text in head),
            "  if (steps == 0) {",
            *(f"    {text}" for text in empty),
            "  }",
            "  while (i < steps) {",
            "    if (i == look && (look = tr_watched(F, &watch, i)) < 0) { r = TR_INTERRUPT; goto done; }",
            *(f"    {text}" for text in step),
            "  }",
            *(f"  {text}" for text in last),
            "done:",
            *ending(body.count, "  arena->steps += i;", "  arena->most = most;", "  if (!most) tr_drop(arena);"),
        ]
        unit.functions.append("\n".join(lines))
        unit.line(f"if ((r = {name}(v, F))) return r;")

    def _failing(self, text: str) -> str:
        """Return a statement that ends the loop if a call of a helper fails."""
        return f"if ((r = {text})) {{ r |= INT64_C({self.unit.number}) << 8; goto done; }}"

    def _checks(self) -> list[str]:
        lines = [self._failing("steps < 0 ? TR_STEPS : 0")]
        at = list(dict.fromkeys(self.unit.slot(x) for x in self.outer.sequences))
        lines += [self._failing(f"v[{k}].n[0] < steps ? TR_SEQUENCE : 0") for k in at]
        return lines

    def _rows(self) -> list[str]:
        outs = [self.node.outputs[self.op.n_carries + k] for k in self.stacked]
        return [f"{{v + {self.unit.owns(out)}, {out.type.ndim}, {ctype(out).size}, 0, 0, 0}}" for out in outs]

    def _begin(self) -> list[str]:
        """Return the statements that set the body's inputs for the first step."""
        unit, body = self.unit, self.body
        most = min(power_of(2, len(list(body.fgraph.variables))), 256)
        lines = [f"if (arena->most < {most}) arena->most = {most};"]
        lines += shown_inputs(unit, body, self.outer.constants, self.inner.constants)
        for row, x in zip(self.inner.sequences, self.outer.sequences, strict=True):
            if body.fgraph.get_clients(row):
                lines.append(f"tr_first_row(w + {body.slot(row)}, v + {unit.slot(x)}, {x.type.ndim});")
        for carry, x in zip(self.inner.carries, self.outer.carries, strict=True):
            at, rank, size = unit.slot(x), carry.type.ndim, ctype(carry).size
            free = self.node.inputs.count(x) == 1 and unit.dying(x, self.node.inputs)
            lines.append(f"tr_start(w + {body.slots[carry]}, v + {at}, {rank}, {size}, {int(free)});")
        return lines

    def _empty(self) -> list[str]:
        """Return the statements that set the shapes of the stacked results of a loop without steps."""
        unit, known = self.unit, self.op.row_lengths
        lines = []
        if any(isinstance(at, tuple) for k in self.stacked for at in known.places[k]):
            lengths = _written(body_of(known.fgraph), unit)
            lines.append(f"if ((r = {_written_lengths(self, lengths)}(v, F))) goto done;")
        for number, k in enumerate(self.stacked):
            out = unit.slots[self.node.outputs[self.op.n_carries + k]]
            fixed = [(d, at or 0) for d, at in enumerate(known.places[k], 1) if not isinstance(at, tuple)]
            lines += [f"v[{out}].n[{d}] = {n};" for d, n in fixed]
            lines.append(self._failing(f"tr_rows_begin(t + {number}, 0, 0, 0)"))
        return lines

    def _step(self) -> list[str]:
        body, op = self.body, self.op
        inputs = set(body.fgraph.inputs)
        slots = [body.slots[y] for y in self.inner_outputs]
        rows: list[str] = []
        before: list[str] = []
        placed: set[int] = set()
        for number, k in enumerate(self.stacked):
            y, at = self.inner_outputs[op.n_carries + k], slots[op.n_carries + k]
            size = ctype(y).size
            if body.is_owner(at) and y not in inputs and at not in placed:
                placed.add(at)
                place = f"t[{number}].o->p + i * t[{number}].bytes"
                before.append(f"w[{at}].dst = i ? {place} : 0; w[{at}].dn = t[{number}].o->n + 1;")
            begin = f"tr_rows_begin(t + {number}, w + {at}, steps, {self.grows})"
            rows.append(self._failing(f"i ? 0 : {begin}"))
            rows.append(self._failing(f"tr_rows_put(t + {number}, w + {at}, i, tr_move{size})"))
        lines = []
        if self.grows and self.stacked:
            # The lengths of rows, and the room for them, are known after the first step.
            carries = [body.slots[x] for x in self.inner.carries if x.type.ndim]
            table = self.unit.table("int", carries) if carries else "0"
            for number in range(len(self.stacked)):
                grown = f"tr_rows_grow(t + {number}, steps, w, {table}, {len(carries)})"
                lines.append(f"if (i && t[{number}].bytes && i == t[{number}].room) {self._failing(grown)}")
        lines += before
        lines += [f"if ((r = {name}(w, F))) {{ r = tr_in_step(r, i); goto done; }}" for name in body.runs(self._end)]
        lines += rows
        if op.has_until:
            lines.append(f"const int ends = *(const uint8_t *)w[{slots[-1]}].p;")
        lines += self._carry_on(slots)
        for row, x in zip(self.inner.sequences, self.outer.sequences, strict=True):
            if body.fgraph.get_clients(row):
                lines.append(f"w[{body.slots[row]}].p += v[{self.unit.slot(x)}].s[0];")
        return [*lines, "i++;", *(["if (ends) break;"] if op.has_until else [])]

    @property
    def _end(self) -> int:
        return len(self.body.layout.order)

    def _carry_on(self, slots: Sequence[int]) -> list[str]:
        """Return the statements that make the new carries those of the next step."""
        body = self.body
        new = self.inner_outputs[: self.op.n_carries]
        carried = [body.slots[x] for x in self.inner.carries]
        kept, inputs = _Kept(body), set(body.fgraph.inputs)
        shared = kept.shared([slots[j] for j, y in enumerate(new) if y.type.ndim])
        first: list[str] = []
        then: list[str] = []
        handed: set[int] = set()
        # Carries that stay in place and copies made so far, each with the arrays whose blocks it may hold.
        shown = [(slots[j], frozenset({slots[j]})) for j, y in enumerate(new) if slots[j] == carried[j] and y.type.ndim]
        stays = {at for at, _ in shown}
        for j, y in enumerate(new):
            at, target, size = slots[j], carried[j], ctype(y).size
            if at == target:
                continue
            if y.type.ndim == 0:
                if y in inputs:
                    place = body.place()
                    first.append(f"memcpy(&w[{place}].cell, w[{at}].p, {size});")
                    then.append(f"memcpy(&w[{target}].cell, &w[{place}].cell, {size});")
                else:
                    then.append(f"memcpy(&w[{target}].cell, w[{at}].p, {size});")
                continue
            own = kept.blocks(at)
            if y not in inputs and own == {at} and not own & shared and not kept.is_cell(at):
                handed.add(at)
                then.append(f"tr_hand_on(w + {target}, w + {at}, {y.type.ndim});")
                continue
            place = body.place()
            blocks = sorted(own - stays)
            readers = [k for k, of in shown if of & own]
            tables = [self.unit.table("int", entries) if entries else "0" for entries in (blocks, readers)]
            arguments = f"{tables[0]}, {len(blocks)}, {tables[1]}, {len(readers)}, {int(kept.is_cell(at))}"
            first.append(self._failing(f"tr_pass(w, {place}, {at}, {arguments}, {y.type.ndim}, {size}, tr_move{size})"))
            then.append(f"tr_hand_on(w + {target}, w + {place}, {y.type.ndim});")
            shown.append((place, frozenset(own)))
        ending = {*body.frees().get(self._end, ()), *(at for at in (*slots, *carried) if body.is_owner(at))}
        free = [f"tr_free(w + {at});" for at in sorted(ending - handed - stays)]
        return [*first, *free, *then]

    def _last(self) -> list[str]:
        """Return the statements that make the node's outputs after the last step."""
        unit, node, body = self.unit, self.node, self.body
        lines = []
        if self.grows:
            lines += [f"if (steps && (r = tr_rows_end(t + {k}, i))) goto done;" for k in range(len(self.stacked))]
        for out, carry in zip(node.outputs, self.inner.carries, strict=False):
            if unit.fgraph.get_clients(out):
                size = ctype(out).size
                make = "tr_adopt" if out.type.ndim else "tr_copy"
                arguments = f"v + {unit.owns(out)}, w + {body.slots[carry]}, {out.type.ndim}, {size}, tr_move{size}"
                lines.append(self._failing(f"{make}({arguments})"))
        if self.op.has_until:
            at = unit.owns(node.outputs[-1])
            lines.append(self._failing(f"tr_alloc(v + {at}, 0, 8)"))
            lines.append(f"*(int64_t *)v[{at}].p = i;")
        return lines


class _Kept:
    """Which blocks of memory the outputs of a body may refer to."""

    def __init__(self, body: Unit) -> None:
        self._body = body
        self._cells = {at for x, at in body.slots.items() if not x.type.ndim}  # type: ignore[attr-defined]  # tensors

    def blocks(self, at: int) -> set[int]:
        """Return the arrays whose blocks an array may refer to."""
        return {k for k in (at, *self._body.bases(at)) if self._body.is_owner(k)}

    def is_cell(self, at: int) -> bool:
        """Whether an array may refer to a single number, which has no block."""
        return not self._cells.isdisjoint(self._body.bases(at))

    def shared(self, outputs: Sequence[int]) -> set[int]:
        """Return the arrays whose blocks more than one of the outputs may refer to."""
        seen: set[int] = set()
        shared: set[int] = set()
        for at in outputs:
            own = self.blocks(at)
            shared |= own & seen
            seen |= own
        return shared


def arrays(count: int) -> list[str]:
    """Return the declarations of the descriptions of a body's arrays."""
    lines = [f"  tr_var w[{max(1, count)}];"]
    if count > MOST_ON_STACK:
        lines = [f"  tr_var *w = malloc({count} * sizeof *w);", "  if (!w) return TR_MEMORY;"]
    return [*lines, f"  for (int k = 0; k < {count}; k++) {{ w[k].own = w[k].dst = 0; w[k].arena = v->arena; }}"]


def ending(count: int, *more: str) -> list[str]:
    """Return the end of a function with so many descriptions, which frees their arrays."""
    free = [f"  for (int k = 0; k < {count}; k++) tr_free(w + k);", *(["  free(w);"] if count > MOST_ON_STACK else [])]
    return [*free, *more, "  (void)F;", "  return r;", "}"]


def shown_inputs(unit: Unit, body: Unit, outer: Sequence[TensorVariable], inner: Sequence[TensorVariable]) -> list[str]:
    """Return the statements that let arrays of the body refer to those of the graph around it, and to constants."""
    pairs = [(k, unit.slot(x)) for x, var in zip(outer, inner, strict=True) for k in [body.slots[var]]]
    ranks = [var.type.ndim for var in inner]
    for var in body.own_constants:
        pairs.append((body.slots[var], unit.constant(var)))
        ranks.append(var.type.ndim)
    return [f"tr_show(w + {k}, v + {at}, {rank});" for (k, at), rank in zip(pairs, ranks, strict=True)]


def _written(graph: FunctionGraph, unit: Unit, carries: Sequence[TensorVariable] = ()) -> Unit:
    """Return the unit of a graph that a loop of another unit runs, with its functions written.

    The body may overwrite the blocks of its carries.
    """
    body = Unit(graph, keeps_blocks=unit.keeps_blocks, around=unit)
    for var in (*graph.inputs, *body.own_constants):
        body.slot(var)
    for carry in carries:
        if carry.type.ndim:
            body.owns(carry)
    for index, node in enumerate(body.layout.order):
        body.begin(index)
        TABLE.rule(node)(node.op, node, body)
    end = len(body.layout.order)
    body.begin(end)
    body.outputs += [(out, body.slot(out)) for out in tensors(graph.outputs)]
    unit.functions += body.run_functions(end)
    return body


def _written_lengths(loop: _Loop, lengths: Unit) -> str:
    """Write the function that finds the lengths of rows for a loop without steps; return its name."""
    op, unit, name = loop.op, loop.unit, f"{lengths.prefix}loop0"
    inner = op.sorted(lengths.fgraph.inputs)
    lines = [f"static int64_t {name}(tr_var *v, const uintptr_t *F) {{", "  int64_t r = 0;", *arrays(lengths.count)]
    outer, within = [*loop.outer.carries, *loop.outer.constants], [*inner.carries, *inner.constants]
    lines += [f"  {text}" for text in shown_inputs(unit, lengths, outer, within)]
    for row, x in zip(inner.sequences, loop.outer.sequences, strict=True):
        lines.append(f"  tr_first_row(w + {lengths.slots[row]}, v + {unit.slot(x)}, {x.type.ndim});")
    lines += [f"  if ((r = {called}(w, F))) goto done;" for called in lengths.runs(len(lengths.layout.order))]
    for k in loop.stacked:
        out = unit.slots[loop.node.outputs[op.n_carries + k]]
        for d, at in enumerate(op.row_lengths.places[k], 1):
            if isinstance(at, tuple):
                lines.append(f"  v[{out}].n[{d}] = *(const int64_t *)w[{lengths.outputs[at[0]][1]}].p;")
    unit.functions.append("\n".join([*lines, "  goto done;", "done:", *ending(lengths.count)]))
    return name
