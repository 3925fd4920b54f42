"""Explaining the failure of a program that does not know which node failed: by running the graph on the Python VM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.vm.generation import generate
from treadle.link.vm.programs import VMProgram, lower_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph


def replay(fgraph: FunctionGraph, inputs: Sequence[object], error: Exception) -> Exception:
    """Explain another backend's failure: run the graph on the VM and return what it raises.

    Parameters
    ----------
    fgraph
        The graph that failed.
    inputs
        The values it failed on.
    error
        What the backend raised, returned if the VM finds nothing wrong.
    """
    host = [v.type.to_host(x) for v, x in zip(fgraph.inputs, inputs, strict=True)]
    try:
        callables = {node: lower_node(node) for node in fgraph.toposort()}
        VMProgram(fgraph, generate(fgraph, callables, free=False))(*host)
    except Exception as found:  # noqa: BLE001 - whatever it is, it is the answer
        return found
    return error
