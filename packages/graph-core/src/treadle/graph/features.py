"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph.documented.full_history import FullHistory, HistoryEntry
from treadle.graph.fgraph.features import (
    AlreadyThere,
    Bookkeeper,
    Feature,
    History,
    NodeFinder,
    NoOutputFromInplace,
    NoOutputInplaceOnInput,
    PreserveNames,
    PreserveVariableAttributes,
    ReplacementDidNotRemoveError,
    ReplaceValidate,
    ShapeFeature,
    Supervisor,
    Validator,
)

__all__ = [
    "AlreadyThere",
    "Bookkeeper",
    "Feature",
    "FullHistory",
    "History",
    "HistoryEntry",
    "NoOutputFromInplace",
    "NoOutputInplaceOnInput",
    "NodeFinder",
    "PreserveNames",
    "PreserveVariableAttributes",
    "ReplaceValidate",
    "ReplacementDidNotRemoveError",
    "ShapeFeature",
    "Supervisor",
    "Validator",
]
