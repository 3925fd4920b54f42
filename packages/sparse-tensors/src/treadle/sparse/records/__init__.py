"""What sparse matrices are checked by, on every backend."""

from treadle.sparse.records.matrices import RECORDS

__all__ = ["RECORDS"]
