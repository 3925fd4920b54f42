"""treadle.link.c.export: a graph as a C library of its own, for programs without Python."""

from treadle.link.c.export.project import export_graph

__all__ = ["export_graph"]
