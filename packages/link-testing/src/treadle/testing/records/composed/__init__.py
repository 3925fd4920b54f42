"""Records of functions that only combine ops, by subject; the ops have records in their families."""

from treadle.testing.records.composed import (
    numbers,
    sets,
    shapes,
)

__all__ = ["numbers", "sets", "shapes"]
