"""Features: observers and extensions of a FunctionGraph."""

from treadle.graph.features.base import AlreadyThere, Bookkeeper, Feature
from treadle.graph.features.finder import NodeFinder
from treadle.graph.features.full_history import FullHistory, HistoryEntry
from treadle.graph.features.history import History
from treadle.graph.features.protection import (
    NoOutputFromInplace,
    NoOutputInplaceOnInput,
    PreserveNames,
    PreserveVariableAttributes,
    Supervisor,
)
from treadle.graph.features.shapes import ShapeFeature
from treadle.graph.features.validation import ReplacementDidNotRemoveError, ReplaceValidate, Validator

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
