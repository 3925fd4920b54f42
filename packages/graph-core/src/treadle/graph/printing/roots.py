"""The variables to print of a graph, node, function, or list of such things."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.diagnostics.failure import note_op
from treadle.graph.errors import GraphTypeError
from treadle.graph.fgraph.abstract_graph import AbstractFunctionGraph
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.shared_variable import SharedVariable
from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

GraphNode = Variable | Apply


class Printed:
    """One thing to print: the variables at the top of its trees, and the graph that they belong to, or None.

    `storage` has the values that a function keeps for variables, beside those of constants and shared variables.
    """

    __slots__ = ("fgraph", "outputs", "storage")

    def __init__(
        self,
        outputs: list[Variable],
        fgraph: AbstractFunctionGraph | None,
        storage: Mapping[Variable, object] | None = None,
    ) -> None:
        self.outputs = outputs
        self.fgraph = fgraph
        self.storage: Mapping[Variable, object] = {} if storage is None else storage

    def updates(self) -> dict[int, Variable]:
        """Return which outputs are new values of which inputs."""
        mapping: Mapping[int, int] | None = getattr(self.fgraph, "update_mapping", None)
        if self.fgraph is None or not mapping:
            return {}
        return {out: self.fgraph.inputs[at] for out, at in mapping.items()}


def _function(value: object) -> Printed | None:
    """Return a compiled function as its rewritten graph, or None for anything else."""
    fgraph = getattr(getattr(value, "maker", None), "fgraph", None)
    if not isinstance(fgraph, AbstractFunctionGraph):
        return None
    stored_values = getattr(value, "stored_values", None)
    return Printed(list(fgraph.outputs), fgraph, None if stored_values is None else stored_values())


def read(what: str, graph: object) -> list[Printed]:
    """Return the things to print, in order."""
    printed: list[Printed] = []
    pending = [graph]
    while pending:
        part = pending.pop()
        if isinstance(part, Variable):
            printed.append(Printed([part], None))
        elif isinstance(part, Apply):
            printed.append(Printed(list(part.outputs), None))
        elif isinstance(part, AbstractFunctionGraph):
            printed.append(Printed(list(part.outputs), part))
        elif isinstance(part, list | tuple | set | frozenset):
            pending.extend(reversed(list(part)))
        else:
            function = _function(part)
            if function is None:
                msg = f"{what}: a variable, node, graph, function or list of them is needed, got {part!r}."
                raise GraphTypeError(msg)
            printed.append(function)
    return printed


def stored_value(var: Variable, storage: Mapping[Variable, object]) -> str | None:
    """Return the text of the value that is kept for a variable, shortened to one line; None where there is none.

    Constants have none: their own text is their value.
    """
    if var in storage:
        return one_line(storage[var], 60)
    if isinstance(var, SharedVariable):
        return one_line(var.container.read_host(), 60)
    return None


def op_text(node: Apply) -> str:
    """Return the text of a node's op; what fails gets a note of its class and the user's line."""
    try:
        return str(node.op)
    except Exception as error:
        note_op(error, node.op, "__str__", node.where())
        raise


def one_line(value: object, longest: int) -> str:
    """Return a value's text in one line of at most `longest` characters, its middle left out where it is longer."""
    text = " ".join(str(value).split())
    if len(text) <= longest:
        return text
    head = (longest - 3) * 2 // 3
    return f"{text[:head]} … {text[head + 3 - longest :]}"
