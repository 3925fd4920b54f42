"""What minima, roots and fixed points are checked by, on every backend."""

from treadle.tensor.optimize.records.searches import RECORDS

__all__ = ["RECORDS"]
