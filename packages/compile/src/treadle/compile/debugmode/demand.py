"""Computing variables on demand: only what is needed is computed, of an IfElse only the branch taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant, IfElse, SharedVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Apply, Value, Variable


class _Missing:
    """Marker of a value that was not computed, or could not be."""

    def __repr__(self) -> str:
        return "(not computed)"


MISSING = _Missing()


def lacks(node: Apply, inputs: Sequence[Value]) -> bool:
    """Whether values are missing that a node needs."""
    if not isinstance(node.op, IfElse):
        return any(value is MISSING for value in inputs)
    if inputs[0] is MISSING:
        return True
    start = 1 if inputs[0] else 1 + node.op.n_outs
    return any(value is MISSING for value in inputs[start : start + node.op.n_outs])


class Values:
    """Values of variables for one call, computed when they are asked for.

    `run` returns the outputs of a node for values of its inputs, `MISSING` for those of a branch not taken.
    """

    def __init__(
        self,
        inputs: Mapping[Variable, Value],
        inputs_of: Callable[[Apply], Sequence[Variable]],
        run: Callable[[Apply, list[object]], Sequence[object]],
    ) -> None:
        self.known: dict[Variable, Value] = dict(inputs)
        self._inputs_of = inputs_of
        self._run = run

    def compute(self, variables: Iterable[Variable]) -> None:
        """Compute variables, and what they need."""
        for var in variables:
            self[var]

    def __getitem__(self, var: Variable) -> Value:
        """Return a variable's value, computing what is needed for it."""
        if not self._has(var) and var.owner is not None:
            self._walk(var.owner)
        return self.known.get(var, MISSING)

    def _walk(self, start: Apply) -> None:
        pending = [start]
        while pending:
            node = pending[-1]
            if node.outputs[0] in self.known:
                pending.pop()
                continue
            needed = self._needed(node)
            waiting = [x.owner for x in needed if not self._has(x) and x.owner is not None]
            if waiting:
                pending.extend(reversed(waiting))
                continue
            pending.pop()
            taken = set(needed)
            inputs = [self.known.get(x, MISSING) if x in taken else MISSING for x in self._inputs_of(node)]
            self.known.update(zip(node.outputs, self._run(node, inputs), strict=True))

    def _needed(self, node: Apply) -> Sequence[Variable]:
        """Return the inputs that a node needs next: of an IfElse the condition, then the branch taken."""
        inputs = self._inputs_of(node)
        if not isinstance(node.op, IfElse):
            return inputs
        condition = inputs[0]
        if not self._has(condition) or self.known[condition] is MISSING:
            return [condition]
        start = 1 if self.known[condition] else 1 + node.op.n_outs
        return [condition, *inputs[start : start + node.op.n_outs]]

    def _has(self, var: Variable) -> bool:
        """Whether a value is known; a constant's is."""
        if var in self.known:
            return True
        if isinstance(var, Constant):
            self.known[var] = var.data
        elif isinstance(var, SharedVariable):
            self.known[var] = var.container.read_host()
        else:
            return False
        return True
