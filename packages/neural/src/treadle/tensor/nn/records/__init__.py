"""What functions for networks are checked by, on every backend; tests/tensor/test_nn.py has PyTorch's values."""

from treadle.tensor.nn.records.functions import RECORDS

__all__ = ["RECORDS"]
