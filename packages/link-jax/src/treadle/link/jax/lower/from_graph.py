"""Ops made of graphs: the linker puts the graph in the node's place."""

from __future__ import annotations

from treadle.graph import inner_graph
from treadle.link.jax.table import JAX
from treadle.tensor import OpFromGraph

JAX.register(OpFromGraph)(inner_graph)
