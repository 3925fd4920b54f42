"""ScanArgs: the inputs and outputs of a loop, and of its body, by their documented names."""

from __future__ import annotations

from dataclasses import field

from treadle.config import dataclass, text_of
from treadle.graph import Apply, GraphTypeError, Variable
from treadle.tensor.errors import ArgumentError
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.parts import LoopParts

__all__ = ["FieldInfo", "ScanArgs"]

_PLACES = ("outer_in", "inner_in", "inner_out", "outer_out")
_KINDS = ("seqs", "sit_sot", "nit_sot", "non_seqs")


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """The place of a variable among the fields of `ScanArgs`.

    Attributes
    ----------
    name
        The field, such as ``inner_out_nit_sot``.
    agg_name
        The list that it is part of: ``outer_inputs``, ``inner_inputs``, ``inner_outputs`` or ``outer_outputs``.
    index
        Its position in the field.
    agg_index
        Its position in the list.
    """

    name: str
    agg_name: str
    index: int
    agg_index: int


@dataclass(slots=True)
class ScanArgs:
    """The parts of a loop, by their documented names.

    A loop of treadle has sequences (``seqs``), carries (``sit_sot``: one input and one output of a step each; outside,
    the last value is the output), stacked results (``nit_sot``) and constants (``non_seqs``). A state that `scan`
    returns is a carry and a result; one with more taps is several carries. Fields can be changed before `to_node`.

    Attributes
    ----------
    n_steps
        The number of steps.
    outer_in_seqs, inner_in_seqs
        Sequences, and a row of each.
    outer_in_sit_sot, inner_in_sit_sot, inner_out_sit_sot, outer_out_sit_sot
        Carries: what they start with, what a step takes and makes, the last values.
    inner_out_nit_sot, outer_out_nit_sot
        Results: a row of each, and all rows.
    outer_in_non_seqs, inner_in_non_seqs
        What is the same in all steps.
    cond
        The condition that ends the loop, in a list; empty if there is none.
    outer_out_steps
        The number of steps made, in a list, of a loop with a condition.
    truncate_gradient, recomputes, name
        As for `Scan`.
    """

    n_steps: Variable
    outer_in_seqs: list[Variable] = field(default_factory=list)
    inner_in_seqs: list[Variable] = field(default_factory=list)
    outer_in_sit_sot: list[Variable] = field(default_factory=list)
    inner_in_sit_sot: list[Variable] = field(default_factory=list)
    inner_out_sit_sot: list[Variable] = field(default_factory=list)
    outer_out_sit_sot: list[Variable] = field(default_factory=list)
    inner_out_nit_sot: list[Variable] = field(default_factory=list)
    outer_out_nit_sot: list[Variable] = field(default_factory=list)
    outer_in_non_seqs: list[Variable] = field(default_factory=list)
    inner_in_non_seqs: list[Variable] = field(default_factory=list)
    cond: list[Variable] = field(default_factory=list)
    outer_out_steps: list[Variable] = field(default_factory=list)
    truncate_gradient: int = -1
    recomputes: bool = False
    name: str | None = None

    @staticmethod
    def from_node(node: Apply) -> ScanArgs:
        """Return the parts of a node; the body is a copy, which may be changed.

        Raises
        ------
        GraphTypeError
            If it is no node of a loop.
        """
        if not isinstance(node, Apply) or not isinstance(node.op, Scan):
            msg = f"ScanArgs.from_node: a node of Scan is needed, got {text_of(node)}. Take the owner of an output."
            raise GraphTypeError(msg)
        op, parts = node.op, LoopParts.of(node.op, node.inputs)
        last = op.n_carries + op.n_stacked
        return ScanArgs(
            parts.steps,
            parts.sequences,
            parts.rows_in,
            parts.starts,
            parts.carries,
            parts.new_carries,
            list(node.outputs[: op.n_carries]),
            parts.rows_out,
            list(node.outputs[op.n_carries : last]),
            parts.givens,
            parts.constants,
            [] if parts.until is None else [parts.until],
            list(node.outputs[last:]),
            parts.truncate_gradient,
            parts.recomputes,
            parts.name,
        )

    @property
    def outer_inputs(self) -> list[Variable]:
        """The inputs of the node."""
        return [self.n_steps, *self.outer_in_seqs, *self.outer_in_sit_sot, *self.outer_in_non_seqs]

    @property
    def inner_inputs(self) -> list[Variable]:
        """The inputs of the body."""
        return [*self.inner_in_seqs, *self.inner_in_sit_sot, *self.inner_in_non_seqs]

    @property
    def inner_outputs(self) -> list[Variable]:
        """The outputs of the body."""
        return [*self.inner_out_sit_sot, *self.inner_out_nit_sot, *self.cond]

    @property
    def outer_outputs(self) -> list[Variable]:
        """The outputs of the node."""
        return [*self.outer_out_sit_sot, *self.outer_out_nit_sot, *self.outer_out_steps]

    @property
    def field_names(self) -> list[str]:
        """The names of the fields that hold variables of a kind."""
        return [name for place in _PLACES for kind in _KINDS if hasattr(self, name := f"{place}_{kind}")]

    def find_among_fields(self, var: Variable) -> FieldInfo | None:
        """Return the place of a variable, or None."""
        for name in self.field_names:
            variables: list[Variable] = getattr(self, name)
            if var in variables:
                group = f"{'_'.join(name.split('_')[:2])}puts"
                return FieldInfo(name, group, variables.index(var), getattr(self, group).index(var))
        return None

    def get_alt_field(self, var: Variable | FieldInfo, alt_prefix: str) -> Variable:
        """Return a variable's counterpart in another field: for a row of a sequence, in ``outer_in``, the sequence.

        Raises
        ------
        ArgumentError
            If the variable is in no field, or its kind does not occur there.
        """
        place = var if isinstance(var, FieldInfo) else self.find_among_fields(var)
        other = "" if place is None else f"{alt_prefix}_{'_'.join(place.name.split('_')[2:])}"
        if place is None or other not in self.field_names:
            msg = (
                f"ScanArgs.get_alt_field: {text_of(var)} has no counterpart in {alt_prefix}. "
                f"The fields are {', '.join(self.field_names)}."
            )
            raise ArgumentError(msg)
        variables: list[Variable] = getattr(self, other)
        return variables[place.index]

    def to_node(self) -> Apply:
        """Return a node of the loop that the fields say; its outputs are new ones."""
        parts = LoopParts(
            self.n_steps, list(self.outer_in_seqs), list(self.inner_in_seqs), list(self.outer_in_sit_sot),
            list(self.inner_in_sit_sot), list(self.inner_out_sit_sot), list(self.outer_in_non_seqs),
            list(self.inner_in_non_seqs), list(self.inner_out_nit_sot), self.cond[0] if self.cond else None,
            self.truncate_gradient, self.recomputes, self.name,
        )  # fmt: skip
        return parts.node()
