"""Checking rewriting: every change on the values of a call, and that the same comes out every time."""

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
    """Compares the values before and after each change of a run of rewriting.

    Parameters
    ----------
    recorder
        What the run did.
    outputs
        The outputs of the graph before it.
    checker
        Checks nodes.
    """

    def __init__(self, recorder: Recorder, outputs: Sequence[Variable], checker: NodeChecker) -> None:
        self._recorder = recorder
        self._outputs = list(outputs)
        self._checker = checker

    def check(self, given: Mapping[Variable, Value]) -> None:
        """Compare on values of the inputs.

        Nodes are computed as they came into the graph: as long as no change was wrong, that is what they compute later
        too. So the first change that is found wrong is the one at fault.
        """
        values = Values(given, self._recorder.first_inputs, self._run)
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

    def _run(self, node: Apply, given: list[Value]) -> Sequence[Value]:
        """Run `perform`; what fails has no value, and the program tells if that matters."""
        nothing = [MISSING] * len(node.outputs)
        if lacks(node, given):
            return nothing
        cells: list[Cell] = [[None] for _ in node.outputs]
        try:
            self._checker.implementations.reference(node)(self._checker.copies(node, given), cells)
        except Exception:  # noqa: BLE001 - an op of anyone's may raise anything
            return nothing
        return [cell[0] for cell in cells]

    @staticmethod
    def _fault(change: Change, before: Value, after: Value, values: Values) -> str | None:
        """Return what is wrong with a change, empty if the values tell; None if it is right."""
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
            given = [values.known.get(x, MISSING) for x in self._recorder.first_inputs(node)]
            if all(value is not MISSING for value in given) and node.outputs[0] in values.known:
                self._checker.compare(node, given)


def check_stability(recorder: Recorder, first: Sequence[str], script: Sequence[str], number: int) -> None:
    """Refuse a run of rewriting that did something else than the first one.

    Parameters
    ----------
    recorder
        What the first run did.
    first, script
        What was done, in words, then the graph that came out.
    number
        Which run it was, counted from 1.
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
