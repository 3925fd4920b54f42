"""What linear algebra is checked by, on every backend: a module for each subject, and one with their table."""

from treadle.tensor.linalg.records.table import RECORDS

__all__ = ["RECORDS"]
