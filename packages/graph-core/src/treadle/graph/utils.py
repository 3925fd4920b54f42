"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from abc import ABCMeta as MetaType  # the class of classes of ops

from treadle.graph.diagnostics.provenance import add_tag_trace, get_variable_trace_string
from treadle.graph.errors import InconsistencyError, MissingInputError
from treadle.graph.errors import MethodNotDefinedError as MethodNotDefined
from treadle.graph.ir.variable import ScratchPad as Scratchpad

__all__ = [
    "InconsistencyError",
    "MetaType",
    "MethodNotDefined",
    "MissingInputError",
    "Scratchpad",
    "add_tag_trace",
    "get_variable_trace_string",
]
