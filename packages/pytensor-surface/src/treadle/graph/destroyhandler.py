"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph import DestroyHandler, inplace_candidates

__all__ = ["DestroyHandler", "inplace_candidates"]
