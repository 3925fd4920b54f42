"""The documented names of function graphs; they are defined in the modules imported here."""

from treadle.graph import AbstractFunctionGraph, FrozenFunctionGraph, FunctionGraph, MissingInputError, Output

__all__ = ["AbstractFunctionGraph", "FrozenFunctionGraph", "FunctionGraph", "MissingInputError", "Output"]
