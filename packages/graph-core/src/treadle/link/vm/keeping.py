"""Programs of the Python VM as data: the compiled functions, and the nodes that they call."""

from __future__ import annotations

import marshal
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.link.vm.generation import Listing, fixed_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from treadle.graph import Apply, Compute, FunctionGraph, Variable
    from treadle.link.vm.programs import VMProgram


class KeptProgram(NamedTuple):
    """What a program of the VM is made of.

    Attributes
    ----------
    fgraph
        Its graph.
    functions
        The generated functions: name, code as `marshal` writes it, and the node that each line runs.
    steps
        The nodes by the names under which the functions call them.
    names
        The variables with their names.
    others
        What else the functions use, by name.
    source
        The text of the functions.
    """

    fgraph: FunctionGraph
    functions: list[tuple[str, bytes, dict[int, Apply]]]
    steps: dict[str, Apply]
    names: list[tuple[Variable, str]]
    others: dict[str, Any]
    source: str


def keep(program: VMProgram) -> KeptProgram:
    """Return what a program is made of."""
    listing = program.listing
    scope = listing.run.__globals__
    functions = []
    written = set()
    for name, value in scope.items():
        lines = listing.nodes.get(value.__code__) if isinstance(value, FunctionType) else None
        if lines is not None:
            functions.append((name, marshal.dumps(value.__code__), lines))
            written.add(name)
    known = {*listing.names.values(), *listing.steps, *written, "__builtins__"}
    others = {name: value for name, value in scope.items() if name not in known}
    names = list(listing.names.items())
    return KeptProgram(program.fgraph, functions, listing.steps, names, others, listing.source)


def restore(kept: KeptProgram, lower: Callable[[Apply], Compute]) -> Listing:
    """Return the functions of a program that was kept."""
    scope: dict[str, Any] = dict(kept.others)
    made = {out for node in kept.steps.values() for out in node.outputs}
    given = set(kept.fgraph.inputs)
    for var, name in kept.names:
        if var not in made and var not in given:
            scope[name] = fixed_value(var)
    scope.update((name, lower(node)) for name, node in kept.steps.items())
    nodes: dict[CodeType, dict[int, Apply]] = {}
    for name, data, lines in kept.functions:
        code = marshal.loads(data)
        scope[name] = FunctionType(code, scope, name)
        nodes[code] = lines
    return Listing(scope["run"], kept.source, dict(kept.names), nodes, kept.steps)
