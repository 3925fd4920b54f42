"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from abc import ABCMeta as MetaType  # the class of classes of ops

from treadle.graph import InconsistencyError, MissingInputError
from treadle.graph import MethodNotDefinedError as MethodNotDefined
from treadle.graph import ScratchPad as Scratchpad
from treadle.graph.diagnostics.provenance import add_tag_trace, get_variable_trace_string

__all__ = [
    "InconsistencyError",
    "MetaType",
    "MethodNotDefined",
    "MissingInputError",
    "Scratchpad",
    "add_tag_trace",
    "get_variable_trace_string",
]
