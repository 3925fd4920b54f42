"""Records of distributions, by which every backend's draws are tested."""

from treadle.testing.distributions.table import families

__all__ = ["families"]
