"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph import DisconnectedType, NullType
from treadle.graph.ir.null_type import disconnected_type, null_type

__all__ = ["DisconnectedType", "NullType", "disconnected_type", "null_type"]
