"""Linking node by node: every node is a program of its own, with something done around each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant, FunctionGraph, IfElse, LoweringError
from treadle.link.vm.generation import generate
from treadle.link.vm.programs import VMProgram, lower_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, Compute, Value
    from treadle.link.vm.linker import ProgramLinker


def link_one_node(node: Apply, linker: ProgramLinker | None) -> Compute:
    """Return a function of a node's input values, made by a linker of that node alone.

    Parameters
    ----------
    node
        The node; it is left as it is.
    linker
        What lowers it; None for the Python VM. A node that it refuses runs on the Python VM too, and so does one
        that overwrites an input, since a program by itself would overwrite a copy. A choice (`IfElse`) runs there
        because the values of the branch not taken are None.

    Returns
    -------
    A function that takes one host value for each input of the node and returns the output's value, or a tuple of them
    for several outputs.
    """
    if linker is None or node.op.destroy_map or isinstance(node.op, IfElse):
        return lower_node(node)
    taken = dict.fromkeys(x for x in node.inputs if not isinstance(x, Constant))
    alone = FunctionGraph(list(taken), node.outputs, clone=True)
    try:
        program = linker.link(alone)
    except LoweringError:
        return lower_node(node)
    # The program knows a value that the node takes twice once, and constants by themselves.
    places = [node.inputs.index(x) for x in taken]
    single = len(node.outputs) == 1

    def run(*values: object) -> Value:
        results = program(*[values[i] for i in places])
        return results[0] if single else tuple(results)

    return run


def link_node_by_node(
    fgraph: FunctionGraph,
    linker: ProgramLinker | None,
    wrap: Callable[[Apply, Callable[..., object]], Callable[..., object]],
    allow_gc: bool = True,
) -> VMProgram:
    """Return a program that runs every node by itself and does something around each: measure, check, tell.

    Values between nodes are host values, so that they can be looked at whatever the backend is.

    Parameters
    ----------
    fgraph
        The graph.
    linker
        Lowers the nodes one at a time; None for the Python VM, which also takes those that the linker refuses.
    wrap
        Is called with each node and the function that computes it, and returns the function to use instead: one value
        for each input in, the output's value or a tuple of several out.
    allow_gc
        Whether to drop every value after its last use.
    """
    callables = {node: wrap(node, link_one_node(node, linker)) for node in fgraph.toposort()}
    return VMProgram(fgraph, generate(fgraph, callables, allow_gc))
