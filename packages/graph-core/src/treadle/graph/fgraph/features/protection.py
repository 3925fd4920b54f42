"""Features that keep something as it is: names and tags, protected inputs, outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph.errors import InconsistencyError
from treadle.graph.fgraph.features.base import REVERT, Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


class PreserveNames(Feature):
    """Feature that gives a replacement the name of what it replaces, where it has none."""

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Pass the name on."""
        if reason != REVERT and var.name is not None and new_var.name is None:
            new_var.name = var.name


class PreserveVariableAttributes(PreserveNames):
    """Feature that gives a replacement the name and the tag attributes of what it replaces, where it lacks them."""

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Pass name and tag on."""
        super().on_change_input(fgraph, node, i, var, new_var, reason)
        if reason != REVERT and var._tag is not None:
            mine = vars(new_var.tag)
            for name, value in vars(var._tag).items():
                mine.setdefault(name, value)


class Supervisor(Feature):
    """Feature that refuses in-place operations on protected variables; it needs a `DestroyHandler` beside it.

    Parameters
    ----------
    protected
        Variables, such as inputs whose values belong to the caller. Views of them are protected too.
    """

    def __init__(self, protected: Iterable[Variable]) -> None:
        self.protected = list(protected)

    def clone_onto(self, equiv: Mapping[Any, Any]) -> Supervisor:
        """Return a supervisor of what stands for the protected variables."""
        return type(self)([equiv.get(var, var) for var in self.protected])

    def validate(self, fgraph: FunctionGraph) -> None:
        """Refuse a graph that overwrites a protected variable.

        Raises
        ------
        InconsistencyError
            If there is one; the message names it and the node.
        """
        if not hasattr(fgraph, "destroyers"):
            return
        for var in self.protected:
            for node in fgraph.destroyers(var) if var in fgraph else ():
                msg = (
                    f"{node.op}: the node would overwrite {var}, which is protected{node.where()}. "
                    "Use the op that does not work in place, or declare the input mutable."
                )
                raise InconsistencyError(msg)


class _OutputRange(Feature):
    """Base of features that look at some of the outputs."""

    def __init__(self, first_output_idx: int = 0, last_output_idx: int | None = None) -> None:
        self.first_output_idx = first_output_idx
        self.last_output_idx = last_output_idx

    def _in_place(self, fgraph: FunctionGraph) -> Iterator[tuple[Variable, Apply, list[int]]]:
        """Yield the outputs in the range that are computed in place, with node and overwritten positions."""
        for out in fgraph.outputs[self.first_output_idx : self.last_output_idx]:
            node = out.owner
            if node is not None and out.index is not None and node in fgraph:
                places = node.op.destroy_map.get(out.index)
                if places:
                    yield out, node, places


class NoOutputFromInplace(_OutputRange):
    """Feature that refuses outputs which are computed in place.

    Parameters
    ----------
    first_output_idx, last_output_idx
        The outputs that are looked at: from the first to before the last; to the end if None.
    """

    def validate(self, fgraph: FunctionGraph) -> None:
        """Refuse a graph with such an output."""
        for out, node, _ in self._in_place(fgraph):
            msg = (
                f"{node.op}: the graph's output {out} would be computed in place{node.where()}. "
                "Use the op that does not work in place."
            )
            raise InconsistencyError(msg)


class NoOutputInplaceOnInput(_OutputRange):
    """Feature that refuses outputs which are computed in place on an input of the graph, or on a view of one.

    Parameters
    ----------
    first_output_idx, last_output_idx
        The outputs that are looked at: from the first to before the last; to the end if None.
    """

    def validate(self, fgraph: FunctionGraph) -> None:
        """Refuse a graph with such an output."""
        for out, node, places in self._in_place(fgraph):
            for i in places:
                root = _memory_of(node.inputs[i])
                if root in fgraph.inputs:
                    msg = (
                        f"{node.op}: the graph's output {out} would be computed in place of the input "
                        f"{root}{node.where()}. Use the op that does not work in place."
                    )
                    raise InconsistencyError(msg)


def _memory_of(var: Variable) -> Variable:
    """Return the variable whose memory a variable is a view of, through views and in-place operations."""
    while var.owner is not None and var.index is not None:
        op = var.owner.op
        places = op.view_map.get(var.index) or op.destroy_map.get(var.index)
        if not places:
            break
        var = var.owner.inputs[places[0]]
    return var
