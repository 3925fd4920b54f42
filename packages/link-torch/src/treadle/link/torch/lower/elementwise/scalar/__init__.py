"""Functions for scalar ops, by subject."""

from treadle.link.torch.lower.elementwise.scalar import (
    arithmetic,
    choices,
    comparison,
    complex_numbers,
    elementary,
    logic,
    special_functions,
)

__all__ = ["arithmetic", "choices", "comparison", "complex_numbers", "elementary", "logic", "special_functions"]
