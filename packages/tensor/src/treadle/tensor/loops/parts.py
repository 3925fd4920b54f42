"""LoopParts: a loop taken apart, to be built or changed and put together again."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from treadle.config import dataclass
from treadle.graph import FrozenFunctionGraph, GraphTypeError, HasShape, Variable, graph_replace, toposort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Type
    from treadle.tensor.loops.loops import Scan
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["LoopParts", "LoopResults"]


class LoopResults(NamedTuple):
    """The outputs of a loop.

    Attributes
    ----------
    carries
        Their last values.
    stacked
        The stacked results.
    steps
        The number of steps made, of a loop with a condition; None of others.
    """

    carries: list[Variable]
    stacked: list[TensorVariable]
    steps: TensorVariable | None


@dataclass(slots=True)
class LoopParts:
    """A loop whose parts can be changed: what goes in, and a body that is not frozen.

    Attributes
    ----------
    steps
        The number of steps.
    sequences, rows_in
        Sequences, and the variable of the body that stands for a row of each.
    starts, carries, new_carries
        First values of carries, the variable of the body that stands for each, and what a step makes of it.
    givens, constants
        What is the same in all steps, and the variable of the body for each.
    rows_out
        The rows of stacked results.
    until
        Whether the loop ends after a step; None if it has no condition.
    truncate_gradient, recomputes, name
        As for `Scan`.
    """

    # Set by `treadle.tensor.loops.loops`, whose derivatives and batches are built of parts.
    loop_type: ClassVar[type[Scan]]

    steps: Variable
    sequences: list[Variable] = field(default_factory=list)
    rows_in: list[Variable] = field(default_factory=list)
    starts: list[Variable] = field(default_factory=list)
    carries: list[Variable] = field(default_factory=list)
    new_carries: list[Variable] = field(default_factory=list)
    givens: list[Variable] = field(default_factory=list)
    constants: list[Variable] = field(default_factory=list)
    rows_out: list[Variable] = field(default_factory=list)
    until: Variable | None = None
    truncate_gradient: int = -1
    recomputes: bool = False
    name: str | None = None

    @classmethod
    def of(cls, op: Scan, inputs: Sequence[Variable]) -> LoopParts:
        """Return the parts of a loop with these inputs; the body is a copy."""
        body = op.fgraph.unfreeze()
        inner, outer = op.sorted(body.inputs), op.sorted(inputs[1:])
        outputs = list(body.outputs)
        last = op.n_carries + op.n_stacked
        return cls(
            steps=inputs[0],
            sequences=outer.sequences,
            rows_in=inner.sequences,
            starts=outer.carries,
            carries=inner.carries,
            new_carries=outputs[: op.n_carries],
            givens=outer.constants,
            constants=inner.constants,
            rows_out=outputs[op.n_carries : last],
            until=outputs[last] if op.has_until else None,
            truncate_gradient=op.truncate_gradient,
            recomputes=op.recomputes,
            name=op.name,
        )

    @property
    def inputs(self) -> list[Variable]:
        """All inputs of the body."""
        return [*self.rows_in, *self.carries, *self.constants]

    @property
    def outputs(self) -> list[Variable]:
        """All outputs of the body."""
        return [*self.new_carries, *self.rows_out, *([] if self.until is None else [self.until])]

    def nodes(self) -> list[Apply]:
        """Return the nodes of the body, each after those it needs."""
        return toposort(self.outputs, self.inputs)

    def add_carry(self, start: Variable, carry: Variable, new: Variable) -> int:
        """Add a carry; return its number."""
        self.starts.append(start)
        self.carries.append(carry)
        self.new_carries.append(new)
        return len(self.starts) - 1

    def add_sequence(self, sequence: Variable, row: Variable) -> None:
        """Add a sequence."""
        self.sequences.append(sequence)
        self.rows_in.append(row)

    def add_given(self, value: Variable, constant: Variable) -> None:
        """Add what is the same in all steps."""
        self.givens.append(value)
        self.constants.append(constant)

    def add_result(self, row: Variable) -> int:
        """Add a stacked result; return its number: that of an equal one, if there is one."""
        for at, known in enumerate(self.rows_out):
            if known is row:
                return at
        self.rows_out.append(row)
        return len(self.rows_out) - 1

    def widen(self) -> None:
        """Give each carry a type that holds its start and its value after every step.

        Raises
        ------
        GraphTypeError
            If there is no such type.
        """
        while True:
            pairs: dict[Variable, Variable] = {}
            for start, old, new in zip(self.starts, self.carries, self.new_carries, strict=True):
                wide = old.type
                for other in (start, new):
                    if not wide.is_super(other.type):
                        wide = self._common(old, wide, other)
                if wide != old.type:
                    pairs[old] = wide.make_variable(old.name)
            if not pairs:
                return
            outputs = graph_replace(self.outputs, pairs, strict=False)
            self.carries = [pairs.get(x, x) for x in self.carries]
            self._set_outputs(outputs)

    def _common(self, old: Variable, wide: Type, other: Variable) -> Type:
        """Return a type with what two know of shapes."""
        kind = other.type
        if isinstance(wide, HasShape) and isinstance(kind, HasShape) and wide.ndim == kind.ndim:
            common: Type = wide.clone(
                shape=tuple(a if a == b else None for a, b in zip(wide.shape, kind.shape, strict=True))
            )
            if common.is_super(kind):
                return common
        msg = (
            f"Scan: the carry {old} of type {wide} becomes {other} of type {kind} in a step of "
            f"{self.name or 'the loop'}. Start with a value of the type that steps make, or cast what they make."
        )
        raise GraphTypeError(msg)

    def _set_outputs(self, outputs: Sequence[Variable]) -> None:
        first, last = len(self.new_carries), len(self.new_carries) + len(self.rows_out)
        self.new_carries = list(outputs[:first])
        self.rows_out = list(outputs[first:last])
        if self.until is not None:
            self.until = outputs[last]

    def replace(self, pairs: dict[Variable, Variable]) -> None:
        """Put other variables into the body, in place of some that its outputs depend on."""
        self._set_outputs(graph_replace(self.outputs, pairs, strict=False))

    def op(self) -> Scan:
        """Return the loop's op; the body is copied."""
        return self.loop_type(
            FrozenFunctionGraph(self.inputs, self.outputs),
            len(self.sequences),
            len(self.starts),
            len(self.rows_out),
            self.until is not None,
            self.truncate_gradient,
            self.recomputes,
            self.name,
        )

    def node(self) -> Apply:
        """Return a node of the loop."""
        return self.op().make_node(self.steps, *self.sequences, *self.starts, *self.givens)

    def apply(self) -> LoopResults:
        """Return the outputs of a node of the loop."""
        outputs = list(self.node().outputs)
        steps = outputs.pop() if self.until is not None else None
        count = len(self.starts)
        return LoopResults(outputs[:count], outputs[count:], steps)  # type: ignore[arg-type]  # results are tensors
