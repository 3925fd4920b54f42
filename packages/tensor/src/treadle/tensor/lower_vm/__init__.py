"""Faster lowerings of tensor ops for the Python VM, published under ``treadle.lowerings.vm``."""

from treadle.tensor.lower_vm.registration import register

__all__ = ["register"]
