"""Rules of the C backend for draws: importing the modules registers them.

Packages that bring a portable sampler may register its C text in `SAMPLER_TEXTS`.
"""

from treadle.tensor.random.lower.c import generator_draws, portable_draws
from treadle.tensor.random.lower.c.rejection_texts import SAMPLER_TEXTS, SamplerText

__all__ = ["SAMPLER_TEXTS", "SamplerText", "generator_draws", "portable_draws"]
