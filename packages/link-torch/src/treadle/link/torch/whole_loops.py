"""Loops on the CPU as programs of the C backend: compiled as a whole, and run without Python between steps.

PyTorch has no loop that serves. Measured with PyTorch 2.13 on a busy machine of two cores, in microseconds a step of an
autoregression of order 2, which has four operations:

* led by Python, operation by operation: 9;
* ``torch.jit.script``, which is deprecated: 6;
* 16 steps as one function by ``torch.compile``: 2, after 10 to 50 seconds of compilation;
* the whole loop in C: 0.005, after 0.05 to 0.3 seconds of compilation.

So where the C backend is installed and has rules for all of a loop, the loop is a program of it. Arrays pass between
the two in place. For other loops, and those on other devices, see `treadle.link.torch.loops`.
"""

from __future__ import annotations

import torch

from treadle.config import config, discover
from treadle.graph import Apply, Compute, Constant, FunctionGraph, LoweringError, Value
from treadle.link.vm import Backend, Segment
from treadle.rewrite import GraphRewriter, RewriteDatabaseQuery, optdb, rewrite_inner_graphs
from treadle.tensor import Scan

BACKEND = "c"


def loop_backend() -> Backend | None:
    """Return the backend that compiles whole loops; None where it is not installed, does not work or is not asked for.

    Option ``torch__whole_loops`` asks for it.
    """
    entry = discover("treadle.backends").get(BACKEND)
    if entry is None or not config.torch__whole_loops:
        return None
    backend: Backend = entry.load()
    return backend if backend.unavailable() is None else None


def with_whole_loops(fgraph: FunctionGraph, place: torch.device) -> FunctionGraph:
    """Return a graph in which programs stand for the loops, those that can be compiled as a whole.

    The graph is left as it is, and returned if there is none.
    """
    if place.type != "cpu" or not any(isinstance(node.op, Scan) for node in fgraph.apply_nodes):
        return fgraph
    backend = loop_backend()
    if backend is None:
        return fgraph
    # Bodies were rewritten for PyTorch, which takes elementwise operations one by one.
    fusing: GraphRewriter = optdb.query(RewriteDatabaseQuery(["fusion"]))
    graph = fgraph.clone()
    for node in graph.toposort():
        whole = _whole(node, backend, fusing) if isinstance(node.op, Scan) else None
        if whole is not None:
            graph.replace_all(zip(node.outputs, whole.outputs, strict=True), reason="whole_loops")
    return graph


def _whole(node: Apply, backend: Backend, fusing: GraphRewriter) -> Apply | None:
    """Return the node of a program that computes a loop, None if the backend cannot."""
    inputs = [v for v in dict.fromkeys(node.inputs) if not isinstance(v, Constant)]
    loop = FunctionGraph(inputs, node.outputs, clone=True)
    rewrite_inner_graphs(loop, fusing)
    linker = backend.linker()
    try:
        program = linker.link(loop)
    except LoweringError:
        return None
    outputs = [v.type.make_variable(v.name) for v in node.outputs]
    whole = Apply(Segment(loop, program, linker), inputs, outputs)
    whole.user_line = node.user_line
    return whole


def on_arrays(program: Compute) -> Compute:
    """Return a program of NumPy arrays as a function that takes tensors too; they share memory."""

    def run(*values: Value) -> Value:
        results = program(*[x.numpy(force=True) if isinstance(x, torch.Tensor) else x for x in values])
        return results[0] if len(results) == 1 else tuple(results)

    return run
