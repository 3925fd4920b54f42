"""Ops made of graphs along a batch: the graph itself is vectorised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import vectorize_graph
from treadle.tensor.from_graph import OpFromGraph

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable, VectorizerTable


def vectorize_from_graph(op: OpFromGraph, node: Apply, *inputs: Any) -> list[Variable]:
    """Return what the inner graph computes of the inputs with batches; a gradient that was given is lost."""
    del node
    return vectorize_graph(op.inner_outputs, list(zip(op.inner_inputs, inputs, strict=True)))


def register(table: VectorizerTable) -> None:
    """Register the rule."""
    table.register(OpFromGraph)(vectorize_from_graph)
