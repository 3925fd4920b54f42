"""Pages of graphs, at their documented path. The module is imported first, so that it does not hide the function."""

from treadle.d3viz.d3viz import d3viz

__all__ = ["d3viz"]
