"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph import Constant, HasDataType, HasShape, Type, Variable

__all__ = ["Constant", "HasDataType", "HasShape", "Type", "Variable"]
