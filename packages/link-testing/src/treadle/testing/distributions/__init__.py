"""Records of distributions: what every backend's draws are tested by."""

from treadle.testing.distributions.table import families

__all__ = ["families"]
