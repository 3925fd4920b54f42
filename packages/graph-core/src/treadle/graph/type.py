"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph.ir.type import HasDataType, HasShape, Type
from treadle.graph.ir.variable import Constant, Variable

__all__ = ["Constant", "HasDataType", "HasShape", "Type", "Variable"]
