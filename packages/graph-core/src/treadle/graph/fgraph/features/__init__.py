"""Features: observers and extensions of a FunctionGraph."""

from treadle.graph.fgraph.features.base import AlreadyThere, Bookkeeper, Feature, NodeFinder
from treadle.graph.fgraph.features.protection import (
    NoOutputFromInplace,
    NoOutputInplaceOnInput,
    PreserveNames,
    PreserveVariableAttributes,
    Supervisor,
)
from treadle.graph.fgraph.features.shapes import ShapeFeature
from treadle.graph.fgraph.features.validation import History, ReplacementDidNotRemoveError, ReplaceValidate, Validator

__all__ = [
    "AlreadyThere", "Bookkeeper", "Feature", "History", "NoOutputFromInplace", "NoOutputInplaceOnInput", "NodeFinder",
    "PreserveNames", "PreserveVariableAttributes", "ReplaceValidate", "ReplacementDidNotRemoveError", "ShapeFeature",
    "Supervisor", "Validator",
]  # fmt: skip
