"""Vectorising: every op of this package along leading batch dimensions."""

from treadle.tensor.vectorize.registration import register

__all__ = ["register"]
