"""Functions for scalar ops, by subject. Each entry takes a namespace and returns its function."""

from treadle.link.array_api.lower.elementwise.scalar import (
    arithmetic,
    comparison,
    complex_numbers,
    elementary,
    logic,
    special_functions,
)

__all__ = ["arithmetic", "comparison", "complex_numbers", "elementary", "logic", "special_functions"]
