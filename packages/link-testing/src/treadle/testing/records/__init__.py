"""The records of what every op must do, one module for each family."""

from treadle.testing.records.table import SAMPLES

__all__ = ["SAMPLES"]
