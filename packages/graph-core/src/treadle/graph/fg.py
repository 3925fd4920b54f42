"""The documented names of function graphs; they are defined in the modules imported here."""

from treadle.graph.errors import MissingInputError
from treadle.graph.fgraph.abstract_graph import AbstractFunctionGraph
from treadle.graph.fgraph.frozen_graph import FrozenFunctionGraph
from treadle.graph.fgraph.function_graph import FunctionGraph
from treadle.graph.fgraph.structure import Output

__all__ = ["AbstractFunctionGraph", "FrozenFunctionGraph", "FunctionGraph", "MissingInputError", "Output"]
