"""Records of distributions: what every backend's draws are tested by."""

from treadle.testing.distributions.record import Distribution

__all__ = ["Distribution"]
