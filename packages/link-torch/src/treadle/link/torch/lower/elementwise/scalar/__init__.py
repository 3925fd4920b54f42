"""Functions for scalar ops, by subject."""

from treadle.link.torch.lower.elementwise.scalar import (
    arithmetic,
    comparison,
    complex_numbers,
    elementary,
    logic,
    special_functions,
)

__all__ = ["arithmetic", "comparison", "complex_numbers", "elementary", "logic", "special_functions"]
