"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph import (
    Apply,
    HasInnerGraph,
    Op,
    ThunkType,
    compute_test_value,
    get_test_value,
    get_test_values,
    io_connection_pattern,
    is_thunk_type,
    missing_test_message,
    static_op,
)

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
