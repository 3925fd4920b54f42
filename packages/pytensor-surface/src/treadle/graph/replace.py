"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph import VECTORIZERS as _vectorize_node
from treadle.graph import clone_replace, graph_replace, vectorize_graph, vectorize_node
from treadle.graph import vectorize_graph as vectorize
from treadle.graph.vectorization import vectorize_unchanged as _vectorize_not_needed

__all__ = [
    "_vectorize_node",
    "_vectorize_not_needed",
    "clone_replace",
    "graph_replace",
    "vectorize",
    "vectorize_graph",
    "vectorize_node",
]
