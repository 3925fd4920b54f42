"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph.algorithms.connections import io_connection_pattern
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.op import Op, static_op
from treadle.graph.ir.test_values import compute_test_value, get_test_value, get_test_values, missing_test_message
from treadle.graph.ir.thunk import ThunkType, is_thunk_type

__all__ = [
    "Apply",
    "HasInnerGraph",
    "Op",
    "ThunkType",
    "compute_test_value",
    "get_test_value",
    "get_test_values",
    "io_connection_pattern",
    "is_thunk_type",
    "missing_test_message",
    "static_op",
]
