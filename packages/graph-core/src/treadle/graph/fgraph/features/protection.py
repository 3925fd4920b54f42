"""Features that keep something as it is: names and tags, protected inputs, outputs."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from treadle.config import text_of
from treadle.graph.errors import GraphTypeError, InconsistencyError
from treadle.graph.fgraph.features.base import REVERT, Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


class PreserveNames(Feature):
    """Feature that gives a replacement the name of what it replaces, where it has none.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph = treadle.graph.FunctionGraph([x], [x + 0], features=[PreserveNames()])
    >>> fgraph.outputs[0].name = "kept"
    >>> fgraph.replace(fgraph.outputs[0], tt.exp(fgraph.inputs[0]))
    >>> fgraph.outputs[0].name
    'kept'
    """

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
        if reason == REVERT:
            return
        if var.name is not None and new_var.name is None:
            new_var.name = var.name
        if var._tag is not None:
            attributes = vars(new_var.tag)
            for name, value in vars(var._tag).items():
                attributes.setdefault(name, value)


class Supervisor(Feature):
    """Feature that refuses in-place operations on protected variables; it needs a `DestroyHandler` beside it.

    Parameters
    ----------
    protected
        Variables, such as inputs whose values belong to the caller. Views of them are protected too.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> fgraph = treadle.graph.FunctionGraph([v], [tt.exp(v)])
    >>> fgraph.attach_feature(Supervisor(fgraph.inputs))
    >>> fgraph.validate()
    """

    def __init__(self, protected: Iterable[Variable]) -> None:
        self.protected = list(protected)

    def clone_onto(self, equiv: Mapping[Any, Any]) -> Supervisor:
        """Return a supervisor of the copies of the protected variables."""
        return type(self)([equiv.get(var, var) for var in self.protected])

    def may_refuse(self, fgraph: FunctionGraph) -> bool:
        """Whether a feature knows what overwrites what: `DestroyHandler`."""
        return hasattr(fgraph, "destroyers")

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
    """Base of features that look at some of the outputs.

    Parameters
    ----------
    first_output_idx, last_output_idx
        The outputs that are looked at: from the first to before the last; to the end if None. A collection of
        positions in place of the first names them one by one.
    protected_out_ids
        The positions, by the name that newer documentation has.

    Raises
    ------
    GraphTypeError
        If a position is no integer, or positions are given together with a last one.
    """

    def __init__(
        self,
        first_output_idx: int | Iterable[int] = 0,
        last_output_idx: int | None = None,
        *,
        protected_out_ids: Iterable[int] | None = None,
    ) -> None:
        listed: object = first_output_idx if protected_out_ids is None else protected_out_ids
        is_range = isinstance(listed, SupportsIndex)
        try:
            self.protected_out_ids = None if is_range else tuple(map(index, listed))  # type: ignore[call-overload]  # what is no collection is refused
            self.first_output_idx = index(listed) if is_range else 0  # type: ignore[arg-type]  # has an index
            self.last_output_idx = None if last_output_idx is None else index(last_output_idx)
        except TypeError as error:
            msg = (
                f"{type(self).__name__}: outputs are positions, a first one or a list of them, got {text_of(listed)} "
                f"and {text_of(last_output_idx)}. Give integers."
            )
            raise GraphTypeError(msg) from error
        if self.protected_out_ids is not None and last_output_idx is not None:
            msg = f"{type(self).__name__}: a list of outputs has no last one, got {last_output_idx}. Leave it out."
            raise GraphTypeError(msg)

    def _in_place(self, fgraph: FunctionGraph) -> Iterator[tuple[Variable, Apply, list[int]]]:
        """Yield the outputs looked at that are computed in place, with node and overwritten positions."""
        listed, outputs = self.protected_out_ids, fgraph.outputs
        chosen = (
            outputs[self.first_output_idx : self.last_output_idx] if listed is None else [outputs[i] for i in listed]
        )
        for out in chosen:
            node = out.owner
            if node is not None and out.index is not None and node in fgraph:
                places = node.op.destroy_map.get(out.index)
                if places:
                    yield out, node, places


class NoOutputFromInplace(_OutputRange):
    """Feature that refuses outputs which are computed in place."""

    def validate(self, fgraph: FunctionGraph) -> None:
        """Refuse a graph with such an output."""
        for out, node, _ in self._in_place(fgraph):
            msg = (
                f"{node.op}: the graph's output {out} would be computed in place{node.where()}. "
                "Use the op that does not work in place."
            )
            raise InconsistencyError(msg)


class NoOutputInplaceOnInput(_OutputRange):
    """Feature that refuses outputs which are computed in place on an input of the graph, or on a view of one."""

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
