"""The documented names of function graphs; they are defined in the modules imported here."""

from treadle.graph.abstract_graph import AbstractFunctionGraph
from treadle.graph.errors import MissingInputError
from treadle.graph.frozen_graph import FrozenFunctionGraph
from treadle.graph.function_graph import FunctionGraph
from treadle.graph.structure import Output

__all__ = ["AbstractFunctionGraph", "FrozenFunctionGraph", "FunctionGraph", "MissingInputError", "Output"]
