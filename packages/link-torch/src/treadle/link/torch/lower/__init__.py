"""The lowerings, one module for each family of `treadle.tensor`, and those that other libraries share."""

from treadle.link.torch.lower import shared

__all__ = ["shared"]
