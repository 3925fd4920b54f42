"""Checking the program of the whole graph: fusion, memory that is shared between nodes, work in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.debugmode.comparison import is_close, is_same
from treadle.compile.debugmode.demand import MISSING
from treadle.compile.debugmode.errors import BadThunkOutput, DebugModeError, described, source
from treadle.compile.value_text import value_text
from treadle.graph import DestroyHandler, FunctionGraph, IfElse, LoweringError, memory_roots, order_nodes, roots_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Apply, Roots, Value, Variable
    from treadle.link.vm import Program, ProgramLinker

# How many programs are made to find the first node with which a whole program is wrong.
_TRIES = 60


class WholeProgram:
    """A linker's program of the whole graph, compared with what its nodes computed one by one.

    `name` is that of the backend; `mutable` holds the inputs that the program may overwrite.
    """

    def __init__(
        self, name: str, linker: ProgramLinker, program: Program, fgraph: FunctionGraph, mutable: frozenset[Variable]
    ) -> None:
        self.name = f"the whole program of backend {name}"
        self._linker = linker
        self._program = program
        self._fgraph = fgraph
        self._mutable = mutable
        self._roots: Roots = memory_roots(fgraph.toposort())

    def check(self, arguments: Sequence[Value], values: Mapping[Variable, Value]) -> None:
        """Run the program twice on the inputs' values and compare with `values`, which the nodes computed one by one.

        A program may guess lengths from the call before, and keep memory: so the second call counts as much as the
        first, and must leave the first one's results alone.
        """
        outputs = self._fgraph.outputs
        first = self._run(arguments, values)
        copies = [out.type.copy_value(value) for out, value in zip(outputs, first, strict=True)]
        self._compare(arguments, values, first, "its first call")
        self._check_sharing(first)
        second = self._run(arguments, values)
        self._compare(arguments, values, second, "its second call")
        for out, before, now in zip(outputs, copies, first, strict=True):
            if not is_same(out.type, before, now):
                hint = f"its second call overwrote the first one's result: {out.type.describe_difference(before, now)}"
                raise BadThunkOutput(out, "the first call", before, self.name, now, hint=hint)

    def _run(self, arguments: Sequence[Value], values: Mapping[Variable, Value]) -> Sequence[Value]:
        inputs = self._fgraph.inputs
        copies = [x.type.copy_value(v) for x, v in zip(inputs, arguments, strict=True)]
        try:
            results = self._program(*copies)
        except Exception as error:
            out = self._fgraph.outputs[0]
            text = f"{self.name} fails where its nodes do not: {str(error).rstrip('.')}"
            raise BadThunkOutput(out, "its nodes", values[out], self.name, MISSING, hint=text) from error
        for x, before, now in zip(inputs, arguments, copies, strict=True):
            if x in self._mutable:
                continue
            self._check_owned(x, now, results)
            if not is_same(x.type, before, now):
                msg = (
                    f"{self.name}: it overwrote its input {x} of type {x.type}, which belongs to the caller: "
                    f"{x.type.describe_difference(before, now)}. Before it was {value_text(before)}, after it is "
                    f"{value_text(now)}. Correct the backend, or declare the input mutable."
                )
                raise DebugModeError(msg)
        return list(results)

    def _compare(
        self, arguments: Sequence[Value], values: Mapping[Variable, Value], results: Sequence[Value], which: str
    ) -> None:
        for out, result in zip(self._fgraph.outputs, results, strict=True):
            fault = self._fault(out, values, result)
            if fault is not None:
                hint = f"{fault}, in {which}{self._narrowed(arguments, values)}"
                raise BadThunkOutput(out, "its nodes, one by one,", values[out], self.name, result, hint=hint)

    @staticmethod
    def _fault(var: Variable, values: Mapping[Variable, Value], result: Value) -> str | None:
        """Return what is wrong with a value that a program computed, None if nothing is."""
        if not var.type.is_valid_value(result, strict=True):
            return f"the latter is none of type {var.type}"
        value = values[var]
        near = [x for x in (() if var.owner is None else var.owner.inputs) if x in values]
        scale = max([var.type.magnitude(value), *(x.type.magnitude(values[x]) for x in near)])
        return None if is_close(var.type, value, result, scale) else var.type.describe_difference(value, result)

    def _check_owned(self, x: Variable, value: Value, results: Sequence[Value]) -> None:
        """Refuse results that share memory with an argument, unless the graph says so."""
        for out, result in zip(self._fgraph.outputs, results, strict=True):
            if x not in roots_of(out, self._roots) and out.type.may_share_memory(result, value):
                msg = (
                    f"{self.name}: a result shares memory with its input {x} of type {x.type}, {source(out)}; the "
                    "graph does not say so. Correct the backend."
                )
                raise DebugModeError(msg)

    def _check_sharing(self, results: Sequence[Value]) -> None:
        """Refuse results that share memory, unless the graph says so: each belongs to the caller."""
        owned: list[tuple[Variable, Value]] = []
        for out, value in zip(self._fgraph.outputs, results, strict=True):
            own = roots_of(out, self._roots)
            for other, earlier in owned:
                if out.owner is not None and out.owner is other.owner:
                    # What one node does is checked with the node.
                    continue
                if own.isdisjoint(roots_of(other, self._roots)) and out.type.may_share_memory(value, earlier):
                    msg = (
                        f"{self.name}: two of its results share memory, {source(out)}, and {source(other)}; the graph "
                        "does not say so. Correct the backend."
                    )
                    raise DebugModeError(msg)
            owned.append((out, value))

    # Where it begins to be wrong

    def _narrowed(self, arguments: Sequence[Value], values: Mapping[Variable, Value]) -> str:
        """Return where programs of parts of the graph begin to be wrong, in words."""
        order = [n for n in self._fgraph.toposort() if all(out in values for out in n.outputs)]
        for node in order[:_TRIES]:
            part = self._part(node)
            if part is not None and not self._part_is_right(part, node, arguments, values):
                return f"; programs of parts of the graph begin to be wrong with {described(node)}"
        return ""

    def _part(self, node: Apply) -> FunctionGraph | None:
        inputs = self._fgraph.inputs
        nodes = order_nodes(node.outputs, set(inputs).__contains__)
        if any(isinstance(n.op, IfElse) for n in nodes):
            return None
        part = FunctionGraph(inputs, node.outputs, clone=True)
        if any(n.op.destroy_map for n in nodes):
            part.attach_feature(DestroyHandler())
        return part

    def _part_is_right(
        self, part: FunctionGraph, node: Apply, arguments: Sequence[Value], values: Mapping[Variable, Value]
    ) -> bool:
        copies = [x.type.copy_value(v) for x, v in zip(self._fgraph.inputs, arguments, strict=True)]
        try:
            results = self._linker.link(part)(*copies)
        except LoweringError:
            return True
        except Exception:  # noqa: BLE001 - whatever it is, the part is wrong
            return False
        return all(self._fault(o, values, r) is None for o, r in zip(node.outputs, results, strict=True))
