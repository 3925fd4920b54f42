"""Checking rewriting: every change on the values of a call, and that every run gives the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.debugmode.comparison import is_close
from treadle.compile.debugmode.demand import MISSING, Values, lacks
from treadle.compile.debugmode.errors import BadOptimization, StochasticOrder
from treadle.compile.debugmode.node_checks import scale_of
from treadle.graph import order_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.compile.debugmode.node_checks import NodeChecker
    from treadle.compile.debugmode.recording import Change, Recorder
    from treadle.graph import Apply, Cell, Value, Variable

# How many nodes before and after a change are looked at to tell a wrong rule from a wrong op.
_SUSPECTS = 40


class RewriteCheck:
    """Compares the values before and after each change of a run of rewriting of a graph with these outputs."""

    def __init__(self, recorder: Recorder, outputs: Sequence[Variable], checker: NodeChecker) -> None:
        self._recorder = recorder
        self._outputs = list(outputs)
        self._checker = checker

    def check(self, input_values: Mapping[Variable, Value]) -> None:
        """Compare on values of the inputs.

        Nodes are computed as they came into the graph, which is what they compute later too unless a change was wrong.
        So the first change that is found wrong is the one at fault.
        """
        values = Values(input_values, self._recorder.first_inputs, self._run)
        values.compute(self._outputs)
        for change in self._recorder.changes:
            before = values.known.get(change.old, MISSING)
            if before is MISSING or change.old is change.new:
                continue
            after = values[change.new]
            hint = self._fault(change, before, after, values)
            if hint is not None:
                self._check_ops(change, values)
                raise BadOptimization(change.old, change.new, before, after, change.reason, hint)

    def _run(self, node: Apply, inputs: list[Value]) -> Sequence[Value]:
        """Run `perform`; a node that fails has no value, and the program shows whether that matters."""
        nothing = [MISSING] * len(node.outputs)
        if lacks(node, inputs):
            return nothing
        cells: list[Cell] = [[None] for _ in node.outputs]
        try:
            self._checker.implementations.reference(node)(self._checker.copies(node, inputs), cells)
        except Exception:  # noqa: BLE001 - a user's op may raise anything
            return nothing
        return [cell[0] for cell in cells]

    @staticmethod
    def _fault(change: Change, before: Value, after: Value, values: Values) -> str | None:
        """Return what is wrong with a change, an empty text if the values show it; None if it is right."""
        old, new = change.old, change.new
        if after is MISSING:
            return "it cannot be computed"
        for what in ("shape", "dtype"):
            was, now = getattr(before, what, None), getattr(after, what, None)
            if was != now:
                return f"its {what} is {now}, not {was}"
        if not new.type.is_valid_value(after, strict=False):
            return f"the value is none of its type {new.type}"
        scale = 0.0
        for var in (old, new):
            if var.owner is not None:
                scale = max(scale, scale_of(var.owner, [values.known.get(x, MISSING) for x in var.owner.inputs]))
        return None if is_close(old.type, before, after, scale, where_finite=True) else ""

    def _check_ops(self, change: Change, values: Values) -> None:
        """Check the nodes on either side of a change: if one of them is wrong, the rule need not be."""
        roots = [v for v in (change.old, change.new) if v.owner is not None]
        nodes = order_nodes(roots, None)[-_SUSPECTS:]
        for node in nodes:
            inputs = [values.known.get(x, MISSING) for x in self._recorder.first_inputs(node)]
            if all(value is not MISSING for value in inputs) and node.outputs[0] in values.known:
                self._checker.compare(node, inputs)


def check_stability(recorder: Recorder, first: Sequence[str], script: Sequence[str], number: int) -> None:
    """Refuse a run of rewriting that did something else than the first one.

    `first` and `script` say what the two did, then the graph that came out; `number` counts runs from 1.
    """
    if first == script:
        return
    at = next((k for k, (a, b) in enumerate(zip(first, script, strict=False)) if a != b), min(len(first), len(script)))
    was, now = (lines[at] if at < len(lines) else "nothing more" for lines in (first, script))
    node = recorder.changes[at].old.owner if at < len(recorder.changes) else None
    where = "" if node is None else node.where()
    msg = (
        f"rewriting: run {number} on an equal graph did something else than the first run. Step {at} was\n  "
        f"{was}{where}\nand is now\n  {now}\nMake the rule that decides it depend on the graph alone, "
        "not on the order of a set, on identities, or on what it did before."
    )
    raise StochasticOrder(msg)
