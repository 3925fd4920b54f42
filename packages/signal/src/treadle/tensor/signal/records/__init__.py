"""What signals, Fourier transforms and polynomials are checked by, on every backend."""

from treadle.tensor.signal.records.table import RECORDS

__all__ = ["RECORDS"]
