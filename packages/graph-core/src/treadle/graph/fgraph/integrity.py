"""Whether the tables of a function graph agree with each other and with the variables themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from treadle.graph.algorithms.traversal import toposort
from treadle.graph.errors import GraphValueError
from treadle.graph.fgraph.structure import Output

if TYPE_CHECKING:
    from treadle.graph.fgraph.abstract_graph import AbstractFunctionGraph
    from treadle.graph.fgraph.structure import GraphStructure


def check_integrity(graph: AbstractFunctionGraph, core: GraphStructure) -> None:
    """Compare the tables with a walk from the outputs."""
    needed = set(toposort(graph.outputs, graph.inputs))
    nodes = set(core.nodes)
    if not needed <= nodes:
        _refuse(f"the nodes {needed - nodes} are needed but were never imported")
    _check_clients(core)
    _check_outputs(core)
    core.repair()
    order = core.order.sequence()
    place = {node: i for i, node in enumerate(order)}
    if place.keys() != nodes:
        _refuse(f"the order of evaluation has {len(place)} nodes, the graph {len(nodes)}")
    for node in order:
        for var in node.inputs:
            if var.owner in place and var not in core.given and place[var.owner] >= place[node]:
                _refuse(f"{node} comes before {var.owner}, which it needs")


def _check_clients(core: GraphStructure) -> None:
    for node in core.nodes:
        for i, var in enumerate(node.inputs):
            if (node, i) not in core.clients.get(var, ()):
                _refuse(f"{node} is not listed as a client of its input {var}")
        for out in node.outputs:
            if out not in core.clients:
                _refuse(f"{out}, an output of {node}, is not among the variables")
    for var, clients in core.clients.items():
        for node, i in clients:
            if node.outputs and (node not in core.nodes or node.inputs[i] is not var):
                _refuse(f"{node} is listed as a client of {var}, but input {i} is not that variable")


def _check_outputs(core: GraphStructure) -> None:
    for i, out in enumerate(core.outputs):
        if not any(isinstance(n.op, Output) and n.op.idx == i for n, _ in core.clients.get(out, ())):
            _refuse(f"output {i} is not listed among the clients of {out}")
    if core.given.keys() != set(core.inputs):
        _refuse("the list of inputs was changed by hand")


def _refuse(what: str) -> NoReturn:
    msg = f"FunctionGraph: {what}. Change the graph through its methods only."
    raise GraphValueError(msg)
