"""Rules of the Numba backend for draws: importing the modules registers them.

Packages that bring a portable sampler may register its text in `SAMPLER_TEXTS`.
"""

from treadle.tensor.random.lower.numba import generator_draws, portable_draws
from treadle.tensor.random.lower.numba.portable_draws import SAMPLER_TEXTS, SamplerText

__all__ = ["SAMPLER_TEXTS", "SamplerText", "generator_draws", "portable_draws"]
