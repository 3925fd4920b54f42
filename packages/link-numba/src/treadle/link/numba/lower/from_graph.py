"""Ops made of graphs: the linker puts the graph in the node's place."""

from __future__ import annotations

from treadle.graph import inner_graph
from treadle.link.numba.table import TABLE
from treadle.tensor import OpFromGraph

TABLE.register(OpFromGraph)(inner_graph)
