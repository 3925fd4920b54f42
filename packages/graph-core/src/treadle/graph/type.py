"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph.ir.type import HasDataType, HasShape, Type

__all__ = ["HasDataType", "HasShape", "Type"]
