"""Rules for ops of treadle: a module for each family, and those that other libraries share."""

from treadle.link.array_api.lower import shared

__all__ = ["shared"]
